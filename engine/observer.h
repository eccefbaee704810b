// Observers receive events. Scopes name the running layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/op.h"

namespace gradus {

class Node;

/// An optimizer's update of one parameter.
struct Update {
  std::string optimizer;    // for example "AdamW"
  const std::string& name;  // parameter name
  const Tensor& parameter;
  double rate;  // learning rate of this step
};

/// Receives events from operations, layers and gradients on its thread while attached. Observers
/// are called in order of attachment. An operation that throws sends no end event. Operations
/// inside a parallel_for are not reported. An observer that keeps a tensor handle may prevent the
/// reuse of its buffer.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Returns false if inputs are not read after their operation; x + f(x) may then overwrite f(x).
  virtual bool reads_values() const { return true; }
  virtual void on_op_begin(const Op&, std::span<const Tensor* const> /*inputs*/) {}
  virtual void on_op_end(const Op&, std::span<const Tensor* const> /*inputs*/,
                         const Tensor& /*y*/) {}
  virtual void on_scope_begin(const Scope&) {}
  virtual void on_scope_end(const Scope&) noexcept {}
  virtual void on_save(const Tensor&) {}  // the running operation stores this tensor in a Saved
  virtual void on_walk_begin(std::span<const Tensor> /*outputs*/, bool /*create_graph*/) {}
  virtual void on_grad_seed(const Node& /*output*/, const Tensor& /*dy*/) {}
  virtual void on_hook(const Node&, const Tensor& /*before*/, const Tensor& /*dy*/) {}
  virtual void on_backward_begin(const Node&, const Tensor& /*dy*/) {}
  virtual void on_backward_end(const Node&, const Gradients&) {}
  /// Called after gradient k of `node` was added to its input's gradient; `sum` is the result.
  virtual void on_grad_accumulate(const Node& /*node*/, std::size_t /*k*/, const Tensor& /*sum*/) {}
  /// Called before and after dy is added to the leaf's grad().
  virtual void on_leaf_grad(const Node& /*leaf*/, const Tensor& /*dy*/) {}
  virtual void on_leaf_accumulate(const Node& /*leaf*/, const Tensor& /*grad*/) {}
  virtual void on_walk_end() noexcept {}  // also after an exception
  virtual void on_update_begin(const Update&) {}
  virtual void on_update_end(const Update&) {}
  virtual void on_optimizer_created() {}
  virtual void on_step_end(std::int64_t /*step*/) {}  // end of an optimizer step; numbered from 1
  /// Returns text that states where the paths from a parameter without a gradient end, or "" if
  /// unknown. In its first step, the optimizer prints this text in a warning.
  virtual std::string path_end(const Tensor& /*parameter*/) const { return ""; }

 private:
  friend class ObserverScope;
  friend class Observers;
  Observer* outer_ = nullptr;
};

/// Attaches an observer to this thread. Scopes may end in any order.
class ObserverScope {
 public:
  [[nodiscard]] explicit ObserverScope(Observer& observer);
  ~ObserverScope() { unlink(thread_state.observer, &observer_, &Observer::outer_); }
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  Observer& observer_;
};

/// Calls f on each observer, in order of attachment.
class Observers {
 public:
  template <class F>
  static void notify(F&& f) {
    if (thread_state.observer) [[unlikely]]
      visit(thread_state.observer, f);
  }
  static bool read_values() {
    bool any = false;
    notify([&](const Observer& o) { any = any || o.reads_values(); });
    return any;
  }

 private:
  template <class F>
  static void visit(Observer* observer, F& f) {
    if (observer->outer_) visit(observer->outer_, f);
    f(*observer);
  }
};

/// Base class of layers, which open scopes and name their children.
class Scoped {
 public:
  Scoped() : id_(next_id()) {}
  Scoped(const Scoped&) : Scoped() {}
  Scoped(Scoped&& other) noexcept : id_(std::exchange(other.id_, next_id())) {}
  Scoped& operator=(const Scoped&) {
    id_ = next_id();
    return *this;
  }
  Scoped& operator=(Scoped&& other) noexcept {
    id_ = std::exchange(other.id_, next_id());
    return *this;
  }
  virtual ~Scoped() = default;

  /// Returns a unique id. A move keeps the id; a copy receives a new one.
  std::uint64_t id() const { return id_; }
  /// Returns a child's name, such as "blocks.0", or "". Called only if a path is needed.
  virtual std::string name_of(const Scoped& child) const = 0;
  virtual std::string type_name() const = 0;  // for example "MultiHeadAttention"

 private:
  static std::uint64_t next_id() noexcept;
  std::uint64_t id_;
};

/// RAII guard around a running layer. Scopes form a linked list on the stack.
class Scope {
 public:
  [[nodiscard]] explicit Scope(const Scoped& who)
      : who_(who), outer_(thread_state.scope), entered_(thread_state.scope, this) {
    Observers::notify([&](Observer& o) { o.on_scope_begin(*this); });
  }
  ~Scope() {
    Observers::notify([&](Observer& o) { o.on_scope_end(*this); });
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const Scoped& owner() const { return who_; }
  const Scope* outer() const { return outer_; }
  std::string path() const;  // such as "encoder.blocks.0.attention"; "" for the outermost

 private:
  const Scoped& who_;
  const Scope* outer_;
  ScopedValue<const Scope*> entered_;  // restored even if on_scope_begin throws
};

/// Returns the running layer and, in backward, the op: "Encoder blocks.0.attention", or "".
std::string current_context();

}  // namespace gradus
