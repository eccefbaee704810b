#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// An observer's data about the values in each storage, shared by views. Expires with the storage,
/// even if the address is reused.
template <class Known>
class Provenance {
 public:
  /// Returns nullptr if nothing is known or x is undefined.
  const Known* of(const Tensor& x) const {
    const auto at = entries_.find(x.storage().get());
    const bool same = at != entries_.end() && at->second.storage.lock() == x.storage();
    return same ? &at->second.known : nullptr;
  }

  void note(const Tensor& x, Known known) {
    entries_[x.storage().get()] = {x.storage(), std::move(known)};
    if (entries_.size() < sweep_at_) return;
    std::erase_if(entries_, [](const auto& each) { return each.second.storage.expired(); });
    sweep_at_ = std::max(kFewest, 2 * entries_.size());
  }

  void clear() { entries_.clear(); }

 private:
  static constexpr std::size_t kFewest = 4096;
  struct Entry {
    std::weak_ptr<Storage> storage;
    Known known;
  };
  std::map<const Storage*, Entry> entries_;
  std::size_t sweep_at_ = kFewest;  // expired entries are removed at this size
};

}  // namespace gradus::trace
