// Associates data of an observer with the values in a storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// Views share the data. It expires with the storage, even if a new one has the same address.
template <class Known>
class Provenance {
 public:
  /// nullptr: no data, or x is undefined.
  const Known* of(const Tensor& x) const {
    const auto at = entries_.find(x.storage().get());
    const bool same = at != entries_.end() && at->second.storage.lock() == x.storage();
    return same ? &at->second.known : nullptr;
  }

  void note(const Tensor& x, Known known) {
    entries_[x.storage().get()] = {x.storage(), std::move(known)};
    // Removes expired entries each time the map has doubled.
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
  std::size_t sweep_at_ = kFewest;  // size at which expired entries are removed
};

}  // namespace gradus::trace
