#include "gradus/nn/module.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <typeinfo>

#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/init.h"

namespace gradus::nn {
namespace {

/// True if a and b are bitwise equal (even NaN) after b is converted to the dtype of a.
bool same(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const Tensor x = kernel::contiguous(a), y = kernel::contiguous(kernel::convert(b, a.dtype()));
  return dispatch(a.dtype(), [&]<class T>() {
    return std::memcmp(x.data<T>(), y.data<T>(), sizeof(T) * std::size_t(x.numel())) == 0;
  });
}

}  // namespace

Tensor parameter(Tensor x) { return x.requires_grad_(); }

void tie(Tensor& alias, const Tensor& original) {
  require<GraphError>(original.requires_grad() && original.is_leaf(),
                      "tie: the original must be a parameter");
  require<ShapeError>(!alias.defined() || alias.shape() == original.shape(), "tie: shapes ",
                      alias.shape(), " and ", original.shape(),
                      " differ. Tie tensors of equal shape.");
  alias = original;
  original.node()->extra().tied = true;
}

/// Calls f(name, member) for this module and all modules below it, in the order of members().
template <class F>
void Module::each_member(const std::string& prefix, F&& f) const {
  for (const Member& member : const_cast<Module*>(this)->members()) {
    f(prefix + member.name(), member);
    for (const auto& child : member.children())
      child.second->each_member(prefix + member.name() + child.first + ".", f);
  }
}

std::vector<NamedTensor> Module::parameters() const {
  std::vector<NamedTensor> found;
  std::map<const Node*, std::string> names;
  each_member("", [&](const std::string& name, const Member& member) {
    const Tensor* p = member.parameter();
    if (!p || !p->defined()) return;
    require<GraphError>(p->node() && p->is_leaf(), type_name(), " lists ", name,
                        " as a parameter, but it is not a leaf that requires a gradient. Create it "
                        "with nn::parameter(…), or list it as buffer(…).");
    const auto at = names.emplace(p->node().get(), name);
    if (at.second)
      found.push_back({name, *p});
    else
      require<GraphError>(
          p->node()->extra().tied, "parameters ", at.first->second, " and ", name, " of ",
          type_name(),
          " are one tensor. Call clone() for separate tensors, or tie(a, b) to share one.");
  });
  return found;
}

std::vector<NamedTensor> Module::buffers() const {
  std::vector<NamedTensor> found;
  each_member("", [&](const std::string& name, const Member& member) {
    if (member.buffer() && member.buffer()->defined()) found.push_back({name, *member.buffer()});
  });
  return found;
}

std::vector<NamedTensor> Module::named_tensors() const {
  each_member("", [&](const std::string& name, const Member& member) {
    require<GraphError>(!member.unsaved(), name, " of ", type_name(), " ", member.unsaved());
  });
  std::vector<NamedTensor> all = parameters();
  for (NamedTensor& each : buffers()) all.push_back(std::move(each));
  return all;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> all = {{"", this}};
  each_member("", [&](const std::string& name, const Member& member) {
    for (const auto& [suffix, child] : member.children()) all.emplace_back(name + suffix, child);
  });
  return all;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedTensor& each : parameters()) count += each.tensor.numel();
  return count;
}

StateDict Module::state_dict() const {
  StateDict out;
  for (const NamedTensor& each : named_tensors()) out[each.name] = each.tensor.detach();
  return out;
}

void Module::load_state_dict(const StateDict& tensors, bool strict) {
  std::string problems;
  StateDict own = state_dict();
  for (const auto& [name, target] : own) {
    const auto given = tensors.find(name);
    if (given == tensors.end()) {
      if (strict) problems += str_cat("\n  missing     ", name, " ", target.shape());
    } else if (given->second.shape() != target.shape()) {
      problems += str_cat("\n  mismatched  ", name, ": expected ", target.shape(), ", got ",
                          given->second.shape());
    }
  }
  std::set<std::string> known;  // includes tied names, which files may also contain
  for (const NamedTensor& buffer : buffers()) known.insert(buffer.name);
  std::map<const Node*, std::string> first;
  each_member("", [&](const std::string& name, const Member& member) {
    if (!member.parameter() || !member.parameter()->defined()) return;
    known.insert(name);
    const std::string& original =
        first.emplace(member.parameter()->node().get(), name).first->second;
    const auto one = tensors.find(original), other = tensors.find(name);
    if (one != tensors.end() && other != tensors.end() && !same(one->second, other->second))
      problems += str_cat("\n  tied        ", original, " and ", name,
                          " are one tensor in the model, but their given values differ");
  });
  for (const auto& [name, tensor] : tensors)
    if (strict && !known.contains(name))
      problems += str_cat("\n  unexpected  ", name, " ", tensor.shape());
  require<ShapeError>(problems.empty(), "load_state: the tensors do not fit ", type_name(), ":",
                      problems);

  const NoGrad off;
  std::vector<kernel::Copy> copies;
  for (const auto& [name, target] : own)
    if (const auto given = tensors.find(name); given != tensors.end())
      copies.push_back({target, given->second});
  kernel::copy_all(std::move(copies));
}

void Module::train(bool on) {
  for (const auto& [name, module] : named_modules()) module->training_ = on;
}

/// Converts everything before it replaces anything, so nothing changes if memory runs out.
void Module::to(Dtype dtype) {
  struct Replacement {
    Tensor* member;
    Tensor tensor;
  };
  std::vector<Replacement> replacements;
  std::vector<Node::Extra*> replaced;
  std::map<const Node*, Tensor> converted;  // tied parameters stay tied
  each_member("", [&](const std::string&, const Member& member) {
    if (Tensor* b = member.buffer(); b && b->defined() && is_float(b->dtype()))
      replacements.push_back({b, kernel::convert(*b, dtype)});
    Tensor* p = member.parameter();
    if (!p || !p->defined() || p->dtype() == dtype) return;
    Tensor& now = converted[p->node().get()];
    if (!now.defined()) {
      now = parameter(kernel::convert(*p, dtype)).requires_grad_(p->requires_grad());
      now.node()->extra().tied = p->node()->extra().tied;
      replaced.push_back(&p->node()->extra());
    }
    replacements.push_back({p, now});
  });
  for (Node::Extra* extra : replaced) extra->replaced = true;
  for (Replacement& each : replacements) *each.member = std::move(each.tensor);
}

std::unique_ptr<Module> Module::empty_like() const {
  fail<ValueError>("clone: ", type_name(), " needs same_architecture(), or a constructor from its ",
                   "public member `options`");
}

std::unique_ptr<Module> Module::copy() const {
  static_cast<void>(named_tensors());  // throws if a member is Unsaved
  Generator unused;
  const GeneratorScope undisturbed(unused);
  const init::Skip filled_below;
  std::unique_ptr<Module> made = empty_like();
  Copies copies;
  made->copy_members(*this, copies);
  return made;
}

void Module::copy_members(const Module& from, Copies& copies) {
  match_structure(from);
  const Members own = members(), others = const_cast<Module&>(from).members();
  const auto alike = [](const Member& a, const Member& b) {
    return a.name() == b.name() && !a.parameter() == !b.parameter() && !a.buffer() == !b.buffer() &&
           a.children().size() == b.children().size();
  };
  require<GraphError>(std::equal(own.begin(), own.end(), others.begin(), others.end(), alike),
                      "clone: the new ", type_name(),
                      ", from same_architecture() or its options, has other members. ",
                      "Construct it with the same options.");
  training_ = from.training_;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (const Tensor* b = others[i].buffer())
      *own[i].buffer() = b->defined() ? kernel::copy(*b) : Tensor();
    if (const Tensor* p = others[i].parameter()) {
      Tensor& copy = copies[p->node().get()];
      if (p->defined() && !copy.defined()) {
        copy = parameter(kernel::copy(*p)).requires_grad_(p->requires_grad());
        copy.node()->extra().tied = p->node()->extra().tied;
      }
      *own[i].parameter() = copy;
    }
    for (std::size_t c = 0; c < own[i].children().size(); ++c)
      own[i].children()[c].second->copy_members(*others[i].children()[c].second, copies);
  }
}

void Module::zero_grad() {
  for (NamedTensor& each : parameters()) each.tensor.set_grad({});
}

void Module::freeze(bool frozen) {
  for (NamedTensor& each : parameters()) each.tensor.requires_grad_(!frozen);
}

std::string Module::summary() {
  std::string text = str_cat(type_name(), ": ", parameter_count(), " parameters\n");
  const auto add = [&text](const auto& again, Module& module, const std::string& indent) -> void {
    for (const Member& member : module.members()) {
      const Tensor* t = member.parameter() ? member.parameter() : member.buffer();
      if (t && t->defined()) text += str_cat(indent, member.name(), " ", t->shape(), "\n");
      for (const auto& [number, child] : member.children()) {
        text += str_cat(indent, member.name(), number, ": ", child->type_name(), "\n");
        again(again, *child, indent + "  ");
      }
    }
  };
  add(add, *this, "  ");
  return text;
}

std::string Module::name_of(const Scoped& child) const {
  for (const Member& member : const_cast<Module*>(this)->members())
    for (const auto& each : member.children())
      if (static_cast<const Scoped*>(each.second) == &child) return member.name() + each.first;
  return "";
}

std::string Module::type_name() const {
  const std::string full = platform::demangle(typeid(*this).name());
  const std::size_t at = full.rfind("::", full.find('<'));  // skip "::" in template arguments
  return at == std::string::npos ? full : full.substr(at + 2);
}

// ---- the first training call ----

RootCall::RootCall(const Module& module, std::vector<Tensor> arguments)
    : module_(module), known_(std::move(arguments)), scope_(*this) {
  for (NamedTensor& each : module.parameters()) known_.push_back(each.tensor);
}

void RootCall::on_op_begin(const Op& op, std::span<const Tensor* const> inputs) {
  for (const Tensor* x : inputs) {
    if (!unlisted_.empty() || !x->requires_grad() || !x->is_leaf()) continue;
    const auto same = [x](const Tensor& known) { return known.node() == x->node(); };
    if (std::none_of(known_.begin(), known_.end(), same))
      unlisted_ = str_cat("a parameter of shape ", x->shape(), " used by ", op.name(), " in ",
                          current_context());
  }
}

void RootCall::finish() const {
  require<GraphError>(
      unlisted_.empty(), module_.type_name(), ": ", unlisted_,
      " is not in members(), so it would never be trained or saved. Add it there, or detach() it ",
      "where it is used.");
  module_.checked_.store(true, std::memory_order_relaxed);
}

}  // namespace gradus::nn
