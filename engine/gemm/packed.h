// A matrix of weights in half the room of f32, or a quarter. Decoding reads every weight for every
// token, so it takes as long as its bytes take to come from memory; the arithmetic stays f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/gemm/matrix.h"

namespace gradus::gemm {

/// What a weight is kept as. Each number is rounded to the nearest, so it errs by
///   bf16   2⁻⁸ of itself at most
///   f16    2⁻¹¹ of itself, or 2⁻²⁵
///   int8   half a scale, which kScaled numbers of a row share: w ≈ scale · q, q in [−127, 127],
///          scale = max |w| / 127 of them
enum class Precision { f32, bf16, f16, int8 };
const char* name(Precision precision);  // "bf16"

/// A row of n numbers is kept in so many bytes, a multiple of 8: numbers, then scales.
std::int64_t row_bytes(Precision precision, std::int64_t n);
/// Returns n, or where the first number stands that the format cannot hold (NaN, ∞, and above 65504
/// in f16); then nothing is written.
std::int64_t write_row(Precision precision, const float* from, std::int64_t n, std::byte* to);
void read_row(Precision precision, const std::byte* from, std::int64_t n, float* to);

/// Rows of numbers that are written once and read often. A copy shares them.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // undefined
  /// ValueError for what the format cannot hold: NaN, ∞, and above 65504 in f16.
  PackedMatrix(const Matrix<const float>& from, Precision precision);

  bool defined() const { return kept_ != nullptr; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  /// What reading all of it reads.
  std::int64_t bytes() const { return rows_ * row_bytes(precision_, columns_); }

  /// Row i as f32, to columns() numbers.
  void unpack_row(std::int64_t i, float* to) const { read_row(precision_, row(i), columns_, to); }

  /// y [n, rows] = x [n, columns] Wᵀ + bias [rows], which may be null. Of few rows of x each weight
  /// is widened in registers; for many, some rows of W at a time are unpacked first. The order of a
  /// sum is that of gemm::multiply, but for int8's parts. ShapeError.
  void multiply(Matrix<float> y, const Matrix<const float>& x, const float* bias = nullptr) const;

 private:
  std::byte* row(std::int64_t i) const { return kept_->data + i * row_bytes(precision_, columns_); }

  Precision precision_ = Precision::f32;
  std::int64_t rows_ = 0, columns_ = 0;
  std::shared_ptr<memory::Scratch<std::byte>> kept_;  // the bytes of all rows
};

}  // namespace gradus::gemm
