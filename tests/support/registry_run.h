#pragma once

#include <string>
#include <vector>

#include "gradus/tests/support/numbers.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {

/// Concatenates the samples of all families. A missing family causes a link error.
const Samples& all_samples();

/// For each input, true if it requires a gradient.
std::vector<bool> wanted_inputs(const Sample& sample);

enum class Layout { packed, column_major, padded, every_second };
inline constexpr Layout kLayouts[] = {Layout::column_major, Layout::padded, Layout::every_second};
const char* name_of(Layout layout);
Tensor laid_out(const Tensor& x, Layout layout);  // a copy
Inputs laid_out(const Inputs& inputs, Layout layout);

/// Returns an upstream gradient for y, with distinct values of both signs.
Tensor upstream_for(const Tensor& y);

struct Result {
  Tensor y;
  std::vector<Numbers> dx;  // for each differentiable input; zeros if y ignores it
};

enum class Backward { kernels, formulas, recorded };

/// Runs forward, then backward from dy. Default: upstream_for(y).
Result run(const Sample& sample, const Inputs& inputs, const std::vector<bool>& wanted,
           const Tensor& dy = {}, Backward backward = Backward::kernels);
Result run(const Sample& sample);

double largest(const Numbers& x);  // largest magnitude; 0 if empty
/// Returns the largest difference. Infinity if the counts differ or only one of two values is NaN.
double distance(const Numbers& a, const Numbers& b);

/// True if the values differ only by the rounding errors of another addition order. In 100
/// additions, sums up to 100 accumulate an error of 10⁴ half-ulps of 1.1e-16. The tolerance is
/// therefore 1.1e-12, relative to 1 or to the largest result.
bool equal_but_for_order(const Numbers& a, const Numbers& b);

/// Fills fresh memory with NaN during its lifetime, to detect elements that a kernel does not
/// write.
struct Poison {
  Poison();
  ~Poison();
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;
};

}  // namespace gradus::testing
