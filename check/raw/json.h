// A report as JSON. It is written only, and simple enough for a writer of our own.
#pragma once

#include <concepts>
#include <type_traits>

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

inline std::string json_of(const std::string& text) {
  static const char hex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (code < 0x20) {
      result += {'\\', 'u', '0', '0', hex[code >> 4], hex[code & 15]};
    } else {
      result += c;
    }
  }
  return result + "\"";
}

inline std::string json_of(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return number(value, 17);
}

inline std::string json_of(bool value) { return value ? "true" : "false"; }
template <std::integral T>
std::string json_of(T value) {
  return std::to_string(value);
}
inline std::string json_of(const Shape& value) { return list(value); }
template <class Enum>
requires std::is_enum_v<Enum> std::string json_of(Enum value) {
  return json_of(std::string(to_string(value)));
}

template <class T>
std::string json_of(const std::vector<T>& items);

/// "name": value, …
inline std::string members() { return ""; }
template <class T, class... Rest>
std::string members(const char* name, const T& value, const Rest&... rest) {
  return joined("\"", name, "\": ", json_of(value), sizeof...(rest) > 0 ? ", " : "") +
         members(rest...);
}

template <class... A>
std::string object(const A&... all) {
  return "{" + members(all...) + "}";
}

inline std::string json_of(const InputSummary& i) {
  return object("name", i.name, "shape", i.shape, "differentiable", i.differentiable, "elements",
                i.elements, "compared", i.compared, "wrong", i.wrong, "unseen", i.unseen, "kinks",
                i.kinks, "largest", i.largest, "map", i.map, "map_rows", i.map_rows, "cause",
                i.cause.name, "why", i.cause.why, "hint", i.cause.hint);
}

inline std::string json_of(const Finding& f) {
  return object("kind", f.kind, "verdict", f.verdict, "input", f.input_name, "at", f.at, "output",
                f.output, "along", f.along, "analytic", f.analytic, "numeric", f.numeric, "allowed",
                f.allowed, "note", f.note);
}

template <class T>
std::string json_of(const std::vector<T>& items) {
  std::string result;
  for (const T& item : items) result += (result.empty() ? "\n  " : ",\n  ") + json_of(item);
  return "[" + result + "]";
}

GRADUS_CHECK_INLINE std::string Report::json() const {
  return object("name", name, "verdict", verdict, "seed", seed, "forward_calls", counts.forward,
                "vjp_calls", counts.vjp, "conditions", counts.conditions, "inputs", inputs,
                "findings", findings, "notes", notes, "smallest_failing_shape", smallest,
                "reproduce", reproduce) +
         "\n";
}

}  // namespace gradus::check
