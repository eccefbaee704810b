// All layers share slots and positions; each layer has its own buffer.
// B batch, G key/value heads, S visible keys, T new tokens, D head width.
#include "gradus/nn/cache.h"

#include <algorithm>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

Tensor picked(const Tensor& x, const std::vector<std::int64_t>& examples) {
  return index_select(x, 0, tensor(examples));
}

/// Selects examples of a buffer [B, G, capacity, D] with `held` used slots.
Tensor picked(const Tensor& buffer, const std::vector<std::int64_t>& examples, std::int64_t held) {
  Shape shape = buffer.shape();
  shape[0] = std::ssize(examples);
  Tensor y = Tensor::empty(shape, buffer.dtype());
  slice(y, 2, 0, held).copy_(picked(slice(buffer, 2, 0, held), examples));
  return y;
}

void put(Tensor& kept, std::int64_t first, const Tensor& fresh) {
  if (!kept.has_unique_storage()) kept = kernel::copy(kept);  // copy on write
  Tensor at = slice(kept, 2, first, first + fresh.size(2));
  at.copy_(fresh);
}

/// Encodes x [B, G, S, D] as i64 [B, G, S, words], which can be sliced.
Tensor packed(const Tensor& x, Precision precision) {
  const Tensor rows = kernel::contiguous(kernel::convert(x, Dtype::f32));
  const std::int64_t D = x.size(3), bytes = gemm::row_bytes(precision, D);
  Tensor y = Tensor::empty({x.size(0), x.size(1), x.size(2), bytes / 8}, Dtype::i64);
  auto* to = reinterpret_cast<std::byte*>(y.mutable_data<std::int64_t>());
  const auto* from = rows.data<float>();
  for (std::int64_t left = rows.numel(); left > 0; left -= D, from += D, to += bytes) {
    const std::int64_t held = gemm::write_row(precision, from, D, to);
    require(held == D, "KVCache: a key or value is ", held < D ? from[held] : 0, ", which ",
            gemm::name(precision), " cannot represent. Keep the cache as f32.");
  }
  return y;
}

/// Decodes [B, G, S, words] → [B, G, S, D], with D and the dtype taken from `like`.
Tensor unpacked(const Tensor& words, const Tensor& like, Precision precision) {
  const std::int64_t G = words.size(1), S = words.size(2), D = like.size(3);
  Tensor y = Tensor::empty({words.size(0), G, S, D}, Dtype::f32);
  const Strides& stride = words.strides();
  const auto* from = words.data<std::int64_t>();
  auto* to = y.mutable_data<float>();
  parallel_for(words.size(0) * G * S, rows_grain(D), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto* row = from + r / (G * S) * stride[0] + r / S % G * stride[1] + r % S * stride[2];
      gemm::read_row(precision, reinterpret_cast<const std::byte*>(row), D, to + r * D);
    }
  });
  return kernel::convert(y, like.dtype());
}

}  // namespace

KVCache::KVCache(const CacheOptions& given) : options_(given) {
  require(options_.capacity > 0, "KVCache: the capacity must be positive, got ", options_.capacity);
}

void KVCache::check_advance(std::int64_t batch, std::int64_t tokens,
                            const std::vector<std::int64_t>& lengths) const {
  require<ShapeError>(batch > 0 && tokens > 0, "KVCache: tokens and batch must be positive, got ",
                      tokens, " and ", batch);
  require<ShapeError>(batch_ == 0 || batch == batch_, "KVCache: a batch of ", batch,
                      " does not fit the cache, which holds a batch of ", batch_,
                      ". Call select(), or make a new cache.");
  require<ShapeError>(lengths.empty() || std::ssize(lengths) == batch, "KVCache: got ",
                      lengths.size(), " lengths for a batch of ", batch,
                      ". Pass one length per example.");
  for (const std::int64_t length : lengths)
    require(0 <= length && length <= tokens, "KVCache: lengths must be in [0, ", tokens, "], got ",
            length);
  require<ShapeError>(options_.sliding || held_ + tokens <= options_.capacity, "KVCache: ", tokens,
                      " tokens after ", held_, " exceed the capacity of ", options_.capacity,
                      ". Increase the capacity, or set `sliding`.");
}

void KVCache::advance(std::int64_t batch, std::int64_t tokens,
                      const std::vector<std::int64_t>& lengths) {
  check_advance(batch, tokens, lengths);
  const auto B = static_cast<std::size_t>(batch);
  if (batch_ == 0) {
    next_.assign(B, 0);
    slots_.assign(B, {});
  }
  batch_ = batch;
  before_ = held_;
  ++advances_;
  held_ = std::min(held_ + tokens, options_.capacity);
  way_ = before_ + tokens <= options_.capacity ? Way::append
         : tokens == 1                         ? Way::replace
                                               : Way::slide;
  queries_.assign(B, {});
  keys_.assign(B, {});
  for (std::size_t b = 0; b < B; ++b) {
    const std::int64_t padding = lengths.empty() ? 0 : tokens - lengths[b];
    for (std::int64_t j = 0; j < tokens; ++j) queries_[b].push_back(j < padding ? -1 : next_[b]++);
    std::vector<std::int64_t>& slots = slots_[b];
    if (way_ == Way::replace) {
      slots[static_cast<std::size_t>(oldest_)] = queries_[b][0];
    } else {
      std::rotate(slots.begin(), slots.begin() + oldest_, slots.end());  // oldest first
      slots.insert(slots.end(), queries_[b].begin(), queries_[b].end());
    }
    keys_[b] = slots;
    if (way_ == Way::slide) slots.erase(slots.begin(), slots.end() - options_.capacity);
  }
  newest_ = oldest_;
  oldest_ = way_ == Way::replace ? (oldest_ + 1) % options_.capacity
            : way_ == Way::slide ? 0
                                 : oldest_;
}

void KVCache::check_ready() const {
  require<GraphError>(advances_ > 0, "KVCache: a layer ran before advance(). Call ",
                      "advance(batch, tokens) first.");
}

KVCache::FlatPositions KVCache::flat_positions() const {
  check_ready();
  const auto alike = [](const Positions& all) {
    return std::all_of(all.begin(), all.end(), [&](const auto& each) { return each == all[0]; });
  };
  const std::int64_t examples = alike(queries_) && alike(keys_) ? 0 : batch_;
  const auto joined = [&](const Positions& all) {
    std::vector<std::int64_t> list;
    for (std::size_t b = 0; b < (examples == 0 ? 1 : all.size()); ++b)
      for (const std::int64_t position : all[b])
        list.push_back(std::max<std::int64_t>(position, 0));
    return list;
  };
  return {joined(queries_), joined(keys_), examples};
}

std::int64_t KVCache::length() const {
  return next_.empty() ? 0 : *std::max_element(next_.begin(), next_.end());
}

std::int64_t KVCache::length_after(std::int64_t batch, std::int64_t tokens,
                                   const std::vector<std::int64_t>& lengths) const {
  check_advance(batch, tokens, lengths);
  std::int64_t longest = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b)
    longest =
        std::max(longest, (next_.empty() ? 0 : next_[b]) + (lengths.empty() ? tokens : lengths[b]));
  return longest;
}

KeysValues KVCache::extend(const Scoped& layer, const Tensor& keys, const Tensor& values) {
  require<GraphError>(!GradMode::enabled(), "KVCache: keys are written in place, which cannot be ",
                      "recorded. Call the model under NoGrad, or without a cache.");
  check_ready();
  require<ShapeError>(
      keys.rank() == 4 && keys.size(0) == batch_ && keys.size(2) == std::ssize(queries_[0]),
      "KVCache: keys ", keys.shape(), " do not fit advance(), which announced ", batch_,
      " examples of ", queries_[0].size(), " tokens. Pass the keys of these tokens.");
  const auto known = layers_.find(layer.id());
  const std::int64_t calls = known == layers_.end() ? 0 : known->second.advances;
  require<GraphError>(calls + 1 == advances_, "KVCache: this ", layer.type_name(), " ran in ",
                      calls, " of ", advances_ - 1,
                      " earlier calls, so the cache belongs to another model. Make a new cache.");
  Layer& mine = layers_[layer.id()];
  mine.advances = advances_;
  const Precision as = options_.precision;
  if (as == Precision::f32) return {keep(mine.kept.keys, keys), keep(mine.kept.values, values)};
  const Tensor k = packed(keys, as), v = packed(values, as);
  return {unpacked(keep(mine.kept.keys, k), keys, as),
          unpacked(keep(mine.kept.values, v), values, as)};
}

/// Stores a layer's new keys or values and returns all visible ones.
Tensor KVCache::keep(Tensor& kept, const Tensor& latest) const {
  if (way_ == Way::slide) {  // keeps the last `capacity` tokens, oldest first
    Tensor all =
        kept.defined()
            ? cat({slice(kept, 2, newest_, before_), slice(kept, 2, 0, newest_), latest}, 2)
            : latest;
    kept = kernel::copy(slice(all, 2, -options_.capacity, all.size(2)));
    return all;
  }
  if (!kept.defined())
    kept =
        Tensor::empty({batch_, latest.size(1), options_.capacity, latest.size(3)}, latest.dtype());
  put(kept, way_ == Way::replace ? newest_ : before_, latest);
  return slice(kept, 2, 0, held_);
}

const KeysValues* KVCache::cross(const Scoped& layer) const {
  const auto found = cross_.find(layer.id());
  return found == cross_.end() ? nullptr : &found->second;
}

void KVCache::set_cross(const Scoped& layer, KeysValues memory) {
  require<GraphError>(!GradMode::enabled(), "KVCache: a cached memory cannot be recorded. ",
                      "Call the model under NoGrad, or without a cache.");
  cross_[layer.id()] = std::move(memory);
}

void KVCache::select(const std::vector<std::int64_t>& examples) {
  require<ShapeError>(!examples.empty(),
                      "KVCache: no example is selected. Select one, or make a new cache.");
  for (const std::int64_t example : examples)
    require<IndexError>(0 <= example && example < batch_, "KVCache: example ", example,
                        " is out of range for a batch of ", batch_, ". Select existing examples.");
  const auto pick = [&](auto& lists) {
    std::remove_reference_t<decltype(lists)> chosen;
    for (const std::int64_t example : examples)
      chosen.push_back(lists[static_cast<std::size_t>(example)]);
    lists = std::move(chosen);
  };
  pick(next_);
  pick(slots_);
  pick(queries_);
  pick(keys_);
  for (auto& [layer, mine] : layers_)
    mine.kept = {picked(mine.kept.keys, examples, held_),
                 picked(mine.kept.values, examples, held_)};
  for (auto& [layer, memory] : cross_)
    memory = {picked(memory.keys, examples), picked(memory.values, examples)};
  batch_ = std::ssize(examples);
}

}  // namespace gradus::nn
