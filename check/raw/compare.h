// The comparison of one input's derivatives: what was measured, and what is said of a disagreement.
#pragma once

#include "gradus/check/raw/evidence.h"
#include "gradus/check/raw/options.h"
#include "gradus/check/raw/probe.h"

namespace gradus::check::core {

/// The slopes of one input, [move][probe], and the largest of each kind of both.
struct Numeric {
  std::vector<Move> moves;
  std::vector<std::vector<Slope>> slopes;
  double largest[2][2] = {{0, 0}, {0, 0}};  // [is the move a direction][is the probe dense]

  double scale(const Move& move, const Probe& probe) const {
    return largest[move.along() ? 1 : 0][probe.dense() ? 1 : 0];
  }

  /// Is there an output whose derivative by this move could not be measured at all?
  bool blind(std::size_t move) const {
    const std::vector<Slope>& all = slopes[move];
    return std::any_of(all.begin(), all.end(), [](const Slope& n) { return !n.finite(); });
  }

  /// Takes the next move's column of the Jacobian.
  void append(const std::vector<Slope>& column, const std::vector<Probe>& probes,
              const Tolerance& tolerance) {
    const Move& move = moves[slopes.size()];
    std::vector<Slope> all;
    for (const Probe& probe : probes) {
      all.push_back(contract(column, probe));
      double& most = largest[move.along() ? 1 : 0][probe.dense() ? 1 : 0];
      if (clear(all.back(), 0, tolerance)) most = std::max(most, all.back().size());
    }
    slopes.push_back(std::move(all));
  }
};

/// What is wrong with one move, and how badly: the error in units of what is allowed.
struct Candidate {
  Finding finding;
  std::size_t move = 0;
  std::size_t probe = 0;
  double excess = -1;  // -1: nothing is wrong
};

/// Failures first, then rows before weighted sums (a row names the output), then the worst.
inline bool graver_than(const Candidate& a, const Candidate& b) {
  if (a.finding.verdict != b.finding.verdict) return a.finding.verdict == Verdict::fail;
  if (a.finding.kind != b.finding.kind) return a.finding.kind == Kind::element;
  return a.excess > b.excess;
}

inline Finding located(std::size_t input, const InputSummary& summary, const Move& move) {
  Finding result{.input = input, .input_name = summary.name, .along = move.along()};
  if (!move.along()) result.at = place(move.element, summary.shape);
  return result;
}

/// The character of the error map for a derivative that is wrong.
inline char map_character(double analytic, const Slope& n) {
  if (!std::isfinite(analytic)) return '?';
  if (analytic == 0) return '0';
  if (n.value * analytic < 0) return '!';
  return std::abs(analytic) < std::abs(n.value) ? '-' : '+';
}

/// Puts the numbers of a comparison into a finding. Of a row it shows the derivative itself,
/// without the weight that it was asked with.
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
    finding.note = "the differences around it are not finite, or grow as the step shrinks";
  } else if (judgement.verdict == Verdict::inconclusive) {
    finding.note =
        "the error estimate of the differences, " + number(own.estimate(), 2) + ", is too large";
  } else if (n.kink && own.lower() == own.upper()) {
    finding.note = "at a kink, where by the declared convention it is " + number(own.value, 6);
  } else if (n.kink) {
    finding.note = "at a kink: from " + number(own.lower(), 6) + " to " + number(own.upper(), 6) +
                   " would be right";
  } else if (!std::isfinite(a)) {
    finding.note = "not finite: 0 times infinity, or a value never written?";
  }
}

/// What the report should say of an input beside its findings.
inline std::vector<std::string> notes_about(InputSummary& summary, const Numeric& numeric,
                                            const Tolerance& t) {
  std::vector<std::string> notes;
  const std::string who = "input '" + summary.name + "'";
  std::int64_t first_kink = -1;
  bool all_zero = true;
  std::int64_t coarse = 0, sampled = 0, loose = 0;
  for (std::size_t j = 0; j < numeric.slopes.size(); ++j) {
    if (numeric.moves[j].along()) break;
    ++sampled;
    bool kink = false, undeclared = false, rough = false;
    for (const Slope& n : numeric.slopes[j]) {
      kink = kink || n.kink;
      undeclared = undeclared || (n.kink && n.lower() != n.upper());
      all_zero = all_zero && zero(n);
      rough = rough || (n.finite() && !zero(n) && !within(n, t.coarse, numeric.largest[0][0], t));
    }
    coarse += rough ? 1 : 0;
    summary.kinks += kink ? 1 : 0;
    if (!undeclared) continue;
    ++loose;
    if (first_kink < 0) first_kink = numeric.moves[j].element;
  }
  summary.largest = std::max(numeric.largest[0][0], numeric.largest[0][1]);
  if (summary.elements == 0) {
    notes.push_back(who + " has no elements: nothing to compare");
  } else if (all_zero && summary.compared > 0) {
    notes.push_back(who +
                    ": every measured derivative is 0. The output does not depend on it "
                    "here, so this sample tells little; choose other values");
  }
  if (sampled < summary.elements) {
    notes.push_back(share(sampled, summary.elements) + " of " + who +
                    " were compared one by one, "
                    "all of them along " +
                    std::to_string(numeric.moves.size() - static_cast<std::size_t>(sampled)) +
                    " directions");
  }
  if (coarse > 0) {
    notes.push_back(share(coarse, summary.elements) + " of " + who +
                    " could be compared in their first digits only: their "
                    "derivatives hardly rise above the rounding of forward");
  }
  if (first_kink >= 0) {
    notes.push_back(share(loose, summary.elements) + " of " + who +
                    " lie at a kink, the first at " + list(place(first_kink, summary.shape)) +
                    "; any value between the one-sided derivatives is taken as right there");
  }
  return notes;
}

/// A place in [0, count) that is wrong by itself, by halving; -1 if neither half of a wrong range
/// is wrong. wrong(first, last) asks about [first, last).
template <class Wrong>
std::int64_t find_place(std::int64_t count, Wrong wrong) {
  std::int64_t first = 0, last = count;
  while (last - first > 1) {
    const std::int64_t middle = first + (last - first) / 2;
    if (wrong(first, middle)) {
      last = middle;
    } else if (wrong(middle, last)) {
      first = middle;
    } else {
      return -1;
    }
  }
  return first;
}

/// Both Jacobians of input k, the measured one moved to the nearer end of a kink's interval, and
/// the largest error of the measurements. `zero` is empty, or the answer to an upstream of zeros.
inline Operand operand(std::size_t k, const Input& input, const Numeric& numeric,
                       const std::vector<Probe>& probes, const std::vector<Arguments>& answers,
                       const Arguments& zero) {
  const std::size_t n = input.values.size();
  const auto rows = static_cast<std::size_t>(
      std::count_if(probes.begin(), probes.end(), [](const Probe& p) { return !p.dense(); }));
  Operand result{input.name,
                 input.shape,
                 input.values,
                 Matrix(rows, n),
                 Matrix(rows, n),
                 0,
                 input.differentiable && !zero.empty() && largest_of(zero[k]) > 0};
  for (std::size_t p = 0; p < probes.size() && input.differentiable; ++p) {
    const Probe& probe = probes[p];
    result.ignores_upstream = result.ignores_upstream && close(answers[p][k], zero[k], 1e-9);
    for (std::size_t j = 0; j < n && !probe.dense(); ++j) {
      const auto row = static_cast<std::size_t>(probe.row);
      const Slope s = scaled(numeric.slopes[j][p], 1 / probe.weight[0]);
      const double a = answers[p][k][j] / probe.weight[0];
      result.analytic(row, j) = a;
      result.numeric(row, j) = std::isfinite(a) ? std::clamp(a, s.lower(), s.upper()) : s.value;
      result.unsure = std::max(result.unsure, s.finite() ? s.estimate() : 1e300);
    }
  }
  return result;
}

}  // namespace gradus::check::core
