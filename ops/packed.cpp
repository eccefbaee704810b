// Computes y = x Wᵀ + b, and rows of W, for packed W [out, in].
#include "gradus/ops/packed.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/checks.h"

namespace gradus {

using gemm::Matrix;

PackedMatrix pack(const Tensor& weight, Precision precision) {
  check_defined("pack", weight);
  require<ShapeError>(weight.rank() == 2, "pack: the weight must be [out, in], got ",
                      weight.shape());
  require<DtypeError>(weight.dtype() == Dtype::f32, "pack: the weight must be f32, got ",
                      weight.dtype(), ". Convert it with to(weight, Dtype::f32).");
  const Tensor rows = kernel::contiguous(weight);
  return {Matrix<const float>(rows.data<float>(), rows.size(0), rows.size(1)), precision};
}

Tensor unpack(const PackedMatrix& weight) {
  Tensor rows = Tensor::empty({weight.rows(), weight.columns()}, Dtype::f32);
  auto* to = rows.mutable_data<float>();
  for (std::int64_t i = 0; i < weight.rows(); ++i) weight.unpack_row(i, to + i * weight.columns());
  return rows;
}

Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias) {
  require(x.defined() && weight.defined(), "linear: the ", x.defined() ? "packed weight" : "input",
          " is undefined. Assign a value first.");
  const std::int64_t out = weight.rows(), in = weight.columns();
  require<ShapeError>(x.rank() >= 1 && x.size(-1) == in, "linear: the input ", x.shape(),
                      " must end in the input size of the packed weight, ", in, " ([", out, ", ",
                      in, "] is [out, in])");
  require<ShapeError>(!bias.defined() || bias.shape() == Shape{out}, "linear: the bias is ",
                      bias.shape(), " but the packed weight has ", out,
                      " rows. Pass one value per row.");
  require<DtypeError>(x.dtype() == Dtype::f32 && bias.dtype() == Dtype::f32,  // undefined is f32
                      "linear: packed weights need an f32 input and bias, got ", x.dtype(), " and ",
                      bias.dtype());
  require<GraphError>(!GradMode::enabled() || !x.requires_grad(),
                      "linear: packed weights do not support gradients. Compute under NoGrad, or ",
                      "keep the weights as f32.");
  Shape shape = x.shape();
  shape[x.rank() - 1] = out;
  Tensor y = Tensor::empty(shape, Dtype::f32);
  const Tensor from = kernel::contiguous(x), b = kernel::contiguous(bias);
  // If the input width is 0, y is the bias.
  const std::int64_t rows = out == 0 ? 0 : y.numel() / out;
  weight.multiply({y.mutable_data<float>(), rows, out}, {from.data<float>(), rows, in},
                  b.defined() ? b.data<float>() : nullptr);
  return y;
}

Tensor embedding(const PackedMatrix& weight, const Tensor& ids) {
  require(weight.defined() && ids.defined(), "embedding: the ",
          ids.defined() ? "packed weight is" : "ids are", " undefined. Assign a value first.");
  require<DtypeError>(ids.dtype() == Dtype::i64, "embedding: ids must be i64, got ", ids.dtype());
  Shape shape = ids.shape();
  shape.push_back(weight.columns());
  Tensor y = Tensor::empty(shape, Dtype::f32);
  auto* to = y.mutable_data<float>();
  for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
    require<IndexError>(0 <= id && id < weight.rows(), "embedding: id ", id,
                        " is not a row of a packed weight with ", weight.rows(),
                        " rows. Pass ids in this range.");
    weight.unpack_row(id, to);
    to += weight.columns();
  }
  return y;
}

}  // namespace gradus
