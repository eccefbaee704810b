// The graph: nodes that remember which operation made a tensor from which.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// A hook that runs after a leaf's gradient has been added to.
struct LeafHook {
  std::function<void(Tensor&)> run;
  bool removed = false;
};

/// A vertex of the graph: bookkeeping only, the mathematics is in `op`. Ids rise with creation and
/// an input exists before its output, so descending id is an order in which to go backward.
class Node {
 public:
  explicit Node(const Tensor& leaf) : Node(leaf, nullptr) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Of its op, "leaf", or the op it had before backward used it up.
  const char* name() const { return op_name ? op_name : "leaf"; }
  virtual void release_op() {}  // with all that it saved

  /// The same operation on other inputs, recorded if the caller records: its result. Undefined
  /// where there is no operation any more, or none that can be copied.
  virtual Tensor run_again(const std::vector<Tensor>& /*x*/) const { return {}; }

  const std::uint64_t id;
  Op* op = nullptr;           // null for a leaf, and once used
  std::span<NodePtr> inputs;  // inputs[i] receives backward(dy)[i]; null: no gradient
  const Shape shape;          // what an arriving gradient is summed down to
  const Dtype dtype;
  const char* const op_name;  // stays when the op is gone; null for a leaf
  bool requires_grad = true;  // a leaf may be frozen
  bool used = false;          // backward went through and did not keep the graph

  struct Extra {  // what leaves have, and few other nodes
    Tensor grad;
    bool retains_grad = false;
    bool tied = false;      // set by modules: several names share this leaf on purpose
    bool replaced = false;  // set by modules: another leaf took its place
    std::vector<std::function<Tensor(const Tensor&)>> hooks;
    std::vector<std::shared_ptr<LeafHook>> post_accumulate_hooks;
    bool runs_hooks = false;     // of a leaf, now
    std::recursive_mutex mutex;  // held while a leaf's gradient is added to and its hooks run
    void drop_removed_hooks();   // unless they run now
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
  Node* next_pending_ = nullptr;  // see NodePtr::release
};

/// Of apply.h, which has both.
template <class O, std::same_as<Tensor>... X>
Tensor apply(O op, const X&... x);
template <class O>
Tensor apply(O op, std::span<const Tensor> x);

/// A node with its operation and N inputs (dynamic_extent: as many as there are) in one block.
template <class O, std::size_t N>
class OpNode final : public Node {
 public:
  OpNode(O&& recipe, const Tensor& output, std::span<const Tensor* const, N> from)
      : Node(output, recipe.name()), op_(std::move(recipe)) {
    if constexpr (N == std::dynamic_extent) inputs_.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i]->requires_grad()) inputs_[i] = from[i]->node();
    inputs = inputs_;
    set_op(&*op_);
  }
  void release_op() override {
    set_op(nullptr);
    op_.reset();
  }
  Tensor run_again(const std::vector<Tensor>& x) const override {
    if constexpr (!std::is_copy_constructible_v<O>) {
      return {};
    } else if (!op_) {
      return {};
    } else if constexpr (N == std::dynamic_extent) {
      return gradus::apply(O(*op_), std::span<const Tensor>(x));
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return gradus::apply(O(*op_), x[I]...);
      }
      (std::make_index_sequence<N>());
    }
  }

 private:
  using Inputs =
      std::conditional_t<N == std::dynamic_extent, std::vector<NodePtr>, std::array<NodePtr, N>>;
  std::optional<O> op_;
  Inputs inputs_;
};

/// A new leaf for `x`: its gradient is wanted.
NodePtr make_leaf(const Tensor& x);

}  // namespace gradus
