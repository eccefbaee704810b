// The result of a check. Checks of plain arrays and of tensors, and the C interface, fill in the
// same Report.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>

#include "gradus/check/raw/verdict.h"

namespace gradus::check {

enum class Kind {
  structure,      // the functions cannot be compared: sizes, exceptions, invalid writes
  zero_upstream,  // an upstream gradient of zeros must give zeros
  linearity,      // dx must be linear in dy
  buffer,         // the old content of dx is added to or overwritten, contrary to the declaration
  element,        // one input element against one output element
  projection,     // against a weighted sum of all outputs, or along a direction of all elements
  condition       // wrong only under a condition: other strides, other precision …
};

/// One mismatch, or one derivative that could not be measured. Unused members are empty or 0.
struct Finding {
  Kind kind = Kind::element;
  Verdict verdict = Verdict::fail;
  std::size_t input = 0;
  std::string input_name = {};
  Dims at = {};         // index in the input; empty for a single value or a direction
  Dims output = {};     // index in the output; empty for a single value or a weighted sum of all
  bool along = false;   // along a direction in which all elements of the input move
  double analytic = 0;  // the derivative under test
  double numeric = 0;   // the measured derivative
  double allowed = 0;   // allowed difference
  std::string note = {};
};

/// Why a derivative is wrong. Given only if it explains the entire difference.
struct Cause {
  std::string name = {};  // "MISSING TERM"; empty: no pattern was found
  std::string why = {};
  std::string hint = {};
};

/// The comparisons for one input.
struct InputSummary {
  std::string name = {};
  Dims shape = {};
  bool differentiable = true;
  std::int64_t elements = 0;
  std::int64_t looked_at = 0;  // elements moved one by one; the others move along directions
  std::int64_t compared = 0;   // pairs of values
  std::int64_t wrong = 0;      // elements with a wrong derivative
  std::int64_t unseen = 0;     // other elements with a derivative that could not be measured
  std::int64_t kinks = 0;      // elements at a kink
  double largest = 0;          // the largest measured derivative
  std::string map = {};        // one character per element; empty if none is wrong
  std::int64_t map_rows = 0;   // > 0: the map is [map_rows outputs, elements] of a Jacobian
  Cause cause = {};
};

struct Counts {
  std::int64_t forward = 0;  // calls
  std::int64_t vjp = 0;
  std::int64_t conditions = 0;  // conditions under which gradients were compared

  void add(const Counts& more) {
    forward += more.forward;
    vjp += more.vjp;
  }
};

struct Report {
  std::string name;
  Verdict verdict = Verdict::pass;
  std::vector<Finding> findings;  // sorted by input, worst first
  std::vector<InputSummary> inputs;
  std::vector<std::string> notes;
  Counts counts;
  std::uint64_t seed = 0;
  std::string reproduce;  // the call that reproduces this report
  std::string smallest;   // the smallest failing shapes, if smaller ones were tried

  explicit operator bool() const { return verdict == Verdict::pass; }

  void add(Finding finding) {
    verdict = worse(verdict, finding.verdict);
    findings.push_back(std::move(finding));
  }

  /// Adds a finding about an input, and its cause if the input has none yet.
  void add(Kind kind, std::size_t input, std::string note, const Cause& cause = {}) {
    InputSummary& summary = inputs[input];
    add({.kind = kind, .input = input, .input_name = summary.name, .note = std::move(note)});
    if (summary.cause.name.empty()) summary.cause = cause;
  }

  /// Plain text with lines of at most 76 columns. Escape sequences only if `colour`.
  std::string text(bool colour = false) const;

  /// All data as JSON. Values that JSON lacks are strings: "nan", "inf", "-inf".
  std::string json() const;
};

/// JUnit XML with one test case per report; it fails unless the verdict is PASS.
std::string junit(const std::vector<Report>& reports);

/// Writes the text, in color if `out` is a terminal and NO_COLOR is not set.
std::ostream& operator<<(std::ostream& out, const Report& report);

inline const char* to_string(Kind kind) {
  static constexpr std::array names{"structure", "zero upstream", "linearity", "buffer",
                                    "element",   "projection",    "condition"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace gradus::check
