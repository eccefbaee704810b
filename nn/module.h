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

/// A tensor of a module that is not trained: {"running_mean", buffer(running_mean)}.
struct Buffer {
  Tensor& tensor;
};
inline Buffer buffer(Tensor& tensor) { return {tensor}; }

/// A member that cannot be saved: {"weight", Unsaved{"is packed: …"}}. state_dict(),
/// load_state_dict() and clone() throw.
struct Unsaved {
  const char* reason;
};

/// One entry of members(). Points to the member, so do not store it. Undefined tensors and absent
/// children, such as {"head", head, !options.tied}, are omitted.
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
  const char* unsaved() const { return unsaved_; }  // the reason, or null if it can be saved
  const std::vector<std::pair<std::string, Module*>>& children() const { return children_; }

 private:
  std::string name_;
  Tensor* parameter_ = nullptr;
  Tensor* buffer_ = nullptr;
  const char* unsaved_ = nullptr;
  std::vector<std::pair<std::string, Module*>> children_;  // name suffix, module
};
using Members = std::vector<Member>;

/// A parameter or buffer, with its path in the module.
struct NamedTensor {
  std::string name;  // "blocks.0.attention.qkv_proj.weight"
  Tensor tensor;     // shares the module's values and graph node
};

/// Makes x a leaf that requires a gradient.
Tensor parameter(Tensor x);

/// Tensors by name, as returned by state_dict() and read by load_state_dict().
using StateDict = std::map<std::string, Tensor>;

/// Ties `alias` to `original`: one tensor with two names, listed once.
void tie(Tensor& alias, const Tensor& original);

/// Base class of layers and models. Move-only; clone() makes copies. Derive from Layer<YourClass>.
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

  /// Lists parameters, buffers and children. If a parameter is used but not listed, the first
  /// training call throws.
  virtual Members members() = 0;

  /// Returns the parameters (or buffers) of this module and all modules below it. Tied parameters
  /// appear once, under their first name. Throws GraphError if two names hold one tensor without
  /// tie().
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;
  /// Returns the parameters, then the buffers. Throws GraphError if a member is Unsaved.
  std::vector<NamedTensor> named_tensors() const;
  /// Returns named_tensors() by name, detached, with shared values.
  StateDict state_dict() const;
  std::int64_t parameter_count() const;
  /// Returns this module as "", and all modules below it: {"blocks.0.attention", …}.
  std::vector<std::pair<std::string, Module*>> named_modules();

  /// Copies values in place, converted to the module's dtype. Throws a ShapeError that lists
  /// missing, unexpected and mismatched names; if not strict, only mismatched ones.
  void load_state_dict(const StateDict& tensors, bool strict = true);

  void train(bool on = true);  // sets the mode of dropout and batch statistics, recursively
  void eval() { train(false); }
  bool training() const { return training_; }

  /// Replaces parameters and buffers with tensors of this dtype. Existing optimizers then throw.
  void to(Dtype dtype);
  /// Without this overload, the member to() would hide gradus::to in derived classes.
  static Tensor to(const Tensor& x, Dtype dtype) { return gradus::to(x, dtype); }
  void zero_grad();
  void freeze(bool frozen = true);  // sets requires_grad of all parameters

  std::string summary();  // returns a tree with shapes and parameter counts

  std::string name_of(const Scoped& child) const override;
  std::string type_name() const override;

  /// Returns a module of the same sizes, with unspecified values. Throws ValueError if the class
  /// has neither same_architecture() nor a constructor from public `options`.
  virtual std::unique_ptr<Module> empty_like() const;

 protected:
  /// Returns empty_like() with the values, dtypes, ties and training modes of this module.
  std::unique_ptr<Module> copy() const;
  /// Adds members that `from` received after construction. Called by copy().
  virtual void match_structure(const Module& from) { static_cast<void>(from); }

 private:
  friend class RootCall;
  using Copies = std::map<const Node*, Tensor>;  // copies of parameters, by original leaf
  void copy_members(const Module& from, Copies& copies);
  template <class F>
  void each_member(const std::string& prefix, F&& f) const;

  bool training_ = true;
  mutable std::atomic<bool> checked_{false};  // true after the first training call was checked
};

/// In a model's first training call, checks for parameters that members() does not list.
/// `arguments` are tensors that the caller passed.
class RootCall : public Observer {
 public:
  static bool is_due(const Module& m) {
    return !m.checked_.load(std::memory_order_relaxed) && m.training_ && !thread_state.scope &&
           GradMode::enabled();
  }
  RootCall(const Module& module, std::vector<Tensor> arguments);
  bool reads_values() const override { return false; }
  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override;
  void finish() const;  // throws GraphError for an unlisted parameter

 private:
  const Module& module_;
  std::vector<Tensor> known_;
  std::string unlisted_;
  ObserverScope scope_;
};

/// Base class of every layer. Its call operator opens a scope and calls forward().
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

  /// Returns a copy without drawing random numbers. Throws ValueError if the class has neither a
  /// constructor from public `options` nor same_architecture(), which returns a module of the same
  /// sizes. Throws GraphError if a member is Unsaved.
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
