// dropout: y_i = x_i / (1 − p) where the mask keeps element i, else 0.
//
//   dx = dropout(dy) with the same mask
//
// Nothing is remembered but the number of the random stream: the mask is a function of it and of an
// element's row-major index, and is drawn again in backward. That is the same operation once more,
// so it can be differentiated as often as wanted.
#include "gradus/ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradus/base/parallel.h"
#include "gradus/base/simd.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"

namespace gradus {
namespace {

constexpr std::int64_t kBlock = 1024;        // words drawn at a time, on the stack
constexpr std::int64_t kGrain = 8 * kBlock;  // a word costs as much as several cheap elements

/// y may be x or residual itself. What is dropped is 0, whatever it was: no product with 0. x is
/// read in any case: a read that depends on the mask would be a branch without AVX.
template <class T>
GRADUS_INLINE void drop(const std::uint32_t* words, std::uint32_t threshold, T scale, const T* x,
                        T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T kept = x[i] * scale;
    y[i] = words[i] >= threshold ? kept : T(0);
  }
}
template <class T>
GRADUS_INLINE void drop_onto(const std::uint32_t* words, std::uint32_t threshold, T scale,
                             const T* x, const T* residual, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T kept = x[i] * scale;
    y[i] = residual[i] + (words[i] >= threshold ? kept : T(0));
  }
}

/// y = dropout(x), on top of `residual` where that is defined. y may share x's buffer.
void drop_into(Tensor& y, const DropoutMask& mask, const Tensor& x, const Tensor& residual) {
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    const T* under = residual.defined() ? residual.data<T>() : nullptr;
    T* to = y.mutable_data<T>();
    const T scale = static_cast<T>(mask.scale);
    parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::uint32_t, kBlock> words;
      for (std::int64_t i = begin; i < end; i += kBlock) {
        const std::int64_t n = std::min(kBlock, end - i);
        mask.stream.words(i, n, words.data());
        if (under)
          simd::run<drop_onto<T>>(words.data(), mask.threshold, scale, from + i, under + i, to + i,
                                  n);
        else
          simd::run<drop<T>>(words.data(), mask.threshold, scale, from + i, to + i, n);
      }
    });
  });
}

void check_arguments(const char* name, const Tensor& x, double p) {
  check_float(name, x);
  require<ValueError>(p >= 0 && p < 1, name, ": p is ", p, ", but must be in [0, 1)");
}

}  // namespace

namespace op {

struct Dropout final : Op {
  DropoutMask mask;

  explicit Dropout(const DropoutMask& same) : mask(same) {}
  const char* name() const override { return "dropout"; }

  Tensor forward(const Tensor& x) {
    const Tensor packed = kernel::contiguous(x);
    Tensor y = Tensor::empty_like(packed);
    drop_into(y, mask, packed, {});
    return y;
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (GradMode::enabled()) return {apply(Dropout(mask), dy)};
    Tensor dx = reuse_or_empty(dy);
    drop_into(dx, mask, kernel::contiguous(dy), {});
    return {dx};
  }
};

struct DropoutResidual final : Op {  // y = residual + dropout(x)
  DropoutMask mask;

  explicit DropoutResidual(const DropoutMask& same) : mask(same) {}
  const char* name() const override { return "dropout_residual"; }

  Tensor forward(const Tensor& x, const Tensor& residual) {
    const Tensor packed = kernel::contiguous(x);
    Tensor y = Tensor::empty_like(packed);
    drop_into(y, mask, packed, kernel::contiguous(residual));
    return y;
  }

  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    return {wants(0) ? apply(Dropout(mask), dy) : Tensor(), dy};
  }
};

}  // namespace op

DropoutMask make_dropout_mask(double p) {
  require<ValueError>(p >= 0 && p < 1, "dropout: p is ", p, ", but must be in [0, 1)");
  constexpr double kWords = 4294967296.0;  // 2³²
  const double threshold = std::min(std::round(p * kWords), kWords - 1);
  return {generator().next(), static_cast<std::uint32_t>(threshold), 1 / (1 - p)};
}

Tensor dropout(const Tensor& x, double p, bool training) {
  check_arguments("dropout", x, p);
  if (p == 0 || !training) return x;
  return apply(op::Dropout(make_dropout_mask(p)), x);
}

Tensor dropout_residual(const Tensor& x, const Tensor& residual, double p, bool training) {
  check_arguments("dropout_residual", x, p);
  require<ValueError>(residual.defined(), "dropout_residual: the residual is undefined");
  require<ShapeError>(x.shape() == residual.shape(), "dropout_residual: x ", x.shape(),
                      " and residual ", residual.shape(), " must have equal shapes");
  require<DtypeError>(x.dtype() == residual.dtype(), "dropout_residual: x is ", x.dtype(),
                      " but residual ", residual.dtype(), ": convert one with to(x, dtype)");
  if (p == 0 || !training || formula_wanted()) return residual + dropout(x, p, training);
  return apply(op::DropoutResidual(make_dropout_mask(p)), x, residual);
}

}  // namespace gradus
