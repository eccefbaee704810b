// Packed weights for inference.
#pragma once

#include "gradus/engine/gemm/packed.h"
#include "gradus/engine/tensor.h"

namespace gradus {

using gemm::PackedMatrix;
using gemm::Precision;

/// Packs weight [out, in] from f32. Throws ValueError for values that `precision` cannot represent,
/// ShapeError and DtypeError for an invalid weight.
PackedMatrix pack(const Tensor& weight, Precision precision);
Tensor unpack(const PackedMatrix& weight);  // returns [out, in] in f32

/// linear() and embedding() with packed weights, in f32, not recorded. linear throws GraphError if
/// x requires a gradient.
Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias = {});
Tensor embedding(const PackedMatrix& weight, const Tensor& ids);

}  // namespace gradus
