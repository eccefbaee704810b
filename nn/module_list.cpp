#include "gradus/nn/module_list.h"

#include "gradus/engine/base/platform.h"

namespace gradus::nn {

Members ModuleList::members() {
  Members out;
  for (const Item& item : items_) out.emplace_back(item.name.c_str(), *item.module);
  return out;
}

ModuleList ModuleList::same_architecture() const {
  ModuleList out;
  for (const Item& item : items_) out.items_.push_back({item.name, item.module->empty_like()});
  return out;
}

void ModuleList::fail_kind(const Item& item, const char* wanted) {
  fail<ValueError>("ModuleList: \"", item.name, "\" is a ", item.module->type_name(), ", not a ",
                   platform::demangle(wanted));
}

const ModuleList::Item& ModuleList::find(const std::string& name) const {
  std::string known;
  for (const Item& item : items_) {
    if (item.name == name) return item;
    known += (known.empty() ? "" : ", ") + item.name;
  }
  fail<ValueError>("ModuleList: no module is named \"", name,
                   "\". Modules: ", known.empty() ? "none" : known);
}

const ModuleList::Item& ModuleList::find(std::size_t number) const {
  require<IndexError>(number < size(), "ModuleList: module ", number, " is out of range for ",
                      size(), " modules. Pass an existing index or name.");
  return items_[number];
}

void ModuleList::check_free(const std::string& name) const {
  require(!name.empty() && name.find('.') == std::string::npos, "ModuleList: the name \"", name,
          "\" is empty or contains a dot. Paths need names without dots.");
  for (const Item& item : items_)
    require(item.name != name, "ModuleList: the name \"", name, "\" is already used by a ",
            item.module->type_name(), ". Choose another name.");
}

}  // namespace gradus::nn
