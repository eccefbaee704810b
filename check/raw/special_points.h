// Detects points that hide errors: zeros hide a missing term, a symmetric matrix a transposition,
// equal values a swap. At such a point, a nearby sample is also checked.
#pragma once

#include <map>

#include "gradus/check/raw/checked_function.h"
#include "gradus/check/raw/compare.h"

namespace gradus::check {

inline bool has_unit_norm(const Values& x) {
  return x.size() > 1 &&
         std::abs(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) - 1) < 1e-12;
}

/// Returns the special property of the inputs, or "". Symmetric, diagonal and constant inputs have
/// zeros or equal values, so they need no separate test.
inline std::string special_point(const std::vector<Input>& inputs,
                                 const std::vector<Numeric>& numeric = {}) {
  Values all;
  bool unit_norm = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Input& input = inputs[k];
    if (!input.differentiable || input.tangent) continue;
    if (k < numeric.size() && numeric[k].flat(true)) return "a derivative of 0 everywhere";
    all.insert(all.end(), input.values.begin(), input.values.end());
    unit_norm = unit_norm || has_unit_norm(input.values);
  }
  std::sort(all.begin(), all.end());
  if (std::find(all.begin(), all.end(), 0) != all.end()) return "zeros";
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) return "equal values";
  return unit_norm ? "a length of 1" : "";
}

inline std::vector<Input> neighbor_of(std::vector<Input> inputs, std::uint64_t seed) {
  Random random(seed + 99);
  for (Input& input : inputs) {
    if (!input.differentiable || input.tangent) continue;
    const bool unit_norm = has_unit_norm(input.values);
    const double typical = rms(input.values);
    for (double& v : input.values) v += 0.03 * unit_of(v, typical) * random.upstream();
    const double norm = rms(input.values) * std::sqrt(static_cast<double>(input.values.size()));
    for (double& v : input.values) v /= unit_norm ? norm : 1;
  }
  return inputs;
}

inline void add_extra(Report& report, Finding finding) {
  report.inputs[finding.input].wrong += 1;
  report.add(std::move(finding));
}

inline void add_neighborhood(Report& report, const std::string& special, const Report& there) {
  const std::string where = "the inputs have " + special + ", which hides mistakes";
  report.counts.add(there.counts);
  if (there.verdict == Verdict::fail) {
    Finding finding = there.findings.front();
    finding.note =
        where + "; the finding is at a point nearby (only_here() skips it). " + finding.note;
    return add_extra(report, std::move(finding));
  }
  report.notes.push_back(
      where + (there ? "; a sample nearby is correct too" : "; nothing could be measured nearby"));
}

/// Moves equal elements at kinks together. A max that passes the full gradient to two tied elements
/// is correct for each element, but wrong for the pair. Skips elements that already have a finding.
inline std::optional<Finding> wrong_tie(CheckedFunction& function,
                                        const std::vector<Numeric>& numeric,
                                        const std::vector<Probe>& probes, const Goal& goal,
                                        const Report& report) {
  std::map<double, std::vector<Place>> tied;
  for (std::size_t k = 0; k < numeric.size(); ++k)
    for (const Move& move : numeric[k].moves) {
      if (move.along() || !move.kinked()) continue;
      const std::string& map = report.inputs[k].map;
      const bool wrong = !map.empty() && map[*move.element] != '.' && map[*move.element] != '~';
      if (!wrong) tied[function.inputs()[k].values[*move.element]].push_back({k, *move.element});
    }
  for (const auto& [value, places] : tied) {
    if (places.size() < 2) continue;
    const std::vector<Slope> column = function.column_of(places, goal);
    for (const Probe& probe : probes) {
      double a = 0;
      for (const auto& [k, j] : places) a += probe.answer[k][j];
      const Slope n = contract(column, probe);
      const Judgement result = judge(a, n, 0, goal.tolerance);
      if (result.verdict != Verdict::fail) continue;
      const std::size_t input = places[0].first;
      Finding finding{.input = input, .input_name = function.inputs()[input].name, .along = true};
      describe_numbers(finding, a, n, probe, result);
      finding.note = joined(
          places.size(), " elements of value ", number(value, 6),
          " move together here. Each of them is at a kink, where its derivative may be correct");
      return finding;
    }
  }
  return {};
}

}  // namespace gradus::check
