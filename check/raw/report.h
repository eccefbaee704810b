// Prints reports as text, JSON and JUnit XML.
#pragma once

#include <concepts>
#include <cstdlib>
#include <iostream>

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

inline std::string summary_line(const InputSummary& input, std::size_t index) {
  std::string result = joined("input ", index, " '", input.name, "' ", list(input.shape), ": ");
  if (!input.differentiable) return result + "not differentiable, skipped";
  const bool caused = !input.cause.name.empty();
  const auto some = [&input](std::int64_t n) {
    if (input.looked_at == input.elements) return share(n, input.elements);
    return joined(n, " of the ", input.looked_at, " checked elements");
  };
  if (input.wrong > 0) result += some(input.wrong) + " wrong, ";
  if (input.wrong == 0 && caused) result += "side-effect checks failed, ";
  if (input.unseen > 0) result += some(input.unseen) + " cannot be measured, ";
  const bool fine = input.wrong == 0 && input.unseen == 0 && !caused && input.compared > 0;
  result = joined(result, fine ? "ok, " : "", input.compared, " values compared");
  if (input.wrong == 0 || input.error == 0) return result;  // below that it is rounding
  return result + ", largest error " + number(input.error, 2) + " of the largest derivative";
}

/// Returns ": 1.38 times what it should be", or "" if the ratio is not informative.
inline std::string in_words(const Finding& f) {
  const double ratio = f.analytic / f.numeric, size = std::abs(ratio);
  if (!std::isfinite(ratio)) return "";
  if (ratio == 0) return ": missing";
  if (std::abs(ratio + 1) < 1e-6) return ": the sign is wrong";
  if (size > 1e4 || size < 1e-4) return "";
  return ": " + number(ratio, std::abs(size - 1) < 1e-3 ? 10 : 4) + " times what it should be";
}

inline bool has_numbers(const Finding& f) {
  return f.kind == Kind::element || f.kind == Kind::projection;
}

inline std::string place_of(const Finding& f) {
  const bool all = f.kind == Kind::projection && f.output.empty();
  return (all ? "d (weighted sum of all outputs)" : "d " + indexed(f.output_name, f.output)) +
         (f.along ? " along a direction of all of " + f.input_name
                  : " / d " + indexed(f.input_name, f.at));
}

inline std::string numbers_in(const Finding& f) {
  return "analytic " + number(f.analytic, 10) + "  numeric " + number(f.numeric, 10) +
         "  allowed " + number(f.allowed, 2);
}

GRADUS_CHECK_INLINE std::string Report::headline() const {
  if (findings.empty()) return verdict == Verdict::pass || notes.empty() ? "" : notes[0];
  const Finding& f = findings[0];
  return has_numbers(f) ? place_of(f) + in_words(f) + "  " + numbers_in(f) : f.note;
}

inline std::string described(const Finding& f) {
  if (!has_numbers(f)) return wrapped(f.note, 4);
  const bool seen = f.verdict != Verdict::inconclusive;
  return wrapped(place_of(f) + (seen ? in_words(f) : " cannot be measured"), 4) +
         wrapped(numbers_in(f), 6) + (f.note.empty() ? "" : wrapped(f.note, 6));
}

inline std::string drawn_map(const InputSummary& input) {
  const bool jacobian = input.map_rows > 0;
  const Dims shape = jacobian ? Dims{input.map_rows, input.elements} : input.shape;
  const std::size_t rank = shape.size(), first = input.map.find_first_not_of(".~");
  if (first == std::string::npos || input.map.size() < 2) return "";
  const auto columns = static_cast<std::size_t>(shape[rank - 1]);
  const auto rows = rank > 1 ? static_cast<std::size_t>(shape[rank - 2]) : 1;
  static constexpr std::array legend{". correct",    "- too small",    "+ too large",   "0 missing",
                                     "! wrong sign", "? not a number", "~ not measured"};
  std::string head = jacobian ? "map of d outputs / d " + input.name + ", one row per output"
                              : "map of " + input.name,
              text;
  const std::size_t page = first / (rows * columns) * rows * columns;
  const std::size_t top = std::max<std::size_t>((first - page) / columns, 11) - 11;
  if (page + top > 0) head += " from " + list(index_of(page + top * columns, shape));
  for (const char* entry : legend)
    if (input.map.find(entry[0]) != std::string::npos) head += std::string("   ") + entry;
  for (std::size_t r = top; r < std::min(rows, top + 12); ++r) {
    const std::string row = input.map.substr(page + r * columns, columns);
    text += "      " + row.substr(0, 60) + (columns > 60 ? "…" : "") + "\n";
  }
  return wrapped(head, 4) + text;
}

inline std::string drawn_cause(const InputSummary& input) {
  const Cause& cause = input.cause;
  if (cause.why.empty() && !cause.name.empty()) return "";
  if (cause.name.empty()) {
    const bool sampled = input.map.find('~') != std::string::npos && input.unseen == 0;
    if (input.map.empty() || input.elements < 2) return "";
    return wrapped(sampled ? "likely cause: unknown from a sample; try smaller inputs"
                           : "likely cause: no pattern explains all errors",
                   4);
  }
  return wrapped("likely cause: " + cause.name + " - " + cause.why, 4) +
         (cause.hint.empty() ? "" : wrapped("hint: " + cause.hint, 4));
}

GRADUS_CHECK_INLINE std::string Report::text(bool colour) const {
  static constexpr std::array codes{"\033[1;32m", "\033[1;31m", "\033[1;33m", "\033[1;33m"};
  const std::string word = to_string(verdict);
  std::string result = wrapped("GRADCHECK " + word + "  " + name, 0);
  if (colour)
    result.replace(10, word.size(), codes[static_cast<std::size_t>(verdict)] + word + "\033[0m");
  for (std::size_t k = 0; k < inputs.size(); ++k) result += wrapped(summary_line(inputs[k], k), 2);
  std::string said;
  for (std::size_t f = 0; f < findings.size(); ++f) {
    const std::size_t k = findings[f].input;
    result += described(findings[f]);
    const bool last = f + 1 == findings.size() || findings[f + 1].input != k;
    if (!last || k >= inputs.size()) continue;
    const std::string cause = drawn_cause(inputs[k]);
    result += drawn_map(inputs[k]) +
              (!said.empty() && cause == said ? wrapped("likely cause: as above", 4) : cause);
    if (!inputs[k].cause.name.empty()) said = cause;
  }
  for (const std::string& note : notes) result += wrapped("note: " + note, 2);
  if (!smallest.empty()) result += wrapped("smallest failing shape: " + smallest, 2);
  if (verdict != Verdict::pass && !reproduce.empty())
    result += wrapped("reproduce: " + reproduce, 2);
  const std::string more = counts.conditions == 0 ? "" : joined(counts.conditions, " conditions, ");
  return result + wrapped(joined(counts.forward, " forward and ", counts.vjp, " vjp calls, ", more,
                                 "seed ", seed),
                          2);
}

inline bool in_colour(const std::ostream& out) {
  if (std::getenv("NO_COLOR") != nullptr) return false;
  return (out.rdbuf() == std::cout.rdbuf() && is_terminal(1)) ||
         (out.rdbuf() == std::cerr.rdbuf() && is_terminal(2));
}

GRADUS_CHECK_INLINE std::ostream& operator<<(std::ostream& out, const Report& report) {
  return out << report.text(in_colour(out));
}

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
template <std::integral T>
std::string json_of(T value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  return std::to_string(value);
}
inline std::string json_of(const Dims& value) { return list(value); }
template <class Enum>
requires std::is_enum_v<Enum> std::string json_of(Enum value) {
  return json_of(std::string(to_string(value)));
}
template <class T>
std::string json_of(const std::vector<T>& items) {
  std::string result;
  for (const T& item : items) result += (result.empty() ? "\n  " : ",\n  ") + json_of(item);
  return "[" + result + "]";
}

template <class... Parts>
std::string object(const Parts&... parts) {
  std::string result;
  int count = 0;
  const auto put = [&](const auto& part) {
    result += (count == 0 ? "{" : count % 2 == 1 ? ": " : ", ") + json_of(part);
    ++count;
  };
  (put(parts), ...);
  return result + "}";
}

inline std::string json_of(const InputSummary& i) {
  return object("name", i.name, "shape", i.shape, "differentiable", i.differentiable, "elements",
                i.elements, "compared", i.compared, "wrong", i.wrong, "unseen", i.unseen, "kinks",
                i.kinks, "largest", i.largest, "error", i.error, "map", i.map, "map_rows",
                i.map_rows, "cause", i.cause.name, "why", i.cause.why, "hint", i.cause.hint);
}

inline std::string json_of(const Finding& f) {
  return object("kind", f.kind, "verdict", f.verdict, "input", f.input_name, "at", f.at,
                "output_name", f.output_name, "output", f.output, "along", f.along, "analytic",
                f.analytic, "numeric", f.numeric, "allowed", f.allowed, "note", f.note);
}

GRADUS_CHECK_INLINE std::string Report::json() const {
  return object("name", name, "verdict", verdict, "seed", seed, "forward_calls", counts.forward,
                "vjp_calls", counts.vjp, "conditions", counts.conditions, "missed", missed,
                "inputs", inputs, "findings", findings, "notes", notes, "smallest_failing_shape",
                smallest, "reproduce", reproduce) +
         "\n";
}

/// Escapes text for XML 1.0, whose only valid control characters are tab, line feed and carriage
/// return.
inline std::string xml_of(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\t' || c == '\r';
    const bool control = static_cast<unsigned char>(c) < 0x20 && !space;
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '"' ? "&quot;"
                         : std::string(1, control ? '?' : c);
  }
  return result;
}

GRADUS_CHECK_INLINE std::string junit(const std::vector<Report>& reports) {
  std::string cases;
  std::size_t failures = 0;
  for (const Report& report : reports) {
    const std::string text = xml_of(report.text());
    failures += report ? 0 : 1;
    cases += "  <testcase classname=\"gradus.check\" name=\"" + xml_of(report.name) + "\">\n";
    cases += report ? "    <system-out>" + text + "</system-out>\n"
                    : joined("    <failure message=\"", to_string(report.verdict), "\">", text,
                             "</failure>\n");
    cases += "  </testcase>\n";
  }
  return joined(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"gradus.check\" tests=\"",
      reports.size(), "\" failures=\"", failures, "\">\n", cases, "</testsuite>\n");
}

}  // namespace gradus::check
