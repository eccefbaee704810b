// dropout: y_i = x_i / (1 − p) where the mask keeps element i, otherwise 0.
//
//   dx = dropout(dy) with the same mask
//
// Saves only the random stream, from which backward draws the same mask. Backward is the same op,
// so derivatives of any order exist.
#include "gradus/ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/checks.h"

namespace gradus {
namespace {

constexpr std::int64_t kBlock = 1024;        // words per draw, on the stack
constexpr std::int64_t kGrain = 8 * kBlock;  // a word costs as much as multiple cheap elements

/// y may equal x. Dropped elements become 0, even if they are NaN. Reads x unconditionally to avoid
/// a branch.
template <class T>
GRADUS_INLINE void drop(const std::uint32_t* words, std::uint32_t threshold, T scale, const T* x,
                        T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T kept = x[i] * scale;
    y[i] = words[i] >= threshold ? kept : T(0);
  }
}
/// y may share x's buffer.
void drop_into(Tensor& y, const DropoutMask& mask, const Tensor& x) {
  dispatch_float("dropout", x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    const T scale = static_cast<T>(mask.scale);
    parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::uint32_t, kBlock> words;
      for (std::int64_t i = begin; i < end; i += kBlock) {
        const std::int64_t n = std::min(kBlock, end - i);
        mask.stream.words(i, n, words.data());
        simd::run<drop<T>>(words.data(), mask.threshold, scale, from + i, to + i, n);
      }
    });
  });
}

}  // namespace

namespace op {

struct Dropout final : Op {
  DropoutMask mask;
  bool in_place;  // true: may reuse x's buffer if unshared

  explicit Dropout(const DropoutMask& same, bool in_place = false)
      : mask(same), in_place(in_place) {}
  const char* name() const override { return "dropout"; }

  Tensor forward(const Tensor& x) {
    const bool gives_up_x = std::exchange(in_place, false);  // only the first run may overwrite x
    Tensor y = gives_up_x ? reuse_or_empty(x) : Tensor::empty_like(x);
    drop_into(y, mask, kernel::contiguous(x));
    return y;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (GradMode::enabled()) return {dropout(dy, mask)};
    Tensor dx = reuse_or_empty(dy);
    drop_into(dx, mask, kernel::contiguous(dy));
    return {dx};
  }
};

}  // namespace op

DropoutMask make_dropout_mask(double p) {
  check_dropout("dropout", p);
  constexpr double kWords = 4294967296.0;  // 2³²
  const double threshold = std::min(std::round(p * kWords), kWords - 1);
  return {generator().next(), static_cast<std::uint32_t>(threshold), 1 / (1 - p)};
}

Tensor dropout(const Tensor& x, const DropoutMask& mask) { return apply(op::Dropout(mask), x); }

Tensor dropout(Tensor x, double p, bool training) {
  check_float("dropout", x);
  check_dropout("dropout", p);
  if (p == 0 || !training) return x;
  return apply(op::Dropout(make_dropout_mask(p), !Observers::read_values()), x);
}

}  // namespace gradus
