// apply_rotary: for each pair (a, b) at angle φ,
//
//   a' = a cos φ − b sin φ      b' = b cos φ + a sin φ
//
// that is, x · cos + swapped(x) · sin, with a negative sine for the first column. Angles are f64:
// in f32, the angle at position 10⁵ would have only two correct digits.
#include "gradus/ops/rotary.h"

#include <algorithm>
#include <vector>

#include "gradus/engine/base/math64.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Cosines and signed sines, both [positions, D].
struct RotaryTable {
  std::vector<std::int64_t> positions;
  RotaryOptions options;
  Tensor cos, sin;

  bool serves(std::span<const std::int64_t> at, std::int64_t D, const RotaryOptions& o,
              Dtype dtype) const {
    return cos.defined() && cos.size(1) == D && cos.dtype() == dtype && options.base == o.base &&
           options.interleaved == o.interleaved &&
           std::equal(positions.begin(), positions.end(), at.begin(), at.end());
  }
};

RotaryTable make_table(std::span<const std::int64_t> positions, std::int64_t D,
                       const RotaryOptions& options, Dtype dtype) {
  const auto n = static_cast<std::int64_t>(positions.size());
  std::vector<double> cosines(static_cast<std::size_t>(n * D)), sines(cosines.size());
  for (std::int64_t t = 0; t < n; ++t)
    for (std::int64_t i = 0; i < D / 2; ++i) {
      const double frequency =
          math64::pow(options.base, -2 * static_cast<double>(i) / static_cast<double>(D));
      const double angle = static_cast<double>(positions[static_cast<std::size_t>(t)]) * frequency;
      const auto a = static_cast<std::size_t>(t * D + (options.interleaved ? 2 * i : i));
      const std::size_t b = a + (options.interleaved ? 1u : static_cast<std::size_t>(D / 2));
      cosines[a] = cosines[b] = math64::cos(angle);
      sines[b] = math64::sin(angle);
      sines[a] = -sines[b];
    }
  return {{positions.begin(), positions.end()},
          options,
          kernel::convert(tensor(cosines, {n, D}), dtype),
          kernel::convert(tensor(sines, {n, D}), dtype)};
}

/// Returns a cached table, because queries and keys of every layer use the same one.
RotaryTable table_for(std::span<const std::int64_t> positions, std::int64_t D,
                      const RotaryOptions& options, Dtype dtype) {
  thread_local RotaryTable last;
  if (!last.serves(positions, D, options, dtype)) last = make_table(positions, D, options, dtype);
  return last;
}

void check_rotate(const Tensor& x, std::int64_t positions, const RotaryOptions& options) {
  check_defined("apply_rotary", x);
  require<ShapeError>(
      x.rank() == 4 && x.size(3) % 2 == 0,
      "apply_rotary: x must be [batch, heads, length, width] with an even width, got ", x.shape());
  const std::int64_t B = x.size(0), T = x.size(2);
  require<ShapeError>(positions == T || positions == B * T, "apply_rotary: ", positions,
                      " positions do not fit x ", x.shape(), ". Pass ", T, " shared positions, or ",
                      B * T, " for separate examples.");
  require(options.base > 0, "apply_rotary: base must be positive, got ", options.base);
}

Tensor swapped(const Tensor& x, bool interleaved) {
  Shape pairs = x.shape();
  pairs[3] = interleaved ? x.size(3) / 2 : 2;
  pairs.push_back(interleaved ? 2 : x.size(3) / 2);
  return reshape(flip(reshape(x, pairs), {interleaved ? 4 : 3}), x.shape());
}

}  // namespace

Tensor apply_rotary(const Tensor& x, std::span<const std::int64_t> positions,
                    const RotaryOptions& options) {
  const auto count = static_cast<std::int64_t>(positions.size());
  check_rotate(x, count, options);
  const std::int64_t B = x.size(0), T = x.size(2), D = x.size(3);
  const RotaryTable table = table_for(positions, D, options, x.dtype());
  const Shape shape = count == T ? Shape{1, 1, T, D} : Shape{B, 1, T, D};
  return x * reshape(table.cos, shape) +
         swapped(x, options.interleaved) * reshape(table.sin, shape);
}

}  // namespace gradus
