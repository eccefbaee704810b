#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gradus/engine/saved.h"
#include "gradus/engine/tensor.h"

namespace gradus {

class Node;

/// The result of backward for one input: no gradient, a full gradient, or its nonzero part. The
/// engine sums a broadcast gradient down to the input's shape. With create_graph, backward must
/// return full tensors.
class Gradient {
 public:
  Gradient() = default;                                // no gradient
  Gradient(Tensor whole) : part_(std::move(whole)) {}  // NOLINT: implicit, `return {da, db};`
  /// `part` is the gradient at every step-th position of `axis` in [start, start +
  /// step·part.size(axis)). The gradient is 0 elsewhere.
  static Gradient slice(Tensor part, int axis, std::int64_t start, std::int64_t step = 1);
  /// Adds part[i, …] to row index[i] of the first axis. `index` is i64 and may contain repeats.
  static Gradient rows(Tensor part, Tensor index);

  bool defined() const { return part_.defined(); }
  bool is_whole() const { return region_ == nullptr; }
  const Tensor& part() const { return part_; }

  /// The nonzero part: a slice of `axis`, or rows of the first axis.
  struct Region {
    int axis = 0;
    std::int64_t start = 0, step = 1;
    Tensor index;  // defined for rows
  };
  const Region& region() const { return *region_; }

 private:
  Tensor part_;
  std::shared_ptr<const Region> region_;  // null if the gradient is full
};

/// The result of Op::backward: one gradient per input, in order.
using Gradients = std::vector<Gradient>;

/// The gradients that backward must compute: needs_grad(i) is true if input i needs one.
class NeedsGrad {
 public:
  NeedsGrad(std::span<const std::uint8_t> inputs, bool is_last) : last(is_last), inputs_(inputs) {}
  bool operator()(int input) const { return inputs_[static_cast<std::size_t>(input)] != 0; }

  const bool last;  // true: saved buffers may be reused

 private:
  std::span<const std::uint8_t> inputs_;
};

/// A differentiable operation, applied once. A subclass has Saved members, a forward that computes
/// the output, and a backward that returns the gradients:
///
///   struct Tanh final : Op {                        // y = tanh x,  dx = dy (1 − y²)
///     Saved y;
///     const char* name() const override { return "tanh"; }
///     Tensor forward(const Tensor& x);              // … y = result; return result;
///     Gradients backward(const Tensor& dy, const NeedsGrad&) override {
///       const Tensor t = attached(y);
///       return {dy * (1.0 - t * t)};
///     }
///   };
///   Tensor tanh(const Tensor& x) { return apply(op::Tanh{}, x); }
class Op {
 public:
  virtual ~Op() = default;
  virtual const char* name() const = 0;

  /// Returns dL/dx for each input of apply(), given dL/dy, or Gradient{} where needs_grad(i) is
  /// false. Must not call kernels if GradMode::enabled(). `dy` may have any strides. Overwrite its
  /// buffer only through reuse_or_empty(dy).
  virtual Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad);

  /// True if consumers may drop this op's output and recompute it. Suitable for cheap ops (norms,
  /// activations) whose saved input is_stored().
  virtual bool is_recomputable() const { return false; }
  virtual Tensor recompute() const { return {}; }

  /// Recomputes a fused op's intermediate tensors of forward and, if dy is defined, of backward.
  virtual std::vector<std::pair<const char*, Tensor>> intermediates(const Tensor& dy) const;

 protected:
  const Shape& shape_of(int input) const;      // the input must require a gradient
  Tensor attached(const Saved& output) const;  // a saved output with this op's node

 private:
  friend class Node;
  Node* node_ = nullptr;  // null before recording
};

}  // namespace gradus
