// The JSON writer: strings and numbers, appended to a text as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus {

enum class JsonEscape {
  short_forms,  // \n for a newline: as JSON is usually written
  for_html      // \u000a; <, > and & too, so that no text ends the HTML element it stands in
};

/// Appends `text`, which must be UTF-8, as a JSON string.
void append_json(std::string& out, std::string_view text,
                 JsonEscape escape = JsonEscape::short_forms);
/// Appends the shortest decimal that reads back equal; null for NaN and infinity.
void append_json(std::string& out, double value);
void append_json(std::string& out, std::int64_t value);  // appends the decimal

}  // namespace gradus
