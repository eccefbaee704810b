// Nodes of the autograd graph.
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

namespace detail {
/// The id of the newest node. The playground resets it to 0 between lessons, when no node exists.
extern std::atomic<std::uint64_t> last_node_id;
}  // namespace detail

/// A hook that runs after a gradient has been added to a leaf.
struct LeafHook {
  std::function<void(Tensor&)> run;
  bool removed = false;
};

/// A graph node: an Op with its inputs. Inputs are created first, so they have lower ids.
class Node {
 public:
  explicit Node(const Tensor& leaf) : Node(leaf, nullptr) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Name of the op, or "leaf". Remains valid after the op is released.
  const char* name() const { return op_name ? op_name : "leaf"; }
  virtual void release_op() {}

  /// Applies the op to other inputs. Returns an undefined tensor if the op was released or cannot
  /// be copied.
  virtual Tensor run_again(const std::vector<Tensor>& /*x*/) const { return {}; }

  const std::uint64_t id;
  Op* op = nullptr;           // null for leaves and after release
  std::span<NodePtr> inputs;  // inputs[i] receives backward(dy)[i]; null: no gradient
  const Shape shape;
  const Dtype dtype;
  const char* const op_name;  // null for a leaf
  bool requires_grad = true;  // false for frozen leaves
  bool used = false;          // true after a backward pass has released the op

  struct Extra {  // rarely used state, mostly of leaves
    Tensor grad;
    bool retains_grad = false;
    bool tied = false;      // set by modules: this leaf has multiple names
    bool replaced = false;  // set by modules: replaced by another leaf
    std::vector<std::function<Tensor(const Tensor&)>> hooks;
    std::vector<std::shared_ptr<LeafHook>> post_accumulate_hooks;
    bool runs_hooks = false;
    std::recursive_mutex mutex;  // held during accumulation and hooks
    void drop_removed_hooks();   // does nothing while hooks run
  };
  Extra& extra();
  const Extra* extra_or_null() const { return extra_.get(); }

 protected:
  Node(const Tensor& output, const char* op_name);
  void set_op(Op* recipe);  // null releases the op

 private:
  friend class NodePtr;
  std::unique_ptr<Extra> extra_;
  std::atomic<std::uint32_t> references_{0};
  Node* next_pending_ = nullptr;
};

/// Defined in apply.h.
template <class O, std::same_as<Tensor>... X>
Tensor apply(O op, const X&... x);
template <class O>
Tensor apply(O op, std::span<const Tensor> x);

/// A node that stores its op and N inputs (dynamic_extent: any number).
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

/// Creates a leaf for `x` that requires a gradient.
NodePtr make_leaf(const Tensor& x);

}  // namespace gradus
