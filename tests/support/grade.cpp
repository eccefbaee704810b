#include "gradus/tests/support/grade.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "gradus/tests/support/grade_faults.h"

namespace gradus::testing {
namespace {

/// A property that at least one sample of each applicable group must have.
struct Rule {
  const char* what;
  const char* cure;
  std::function<bool(const Graded&)> concerns, holds;
};

bool any_input(const Graded& g, const std::function<bool(const Tensor&)>& holds) {
  return std::any_of(g.blocks.begin(), g.blocks.end(),
                     [&](const Block& block) { return holds(block.input); });
}

bool distinct_axes(const Tensor& x) {
  std::set<std::int64_t> sizes;
  std::size_t count = 0;
  for (const std::int64_t size : x.shape())
    if (size != 1) sizes.insert(size), ++count;
  return count >= 2 && sizes.size() == count && sizes.count(0) == 0;
}

bool both_signs(const Tensor& x) {
  const Numbers v = numbers(x);
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  return !v.empty() && *low < 0 && *high > 0;
}

bool repeats(const Tensor& index) {
  const Numbers v = numbers(index);
  return std::set<double>(v.begin(), v.end()).size() < v.size();
}

bool is_positive_only(const std::string& op) {
  return op == "log" || op == "sqrt" || op == "rsqrt";
}

std::vector<Rule> rules() {
  const auto indices = [](const Graded& g, const std::function<bool(const Tensor&)>& holds) {
    return std::any_of(g.sample.inputs.begin(), g.sample.inputs.end(), [&](const Tensor& x) {
      return x.dtype() == Dtype::i64 && x.numel() > 0 && holds(x);
    });
  };
  const auto ranked = [](const Tensor& x) { return x.rank() >= 2; };
  return {
      {"two axes were confused", "an input whose axes have different lengths of 2 or more",
       [=](const Graded& g) { return any_input(g, ranked); },
       [](const Graded& g) { return any_input(g, distinct_axes); }},
      {"a formula holds for one sign only", "an input with values of both signs",
       [](const Graded& g) { return !is_positive_only(g.sample.op); },
       [](const Graded& g) { return any_input(g, both_signs); }},
      {"repeated indices do not add up", "an index that occurs twice",
       [=](const Graded& g) { return indices(g, [](const Tensor&) { return true; }); },
       [=](const Graded& g) { return indices(g, repeats); }},
  };
}

bool is_vacuous(const Graded& g, std::size_t k) {
  double terms = 0, most = 0;
  for (std::size_t c = g.blocks[k].first; c < g.blocks[k].first + g.blocks[k].count; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < g.oracle.dy.size(); ++i)
      sum += std::abs(g.slope(i, c) * g.oracle.dy[i]);
    terms = std::max(terms, sum);
    most = std::max(most, std::abs(g.gradient[c]));
  }
  return most <= 1e-3 * terms;
}

bool is_curved(const Graded& g) {
  return std::any_of(g.oracle.second.begin(), g.oracle.second.end(), [](const math::Bounded& each) {
    return std::abs(each.value) > 0x1p-53 * each.error;
  });
}
bool sees_second(const Graded& g) {
  Numbers wrong;
  for (const math::Bounded& each : g.oracle.second) wrong.push_back(each.value * (1 + 1e-6));
  return !difference(wrong, g.oracle.second, 0x1p-53).empty();
}

bool sees(const Graded& g, const Numbers& falsified) {
  return !difference(falsified, g.oracle.gradient, 0x1p-53).empty();
}

}  // namespace

std::map<std::string, Group> groups_of(const Samples& samples) {
  std::map<std::string, Group> out;
  for (const Sample& sample : samples) {
    if (sample.large) continue;
    const std::string& function = function_of(sample);
    out[function == sample.op ? function : function + " by " + sample.op].push_back(&sample);
  }
  return out;
}

std::vector<std::string> blind_spots(const std::string& name, const Group& group) {
  std::vector<Graded> graded;
  std::size_t inputs = 0;
  for (const Sample* sample : group) {
    graded.emplace_back(*sample);
    inputs = std::max(inputs, graded.back().blocks.size());
  }
  std::vector<std::string> out;
  const auto blind = [&](const std::string& what, const char* cure) {
    out.push_back(
        str_cat("samples of `", name, "` cannot detect that ", what, ": add one with ", cure));
  };

  std::vector<Fault> all = faults();
  for (std::size_t k = 0; k < inputs; ++k) all.push_back(dropped(k));
  for (const Fault& fault : all) {
    bool possible = false, seen = false;
    for (const Graded& g : graded) {
      const Falsified falsified = fault.make(g);
      possible = possible || falsified;
      seen = seen || (falsified && sees(g, *falsified));
    }
    if (possible && !seen) blind(fault.what, fault.cure);
  }
  for (const Rule& rule : rules()) {
    if (!std::any_of(graded.begin(), graded.end(), rule.concerns)) continue;
    if (!std::any_of(graded.begin(), graded.end(), rule.holds)) blind(rule.what, rule.cure);
  }
  if (std::any_of(graded.begin(), graded.end(), is_curved) &&
      std::none_of(graded.begin(), graded.end(), sees_second))
    blind("second derivatives are 1e-6 too large", "larger second derivatives");
  const bool flat = name == "floor" || name == "round" || name == "sign";  // derivatives are 0
  for (std::size_t k = 0; k < inputs && !flat; ++k)
    if (std::all_of(graded.begin(), graded.end(),
                    [k](const Graded& g) { return k >= g.blocks.size() || is_vacuous(g, k); }))
      blind(str_cat("input ", k, " has a gradient"), "one that does not cancel to 0");
  return out;
}

}  // namespace gradus::testing
