// Products over the pairs that a mask does not hide.
//
//   y = pair_products(a, b)     da = weighted_sum(dy, b)       db = weighted_sum(dyᵀ, a)
//   y = weighted_sum(w, x)      dw = pair_products(dy, x)      dx = weighted_sum(wᵀ, dy)
//
// Each is the other's derivative, so nothing leaks in derivatives of any order. Where all values
// are finite both are one matrix product; only otherwise a loop goes over the pairs one by one.
#include "gradus/ops/pair_products.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/batched_product.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

bool finite(const Tensor& x) {
  const Tensor packed = kernel::contiguous(x);
  return dispatch_float("attention", x.dtype(), [&]<class T>() {
    const std::span values(packed.data<T>(), static_cast<std::size_t>(packed.numel()));
    return std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
  });
}

Tensor sum_over_visible(const Tensor& weights, const Tensor& values, const Tensor& hides) {
  const Tensor w = kernel::contiguous(weights), x = kernel::contiguous(values),
               h = kernel::contiguous(hides);
  const std::int64_t S = w.size(-1), D = x.size(-1);
  Shape shape = w.shape();
  shape[w.rank() - 1] = D;
  Tensor y = Tensor::empty(shape, w.dtype()).fill_(0);
  dispatch_float("attention", y.dtype(), [&]<class T>() {
    const T *weight = w.data<T>(), *value = x.data<T>();
    const bool* hidden = h.data<bool>();
    T* out = y.mutable_data<T>();
    // equivalent: one flag more is read; AddressSanitizer says so
    for (std::int64_t pair = 0; pair < w.numel(); ++pair) {
      if (hidden[pair]) continue;
      const std::int64_t row = pair / S, batch = row / w.size(-2);
      const T* from = value + (batch * S + pair % S) * D;
      for (std::int64_t c = 0; c < D; ++c) out[row * D + c] += weight[pair] * from[c];
    }
  });
  return y;
}

void clear_hidden(Tensor& y, const Tensor& hides) {
  const Tensor h = kernel::contiguous(hides);
  dispatch_float("attention", y.dtype(), [&]<class T>() {
    T* values = y.mutable_data<T>();
    const bool* hidden = h.data<bool>();
    for (std::int64_t i = 0; i < y.numel(); ++i) values[i] = hidden[i] ? T{0} : values[i];
  });
}

}  // namespace

namespace op {

struct PairProducts final : Op {
  Saved a, b;
  Tensor hides;

  explicit PairProducts(Tensor hidden) : hides(std::move(hidden)) {}
  const char* name() const override { return "pair_products"; }

  Tensor forward(const Tensor& left, const Tensor& right) {
    a = left;
    b = right;
    Tensor y = kernel::batched_product(left, kernel::transposed(right));
    clear_hidden(y, hides);
    return y;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    const Tensor visible = masked_fill(dy, hides, 0);
    Tensor da, db;
    if (wants(0)) da = weighted_sum(visible, b.value(), hides);
    if (wants(1)) db = weighted_sum(transpose(visible), a.value(), transpose(hides));
    return {da, db};
  }
};

struct WeightedSum final : Op {
  Saved w, x;
  Tensor hides;

  explicit WeightedSum(Tensor hidden) : hides(std::move(hidden)) {}
  const char* name() const override { return "weighted_sum"; }

  Tensor forward(const Tensor& weights, const Tensor& values) {
    w = weights;
    x = values;
    if (finite(weights) && finite(values)) return kernel::batched_product(weights, values);
    return sum_over_visible(weights, values, hides);
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    Tensor dw, dx;
    if (wants(0)) dw = pair_products(dy, x.value(), hides);
    if (wants(1)) dx = weighted_sum(transpose(w.value()), dy, transpose(hides));
    return {dw, dx};
  }
};

}  // namespace op

Tensor pair_products(const Tensor& a, const Tensor& b, const Tensor& hides) {
  return hides.defined() ? apply(op::PairProducts(hides), a, b) : matmul(a, transpose(b));
}

Tensor weighted_sum(const Tensor& w, const Tensor& x, const Tensor& hides) {
  return hides.defined() ? apply(op::WeightedSum(hides), w, x) : matmul(w, x);
}

}  // namespace gradus
