// Module: a function with parameters. It has a forward with arguments of its own, and a table of
// contents; it has no backward, because only operations have one.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/tensor.h"
#include "gradus/ops/members.h"

namespace gradus::nn {

class Module;

/// A tensor that belongs to a module without being trained: {"running_mean", buffer(running_mean)}.
struct Buffer {
  Tensor& tensor;
};
inline Buffer buffer(Tensor& tensor) { return {tensor}; }

/// Numbers that a state dict cannot hold: {"weight", Unsaved{"is packed: …"}}. state_dict(),
/// load_state_dict() and clone() fail with this reason.
struct Unsaved {
  const char* reason;
};

/// One line of a module's table of contents. It points at the member, so it is made anew each time
/// it is asked for and never kept. An undefined tensor (a Linear without bias) is no member, nor is
/// a child that is not present: {"head", head, !options.tied}.
class Member {
 public:
  Member(const char* name, Tensor& parameter) : name_(name), parameter_(&parameter) {}
  Member(const char* name, Buffer buffer) : name_(name), buffer_(&buffer.tensor) {}
  Member(const char* name, Unsaved unsaved) : name_(name), unsaved_(unsaved.reason) {}
  Member(const char* name, Module& child, bool present = true) : name_(name) {
    if (present) children_.emplace_back("", &child);
  }
  template <class M>
  requires std::is_base_of_v<Module, M> Member(const char* name, std::vector<M>& list)
      : name_(name) {
    for (M& child : list) children_.emplace_back("." + std::to_string(children_.size()), &child);
  }

  const std::string& name() const { return name_; }
  Tensor* parameter() const { return parameter_; }
  Tensor* buffer() const { return buffer_; }
  const char* unsaved() const { return unsaved_; }  // the reason, or null
  const std::vector<std::pair<std::string, Module*>>& children() const { return children_; }

 private:
  std::string name_;
  Tensor* parameter_ = nullptr;
  Tensor* buffer_ = nullptr;
  const char* unsaved_ = nullptr;
  std::vector<std::pair<std::string, Module*>> children_;  // what follows the name, and whose it is
};
using Members = std::vector<Member>;

struct NamedTensor {
  std::string name;  // "blocks.0.attention.qkv_proj.weight"
  Tensor tensor;     // shares the module's numbers and place in the graph
};

/// x as a parameter: a leaf whose gradient is wanted.
Tensor parameter(Tensor x);

using StateDict = std::map<std::string, Tensor>;

/// Lets `alias` be `original` from now on, on purpose: one tensor under two names, listed once.
void tie(Tensor& alias, const Tensor& original);

/// What every layer and model is. Move-only, since a copy would share its parameters: clone()
/// copies the numbers too. Derive from Layer<Yourself>, below.
class Module : public Scoped {
 public:
  Module() = default;
  Module(Module&& other) noexcept
      : Scoped(static_cast<Scoped&&>(other)), training_(other.training_) {}
  Module& operator=(Module&& other) noexcept {
    training_ = other.training_;
    Scoped::operator=(std::move(other));
    return *this;
  }

  /// The table of contents, each name written once. Optimisers, checkpoints, train(), printing and
  /// error messages read it. A parameter used in forward but not listed is an error on the first
  /// training call.
  virtual Members members() = 0;

  /// All parameters (or buffers) below, a tied one under its first name. GraphError when two names
  /// hold one tensor without tie().
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;
  /// Parameters, then buffers. GraphError where a member is Unsaved, and would be left out.
  std::vector<NamedTensor> named_tensors() const;
  /// The same by name, detached: what a file holds. They share their values with the module's.
  StateDict state_dict() const;
  std::int64_t parameter_count() const;
  /// This module by the name "", and all below: {"blocks.0.attention", …}.
  std::vector<std::pair<std::string, Module*>> named_modules();

  /// Writes the tensors' numbers into this module's, in place, converted to its dtype. One
  /// ShapeError lists every missing, unexpected or misshapen name; not strict: misshapen ones only.
  void load_state_dict(const StateDict& tensors, bool strict = true);

  void train(bool on = true);  // dropout and batch statistics, here and below
  void eval() { train(false); }
  bool training() const { return training_; }

  /// Parameters and buffers become new tensors of this dtype; an earlier optimiser refuses to step.
  void to(Dtype dtype);
  static Tensor to(const Tensor& x, Dtype dtype) { return gradus::to(x, dtype); }  // not hidden
  void zero_grad();
  void freeze(bool frozen = true);  // parameters stop (or start) wanting gradients

  std::string summary();  // the tree, with shapes and parameter counts

  std::string name_of(const Scoped& child) const override;
  std::string type_name() const override;

  /// Another of the same sizes, whose numbers mean nothing yet. ValueError where the class has
  /// neither same_architecture() nor a constructor from its public `options`.
  virtual std::unique_ptr<Module> empty_like() const;

 protected:
  /// empty_like() with the numbers, dtypes, ties and training modes of this module.
  std::unique_ptr<Module> copy() const;
  /// Called by copy() on a new module: takes over members that `from` was given after it was made.
  virtual void match_structure(const Module& from) { static_cast<void>(from); }

 private:
  friend class RootCall;
  using Copies = std::map<const Node*, Tensor>;  // of parameters, by the leaf that was copied
  void copy_members(const Module& from, Copies& copies);
  template <class F>
  void each_member(const std::string& prefix, F&& f) const;

  bool training_ = true;
  mutable std::atomic<bool> checked_{false};  // the first training call has been watched
};

/// The outermost call of a model: watches its first training call for parameters that members()
/// does not list. `arguments` are the leaves that the caller handed in.
class RootCall : public Observer {
 public:
  static bool is_due(const Module& m) {
    return !m.checked_.load(std::memory_order_relaxed) && m.training_ && !thread_state.scope &&
           GradMode::enabled();
  }
  RootCall(const Module& module, std::vector<Tensor> arguments);
  bool reads_values() const override { return false; }
  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override;
  void finish() const;  // GraphError naming the layer, the op and the shape of what is not listed

 private:
  const Module& module_;
  std::vector<Tensor> known_;
  std::string unlisted_;
  ObserverScope scope_;
};

/// The base of every layer: gives `forward` its call operator, which opens a scope.
///
///   struct Tiny : nn::Layer<Tiny> {
///     nn::Linear up{2, 16}, down{16, 3};
///     nn::Members members() override { return {{"up", up}, {"down", down}}; }
///     Tensor forward(const Tensor& x) const { return down(tanh(up(x))); }   // [N, 2] → [N, 3]
///   };
template <class Derived>
class Layer : public Module {
 public:
  template <class... Args>
  auto operator()(Args&&... args) const {
    std::optional<RootCall> watched;
    if (RootCall::is_due(*this)) [[unlikely]]
      watched.emplace(*this, tensors_of(args...));
    const Scope scope(*this);
    auto result = static_cast<const Derived&>(*this).forward(std::forward<Args>(args)...);
    if (watched) watched->finish();
    return result;
  }

  /// The same module with numbers of its own; generator() draws none for it. A class of your own
  /// that is not made from a public member `options` alone needs same_architecture(), which returns
  /// another of its sizes: ValueError without. GraphError where a member is Unsaved.
  Derived clone() const {
    const std::unique_ptr<Module> made = copy();
    return std::move(static_cast<Derived&>(*made));
  }
  std::unique_ptr<Module> empty_like() const override {
    [[maybe_unused]] const auto& self = static_cast<const Derived&>(*this);
    if constexpr (requires { self.same_architecture(); })
      return std::unique_ptr<Module>(new Derived(self.same_architecture()));
    else if constexpr (requires { Derived(self.options); })
      return std::unique_ptr<Module>(new Derived(self.options));
    else
      return Module::empty_like();
  }

 private:
  template <class... Args>
  static std::vector<Tensor> tensors_of(const Args&... args) {
    std::vector<Tensor> out;
    [[maybe_unused]] const auto take = [&out](const auto& arg) {
      using A = std::remove_cvref_t<decltype(arg)>;
      if constexpr (std::is_same_v<A, Tensor>)
        out.push_back(arg);
      else if constexpr (std::is_same_v<A, std::vector<Tensor>>)
        out.insert(out.end(), arg.begin(), arg.end());
    };
    (take(args), ...);
    return out;
  }
};

}  // namespace gradus::nn
