// B batch, T tokens (queries), S keys, H heads, C width.
#include "gradus/nn/position.h"

#include "gradus/engine/base/math64.h"
#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

/// Returns the rows of `table` [length, width] for x [B, T, width]: [T, width].
Tensor rows_for(const char* layer, const Tensor& table, const Tensor& x, std::int64_t first) {
  const std::int64_t length = table.size(0), width = table.size(1);
  require(x.defined(), layer, ": the input is undefined. Pass a defined tensor.");
  require<ShapeError>(x.rank() == 3 && x.size(2) == width, layer,
                      ": the input must be [batch, length, ", width, "], got ", x.shape());
  const std::int64_t T = x.size(1);
  require(first >= 0, layer, ": the first position must not be negative, got ", first);
  require<ShapeError>(first + T <= length, layer, ": positions ", first, " to ", first + T - 1,
                      " exceed the layer's length of ", length,
                      ". Pass fewer positions, or increase the length.");
  return slice(table, 0, first, first + T);
}

}  // namespace

Tensor sinusoidal_positions(std::int64_t length, std::int64_t width, Dtype dtype) {
  require(length >= 0 && width >= 0,
          "sinusoidal_positions: sizes must not be negative, got length = ", length,
          ", width = ", width);
  Tensor table = Tensor::empty({length, width}, dtype);
  dispatch_float("sinusoidal_positions", dtype, [&]<class T>() {
    T* to = table.mutable_data<T>();
    for (std::int64_t position = 0; position < length; ++position) {
      for (std::int64_t column = 0; column < width; ++column) {
        const double exponent =
            static_cast<double>(column - column % 2) / static_cast<double>(width);
        const double angle = static_cast<double>(position) / math64::pow(10000.0, exponent);
        *to++ = static_cast<T>(column % 2 == 0 ? math64::sin(angle) : math64::cos(angle));
      }
    }
  });
  return table;
}

SinusoidalPosition::SinusoidalPosition(std::int64_t length, std::int64_t width) {
  require(length > 0 && width > 0,
          "SinusoidalPosition: sizes must be positive, got length = ", length, ", width = ", width);
  table = sinusoidal_positions(length, width, Dtype::f64);
}

Tensor SinusoidalPosition::forward(const Tensor& x, std::int64_t first) const {
  const Tensor rows = rows_for("SinusoidalPosition", table, x, first);  // [T, C]
  return x + rows.to(x.dtype());                                        // [B, T, C]
}

LearnedPosition::LearnedPosition(std::int64_t length, std::int64_t width) {
  require(length > 0 && width > 0, "LearnedPosition: sizes must be positive, got length = ", length,
          ", width = ", width);
  weight = parameter(Tensor::empty({length, width}, default_dtype()));
  init::normal_(weight, 0, 0.02);
}

Tensor LearnedPosition::forward(const Tensor& x, std::int64_t first) const {
  return x + rows_for("LearnedPosition", weight, x, first);  // [B, T, C]
}

RelativeBias::RelativeBias(std::int64_t heads, const RelativeBuckets& given) : options(given) {
  require(heads > 0, "RelativeBias: heads must be at least 1, got ", heads);
  relative_bucket(0, options);  // validates the options
  weight = parameter(Tensor::empty({options.count, heads}, default_dtype()));
  init::normal_(weight, 0, 0.02);
}

Tensor RelativeBias::forward(PositionList queries, PositionList keys, std::int64_t examples) const {
  const Tensor ids = relative_buckets(queries, keys, options, examples);  // [T, S] or [B, T, S]
  const Tensor bias = embedding(weight, ids);                             // [T, S, H], …
  return examples == 0 ? permute(bias, {2, 0, 1})                         // [H, T, S]
                       : permute(bias, {0, 3, 1, 2});                     // [B, H, T, S]
}

}  // namespace gradus::nn
