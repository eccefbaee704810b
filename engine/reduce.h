// The loop of every reduction: folds each group of elements into one value.
//
// The memory layout is [outer, n, inner]: element i of group (o, j) is x[o, i, j]. Groups are rows
// if inner = 1, and columns if outer = 1. Fixed-size blocks are folded separately and combined in
// order, so the bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Shapes and axes of a reduction.
struct Reduced {
  Shape from;          // shape of x
  Shape kept;          // `from` with size 1 for the reduced axes; broadcasts to x
  Shape shape;         // shape of the result
  Axes axes;           // nonnegative, ascending
  std::int64_t n = 1;  // elements per group
};

/// Describes a reduction over `axes`, or over all axes if empty. Throws IndexError for an invalid
/// axis, and ValueError for repeated axes.
Reduced reduced(const char* op, const Tensor& x, const Axes& axes, bool keepdim);

/// A contiguous x in which the reduced axes are adjacent.
struct Groups {
  Tensor x;
  std::int64_t outer = 1, n = 1, inner = 1;
};

/// Returns a view of x if its layout allows, else a copy with the reduced axes last.
Groups groups_of(const Tensor& x, const Reduced& r);

/// The type in which sums accumulate: double for floats, i64 for i64.
template <class T>
using SumType = std::conditional_t<std::is_same_v<T, std::int64_t>, std::int64_t, double>;

// Rules for folding. `center` is, for example, the group's mean or maximum.

/// Sum.
template <class T>
struct AddRule {
  using Value = SumType<T>;
  static Value start() { return 0; }
  static GRADUS_INLINE Value load(T x, Value) { return static_cast<Value>(x); }
  static GRADUS_INLINE Value combine(Value a, Value b) { return a + b; }
};

/// Sum of (x − center)².
template <class T>
struct SquareRule : AddRule<T> {
  static GRADUS_INLINE double load(T x, double center) {
    const double d = static_cast<double>(x) - center;
    return d * d;
  }
};

/// Sum of exp(x − center).
template <class T>
struct ExpRule : AddRule<T> {
  static GRADUS_INLINE double load(T x, double center) {
    return static_cast<double>(vmath::exp(x - static_cast<T>(center)));
  }
};

/// Product.
template <class T>
struct MultiplyRule : AddRule<T> {
  static double start() { return 1; }
  static GRADUS_INLINE double combine(double a, double b) { return a * b; }
};

/// Maximum or minimum; NaN if any element is NaN.
template <class T, bool kLargest>
struct ExtremeRule {
  using Value = T;
  static Value start() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity)
      return kLargest ? -Limits::infinity() : Limits::infinity();
    else
      return kLargest ? Limits::lowest() : Limits::max();
  }
  static GRADUS_INLINE Value load(T x, Value) { return x; }
  static GRADUS_INLINE Value combine(Value a, Value b) {
    return (kLargest ? b > a : b < a) || b != b ? b : a;
  }
};

inline constexpr std::int64_t kFoldBlock = 65536;   // elements per block
inline constexpr std::int64_t kFoldColumns = 1024;  // columns per block: fits into the L1 cache

/// Folds each row x[r, 0 … n) into y[r]. centers may be null.
template <class Rule, class T>
GRADUS_INLINE void fold_rows(const T* x, std::int64_t rows, std::int64_t n,
                             const typename Rule::Value* centers, typename Rule::Value* y) {
  using Value = typename Rule::Value;
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    const Value center = centers ? centers[r] : Value(0);
    y[r] = vmath::fold_of<Value>(
        n, Rule::start(), [=](std::int64_t i) { return Rule::load(x[i], center); },
        [](Value a, Value b) { return Rule::combine(a, b); });
  }
}

/// Folds x[0 … n, j] into y[j]; rows are `stride` apart. `centers` may be null. Processes four
/// rows at a time to save memory traffic.
template <class Rule, class T>
GRADUS_INLINE void fold_columns(const T* x, std::int64_t n, std::int64_t stride,
                                std::int64_t columns, const typename Rule::Value* centers,
                                typename Rule::Value* y) {
  using Value = typename Rule::Value;
  const auto fold = [=](auto center) {
    const auto add = [=](Value so_far, std::int64_t i, std::int64_t j) {
      return Rule::combine(so_far, Rule::load(x[i * stride + j], center(j)));
    };
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (std::int64_t j = 0; j < columns; ++j)
        y[j] = add(add(add(add(y[j], i, j), i + 1, j), i + 2, j), i + 3, j);
    for (; i < n; ++i)
      for (std::int64_t j = 0; j < columns; ++j) y[j] = add(y[j], i, j);
  };
  std::fill_n(y, columns, Rule::start());
  if (centers)
    fold([=](std::int64_t j) { return centers[j]; });
  else
    fold([](std::int64_t) { return Value(0); });
}

/// Folds each group and returns [outer, inner]. Group k uses centers[k], or 0 if `centers` is null.
template <class Rule, class T>
std::vector<typename Rule::Value> fold(const Groups& g,
                                       const typename Rule::Value* centers = nullptr) {
  using Value = typename Rule::Value;
  const std::int64_t columns = std::clamp<std::int64_t>(g.inner, 1, kFoldColumns);
  const std::int64_t strips = (g.inner + columns - 1) / columns, length = kFoldBlock / columns;
  const std::int64_t blocks = std::max<std::int64_t>(1, (g.n + length - 1) / length);
  std::vector<Value> values(static_cast<std::size_t>(g.outer * blocks * g.inner));
  const T* const x = g.x.data<T>();
  const auto fold_block = [&](std::int64_t block, std::int64_t j) {
    const std::int64_t o = block / blocks, i = block % blocks * length;
    const std::int64_t rows = std::min(length, g.n - i), at = (o * g.n + i) * g.inner + j;
    const Value* c = centers ? centers + o * g.inner + j : nullptr;
    Value* const y = values.data() + block * g.inner + j;
    if (g.inner == 1)  // fast path
      simd::run<fold_rows<Rule, T>>(x + at, 1, rows, c, y);
    else
      simd::run<fold_columns<Rule, T>>(x + at, rows, g.inner, std::min(columns, g.inner - j), c, y);
  };
  const std::int64_t grain = rows_grain(std::min(g.n, length) * columns);
  parallel_for(g.outer * blocks * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    if (g.inner == 1 && blocks == 1)  // fast path
      return simd::run<fold_rows<Rule, T>>(x + begin * g.n, end - begin, g.n,
                                           centers ? centers + begin : nullptr,
                                           values.data() + begin);
    for (std::int64_t task = begin; task < end; ++task)
      fold_block(task / strips, task % strips * columns);
  });
  if (blocks == 1) return values;
  std::vector<Value> totals(static_cast<std::size_t>(g.outer * g.inner));
  for (std::int64_t k = 0; k < g.outer * g.inner; ++k) {
    const Value* first = values.data() + k / g.inner * blocks * g.inner + k % g.inner;
    Value total = *first;
    for (std::int64_t b = 1; b < blocks; ++b) total = Rule::combine(total, first[b * g.inner]);
    totals[static_cast<std::size_t>(k)] = total;
  }
  return totals;
}

/// Returns a tensor with y[k] = finish(k, fold of group k).
template <class Rule, class T, class Finish>
Tensor fold_to(const Groups& g, const Shape& shape, const typename Rule::Value* centers,
               Finish finish) {
  Tensor y = Tensor::empty(shape, dtype_of<T>);
  T* out = y.mutable_data<T>();
  const auto values = fold<Rule, T>(g, centers);
  parallel_for(y.numel(), kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      out[k] = static_cast<T>(finish(k, values[static_cast<std::size_t>(k)]));
  });
  return y;
}

namespace kernel {

/// Sums each group without recording. Supports f32, f64, i64. Errors name `op`.
Tensor sum(const char* op, const Tensor& x, const Reduced& r);

}  // namespace kernel

}  // namespace gradus
