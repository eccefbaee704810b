#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus {

/// Escapes in append_json().
enum class JsonEscape {
  short_forms,  // writes a newline as \n
  for_html      // writes a newline as \u000a; also escapes <, > and & for HTML
};

/// Appends `text`, which must be UTF-8, as a JSON string.
void append_json(std::string& out, std::string_view text,
                 JsonEscape escape = JsonEscape::short_forms);
/// Appends the shortest decimal that reads back exactly, or null for NaN and infinity.
void append_json(std::string& out, double value);
void append_json(std::string& out, std::int64_t value);

}  // namespace gradus
