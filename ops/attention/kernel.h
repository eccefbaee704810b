// The fused attention kernel: tiles of queries × keys, no T × S buffer.
#pragma once

#include <cstdint>

#include "gradus/ops/dropout.h"
#include "gradus/ops/mask/mask.h"

namespace gradus::kernel {

/// Queries, keys, values, or a gradient of theirs: head h of example b begins at b·example +
/// h·head, its rows are `row` apart, a row's numbers side by side. Any view of a projection is one.
template <class T>
struct Heads {
  T* data;
  std::int64_t example, head, row;
  T* at(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * example + h * head + r * row;
  }
};

/// What is asked for, beside the numbers.
struct AttentionPlan {
  std::int64_t B, H, Hk;     // batch, heads of queries, and of keys and values
  std::int64_t T, S, D, Dv;  // queries, keys, widths of a key and a value
  double scale;
  Mask mask;
  Tensor bias;            // undefined, or seen as [B, H, T, S] by its strides; constant here
  DropoutMask dropout;    // threshold 0: none
  bool hides = false;     // some pair: what is not finite there could leak out of a product
  bool sees_few = false;  // a block of queries sees few keys

  std::int64_t group() const { return Hk == 0 ? 1 : H / Hk; }  // query heads of one key head
};

/// So few queries, as in decoding, read keys where they lie: transposing all of them first costs
/// more than the slower product.
inline constexpr std::int64_t kFewQueries = 4;

/// o = softmax(q kᵀ · scale + bias, masked) v, and lse[b, h, t] = log Σ_s exp(score): all that
/// backward needs to compute the weights again.
template <class T>
void attention_forward(const AttentionPlan& plan, Heads<const T> q, Heads<const T> k,
                       Heads<const T> v, Heads<T> o, T* lse);

/// Rows from `first` on, of one head.
template <class T>
struct Rows {
  T* data;
  std::int64_t first, row;
  T* at(std::int64_t r) const { return data + (r - first) * row; }
};

/// What backward reads, and what it overwrites: gradients without data are not wanted.
template <class T>
struct BackwardHeads {
  Heads<const T> q, k, v, o, dout;
  const T* lse;
  Heads<T> dq, dk, dv;
};

/// dq, dk, dv from dout (the gradient of o). A key head's gradient is the sum over the query heads
/// that it serves.
template <class T>
void attention_backward(const AttentionPlan& plan, const BackwardHeads<T>& x);

}  // namespace gradus::kernel
