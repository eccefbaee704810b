// Compares the derivatives of one input with the measured slopes, and describes mismatches.
#pragma once

#include "gradus/check/raw/evidence.h"
#include "gradus/check/raw/probe.h"

namespace gradus::check {

struct Numeric {
  const std::vector<Probe>* probes = nullptr;
  Tolerance tolerance = {};
  std::vector<Move> moves = {};
  std::array<double, 2> least_scale = {};  // [dense]

  /// Drops the moves that were not measured. Keeps the first `done` of the `elements` moves of
  /// single elements, and the moves along directions before index `seen`.
  void keep(std::size_t done, std::size_t elements, std::size_t seen) {
    moves.resize(seen);
    moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(done),
                moves.begin() + static_cast<std::ptrdiff_t>(elements));
  }

  /// The largest derivative of this move, from which the allowed error follows.
  double scale(const Move& move, bool dense) const {
    double result = least_scale[dense];
    for (std::size_t p = 0; p < probes->size(); ++p)
      if ((*probes)[p].dense() == dense && resolved(move.slopes[p], 0, tolerance))
        result = std::max(result, move.slopes[p].size());
    return result;
  }

  /// Makes allowed errors relative to the largest derivative of all moves.
  void compare_with_largest() {
    std::array<double, 2> largest{};
    for (const bool dense : {false, true})
      for (const Move& move : moves) largest[dense] = std::max(largest[dense], scale(move, dense));
    least_scale = largest;
  }

  /// True if every measured derivative is 0. If `stationary`, at least one second derivative must
  /// also be nonzero.
  bool flat(bool stationary = false) const {
    bool curved = false;
    for (const Move& move : moves)
      for (const Slope& n : move.slopes) {
        if (!n.looks_zero()) return false;
        curved = curved || n.bend > 100 * n.estimate();
      }
    return !moves.empty() && (curved || !stationary);
  }
};

/// The worst comparison of one move (probe.h). `excess` is the error relative to the allowed error.
struct Mismatch {
  Finding finding = {.verdict = Verdict::pass};
  std::size_t move = 0;
  std::size_t probe = 0;
  double excess = 0;
};

/// Orders failures first, then rows (which identify the output), then larger errors.
inline bool worse_than(const Mismatch& a, const Mismatch& b) {
  if (a.finding.verdict != b.finding.verdict) return a.finding.verdict == Verdict::fail;
  if (a.finding.kind != b.finding.kind) return a.finding.kind == Kind::element;
  return a.excess > b.excess;
}

inline Finding located(std::size_t input, const InputSummary& summary, const Move& move) {
  Finding result{.input = input, .input_name = summary.name, .along = move.along()};
  if (!move.along()) result.at = index_of(*move.element, summary.shape);
  return result;
}

inline void describe_numbers(Finding& finding, double a, const Slope& n, const Probe& probe,
                             const Judgement& judgement) {
  const double w = probe.dense() ? 1.0 : probe.weight[0];
  const Slope own = scaled(n, 1 / w);
  finding.kind = probe.dense() || finding.along ? Kind::projection : Kind::element;
  finding.verdict = judgement.verdict;
  finding.analytic = a / w + 0.0;  // no -0
  finding.numeric = own.value + 0.0;
  finding.allowed = judgement.allowed / std::abs(w);
  if (!n.finite()) {
    finding.note =
        "the differences here are not finite, grow as the step shrinks, or consist of rounding. "
        "Possible reasons: an edge, a jump, an infinite derivative. Choose other values";
  } else if (judgement.verdict == Verdict::inconclusive) {
    finding.note =
        "the differences are accurate only to " + number(own.estimate(), 2) + ": " +
        (n.only_rounding() ? "rounding of forward hides the rest. Remove an offset, or choose "
                             "inputs where it changes more"
                           : "forward is noisy (use .resolution(1e-3)), or its derivative is "
                             "infinite (choose other values)");
  } else if (n.kink && own.lower() == own.upper()) {
    finding.note = "at a kink, where the declared convention gives " + number(own.value, 6);
  } else if (n.kink) {
    finding.note = "at a kink: any value from " + number(own.lower(), 6) + " to " +
                   number(own.upper(), 6) + " is correct";
  } else if (!std::isfinite(a)) {
    finding.note = "not finite: 0 times infinity, or an uninitialized value?";
  }
}

/// Checks that the gradient for a zero upstream gradient is 0. Accepts the NaN of 0·inf where f has
/// no derivative.
inline std::optional<Finding> not_zero(std::size_t input, const InputSummary& summary,
                                       const Numeric& numeric, const Values& dx) {
  for (const Move& move : numeric.moves) {
    const double value = move.of(dx);
    if (value == 0) continue;
    const bool forgiven = !std::isfinite(value) && move.blind();
    Finding finding = located(input, summary, move);
    finding.kind = Kind::zero_upstream;
    finding.verdict = forgiven ? Verdict::inconclusive : Verdict::fail;
    finding.analytic = value;
    finding.note = joined("d", indexed(finding.input_name, finding.at), " is ", number(value, 10),
                          " for an upstream gradient of zeros; it must be 0. ",
                          std::isfinite(value) ? "Does every term contain dy?"
                                               : "0 times infinity, or an uninitialized value?");
    return finding;
  }
  return {};
}

inline std::vector<std::string> notes_about(InputSummary& summary, const Numeric& numeric,
                                            bool sample_said) {
  const Tolerance& t = numeric.tolerance;
  std::vector<std::string> notes;
  const std::string input = "input '" + summary.name + "'";
  const auto some = [&](std::int64_t n) { return share(n, summary.elements) + " of " + input; };
  std::optional<std::size_t> first_kink;
  for (const Move& move : numeric.moves)
    if (!move.along()) summary.largest = largest_resolved(move.slopes, summary.largest, t);
  std::int64_t coarse = 0, undeclared = 0;
  for (const Move& move : numeric.moves) {
    if (move.along()) break;
    const bool loose = move.kinked();
    bool kink = false, rough = false;
    for (const Slope& n : move.slopes) {
      kink = kink || n.kink;
      rough = rough || (!n.looks_zero() && n.finite() && !within(n, 1e-3, summary.largest, t));
    }
    summary.kinks += kink ? 1 : 0;
    coarse += rough ? 1 : 0;
    undeclared += loose ? 1 : 0;
    if (loose) first_kink = std::min(first_kink.value_or(SIZE_MAX), *move.element);
  }
  if (summary.elements == 0) {
    notes.push_back(input + " has no elements to compare");
  } else if (numeric.flat()) {
    notes.push_back(input +
                    ": every measured derivative is 0. This is a stationary point, or the output "
                    "does not depend on it; also check other values");
  }
  if (summary.looked_at < summary.elements && !sample_said)
    notes.push_back(joined(some(summary.looked_at), " were compared one by one, all of them along ",
                           std::ssize(numeric.moves) - summary.looked_at, " directions"));
  if (coarse > 0)
    notes.push_back(some(coarse) +
                    " could be compared only in their first digits, as their derivatives hardly "
                    "exceed the rounding of forward");
  if (first_kink)
    notes.push_back(some(undeclared) + " are at a kink, the first at " +
                    list(index_of(*first_kink, summary.shape)) +
                    "; any value between the one-sided derivatives is accepted there");
  return notes;
}

/// Bisects [0, count) for a single wrong index. Returns nothing if a wrong range has no wrong half.
template <class Wrong>
std::optional<std::size_t> find_place(std::size_t count, Wrong wrong) {
  std::size_t first = 0, last = count;
  while (last - first > 1) {
    const std::size_t middle = first + (last - first) / 2;
    if (wrong(first, middle)) {
      last = middle;
    } else if (wrong(middle, last)) {
      first = middle;
    } else {
      return {};
    }
  }
  return first;
}

}  // namespace gradus::check
