// Observers are told what runs; scopes say in which layer. Both cost one null check when unused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/op.h"

namespace gradus {

class Node;

/// One parameter in an optimiser's step.
struct Update {
  std::string optimizer;  // "AdamW"
  const std::string& name;
  const Tensor& parameter;
  double rate;  // its learning rate
};

/// Told about every operation, layer and gradient on its thread, while attached. Override what you
/// need. Observers are called in the order of attachment. What throws has no end event. What runs
/// inside a parallel_for is not reported. To look at a tensor changes no result; to keep a handle
/// on one may keep its buffer from being used again.
class Observer {
 public:
  virtual ~Observer() = default;
  /// false: it reads no input once an operation runs, so that x + f(x) may be written over f(x).
  virtual bool reads_values() const { return true; }
  virtual void on_op_begin(const Op&, std::span<const Tensor* const> /*inputs*/) {}
  virtual void on_op_end(const Op&, std::span<const Tensor* const> /*inputs*/,
                         const Tensor& /*y*/) {}
  virtual void on_scope_begin(const Scope&) {}
  virtual void on_scope_end(const Scope&) noexcept {}
  virtual void on_save(const Tensor&) {}  // by the operation that runs: Saved
  virtual void on_walk_begin(std::span<const Tensor> /*outputs*/, bool /*create_graph*/) {}
  virtual void on_grad_seed(const Node& /*output*/, const Tensor& /*dy*/) {}
  virtual void on_hook(const Node&, const Tensor& /*before*/, const Tensor& /*dy*/) {}
  virtual void on_backward_begin(const Node&, const Tensor& /*dy*/) {}
  virtual void on_backward_end(const Node&, const Gradients&) {}
  /// Gradient k of `node` has been added to what its input had; `sum` is what that has now.
  virtual void on_grad_accumulate(const Node& /*node*/, std::size_t /*k*/, const Tensor& /*sum*/) {}
  /// dy is about to be added to the leaf's grad(); then it has been.
  virtual void on_leaf_grad(const Node& /*leaf*/, const Tensor& /*dy*/) {}
  virtual void on_leaf_accumulate(const Node& /*leaf*/, const Tensor& /*grad*/) {}
  virtual void on_walk_end() noexcept {}  // where it threw, too
  virtual void on_update_begin(const Update&) {}
  virtual void on_update_end(const Update&) {}
  virtual void on_optimizer_created() {}
  virtual void on_step_end(std::int64_t /*step*/) {}  // of an optimiser, the first is 1
  /// Where the paths from a parameter without a gradient ended, if it knows: in the note of an
  /// optimiser's first step.
  virtual std::string path_end(const Tensor& /*parameter*/) const { return ""; }

 private:
  friend class ObserverScope;
  friend class Observers;
  Observer* outer_ = nullptr;
};

/// Attaches an observer to this thread for as long as it lives. Scopes may end in any order.
class ObserverScope {
 public:
  [[nodiscard]] explicit ObserverScope(Observer& observer);
  ~ObserverScope() { unlink(thread_state.observer, &observer_, &Observer::outer_); }
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  Observer& observer_;
};

/// Calls f on each attached observer, first attached first.
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

/// Whatever opens scopes (a layer) can name the children it opens them for.
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

  /// Belongs to this object alone, and moves with it. A copy has another one.
  std::uint64_t id() const { return id_; }
  /// "blocks.0" for a child of this, "" if it is none. Called when a path is asked for, not before.
  virtual std::string name_of(const Scoped& child) const = 0;
  virtual std::string type_name() const = 0;  // "MultiHeadAttention"

 private:
  static std::uint64_t next_id() noexcept;
  std::uint64_t id_;
};

/// The layer that is running now, innermost; a linked list over the stack.
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
  std::string path() const;  // "encoder.blocks.0.attention", "" for the outermost

 private:
  const Scoped& who_;
  const Scope* outer_;
  ScopedValue<const Scope*> entered_;  // left where on_scope_begin throws, too
};

/// Where the thread is: "Encoder blocks.0.attention", with the op that is in backward; "": nowhere.
std::string current_context();

}  // namespace gradus
