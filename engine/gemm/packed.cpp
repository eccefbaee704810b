#include "gradus/engine/gemm/packed.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/dots.h"
#include "gradus/engine/gemm/multiply.h"

namespace gradus::gemm {
namespace {

// kFewRows: up to this number of rows, weights are widened in registers. kPanel: number of values
// that are unpacked together; as floats they fill half an L2 cache. kChunks: chunks of all rows.
constexpr std::int64_t kFewRows = 8, kPanel = 1 << 17, kChunks = 16;

template <class Set, class S>
GRADUS_INLINE void few_rows(const Matrix<float>* y, const Matrix<const float>* x,
                            const RowsOf<S>* w, const float* bias) {
  const RowsOf<float> left{x->data, x->rows, x->stride};
  dots<Set>(x->columns, left, *w, [&](std::int64_t i, std::int64_t j, float sum) {
    y->data[i * y->stride + j] = bias != nullptr ? sum + bias[j] : sum;
  });
}

template <class Set, class S>
GRADUS_INLINE void unpack(const S* from, std::int64_t n, float scale, float* to) {
  using P = Tile<Set, float>;
  typename P::Vector x;
  std::int64_t j = 0;
  for (; j + P::lanes <= n; j += P::lanes) {
    read_vector(x, from + j);
    x *= scale;
    std::memcpy(to + j, &x, sizeof x);
  }
  for (; j < n; ++j) to[j] = scale * widen(from[j]);
}

void narrow(float x, float, float& to) { to = x; }
void narrow(float x, float, BFloat16& to) { to = to_bfloat16(x); }
void narrow(float x, float, Float16& to) { to = to_float16(x); }
// Clamps q, because the scale may underflow to 0, or rounding may yield 128.
void narrow(float x, float scale, std::int8_t& to) {
  to = scale == 0 ? std::int8_t{0}
                  : static_cast<std::int8_t>(std::clamp(std::nearbyint(x / scale), -127.f, 127.f));
}

template <class S>
float largest_number() {
  if constexpr (std::is_same_v<S, Float16>) return 65519.996f;  // rounds to 65504
  if constexpr (std::is_same_v<S, BFloat16>) return 3.3961773e38f;
  return std::numeric_limits<float>::max();
}

template <class F>
void with_numbers(Precision precision, std::byte* numbers, F&& f) {
  if (precision == Precision::f32) f(reinterpret_cast<float*>(numbers));
  if (precision == Precision::bf16) f(reinterpret_cast<BFloat16*>(numbers));
  if (precision == Precision::f16) f(reinterpret_cast<Float16*>(numbers));
  if (precision == Precision::int8) f(reinterpret_cast<std::int8_t*>(numbers));
}

/// Returns the scales, which follow the n int8 values of a row, aligned to four bytes.
template <class S>
float* scales_of(const S* row, std::int64_t n) {
  return const_cast<float*>(reinterpret_cast<const float*>(row)) + (n + 3) / 4;
}

}  // namespace

const char* name(Precision precision) {
  constexpr const char* kNames[] = {"f32", "bf16", "f16", "int8"};
  return kNames[static_cast<int>(precision)];
}

std::int64_t row_bytes(Precision precision, std::int64_t n) {
  const bool scaled = precision == Precision::int8;
  const std::int64_t size = precision == Precision::f32 ? 4 : scaled ? 1 : 2;
  const std::int64_t scales = scaled ? (n + kScaled - 1) / kScaled : 0;
  return ((n * size + 3) / 4 * 4 + 4 * scales + 7) / 8 * 8;
}

std::int64_t write_row(Precision precision, const float* from, std::int64_t n, std::byte* to) {
  std::int64_t held = 0;
  with_numbers(precision, to, [&]<class S>(S* numbers) {
    while (held < n && std::abs(from[held]) <= largest_number<S>()) ++held;
    for (std::int64_t first = 0; first < n && held == n; first += kScaled) {
      const std::int64_t last = std::min(n, first + kScaled);
      float scale = 0;
      for (std::int64_t j = first; j < last; ++j) scale = std::max(scale, std::abs(from[j]) / 127);
      for (std::int64_t j = first; j < last; ++j) narrow(from[j], scale, numbers[j]);
      if (precision == Precision::int8) scales_of(numbers, n)[first / kScaled] = scale;
    }
  });
  return held;
}

void read_row(Precision precision, const std::byte* from, std::int64_t n, float* to) {
  with_numbers(precision, const_cast<std::byte*>(from), [&]<class S>(const S* numbers) {
    for (std::int64_t j = 0; j < n; j += kScaled) {
      const float scale = precision == Precision::int8 ? scales_of(numbers, n)[j / kScaled] : 1;
      simd::run_one<unpack<Avx512, S>, unpack<Avx2, S>, unpack<Baseline, S>>(
          numbers + j, std::min(n - j, kScaled), scale, to + j);
    }
  });
}

PackedMatrix::PackedMatrix(const Matrix<const float>& from, Precision precision)
    : precision_(precision), rows_(from.rows), columns_(from.columns) {
  require(!from.transposed,
          "PackedMatrix: the weights must not be transposed. Transpose them first.");
  kept_ = std::make_shared<memory::Scratch<std::byte>>(bytes());
  parallel_for(rows_, rows_grain(columns_), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t held = write_row(precision, from.at(i, 0), columns_, row(i));
      require(held == columns_, "PackedMatrix: the value at [", i, ", ", held, "] is ",
              held < columns_ ? *from.at(i, held) : 0, ", which ", name(precision_),
              " cannot represent. Keep these weights as f32.");
    }
  });
}

void PackedMatrix::multiply(Matrix<float> y, const Matrix<const float>& x,
                            const float* bias) const {
  require<ShapeError>(x.columns == columns_ && y.rows == x.rows && y.columns == rows_,
                      "PackedMatrix: y [", y.rows, ", ", y.columns, "] cannot be x [", x.rows, ", ",
                      x.columns, "] times a packed [", rows_, ", ", columns_, "] transposed");
  require(!x.transposed && !y.transposed,
          "PackedMatrix: x and y must not be transposed. Transpose them first.");
  if (y.rows == 0 || y.columns == 0) return;
  const bool few = x.rows <= kFewRows;
  const double flop = 2.0 * double(x.rows) * double(rows_) * double(columns_);
  // Chunks by size only: results do not depend on the number of threads.
  const std::int64_t share = (rows_ + kChunks - 1) / kChunks,
                     panel = kPanel / std::max<std::int64_t>(1, columns_),
                     wanted = few && flop < kSplitVector ? rows_
                              : few                      ? share
                                                         : std::min(panel, share),
                     chunk = std::max<std::int64_t>(16, (wanted + 15) / 16 * 16);
  parallel_for(rows_, chunk, [&](std::int64_t begin, std::int64_t end) {
    const Matrix<float> part = y.column_range(begin, end);
    const float* part_bias = bias != nullptr ? bias + begin : nullptr;
    if (few)
      return with_numbers(precision_, row(begin), [&]<class S>(const S* numbers) {
        const std::int64_t stride = row_bytes(precision_, columns_);
        const RowsOf<S> rows{numbers, end - begin, stride / std::int64_t{sizeof(S)},
                             scales_of(numbers, columns_), stride / 4};
        if (emulates(GRADUS_DISPATCHES ? simd::level() : simd::Level::baseline))
          return few_rows<Emulated, S>(&part, &x, &rows, part_bias);
        simd::run_one<few_rows<Avx512, S>, few_rows<Avx2, S>, few_rows<Baseline, S>>(
            &part, &x, &rows, part_bias);
      });
    const memory::Scratch<float> rows((end - begin) * columns_);
    for (std::int64_t i = begin; i < end; ++i) unpack_row(i, rows.data + (i - begin) * columns_);
    const Matrix<const float> unpacked(rows.data, end - begin, columns_);
    gemm::multiply(part, x, unpacked.transpose(), {.bias = part_bias, .threads = Threads::one});
  });
}

}  // namespace gradus::gemm
