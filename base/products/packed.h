// A matrix of weights in half the room of f32, or a quarter. Decoding reads every weight for every
// token, so it takes as long as its bytes take to come from memory; the arithmetic stays f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/base/products/matrix.h"

namespace gradus::products {

/// What a weight is kept as. Each number is rounded to the nearest, so it errs by
///   bf16   2⁻⁸ of itself at most
///   f16    2⁻¹¹ of itself, or 2⁻²⁵
///   int8   half a scale, which kScaled numbers of a row share: w ≈ scale · q, q in [−127, 127],
///          scale = max |w| / 127 of them
enum class Precision { f32, bf16, f16, int8 };
const char* name(Precision precision);                        // "bf16"
std::int64_t bytes_of(Precision precision);                   // of a number, without int8's scale
std::int64_t scales_of(Precision precision, std::int64_t n);  // of a row of n numbers: int8's alone

/// One row of n numbers, rounded, and its scales. Returns n, or where the first number stands that
/// the format cannot hold (NaN, ∞, and above 65504 in f16); then nothing is written.
std::int64_t pack_row(const float* from, std::int64_t n, Precision precision, std::byte* to,
                      float* scales);
void unpack_row(const std::byte* from, std::int64_t n, Precision precision, const float* scales,
                float* to);

/// Rows of numbers that are written once and read often. A copy shares them.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // undefined
  /// ValueError for what the format cannot hold: NaN, ∞, and above 65504 in f16.
  PackedMatrix(const Matrix<const float>& from, Precision precision);

  bool defined() const { return numbers_ != nullptr; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  Precision precision() const { return precision_; }
  std::int64_t bytes() const;  // what reading all of it reads

  /// Row `row` as f32, to columns() numbers.
  void unpack_row(std::int64_t row, float* to) const;

  /// y [n, rows] = x [n, columns] Wᵀ + bias [rows], which may be null. Of few rows of x each weight
  /// is widened in registers; for many, some rows of W at a time are unpacked first. The order of a
  /// sum is that of products::multiply. ShapeError.
  void multiply(Matrix<float> y, const Matrix<const float>& x, const float* bias = nullptr) const;

 private:
  std::byte* numbers_of(std::int64_t row) const {
    return numbers_.get() + row * columns_ * bytes_of(precision_);
  }
  float* scales_at(std::int64_t row) const {
    return scales_ ? scales_.get() + row * scales_of(precision_, columns_) : nullptr;
  }

  Precision precision_ = Precision::f32;
  std::int64_t rows_ = 0, columns_ = 0;
  std::shared_ptr<std::byte> numbers_;
  std::shared_ptr<float> scales_;  // [rows, scales_of(columns)]
};

}  // namespace gradus::products
