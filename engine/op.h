// Op: the mathematics of one operation, and what it must remember to go backward.
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

/// What backward returns for one input: nothing, the gradient, or only the part that is not zero.
/// A whole gradient may be larger than its input by broadcasting: the engine sums it down, and adds
/// parts where they belong. With create_graph on, return whole tensors.
class Gradient {
 public:
  Gradient() = default;                                // this input gets nothing
  Gradient(Tensor whole) : part_(std::move(whole)) {}  // NOLINT: implicit, `return {da, db};`
  /// `part` belongs to [start, start + step·part.size(axis)) of `axis`, every step-th; 0 elsewhere.
  static Gradient slice(Tensor part, int axis, std::int64_t start, std::int64_t step = 1);
  /// part[i, …] is added to row index[i] of the input's first axis (index: i64, any repeats).
  static Gradient rows(Tensor part, Tensor index);

  bool defined() const { return part_.defined(); }
  bool is_whole() const { return region_ == nullptr; }
  const Tensor& part() const { return part_; }

  struct Region {
    int axis = 0;
    std::int64_t start = 0, step = 1;
    Tensor index;  // defined: rows
  };
  const Region& region() const { return *region_; }

 private:
  Tensor part_;
  std::shared_ptr<const Region> region_;  // null: whole
};

using Gradients = std::vector<Gradient>;

/// Which gradients a backward is asked for: needs_grad(i) of input i.
class NeedsGrad {
 public:
  NeedsGrad(std::span<const std::uint8_t> inputs, bool is_last) : last(is_last), inputs_(inputs) {}
  bool operator()(int input) const { return inputs_[static_cast<std::size_t>(input)] != 0; }

  const bool last;  // the graph is not kept: saved buffers may be given away

 private:
  std::span<const std::uint8_t> inputs_;
};

/// One differentiable operation, applied once. A subclass has named Saved members, a forward that
/// computes the output, and a backward that returns the gradients:
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

  /// Given dL/dy, return dL/dx for each input in the order of apply(). Leave out (Gradient{}) where
  /// needs_grad(i) is false. Written in public ops it can be differentiated again; a kernel must
  /// not be used while gradients are recorded (GradMode::enabled()). `dy` may have any strides; its
  /// buffer may be overwritten only through reuse_or_empty(dy).
  virtual Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad);

  /// Ops that read little and compute little (norms, activations) let consumers drop their output
  /// and recompute it from what is saved. True only where that is_stored(): in a chain of such ops
  /// each would else ask the one before it.
  virtual bool is_recomputable() const { return false; }
  virtual Tensor recompute() const { return {}; }

  /// What a fused op computes on the way and does not keep, by name, computed again for observers:
  /// of forward, and where dy is defined of backward too.
  virtual std::vector<std::pair<const char*, Tensor>> intermediates(const Tensor& dy) const;

 protected:
  const Shape& shape_of(int input) const;      // of an input that wants a gradient
  Tensor attached(const Saved& output) const;  // a saved output, as the result of this very op

 private:
  friend class Node;
  Node* node_ = nullptr;  // owns this op; null until it is recorded
};

}  // namespace gradus
