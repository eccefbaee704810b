// Running a sample of the registry: with other memory layouts, other upstream gradients, in f32.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/support/numbers.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {

/// Every sample of every family; families are compiled in, so one without a list does not link.
const Samples& all_samples();

/// Which inputs want a gradient.
std::vector<bool> wanted_inputs(const Sample& sample);

/// How equal values may lie in memory.
enum class Layout { packed, column_major, padded, every_second };
inline constexpr Layout kLayouts[] = {Layout::column_major, Layout::padded, Layout::every_second};
const char* name_of(Layout layout);
Tensor laid_out(const Tensor& x, Layout layout);  // a copy
Inputs laid_out(const Inputs& inputs, Layout layout);

/// An upstream gradient for y: different numbers of both signs.
Tensor upstream_for(const Tensor& y);

struct Result {
  Tensor y;
  std::vector<Numbers> dx;  // of the wanted inputs, in order; zeros where y does not depend
};

/// How gradients are computed: by kernels, by formulas, or by formulas that are recorded.
enum class Backward { kernels, formulas, recorded };

/// Forward, and backward from dy (undefined: upstream_for(y)). `wanted`: see wanted_inputs().
Result run(const Sample& sample, const Inputs& inputs, const std::vector<bool>& wanted,
           const Tensor& dy = {}, Backward backward = Backward::kernels);
Result run(const Sample& sample);  // as it stands

double largest(const Numbers& x);  // magnitude; 0 of nothing
/// The largest difference; infinite when the counts differ, or where one alone is not a number.
double distance(const Numbers& a, const Numbers& b);

/// May two ways to compute the same f64 numbers give these? Values are of order 1 and sums have at
/// most about 100 terms, in another order each way: 100 additions of a sum up to 100 are 10⁴
/// half-ulps of 1.1e-16, which is 1.1e-12 of the largest result or of 1.
bool equal_but_for_order(const Numbers& a, const Numbers& b);

/// Fresh memory is NaN while one of these lives: what a kernel does not write is seen.
struct Poison {
  Poison();
  ~Poison();
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;
};

}  // namespace gradus::testing
