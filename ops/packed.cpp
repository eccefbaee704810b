// y = x Wᵀ + b, and rows of W, where W takes a half or a quarter of its room. x [N, in], W
// [out, in].
#include "gradus/ops/packed.h"

#include <cstring>

#include "gradus/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"

namespace gradus {

using products::Matrix;

PackedMatrix pack(const Tensor& weight, Precision precision) {
  require(weight.defined(), "pack: the weight is undefined");
  require<ShapeError>(weight.rank() == 2, "pack: the weight is ", weight.shape(),
                      ", and must be [out, in]");
  require<DtypeError>(weight.dtype() == Dtype::f32, "pack: the weight is ", weight.dtype(),
                      ": f32 can be packed; convert it with to(weight, Dtype::f32)");
  const Tensor rows = kernel::contiguous(weight.detach());
  return {Matrix<const float>(rows.data<float>(), rows.size(0), rows.size(1)), precision};
}

Tensor unpack(const PackedMatrix& weight) {
  Tensor rows = Tensor::empty({weight.rows(), weight.columns()}, Dtype::f32);
  auto* to = rows.mutable_data<float>();
  for (std::int64_t i = 0; i < weight.rows(); ++i) weight.unpack_row(i, to + i * weight.columns());
  return rows;
}

Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias) {
  require(x.defined() && weight.defined(), "linear: the input or the packed weight is undefined");
  const std::int64_t out = weight.rows(), in = weight.columns();
  require<ShapeError>(x.rank() >= 1 && x.size(-1) == in, "linear: the input ", x.shape(),
                      " does not end in the ", in, " inputs of the packed weight [", out, ", ", in,
                      "]");
  require<ShapeError>(!bias.defined() || bias.shape() == Shape{out}, "linear: the bias has shape ",
                      bias.shape(), " where the packed weight has ", out, " rows");
  require<DtypeError>(x.dtype() == Dtype::f32 && (!bias.defined() || bias.dtype() == Dtype::f32),
                      "linear: packed weights are multiplied in f32, not ", x.dtype());
  require<GraphError>(!GradMode::enabled() || !x.requires_grad(),
                      "linear: a packed weight gives no gradients: compute under NoGrad, or keep ",
                      "the weights as f32");
  Shape shape = x.shape();
  shape[x.rank() - 1] = out;
  Tensor y = Tensor::empty(shape, Dtype::f32);
  const Tensor from = kernel::contiguous(x.detach());
  const Tensor b = bias.defined() ? kernel::contiguous(bias.detach()) : bias;
  const std::int64_t rows = out == 0 ? 0 : y.numel() / out;  // in may be 0: then y is the bias
  weight.multiply({y.mutable_data<float>(), rows, out}, {from.data<float>(), rows, in},
                  b.defined() ? b.data<float>() : nullptr);
  return y;
}

Tensor embedding(const PackedMatrix& weight, const Tensor& ids) {
  require(weight.defined() && ids.defined(),
          "embedding: the ids or the packed weight is undefined");
  require<DtypeError>(ids.dtype() == Dtype::i64, "embedding: ids are ", ids.dtype(),
                      ", and must be i64");
  Shape shape = ids.shape();
  shape.push_back(weight.columns());
  Tensor y = Tensor::empty(shape, Dtype::f32);
  auto* to = y.mutable_data<float>();
  for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
    require<IndexError>(0 <= id && id < weight.rows(), "embedding: id ", id,
                        " is no row of a packed weight of ", weight.rows());
    weight.unpack_row(id, to);
    to += weight.columns();
  }
  return y;
}

namespace {

/// A row: its numbers, filled up to a multiple of four bytes; int8's scale; whole words of it all.
std::int64_t scale_at(std::int64_t width, Precision precision) {
  return (width * products::bytes_of(precision) + 3) / 4 * 4;
}
std::int64_t words_of(std::int64_t width, Precision precision) {
  return (scale_at(width, precision) + (precision == Precision::int8 ? 4 : 0) + 7) / 8;
}

}  // namespace

Tensor pack_rows(const Tensor& x, Precision precision) {
  require(x.defined(), "pack_rows: the tensor is undefined");
  require<ShapeError>(x.rank() == 4, "pack_rows: x is ", x.shape(), ", not [B, G, S, D]");
  require<DtypeError>(is_float(x.dtype()), "pack_rows: x is ", x.dtype(), ", not f32 or f64");
  const Tensor rows = kernel::contiguous(kernel::convert(x.detach(), Dtype::f32));
  const std::int64_t D = x.size(3), words = words_of(D, precision);
  Tensor y = Tensor::empty({x.size(0), x.size(1), x.size(2), words}, Dtype::i64);
  const auto* from = rows.data<float>();
  auto* to = reinterpret_cast<std::byte*>(y.mutable_data<std::int64_t>());
  for (std::int64_t r = 0; r * words < y.numel(); ++r, from += D, to += 8 * words) {
    float scale = 1;
    const std::int64_t held = products::pack_row(from, D, precision, to, &scale);
    require(held == D, "a key or value is ", held < D ? from[held] : 0, ", which ",
            products::name(precision), " cannot hold: keep keys and values as f32");
    if (precision == Precision::int8) std::memcpy(to + scale_at(D, precision), &scale, 4);
  }
  return y;
}

Tensor unpack_rows(const Tensor& words, std::int64_t width, Precision precision, Dtype dtype) {
  require<ShapeError>(words.defined() && words.rank() == 4 && words.dtype() == Dtype::i64 &&
                          words.size(3) == words_of(width, precision),
                      "unpack_rows: these are no rows of ", width, " numbers as ",
                      products::name(precision));
  const std::int64_t G = words.size(1), S = words.size(2);
  Tensor y = Tensor::empty({words.size(0), G, S, width}, Dtype::f32);
  const Strides& stride = words.strides();
  const std::int64_t* from = words.data<std::int64_t>();
  auto* to = y.mutable_data<float>();
  parallel_for(words.size(0) * G * S, rows_grain(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto* row = reinterpret_cast<const std::byte*>(
          from + r / (G * S) * stride[0] + r / S % G * stride[1] + r % S * stride[2]);
      float scale = 1;
      if (precision == Precision::int8) std::memcpy(&scale, row + scale_at(width, precision), 4);
      products::unpack_row(row, width, precision, scale, to + r * width);
    }
  });
  return kernel::convert(y, dtype);
}

}  // namespace gradus
