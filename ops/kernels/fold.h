// Folding: the elements of each group made one value, the loop under every reduction.
//
// Groups lie in memory as [outer, n, inner]: element i of group (o, j) at x[o, i, j]. inner = 1 are
// rows, outer = 1 are columns. Blocks of fixed size are folded one by one, their results are
// combined in order, so that the bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/simd.h"
#include "gradus/base/vmath.h"
#include "gradus/engine/op.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

/// What a reduction over some axes does to a shape.
struct Reduced {
  Shape from;          // x's
  Shape kept;          // x's with 1 for the reduced axes: it broadcasts against x
  Shape shape;         // the result's: kept, or without those axes
  Axes axes;           // counted from the front, rising
  std::int64_t n = 1;  // elements of a group
};

/// Over `axes`, or over all where there are none. IndexError, ValueError for an axis named twice.
Reduced reduced(const char* op, const Tensor& x, const Axes& axes, bool keepdim);

/// x, contiguous, with the reduced axes next to each other.
struct Groups {
  Tensor x;
  std::int64_t outer = 1, n = 1, inner = 1;
};

/// A view of x where its layout allows; else a copy with the reduced axes last.
Groups groups_of(const Tensor& x, const Reduced& r);

/// Sums are added up in double (f32 loses nothing before the end), i64 in i64.
template <class T>
using SumType = std::conditional_t<std::is_same_v<T, std::int64_t>, std::int64_t, double>;

// Rules: what a fold starts from, what it makes of an element, how two results become one. `center`
// is a number of the group's own (its mean, its maximum).

template <class T>
struct AddRule {
  using Value = SumType<T>;
  static Value start() { return 0; }
  static GRADUS_INLINE Value load(T x, Value) { return static_cast<Value>(x); }
  static GRADUS_INLINE Value combine(Value a, Value b) { return a + b; }
};

template <class T>
struct SquareRule : AddRule<T> {  // (x − center)²
  static GRADUS_INLINE double load(T x, double center) {
    const double d = static_cast<double>(x) - center;
    return d * d;
  }
};

template <class T>
struct ExpRule : AddRule<T> {  // exp(x − center)
  static GRADUS_INLINE double load(T x, double center) {
    return static_cast<double>(vmath::exp(x - static_cast<T>(center)));
  }
};

template <class T>
struct MultiplyRule : AddRule<T> {
  static double start() { return 1; }
  static GRADUS_INLINE double combine(double a, double b) { return a * b; }
};

template <class T, bool kLargest>
struct ExtremeRule {  // NaN wins
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

inline constexpr std::int64_t kFoldBlock = 65536;   // elements of a block
inline constexpr std::int64_t kFoldColumns = 1024;  // of a block: their running values fit in L1
inline constexpr std::int64_t kFoldRows = 256;      // results that are kept on the stack
inline constexpr std::int64_t kShortRow = 16;       // below: lanes cost more than they bring

/// y[r] = fold of x[r, 0 … n), rows r apart by n; centers may be null.
template <class Rule, class T>
GRADUS_INLINE void fold_rows(const T* x, std::int64_t rows, std::int64_t n,
                             const typename Rule::Value* centers, typename Rule::Value* y) {
  using Value = typename Rule::Value;
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    const Value center = centers ? centers[r] : Value(0);
    if (n < kShortRow) {
      y[r] = Rule::start();
      for (std::int64_t i = 0; i < n; ++i) y[r] = Rule::combine(y[r], Rule::load(x[i], center));
    } else {
      y[r] = vmath::fold_of<Value>(
          n, Rule::start(), [=](std::int64_t i) { return Rule::load(x[i], center); },
          [](Value a, Value b) { return Rule::combine(a, b); });
    }
  }
}

/// y[j] = fold of x[0 … n, j], rows `stride` apart; centers may be null.
template <class Rule, class T>
GRADUS_INLINE void fold_columns(const T* x, std::int64_t n, std::int64_t stride,
                                std::int64_t columns, const typename Rule::Value* centers,
                                typename Rule::Value* y) {
  using Value = typename Rule::Value;
  for (std::int64_t j = 0; j < columns; ++j) y[j] = Rule::start();
  for (std::int64_t i = 0; i < n; ++i, x += stride) {
    if (centers)
      for (std::int64_t j = 0; j < columns; ++j)
        y[j] = Rule::combine(y[j], Rule::load(x[j], centers[j]));
    else
      for (std::int64_t j = 0; j < columns; ++j)
        y[j] = Rule::combine(y[j], Rule::load(x[j], Value(0)));
  }
}

/// One block: rows [i, i + count) of the groups (o, j) … (o, j + columns).
template <class Rule, class T>
void fold_block(const Groups& g, std::int64_t o, std::int64_t i, std::int64_t count, std::int64_t j,
                std::int64_t columns, const typename Rule::Value* centers,
                typename Rule::Value* y) {
  const T* x = g.x.data<T>() + (o * g.n + i) * g.inner + j;
  if (centers) centers += o * g.inner + j;
  if (g.inner == 1)
    simd::run<fold_rows<Rule, T>>(x, 1, count, centers, y);
  else
    simd::run<fold_columns<Rule, T>>(x, count, g.inner, columns, centers, y);
}

/// Groups longer than a block: the blocks' results, then those combined.
template <class Rule, class T, class Finish>
void fold_long(const Groups& g, std::int64_t length, const typename Rule::Value* centers,
               Finish finish) {
  using Value = typename Rule::Value;
  const std::int64_t blocks = (g.n + length - 1) / length,
                     columns = std::min(g.inner, kFoldColumns);
  const std::int64_t strips = (g.inner + columns - 1) / columns;
  std::vector<Value> partial(static_cast<std::size_t>(g.outer * blocks * g.inner));
  parallel_for(g.outer * blocks * strips, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t j = task % strips * columns, block = task / strips;  // of all groups
      const std::int64_t o = block / blocks, i = block % blocks * length;
      fold_block<Rule, T>(g, o, i, std::min(length, g.n - i), j, std::min(columns, g.inner - j),
                          centers, partial.data() + block * g.inner + j);
    }
  });
  for (std::int64_t k = 0; k < g.outer * g.inner; ++k) {
    const Value* first = partial.data() + k / g.inner * blocks * g.inner + k % g.inner;
    Value total = *first;
    for (std::int64_t b = 1; b < blocks; ++b) total = Rule::combine(total, first[b * g.inner]);
    finish(k, total);
  }
}

/// finish(k, value) for the fold of each group k = o · inner + j; centers[k] is its own, or null.
template <class Rule, class T, class Finish>
void fold(const Groups& g, const typename Rule::Value* centers, Finish finish) {
  using Value = typename Rule::Value;
  if (g.outer * g.inner == 0) return;
  const std::int64_t columns = std::min(g.inner, kFoldColumns), length = kFoldBlock / columns;
  if (g.n > length) return fold_long<Rule, T>(g, length, centers, finish);
  if (g.inner == 1) {
    const T* x = g.x.data<T>();
    parallel_for(g.outer, rows_grain(g.n), [&](std::int64_t begin, std::int64_t end) {
      Value values[kFoldRows];
      for (std::int64_t o = begin; o < end; o += kFoldRows) {
        const std::int64_t rows = std::min(kFoldRows, end - o);
        simd::run<fold_rows<Rule, T>>(x + o * g.n, rows, g.n, centers ? centers + o : nullptr,
                                      values);
        for (std::int64_t r = 0; r < rows; ++r) finish(o + r, values[r]);
      }
    });
    return;
  }
  const std::int64_t strips = (g.inner + columns - 1) / columns;
  parallel_for(g.outer * strips, rows_grain(g.n * columns),
               [&](std::int64_t begin, std::int64_t end) {
                 Value values[kFoldColumns];
                 for (std::int64_t task = begin; task < end; ++task) {
                   const std::int64_t o = task / strips, j = task % strips * columns;
                   const std::int64_t count = std::min(columns, g.inner - j);
                   fold_block<Rule, T>(g, o, 0, g.n, j, count, centers, values);
                   for (std::int64_t k = 0; k < count; ++k) finish(o * g.inner + j + k, values[k]);
                 }
               });
}

/// y[k] = finish(the fold of group k).
template <class Rule, class T, class Finish>
Tensor fold_to(const Groups& g, const Shape& shape, const typename Rule::Value* centers,
               Finish finish) {
  Tensor y = Tensor::empty(shape, dtype_of<T>);
  T* out = y.mutable_data<T>();
  fold<Rule, T>(g, centers,
                [&](std::int64_t k, auto value) { out[k] = static_cast<T>(finish(k, value)); });
  return y;
}

namespace op {

struct OverAxes : Op {
  Reduced r;
  explicit OverAxes(const Reduced& r) : r(r) {}
  Tensor kept(const Tensor& y) const { return reshape(y, r.kept); }  // broadcasts against x
};

}  // namespace op

}  // namespace gradus
