// What attention computes, beside the values: one description for the formula and for the kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/gemm/matrix.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/mask/mask.h"

namespace gradus::kernel {

struct AttentionProblem {
  std::int64_t B, H, Hk;     // batch, heads of queries, and of keys and values
  std::int64_t T, S, D, Dv;  // queries, keys, widths of a key and a value
  double scale;
  Mask mask;
  Tensor bias = {};          // undefined, or seen as [B, H, T, S] by its strides; constant here
  DropoutMask dropout = {};  // threshold 0: none
  bool narrow = false;       // a block of queries sees few keys

  std::int64_t group() const { return Hk == 0 ? 1 : H / Hk; }  // query heads of one key head
  /// Of a weight in [B, H, T, S]: the index of its random word.
  std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return ((b * H + h) * T + i) * S + j;
  }
};

/// Items [first, last) of an axis.
struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

/// Queries [first, last) of one head of one example.
struct QueryBlock {
  std::int64_t b, h;
  Range queries;
};

/// Queries, keys, values, or a gradient of theirs: any view of a projection whose columns lie side
/// by side. Without data: a gradient that is not wanted.
template <class T>
struct HeadsView {
  T* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  std::int64_t width = 0;

  T* row(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * batch_stride + h * head_stride + r * row_stride;
  }
  gemm::Matrix<T> rows(std::int64_t b, std::int64_t h, Range r) const {
    return {row(b, h, r.first), r.size(), width, gemm::Stride{row_stride}};
  }
};

template <class T>
struct AttentionInputs {
  HeadsView<const T> q, k, v;
};
/// What backward knows of the output, and what it overwrites.
template <class T>
struct AttentionGradients {
  HeadsView<const T> o, dout;
  const T* lse;
  HeadsView<T> dq, dk, dv;
};

/// o = softmax(q kᵀ · scale + bias, masked) v, in tiles of queries × keys, without a T × S buffer,
/// and lse[b, h, t] = log Σ_s exp(score): all that backward needs to compute the weights again.
template <class T>
void attention_forward(const AttentionProblem& p, const AttentionInputs<T>& x,
                       const HeadsView<T>& o, T* lse);

/// dq, dk, dv from dout (the gradient of o). A key head's gradient is the sum over the query heads
/// that it serves.
template <class T>
void attention_backward(const AttentionProblem& p, const AttentionInputs<T>& x,
                        const AttentionGradients<T>& g);

}  // namespace gradus::kernel

namespace gradus::formula {

/// Attention composed of public operations. `bias` is the tensor as it was given, which may learn.
AttentionOutput composed(const kernel::AttentionProblem& p, const Tensor& q, const Tensor& k,
                         const Tensor& v, const Tensor& bias);

/// The matrices [B, H, T, S] on the way: "scores", "masked" (where a bias or a mask is), "weights";
/// where dout is defined "dweights" and "dscores". For the trace and for tests.
std::vector<std::pair<const char*, Tensor>> intermediates(const kernel::AttentionProblem& p,
                                                          const Tensor& q, const Tensor& k,
                                                          const Tensor& v, const Tensor& dout);

}  // namespace gradus::formula
