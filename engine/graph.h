// The graph: nodes that remember which operation made a tensor from which.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gradus/base/thread_state.h"
#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// Whether operations are recorded on this thread, and scopes that say so.
struct GradMode {
  static bool enabled() { return thread_state.grad_enabled; }
  explicit GradMode(bool enabled) : before_(thread_state.grad_enabled) {
    thread_state.grad_enabled = enabled;
  }
  ~GradMode() { thread_state.grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
/// Nothing is recorded while one of these lives: evaluation, sampling, optimiser steps.
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

/// While one of these lives, fused operations run as the formula they stand for: attention is
/// matmul, scale, mask, softmax, matmul, each a node to step through. Also GRADUS_FORMULA=1.
struct FormulaScope {
  explicit FormulaScope(bool on = true) : before_(thread_state.formula) {
    thread_state.formula = on;
  }
  ~FormulaScope() { thread_state.formula = before_; }
  FormulaScope(const FormulaScope&) = delete;
  FormulaScope& operator=(const FormulaScope&) = delete;

 private:
  bool before_;
};
bool formula_wanted();  // by a scope or by the environment

/// A vertex of the graph: bookkeeping only, the mathematics is in `op`. Ids rise with creation and
/// an input exists before its output, so descending id is an order in which to go backward.
class Node {
 public:
  explicit Node(const Tensor& leaf) : Node(leaf, nullptr) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name() const;    // of its op, "leaf", or the op it had before backward used it up
  virtual void let_op_go() {}  // with all that it saved

  const std::uint64_t id;
  Op* op = nullptr;           // null for a leaf, and once used
  std::span<NodePtr> inputs;  // inputs[i] receives backward(dy)[i]; null: no gradient
  const Shape shape;          // what an arriving gradient must look like
  const Dtype dtype;
  const char* const op_name;  // stays when the op is gone; null for a leaf
  bool requires_grad = true;  // a leaf may be frozen
  bool used = false;          // backward went through and did not keep the graph

  struct Extra {  // what few nodes have
    Tensor grad;
    bool retains_grad = false;
    bool tied = false;  // several modules or names share this leaf on purpose
    bool replaced =
        false;  // a module took another tensor in its place: an optimiser must not go on
    std::vector<std::function<Tensor(const Tensor&)>> hooks;
    std::vector<std::function<void(Tensor&)>> post_accumulate_hooks;
  };
  Extra& extra();
  const Extra* extra_or_null() const { return extra_.get(); }

 protected:
  Node(const Tensor& output, const char* op_name);
  void set_op(Op* recipe);  // null: there is none any more

 private:
  friend class NodePtr;
  std::unique_ptr<Extra> extra_;
  std::atomic<std::uint32_t> references_{0};
  Node* next_to_die_ = nullptr;  // see NodePtr::let_go
};

/// A node with its operation and N inputs (dynamic_extent: as many as there are) in one block.
template <class O, std::size_t N>
class Recorded final : public Node {
 public:
  Recorded(O&& recipe, const Tensor& output, std::span<const Tensor* const, N> from)
      : Node(output, recipe.name()), op_(std::move(recipe)) {
    if constexpr (N == std::dynamic_extent) inputs_.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i]->requires_grad()) inputs_[i] = from[i]->node();
    inputs = inputs_;
    set_op(&*op_);
  }
  void let_op_go() override {
    set_op(nullptr);
    op_.reset();
  }

 private:
  using Inputs =
      std::conditional_t<N == std::dynamic_extent, std::vector<NodePtr>, std::array<NodePtr, N>>;
  std::optional<O> op_;
  Inputs inputs_;
};

/// What an Op::backward may ask about the walk that calls it.
struct BackwardCall {
  const Node& node;
  std::uint64_t wanted;  // bit i: input i wants a gradient (inputs from 64 on always do)
  bool last;             // the graph is not kept: saved buffers may be given away
};

/// A new leaf for `x`: its gradient is wanted.
NodePtr make_leaf(const Tensor& x);

}  // namespace gradus
