// JSON writer: appends strings and numbers to a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradus {

/// How append_json() escapes characters of a string.
enum class JsonEscape {
  short_forms,  // \n for a newline
  for_html      // \u000a for a newline; also escapes <, > and & for HTML
};

/// Appends `text` (must be UTF-8) as a JSON string.
void append_json(std::string& out, std::string_view text,
                 JsonEscape escape = JsonEscape::short_forms);
/// Appends the shortest exact decimal; null for NaN and infinity.
void append_json(std::string& out, double value);
void append_json(std::string& out, std::int64_t value);

}  // namespace gradus
