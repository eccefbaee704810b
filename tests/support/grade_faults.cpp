#include "gradus/tests/support/grade_faults.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"

namespace gradus::testing {
namespace {

Numbers values_of(const Exact& x) {
  Numbers out;
  for (const math::Bounded& each : x) out.push_back(each.value);
  return out;
}

bool all_zero(const Numbers& x) { return largest(x) == 0; }

Falsified scaled(const Graded& g, double factor) {
  if (all_zero(g.gradient)) return {};
  Numbers x = g.gradient;
  for (double& v : x) v *= factor;
  return x;
}

Falsified magnitudes(const Graded& g) {
  if (all_zero(g.gradient)) return {};
  Numbers x = g.gradient;
  for (double& v : x) v = std::abs(v);
  return x;
}

Falsified last_missing(const Graded& g) {
  if (all_zero(g.gradient)) return {};
  Numbers x = g.gradient;
  for (const Block& block : g.blocks)
    if (block.count > 0) x[block.first + block.count - 1] = 0;
  return x;
}

Falsified rolled(const Graded& g) {
  Numbers x = g.gradient;
  bool any = false;
  for (const Block& block : g.blocks) {
    if (block.count < 2 || all_zero(g.gradient)) continue;
    const auto from = x.begin() + static_cast<std::ptrdiff_t>(block.first);
    std::rotate(from, from + 1, from + static_cast<std::ptrdiff_t>(block.count));
    any = true;
  }
  return any ? Falsified(x) : Falsified();
}

Falsified not_a_number(const Graded& g) {
  if (g.gradient.empty()) return {};
  Numbers x = g.gradient;
  x.front() = std::numeric_limits<double>::quiet_NaN();
  return x;
}

Falsified added_to_last(const Graded& g) {
  if (g.gradient.empty()) return {};
  Numbers x = g.gradient;
  x.back() += 1e-6;
  return x;
}

Falsified upstream_ignored(const Graded& g) {
  if (all_zero(g.gradient)) return {};
  return values_of(gradient_for(g.oracle, Numbers(g.oracle.dy.size(), 1.0)));
}

Falsified upstream_transposed(const Graded& g) {
  const int rank = g.y_shape.rank();
  if (rank < 2 || all_zero(g.gradient)) return {};
  const auto n = static_cast<std::size_t>(g.y_shape[rank - 1]);
  if (n < 2 || g.y_shape[rank - 2] != g.y_shape[rank - 1]) return {};
  Numbers dy = g.oracle.dy;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t matrix = i / (n * n), row = i / n % n, column = i % n;
    dy[i] = g.oracle.dy[matrix * n * n + column * n + row];
  }
  return values_of(gradient_for(g.oracle, dy));
}

/// Swaps two gradients. Requires two inputs of equal size that affect y differently.
Falsified swapped(const Graded& g) {
  for (std::size_t a = 0; a < g.blocks.size(); ++a)
    for (std::size_t b = a + 1; b < g.blocks.size(); ++b) {
      const Block &one = g.blocks[a], &two = g.blocks[b];
      if (one.count != two.count) continue;
      bool equal = true;
      for (std::size_t i = 0; i < g.oracle.y.size(); ++i)
        for (std::size_t c = 0; c < one.count; ++c)
          equal = equal && g.slope(i, one.first + c) == g.slope(i, two.first + c);
      if (equal) continue;
      Numbers x = g.gradient;
      for (std::size_t c = 0; c < one.count; ++c) std::swap(x[one.first + c], x[two.first + c]);
      return x;
    }
  return {};
}

Falsified one_output(const Graded& g, bool first) {
  Numbers x(g.gradient.size(), 0.0);
  bool any = false;
  for (std::size_t c = 0; c < x.size(); ++c) {
    int reached = 0;
    for (std::size_t i = 0; i < g.oracle.y.size(); ++i) {
      if (g.slope(i, c) == 0) continue;
      if (!first || reached == 0) x[c] = g.slope(i, c) * g.oracle.dy[i];
      ++reached;
    }
    any = any || reached > 1;
  }
  return any ? Falsified(x) : Falsified();
}

Falsified averaged(const Graded& g) {
  Numbers x = g.gradient;
  bool any = false;
  for (std::size_t c = 0; c < x.size(); ++c) {
    double reached = 0;
    for (std::size_t i = 0; i < g.oracle.y.size(); ++i) reached += g.slope(i, c) != 0 ? 1 : 0;
    if (reached > 1) x[c] /= reached, any = true;
  }
  return any ? Falsified(x) : Falsified();
}

Falsified diagonal_only(const Graded& g) {
  if (g.blocks.size() != 1 || g.oracle.y.size() != g.gradient.size()) return {};
  Numbers x;
  bool any = false;
  for (std::size_t c = 0; c < g.gradient.size(); ++c) {
    x.push_back(g.slope(c, c) * g.oracle.dy[c]);
    for (std::size_t i = 0; i < g.oracle.y.size(); ++i) any = any || (i != c && g.slope(i, c) != 0);
  }
  return any ? Falsified(x) : Falsified();
}

Falsified not_inverted(const Graded& g) {
  if (g.sample.op != "permute" || g.gradient.empty()) return {};
  const NoGrad quiet;
  return numbers(g.sample.f({tensor(g.oracle.dy, g.y_shape)}));
}

}  // namespace

Graded::Graded(const Sample& s) : sample(s), oracle(oracle_of(s)) {
  const NoGrad quiet;
  y_shape = s.f(s.inputs).shape();
  const std::vector<bool> wanted = wanted_inputs(s);
  std::size_t first = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!wanted[k]) continue;
    const auto count = static_cast<std::size_t>(s.inputs[k].numel());
    blocks.push_back({first, count, s.inputs[k]});
    first += count;
  }
  for (const math::Bounded& each : oracle.gradient) gradient.push_back(each.value);
}

std::vector<Fault> faults() {
  const auto times = [](double factor) {
    return [factor](const Graded& g) { return scaled(g, factor); };
  };
  return {
      {"all signs are wrong", "a gradient that is not 0", times(-1)},
      {"the gradient is doubled", "a gradient that is not 0", times(2)},
      {"the gradient is 1e-4 too large", "a gradient that does not cancel to 0", times(1 + 1e-4)},
      {"the gradient is 1e-6 too large", "a gradient that does not cancel to 0", times(1 + 1e-6)},
      {"negative gradients become positive", "gradients of both signs", magnitudes},
      {"the last element is left 0", "a nonzero gradient at the last element", last_missing},
      {"all elements are shifted by one", "gradients that differ along an axis", rolled},
      {"an element is NaN", "an input with elements", not_a_number},
      {"1e-6 was added to the last element", "an input with elements", added_to_last},
      {"the upstream gradient is ignored", "a derivative that is not 0", upstream_ignored},
      {"the upstream gradient is transposed", "a square result that is not symmetric",
       upstream_transposed},
      {"two inputs got each other's gradient", "inputs of equal shape and unequal values", swapped},
      {"a sum over outputs is only its first term", "a repeat, or a broadcast axis of 2 or more",
       [](const Graded& g) { return one_output(g, true); }},
      {"later contributions overwrite earlier ones", "a repeat, or a broadcast axis of 2 or more",
       [](const Graded& g) { return one_output(g, false); }},
      {"a mean was taken instead of a sum", "a repeat, or a broadcast axis of 2 or more", averaged},
      {"only diagonal terms are counted", "rows of 2 or more", diagonal_only},
      {"the permutation is not inverted",
       "a permutation that is not its own inverse: (2, 0, 1) of unequal axes", not_inverted},
  };
}

/// Drops the gradient of input k. This is not a fault if y does not depend on input k. Example: a
/// bias of keys shifts all scores of a query equally, and softmax cancels the shift.
Fault dropped(std::size_t k) {
  return {str_cat("input ", k, " gets no gradient"), "a nonzero derivative with respect to it",
          [k](const Graded& g) -> Falsified {
            if (k >= g.blocks.size()) return {};
            Numbers x = g.gradient;
            bool any = false;
            for (std::size_t c = g.blocks[k].first; c < g.blocks[k].first + g.blocks[k].count;
                 ++c) {
              x[c] = 0;
              for (std::size_t i = 0; i < g.oracle.y.size(); ++i) {
                const math::Bounded& slope = g.oracle.jacobian[i * g.oracle.columns + c];
                any = any || std::abs(slope.value) > 0x1p-53 * slope.error;
              }
            }
            return any ? Falsified(x) : Falsified();
          }};
}

}  // namespace gradus::testing
