// A report as JSON. It is written only, and simple enough for a writer of our own.
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check::core {

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
inline std::string json_of(std::int64_t value) { return std::to_string(value); }
inline std::string json_of(const Shape& value) { return list(value); }

inline std::string member(const char* name, const std::string& json) {
  return json_of(std::string(name)) + ": " + json;
}

template <class T, class ToJson>
std::string json_list(const std::vector<T>& items, ToJson to_json) {
  std::string result = "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    result += (i == 0 ? "\n    " : ",\n    ") + to_json(items[i]);
  }
  return result + "]";
}

inline std::string json_of(const InputSummary& i) {
  return "{" + member("name", json_of(i.name)) + ", " + member("shape", json_of(i.shape)) + ", " +
         member("differentiable", json_of(i.differentiable)) + ", " +
         member("elements", json_of(i.elements)) + ", " + member("compared", json_of(i.compared)) +
         ", " + member("wrong", json_of(i.wrong)) + ", " + member("unseen", json_of(i.unseen)) +
         ", " + member("kinks", json_of(i.kinks)) + ", " + member("largest", json_of(i.largest)) +
         ", " + member("map", json_of(i.map)) + ", " + member("cause", json_of(i.cause.name)) +
         ", " + member("why", json_of(i.cause.why)) + ", " + member("hint", json_of(i.cause.hint)) +
         "}";
}

inline std::string json_of(const Finding& f) {
  return "{" + member("kind", json_of(std::string(to_string(f.kind)))) + ", " +
         member("verdict", json_of(std::string(to_string(f.verdict)))) + ", " +
         member("input", json_of(f.input_name)) + ", " + member("at", json_of(f.at)) + ", " +
         member("output", json_of(f.output)) + ", " + member("along", json_of(f.along)) + ", " +
         member("analytic", json_of(f.analytic)) + ", " + member("numeric", json_of(f.numeric)) +
         ", " + member("allowed", json_of(f.allowed)) + ", " + member("note", json_of(f.note)) +
         "}";
}

inline std::string Report::json() const {
  const auto any = [](const auto& item) { return json_of(item); };
  return "{\n  " + member("name", json_of(name)) + ",\n  " +
         member("verdict", json_of(std::string(to_string(verdict)))) + ",\n  " +
         member("seed", std::to_string(seed)) + ",\n  " +
         member("forward_calls", json_of(counts.forward)) + ",\n  " +
         member("vjp_calls", json_of(counts.vjp)) + ",\n  " +
         member("inputs", json_list(inputs, any)) + ",\n  " +
         member("findings", json_list(findings, any)) + ",\n  " +
         member("notes", json_list(notes, any)) + ",\n  " +
         member("smallest_failing_shape", json_of(smallest)) + ",\n  " +
         member("reproduce", json_of(reproduce)) + "\n}\n";
}

}  // namespace gradus::check::core
