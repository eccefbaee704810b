// Test values for samples.
//
// The fractional parts of φ, 2φ, … nφ are at least 0.38 / n apart, because φ is the hardest number
// to approximate by fractions. All values therefore differ by more than the steps of finite
// differences. Multiples of √2 determine the signs; any three neighbors have both signs.
#include "gradus/tests/support/registry.h"

#include <cmath>

#include "gradus/ops/create.h"

namespace gradus::testing {
namespace {

double fraction(double x) { return x - std::floor(x); }

/// Tensors of up to 97 elements with different `which` have no magnitude in common. f32 represents
/// all values exactly.
Tensor made(const Shape& shape, int which, bool both_signs) {
  std::vector<double> out(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double n = static_cast<double>(i) + 1 + 97.0 * which;
    const double wanted = 0.3 + 1.4 * fraction(n * 0.61803398874989485);
    const double magnitude = static_cast<double>(static_cast<float>(wanted));
    const bool negative = both_signs && fraction(n * 0.41421356237309505) < 0.5;
    out[i] = negative ? -magnitude : magnitude;
  }
  return tensor(out, shape);
}

}  // namespace

Tensor values(const Shape& shape, int which) { return made(shape, which, true); }

Tensor positive(const Shape& shape, int which) { return made(shape, which, false); }

}  // namespace gradus::testing
