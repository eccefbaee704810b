// The values that samples are made of.
//
// The fractional parts of 1φ, 2φ, 3φ … lie evenly in [0, 1) and keep a distance of at least
// 0.38 / n among the first n (φ is the number hardest to approximate by fractions): no two values
// are tied, and none is nearer to another than the steps of a difference quotient. Signs come from
// multiples of √2 in the same way: among three neighbours both occur.
#include "gradus/tests/support/registry.h"

#include <cmath>

#include "gradus/ops/create.h"

namespace gradus::testing {
namespace {

double fraction(double x) { return x - std::floor(x); }

/// Tensors of up to 97 elements with different `which` share no magnitude either. Each is an f32
/// number: in f32 and f64 an operation gets the same.
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
