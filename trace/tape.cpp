#include "gradus/trace/tape.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"

namespace gradus::trace {
namespace {

constexpr std::int64_t kFavour = 16;      // multiplies the limit for attention matrices
constexpr Detail kFolded = {64, false};   // detail inside repeated blocks
constexpr std::size_t kWorkingSpace = 4;  // memory while recording, as a multiple of most_bytes_

Tensor first_example(const Tensor& x) {
  if (x.rank() < 4) return x;
  Shape shape = x.shape();
  shape[0] = std::min(shape[0], std::int64_t{1});
  return kernel::strided_view(x, shape, x.strides(), x.offset());
}

/// Returns "blocks." and 3 for "blocks.3".
std::pair<std::string, Id> numbered(const std::string& path) {
  const std::size_t at = path.rfind('.') + 1;
  const bool number = path.find_first_not_of("0123456789", at) == std::string::npos;
  return {path.substr(0, at), number ? std::atoll(&path[at]) : kNone};
}

}  // namespace

Id Tape::shape_of(std::span<const std::int64_t> sizes) {
  std::vector<Id> list(sizes.begin(), sizes.end());
  const auto [at, is_new] = shape_index_.try_emplace(list, std::ssize(shapes_));
  if (is_new) shapes_.push_back(std::move(list));
  return at->second;
}

Id Tape::tensor(const Tensor& x, const char* kind) {
  if (!x.defined()) return kNone;
  const Seen* before = seen_.of(x);
  Seen seen = before ? *before : Seen{storages_++, {}};
  const Seen::View view{x.shape(), x.strides(), x.offset(), x.storage()->version(),
                        std::ssize(rows_)};
  Id row = kNone;
  for (const Seen::View& old : seen.views)
    if (old.shape == view.shape && old.strides == view.strides && old.offset == view.offset &&
        old.version == view.version && !x.storage()->borrowed())
      row = old.row;
  if (row == kNone) {
    row = view.row;
    seen.views.push_back(view);
    values_.emplace_back(x, kLevels[level_], std::string_view(kind) == "inside" ? kFavour : 1);
    value_bytes_ += values_.back().bytes();
    rows_.push_back({kind, name_of(x.dtype()), "", shape_of(x.shape()), row, seen.storage,
                     x.offset(), x.is_contiguous() ? kNone : shape_of(x.strides()), layer});
    seen_.note(x, std::move(seen));
    // Limits memory while recording. json() reduces it further.
    if (value_bytes_ > kWorkingSpace * most_bytes_) fit(kWorkingSpace / 2 * most_bytes_);
  }
  if (x.node()) {
    const std::uint64_t node = x.node()->id;
    by_node_[node] = row;
    Row& entry = rows_[static_cast<std::size_t>(row)];
    if (x.is_leaf() && entry.kind == "input") entry.kind = x.requires_grad() ? "leaf" : "input";
    if (const auto named = names_.find(node); named != names_.end()) {
      entry.name = named->second;
      entry.kind = "param";
    }
  }
  return row;
}

Id Tape::made_by(std::uint64_t node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? kNone : at->second;
}

void Tape::name(const Tensor& x, const std::string& name) {
  if (!x.node()) return;
  names_[x.node()->id] = name;
  if (const Id row = made_by(x.node()->id); row != kNone) {
    rows_[static_cast<std::size_t>(row)].name = name;
    rows_[static_cast<std::size_t>(row)].kind = "param";
  }
}

void Tape::add_matrix(Attention& to, const std::string& name, const Tensor& x) {
  if (!to.contains(name)) to.emplace(name, tensor(first_example(x), "inside"));
}

Id Tape::add_module(Module module) {
  const auto [of, number] = numbered(module.path);
  Id& last = last_number_[of];
  last = std::max(last, number);
  modules.push_back(std::move(module));
  return std::ssize(modules) - 1;
}

/// True for a block between the first and the last of four or more blocks.
bool Tape::folds(Id module) const {
  if (module == kNone) return false;
  const Module& it = modules[static_cast<std::size_t>(module)];
  const auto [of, number] = numbered(it.path);
  if (number > 0 && last_number_.at(of) > std::max(number, Id{2})) return true;
  return folds(it.parent);
}

/// Keeps only statistics in repeated blocks (blocks.1 to blocks.10 of twelve).
void Tape::fold() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!folds(rows_[i].layer)) continue;
    const std::size_t before = values_[i].bytes();
    values_[i].reduce(kFolded);
    value_bytes_ -= before - values_[i].bytes();
    folded_ += values_[i].bytes() < before;
  }
}

/// Reduces the level of detail until the values fit. At the lowest level, drops values, starting in
/// the middle.
void Tape::fit(std::size_t bytes) {
  if (value_bytes_ > bytes) fold();
  while (value_bytes_ > bytes && level_ + 1 < kLevels.size()) {
    ++level_;
    value_bytes_ = 0;
    for (KeptValues& each : values_) {
      each.reduce(kLevels[level_]);
      value_bytes_ += each.bytes();
    }
  }
  const auto middle = static_cast<std::ptrdiff_t>(values_.size() / 2);
  for (std::ptrdiff_t i = 0; value_bytes_ > bytes && i < std::ssize(values_); ++i) {
    KeptValues& next = values_[static_cast<std::size_t>(middle + (i % 2 ? i / 2 : -i / 2))];
    value_bytes_ -= next.bytes();
    next.drop();
    value_bytes_ += next.bytes();
  }
}

}  // namespace gradus::trace
