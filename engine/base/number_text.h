// Floating-point numbers as text, independent of the locale. Replaces std::from_chars and
// std::to_chars, which libc++ lacks for floating point before versions 20 and 14.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradus {

/// Parses the entire text: decimal, "inf" or "nan", without leading spaces or '+'. Returns nothing
/// for any other text, and for numbers outside the range of double.
std::optional<double> parse_double(std::string_view text);

/// Appends the shortest text that parse_double reads back as the same value, rounded to float for
/// a float.
void append_shortest(std::string& out, double value);
void append_shortest(std::string& out, float value);

}  // namespace gradus
