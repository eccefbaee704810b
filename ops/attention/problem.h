#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/gemm/matrix.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/mask/mask.h"

namespace gradus::kernel {

struct AttentionProblem {
  std::int64_t B, H, Hk;     // batch size, query heads, key and value heads
  std::int64_t T, S, D, Dv;  // numbers of queries and keys, widths of keys and values
  double scale;
  Mask mask;
  Tensor bias = {};          // undefined, or a constant view [B, H, T, S]
  DropoutMask dropout = {};  // threshold 0: no dropout
  bool narrow = false;       // true if few keys are visible to each block

  std::int64_t group() const { return Hk == 0 ? 1 : H / Hk; }  // query heads per key head
  /// Returns the index of the random word that determines whether dropout keeps a weight.
  std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return ((b * H + h) * T + i) * S + j;
  }
};

struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

struct QueryBlock {
  std::int64_t b, h;
  Range queries;
};

/// Queries, keys, values or a gradient: a view with contiguous columns. Unneeded views have null
/// `data`.
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
template <class T>
struct AttentionGradients {
  HeadsView<const T> o, dout;
  const T* lse;
  HeadsView<T> dq, dk, dv;
};

/// Computes o = softmax(q kᵀ · scale + bias, masked) v in tiles, and lse[b, h, t] = log Σ_s
/// exp(score), from which backward recomputes the weights.
template <class T>
void attention_forward(const AttentionProblem& p, const AttentionInputs<T>& x,
                       const HeadsView<T>& o, T* lse);

/// Computes dq, dk and dv from dout. dk and dv are summed over the query heads of a key head.
template <class T>
void attention_backward(const AttentionProblem& p, const AttentionInputs<T>& x,
                        const AttentionGradients<T>& g);

}  // namespace gradus::kernel

namespace gradus::formula {

/// Attention composed of public ops. `bias` is the original tensor, which may require a gradient.
AttentionOutput composed(const kernel::AttentionProblem& p, const Tensor& q, const Tensor& k,
                         const Tensor& v, const Tensor& bias);

/// Returns matrices [B, H, T, S] for traces and tests: "scores", "masked" (if there is a bias or
/// mask), "weights", and if dout is defined, "dweights" and "dscores".
std::vector<std::pair<const char*, Tensor>> intermediates(const kernel::AttentionProblem& p,
                                                          const Tensor& q, const Tensor& k,
                                                          const Tensor& v, const Tensor& dout);

}  // namespace gradus::formula
