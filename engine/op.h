// Op: the mathematics of one operation, and what it must remember to go backward.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// A tensor that backward will need. Knows if its numbers were written to in the meantime, and lets
/// go of numbers that are cheaper to compute again than to keep (see Op::cheap_to_remake).
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& x);  // NOLINT: implicit, an op saves by `x_ = x`

  /// The tensor as it was saved, with its place in the graph (for second derivatives).
  /// GraphError if the numbers were written to since: names the op that saved and who wrote.
  Tensor value() const;

  /// value(), given up: its buffer may be overwritten by whoever takes it, if nobody else has it
  /// and no second backward is to come (keep_graph).
  Tensor take();

  bool defined() const { return tensor_.defined() || producer_; }
  bool kept() const { return !producer_; }  // the numbers are here, not to be computed again
  const Shape& shape() const { return tensor_.shape(); }
  Dtype dtype() const { return tensor_.dtype(); }

 private:
  Tensor tensor_;     // without numbers when it is to be remade, or was taken
  NodePtr producer_;  // who can remake it
  std::uint32_t version_ = 0;
};

/// What backward returns for one input: nothing, the gradient, or only the part that is not zero.
/// Parts are added where they belong by the engine; with create_graph on, return whole tensors.
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

/// One differentiable operation, applied once. A subclass has named Saved members, a forward that
/// computes the output, and a backward that returns the gradients:
///
///   struct Tanh final : Op {                        // y = tanh x,  dx = dy (1 − y²)
///     Saved y;
///     const char* name() const override { return "tanh"; }
///     Tensor forward(const Tensor& x);              // … y = result; return result;
///     Gradients backward(const Tensor& dy) override {
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
  /// wants(i) is false. Written in public ops it can be differentiated again; a kernel must not be
  /// used while gradients are recorded (GradMode::enabled()). `dy` may have any strides; its buffer
  /// may be overwritten only through reuse_or_empty(dy).
  virtual Gradients backward(const Tensor& dy);

  /// Ops that read little and compute little (norms, activations) let consumers drop their output
  /// and make it again: remake() repeats the forward from what is saved. Only where that is kept():
  /// in a chain of such ops each would else ask the one before it, and that the one before it.
  virtual bool cheap_to_remake() const { return false; }
  virtual Tensor remake() const { return {}; }

 protected:
  bool wants(int input) const;                 // is a gradient for this input asked for now?
  const Shape& shape_of(int input) const;      // of an input that wants a gradient
  Tensor attached(const Saved& output) const;  // a saved output, as the result of this very op

 private:
  friend class Node;
  Node* node_ = nullptr;  // who owns this op; null until it is recorded
};

}  // namespace gradus
