// What a check found: a verdict, the worst findings, counts, causes and notes. The checks of plain
// arrays and of tensors, and the C interface, fill in the same Report.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>

#include "gradus/check/raw/verdict.h"

namespace gradus::check {

/// How a finding was made.
enum class Kind {
  structure,      // the functions cannot be compared: sizes, exceptions, damage
  zero_upstream,  // an upstream gradient of zeros must give zeros
  linearity,      // dx must be linear in dy
  buffer,         // what was in dx before is added to, or written over, against the declaration
  element,        // one input element against one output element
  projection,     // against a weighted sum of all outputs, or along a direction of all elements
  condition       // right as it stands, wrong under a condition: other strides, other precision …
};

/// One thing that is wrong, or that cannot be seen. Unused parts are empty or 0.
struct Finding {
  Kind kind = Kind::element;
  Verdict verdict = Verdict::fail;
  std::size_t input = 0;
  std::string input_name = {};
  Dims at = {};         // which element of the input; empty for a single value, or a direction
  Dims output = {};     // which output; empty for a single value, or all of them, weighted
  bool along = false;   // along a direction in which all elements of the input move
  double analytic = 0;  // the derivative under test
  double numeric = 0;   // the measured one
  double allowed = 0;   // how far apart they may be
  std::string note = {};
};

/// Why a derivative is wrong: named only where that explains the whole difference.
struct Cause {
  std::string name = {};  // "MISSING TERM"; empty: no pattern was found
  std::string why = {};
  std::string hint = {};
};

/// What was compared for one input.
struct InputSummary {
  std::string name = {};
  Dims shape = {};
  bool differentiable = true;
  std::int64_t elements = 0;
  std::int64_t looked_at = 0;  // elements, one by one; the others along directions
  std::int64_t compared = 0;   // pairs of numbers
  std::int64_t wrong = 0;      // elements with a derivative that is wrong
  std::int64_t unseen = 0;     // elements with none wrong but one that cannot be seen
  std::int64_t kinks = 0;      // elements at a kink
  double largest = 0;          // the largest measured derivative
  std::string map = {};        // one character an element; empty where nothing is wrong
  std::int64_t map_rows = 0;   // > 0: the map is the Jacobian's, so many outputs × elements
  Cause cause = {};
};

struct Counts {
  std::int64_t forward = 0;  // calls
  std::int64_t vjp = 0;
  std::int64_t conditions = 0;  // under which the gradients were looked at

  void add(const Counts& more) {
    forward += more.forward;
    vjp += more.vjp;
  }
};

struct Report {
  std::string name;
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;  // worst first, for each input
  std::vector<InputSummary> inputs;
  std::vector<std::string> notes;
  Counts counts;
  std::uint64_t seed = 0;
  std::string reproduce;  // the call that gives this report again
  std::string smallest;   // of the shapes that fail, where smaller ones were tried

  explicit operator bool() const { return verdict == Verdict::pass; }

  void add(Finding finding) {
    verdict = worse(verdict, finding.verdict);
    findings.push_back(std::move(finding));
  }

  /// A finding about an input, and its cause where none is known yet.
  void add(Kind kind, std::size_t input, std::string note, const Cause& cause = {}) {
    InputSummary& summary = inputs[input];
    add({.kind = kind, .input = input, .input_name = summary.name, .note = std::move(note)});
    if (summary.cause.name.empty()) summary.cause = cause;
  }

  /// Plain text: no line over 76 columns; escape sequences only where `colour` asks for them.
  std::string text(bool colour = false) const;

  /// All of it, for programs. Numbers that JSON does not have are strings: "nan", "inf", "-inf".
  std::string json() const;
};

/// As JUnit's XML: one test case each, which fails unless it passes, with the text.
std::string junit(const std::vector<Report>& reports);

/// In colour where `out` is the terminal, unless NO_COLOR is set.
std::ostream& operator<<(std::ostream& out, const Report& report);

inline const char* to_string(Kind kind) {
  static constexpr std::array names{"structure", "zero upstream", "linearity", "buffer",
                                    "element",   "projection",    "condition"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace gradus::check
