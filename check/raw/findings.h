// The result of a check, shared by checks of arrays, checks of tensors and the C interface.
#pragma once

#include <iosfwd>
#include <string>
#include <type_traits>
#include <utility>

#include "gradus/check/raw/missed.h"
#include "gradus/check/raw/verdict.h"

namespace gradus::check {

/// The comparison that a Finding reports.
enum class Kind {
  structure,      // not comparable: wrong sizes, exceptions, invalid writes
  zero_upstream,  // dy = 0 must give 0
  linearity,      // dx must be linear in dy
  buffer,         // buffer content was added to or overwritten, contrary to the declaration
  element,        // one input element against one output element
  projection,     // a weighted sum of outputs, or a move of all elements along a direction
  condition       // wrong only under a condition: strides, precision …
};

/// A mismatch, or a derivative that could not be measured. Unused members are empty or 0.
struct Finding {
  Kind kind = Kind::element;
  Verdict verdict = Verdict::fail;
  std::size_t input = 0;
  std::string input_name = {};
  Dims at = {};      // input index; empty for a scalar or a direction
  Dims output = {};  // output index; empty for a scalar or a weighted sum
  std::string output_name = "out";
  bool along = false;   // all elements move along a direction
  double analytic = 0;  // derivative under test
  double numeric = 0;
  double allowed = 0;     // largest accepted |analytic − numeric|
  std::string note = {};  // details as text
};

/// Why a derivative is wrong. A cause must explain the entire difference.
struct Cause {
  std::string name = {};  // "MISSING TERM"; empty if no pattern was found
  std::string why = {};   // evidence for the cause
  std::string hint = {};  // the suggested fix
};

/// Totals of one input for the report.
struct InputSummary {
  std::string name = {};
  Dims shape = {};
  bool differentiable = true;
  std::int64_t elements = 0;   // elements of the input
  std::int64_t looked_at = 0;  // elements moved one by one; the others move along directions
  std::int64_t compared = 0;
  std::int64_t wrong = 0;     // elements with a wrong derivative
  std::int64_t unseen = 0;    // elements that could not be measured
  std::int64_t kinks = 0;     // elements at a kink
  double largest = 0;         // largest measured derivative
  double error = 0;           // largest error, relative to the largest derivative
  std::string map = {};       // one character per element; empty if all are correct
  std::int64_t map_rows = 0;  // > 0: `map` shows a Jacobian [map_rows, elements]
  Coverage coverage = {};
  Cause cause = {};
};

/// Work done by a check.
struct Counts {
  std::int64_t forward = 0;     // calls of forward
  std::int64_t vjp = 0;         // calls of vjp
  std::int64_t conditions = 0;  // conditions tested, for checks of tensors

  void add(const Counts& more) {
    forward += more.forward;
    vjp += more.vjp;
  }
};

/// A line of code that the report of a check refers to: the caller of the check by default.
struct SourceLine {
  std::string file = {};
  int line = 0;  // from 1

  /// As a default argument, returns the caller's line.
  static SourceLine current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// The name of a check, and the line that names it.
struct Named {
  std::string name;
  SourceLine place;

  // NOLINTBEGIN: raw("f", …) is intended
  Named(std::string text, SourceLine line = SourceLine::current())
      : name(std::move(text)), place(std::move(line)) {}
  Named(const char* text, SourceLine line = SourceLine::current())
      : name(text), place(std::move(line)) {}
  // NOLINTEND
};

/// The result of a check. Converts to true if the check passed; << prints it as text.
struct Report {
  std::string name;
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;  // sorted by input, worst first
  std::vector<InputSummary> inputs;
  std::vector<std::string> notes;  // remarks for the reader, such as untested elements
  Counts counts;
  double missed = 0;  // bound on the probability that a wrong entry was missed (missed.h)
  std::uint64_t seed = 0;
  std::string reproduce;  // call that repeats the check
  std::string smallest;   // smallest shapes that fail
  SourceLine place = {};  // where CI shows the report

  explicit operator bool() const { return verdict == Verdict::pass; }

  void add(Finding finding) {
    verdict = worse(verdict, finding.verdict);
    findings.push_back(std::move(finding));
  }

  /// Adds a finding, and sets the input's cause if it has none.
  void add(Kind kind, std::size_t input, std::string note, const Cause& cause = {}) {
    InputSummary& summary = inputs[input];
    add({.kind = kind, .input = input, .input_name = summary.name, .note = std::move(note)});
    if (summary.cause.name.empty()) summary.cause = cause;
  }

  /// Returns text in lines of at most 76 columns, with escape sequences if `colour` is true.
  std::string text(bool colour = false) const;

  /// Returns JSON, in which "nan", "inf" and "-inf" are strings.
  std::string json() const;

  /// Returns the first problem in one line, or "" if the check passed.
  std::string headline() const;

  /// Returns SARIF 2.1.0 with one result, at `place`, unless the check passed.
  std::string sarif() const;

  /// Returns the line that GitHub shows at `place` in a pull request, or "" if the check passed.
  std::string annotation() const;
};

/// Returns JUnit XML with one test case per report. A test case fails unless its report is a PASS.
std::string junit(const std::vector<Report>& reports);

/// Returns SARIF 2.1.0 with one result for each report that is not a PASS.
std::string sarif(const std::vector<Report>& reports);

/// Ends a test program (ci.h).
int report_all(const std::vector<Report>& reports);

/// Prints in color if `out` is a terminal and NO_COLOR is not set.
std::ostream& operator<<(std::ostream& out, const Report& report);

inline const char* to_string(Kind kind) {
  static constexpr std::array names{"structure", "zero upstream", "linearity", "buffer",
                                    "element",   "projection",    "condition"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace gradus::check
