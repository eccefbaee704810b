// Weights in less room than f32, for models that are used and not trained.
#pragma once

#include "gradus/base/products/packed.h"
#include "gradus/engine/tensor.h"

namespace gradus {

using products::PackedMatrix;
using products::Precision;

/// weight [out, in], f32 → its numbers as `precision` keeps them. ValueError for numbers that it
/// cannot hold; ShapeError and DtypeError for another weight.
PackedMatrix pack(const Tensor& weight, Precision precision);
Tensor unpack(const PackedMatrix& weight);  // [out, in], f32

/// linear() and embedding() of such a weight. Nothing is recorded: GraphError where a gradient of x
/// is wanted. x and bias are f32.
Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias = {});
Tensor embedding(const PackedMatrix& weight, const Tensor& ids);

/// Keys and values in less room: the rows of x [B, G, S, D], each rounded (f64 to f32 first), as
/// i64 [B, G, S, words], which are cut, joined and picked like any tensor; and back, [B, G, S, D].
/// ValueError for what the format cannot hold; DtypeError, ShapeError.
Tensor pack_rows(const Tensor& x, Precision precision);
Tensor unpack_rows(const Tensor& words, std::int64_t width, Precision precision, Dtype dtype);

}  // namespace gradus
