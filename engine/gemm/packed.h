// Weights stored in 16 or 8 bits per value. This speeds up decoding, because each token reads every
// weight. Arithmetic stays in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/gemm/matrix.h"

namespace gradus::gemm {

/// Storage precision of weights. The maximum rounding error of a value w is:
///   bf16   2⁻⁸ |w|
///   f16    2⁻¹¹ |w|, or 2⁻²⁵ if that is larger
///   int8   half a scale: w ≈ scale · q, q in [−127, 127], scale = max |w| / 127 of kScaled values
enum class Precision { f32, bf16, f16, int8 };
const char* name(Precision precision);  // for example "bf16"

/// Returns the bytes of a packed row of n values, a multiple of 8. Scales follow the values.
std::int64_t row_bytes(Precision precision, std::int64_t n);
/// Packs a row and returns n. If the format cannot represent a value (NaN, ∞, above 65504 in f16),
/// writes nothing and returns the value's index.
std::int64_t write_row(Precision precision, const float* from, std::int64_t n, std::byte* to);
void read_row(Precision precision, const std::byte* from, std::int64_t n, float* to);

/// An immutable packed matrix. Copies share data.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // undefined
  /// Throws ValueError for values that the format cannot represent.
  PackedMatrix(const Matrix<const float>& from, Precision precision);

  bool defined() const { return kept_ != nullptr; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t bytes() const { return rows_ * row_bytes(precision_, columns_); }

  void unpack_row(std::int64_t i, float* to) const { read_row(precision_, row(i), columns_, to); }

  /// Computes y [n, rows] = x [n, columns] Wᵀ + bias [rows], which may be null. Sums in the order
  /// of gemm::multiply, except for int8. Throws ShapeError.
  void multiply(Matrix<float> y, const Matrix<const float>& x, const float* bias = nullptr) const;

 private:
  std::byte* row(std::int64_t i) const { return kept_->data + i * row_bytes(precision_, columns_); }

  Precision precision_ = Precision::f32;
  std::int64_t rows_ = 0, columns_ = 0;
  std::shared_ptr<memory::Scratch<std::byte>> kept_;
};

}  // namespace gradus::gemm
