// What a check found: a verdict, the worst findings, counts, notes, and a text of ≤ 76 columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <locale>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/check/raw/verdict.h"

namespace gradus::check::raw {

/// How a finding was made.
enum class Kind {
  structure,      // the derivative has the wrong number of parts or of values
  zero_upstream,  // an upstream gradient of zeros must give zeros
  element,        // one input element against one output element
  projection      // one input element against a weighted sum of all outputs
};

/// One thing that is wrong, or that cannot be seen. Unused parts are empty or 0.
struct Finding {
  Kind kind = Kind::element;
  Verdict verdict = Verdict::fail;
  std::size_t input = 0;
  std::string input_name;
  std::vector<std::int64_t> at;      // which element of the input
  std::vector<std::int64_t> output;  // which output; empty: all, weighted
  double analytic = 0;               // the derivative under test
  double numeric = 0;                // the measured one
  double allowed = 0;                // how far apart they may be
  std::string note;
};

/// What was compared for one input.
struct InputSummary {
  std::string name;
  std::vector<std::int64_t> shape;
  bool differentiable = true;
  std::int64_t elements = 0;
  std::int64_t compared = 0;         // pairs of numbers
  std::int64_t wrong = 0;            // elements with a derivative that is wrong
  std::int64_t unseen = 0;           // elements with none wrong but one that cannot be seen
  std::int64_t kinks = 0;            // elements at a kink
  double largest = 0;                // the largest measured derivative
};

struct Counts {
  std::int64_t forward = 0;  // calls
  std::int64_t vjp = 0;
};

inline std::string list(const std::vector<std::int64_t>& numbers) {
  std::string result = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    result += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
  }
  return result + "]";
}

inline std::string number(double value, int digits) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(digits);
  out << value;
  return out.str();
}

/// Breaks at spaces (or inside a word that is longer than a line) so that no line is over 76
/// columns; what follows the first line is indented further. Counts characters of UTF-8.
inline std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t columns = 76;
  std::string result(indent, ' ');
  std::size_t column = indent, last_space = std::string::npos;
  for (char c : text) {
    if (c == '\n') c = ' ';
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!continues && column == columns) {
      const bool at_space = last_space != std::string::npos || c == ' ';
      std::string rest;
      if (c != ' ' && at_space) {
        rest = result.substr(last_space + 1);
        result.resize(last_space);
      }
      result += "\n" + std::string(indent + 2, ' ') + rest;
      column = indent + 2;
      for (char r : rest) column += (static_cast<unsigned char>(r) & 0xC0U) != 0x80U ? 1U : 0U;
      last_space = std::string::npos;
      if (c == ' ') continue;
    }
    if (c == ' ' && column > indent) last_space = result.size();
    result += c;
    if (!continues) ++column;
  }
  return result + "\n";
}

struct Report {
  std::string name;
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;  // gravest first
  std::vector<InputSummary> inputs;
  std::vector<std::string> notes;
  Counts counts;
  std::uint64_t seed = 0;

  explicit operator bool() const { return verdict == Verdict::pass; }

  void add(Finding finding) {
    verdict = graver(verdict, finding.verdict);
    findings.push_back(std::move(finding));
  }

  std::string text() const {
    std::string result =
        wrapped(std::string("GRADCHECK ") + to_string(verdict) + "  " + name, 0);
    for (const InputSummary& input : inputs) result += wrapped(line(inputs, input), 2);
    for (const Finding& finding : findings) result += describe(finding);
    for (const std::string& note : notes) result += wrapped("note: " + note, 2);
    return result + wrapped(std::to_string(counts.forward) + " forward and " +
                                std::to_string(counts.vjp) + " vjp calls, seed " +
                                std::to_string(seed),
                            2);
  }

 private:
  static std::string line(const std::vector<InputSummary>& all, const InputSummary& input) {
    const auto index = static_cast<std::size_t>(&input - all.data());
    std::string result =
        "input " + std::to_string(index) + " '" + input.name + "' " + list(input.shape) + ": ";
    if (!input.differentiable) return result + "not differentiable, left out";
    if (input.wrong == 0 && input.unseen == 0 && input.compared > 0) result += "ok, ";
    const std::string of = " of " + std::to_string(input.elements) + " elements ";
    if (input.wrong > 0) result += std::to_string(input.wrong) + of + "wrong, ";
    if (input.unseen > 0) result += std::to_string(input.unseen) + of + "cannot be seen, ";
    return result + std::to_string(input.compared) + " numbers compared";
  }

  static std::string describe(const Finding& f) {
    const std::string where = f.input_name + list(f.at);
    std::string head;
    switch (f.kind) {
      case Kind::structure: return wrapped(f.note, 4);
      case Kind::zero_upstream:
        return wrapped("d" + where + " is " + number(f.analytic, 10) +
                       " for an upstream gradient of zeros; it must be 0. " + f.note, 4);
      case Kind::element: head = "d out" + list(f.output) + " / d " + where; break;
      case Kind::projection: head = "d (weighted sum of all outputs) / d " + where; break;
    }
    if (f.verdict == Verdict::inconclusive) head += " cannot be seen";
    std::string result = wrapped(head, 4);
    result += wrapped("analytic " + number(f.analytic, 10) + "  numeric " + number(f.numeric, 10) +
                      "  allowed " + number(f.allowed, 2), 6);
    return f.note.empty() ? result : result + wrapped(f.note, 6);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Report& report) {
  return out << report.text();
}

}  // namespace gradus::check::raw
