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

/// {"name": value, …}
class JsonObject {
 public:
  template <class T>
  JsonObject& add(const char* name, const T& value) {
    text_ += (text_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + json_of(value);
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

inline std::string json_of(const InputSummary& i) {
  JsonObject o;
  o.add("name", i.name).add("shape", i.shape).add("differentiable", i.differentiable);
  o.add("elements", i.elements).add("compared", i.compared).add("wrong", i.wrong);
  o.add("unseen", i.unseen).add("kinks", i.kinks).add("largest", i.largest).add("map", i.map);
  return o.add("cause", i.cause.name).add("why", i.cause.why).add("hint", i.cause.hint).text();
}

inline std::string json_of(const Finding& f) {
  JsonObject o;
  o.add("kind", f.kind).add("verdict", f.verdict).add("input", f.input_name).add("at", f.at);
  o.add("output", f.output).add("along", f.along).add("analytic", f.analytic);
  return o.add("numeric", f.numeric).add("allowed", f.allowed).add("note", f.note).text();
}

template <class T>
std::string json_of(const std::vector<T>& items) {
  std::string result;
  for (const T& item : items) result += (result.empty() ? "\n  " : ",\n  ") + json_of(item);
  return "[" + result + "]";
}

inline std::string Report::json() const {
  JsonObject o;
  o.add("name", name).add("verdict", verdict).add("seed", seed);
  o.add("forward_calls", counts.forward).add("vjp_calls", counts.vjp);
  o.add("conditions", counts.conditions).add("inputs", inputs);
  o.add("findings", findings).add("notes", notes).add("smallest_failing_shape", smallest);
  return o.add("reproduce", reproduce).text() + "\n";
}

}  // namespace gradus::check
