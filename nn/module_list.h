#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// A module that is moved into a container: Linear(2, 16) or std::move(layer).
template <class M>
concept ModuleArg = !std::is_reference_v<M> && !std::is_const_v<M> && std::derived_from<M, Module>;

/// Holds modules in insertion order, each with a name (default: its index).
///
///   nn::ModuleList heads;
///   heads.add("tag", nn::Linear(64, 9));
///   const Tensor y = heads.at<nn::Linear>("tag")(x);
class ModuleList : public Layer<ModuleList> {
 public:
  /// Adds a module and returns a reference that stays valid if the list moves.
  template <ModuleArg M>
  M& add(const std::string& name, M&& module) {
    check_free(name);
    items_.push_back({name, std::make_unique<M>(std::forward<M>(module))});
    return static_cast<M&>(*items_.back().module);
  }
  template <ModuleArg M>
  M& add(M&& module) {
    return add(std::to_string(size()), std::forward<M>(module));
  }

  /// Returns a module by name or index. Throws ValueError for an unknown name or another type,
  /// IndexError for an invalid index.
  template <class M>
  const M& at(const std::string& name) const {
    return as<M>(find(name));
  }
  template <class M>
  const M& at(std::size_t number) const {
    return as<M>(find(number));
  }

  std::size_t size() const { return items_.size(); }
  Members members() override;
  ModuleList same_architecture() const;

 private:
  struct Item {
    std::string name;
    std::unique_ptr<Module> module;
  };
  template <class M>
  static const M& as(const Item& item) {
    const M* module = dynamic_cast<const M*>(item.module.get());
    if (!module) fail_kind(item, typeid(M).name());
    return *module;
  }
  [[noreturn]] static void fail_kind(const Item& item, const char* wanted);
  const Item& find(const std::string& name) const;
  const Item& find(std::size_t number) const;
  void check_free(const std::string& name) const;

  std::vector<Item> items_;
};

}  // namespace gradus::nn
