// Weights in less room than f32, for models that are used and not trained.
#pragma once

#include "gradus/engine/gemm/packed.h"
#include "gradus/engine/tensor.h"

namespace gradus {

using gemm::PackedMatrix;
using gemm::Precision;

/// weight [out, in], f32 → its numbers as `precision` keeps them. ValueError for numbers that it
/// cannot hold; ShapeError and DtypeError for another weight.
PackedMatrix pack(const Tensor& weight, Precision precision);
Tensor unpack(const PackedMatrix& weight);  // [out, in], f32

/// linear() and embedding() of such a weight. Nothing is recorded: GraphError where a gradient of x
/// is wanted. x and bias are f32.
Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias = {});
Tensor embedding(const PackedMatrix& weight, const Tensor& ids);

}  // namespace gradus
