// Mask: who may attend to whom, as a description. true = may attend, everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Where a query and a key stand. Positions are absolute: with a cache, queries start later.
struct MaskPlace {
  std::int64_t example, head, query, key;
};

/// A rectangle of queries × keys, half-open, of one example and head.
struct MaskBlock {
  std::int64_t example, head, first_query, last_query, first_key, last_key;
};

/// What attention is computed over: the numbers of examples, heads, queries and keys.
struct MaskSizes {
  std::int64_t examples, heads, queries, keys;
};

enum class Coverage { none, some, all };

/// A small value that answers for single places and for whole blocks, so that kernels skip what is
/// hidden without a T × S tensor. Combine with & and |. The default allows everything.
class Mask {
 public:
  class Rule;  // one kind of mask; ops/mask.cpp
  Mask() = default;

  bool allows(const MaskPlace& place) const;
  Coverage coverage(const MaskBlock& block) const;
  bool allows_everything() const { return rule_ == nullptr; }

  /// allowed[j] = allows(first.query, first.key + j), for n keys: what kernels call.
  void row(const MaskPlace& first, std::int64_t n, bool* allowed) const;
  /// The number of keys that row() allows if those are the first of the n, else −1: "not known".
  std::int64_t prefix(const MaskPlace& first, std::int64_t n) const;

  void check_sizes(const MaskSizes& sizes) const;  // ShapeError if the mask was made for others
  Tensor dense(const MaskSizes& sizes) const;      // bool [examples, heads, queries, keys]

  std::string describe() const;  // "causal & lengths [3, 5]"
  /// One character a place: '#' may attend, '.' may not.
  std::string picture(std::int64_t queries, std::int64_t keys, std::int64_t example = 0,
                      std::int64_t head = 0) const;

  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);

  explicit Mask(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

 private:
  std::shared_ptr<const Rule> rule_;  // null: everything
};

/// query + offset ≥ key. offset = 0 aligns first query and first key; S − T aligns the ends.
Mask causal_mask(std::int64_t offset = 0);
/// In example b, keys from lengths[b] on are padding: nobody attends to them.
Mask padding_mask(std::vector<std::int64_t> lengths);
/// A bool tensor [queries, keys], [B, queries, keys] or [B, H, queries, keys]; B, H may be 1.
/// ValueError for [T, T], T ≥ 3, that is true exactly where the key comes after the query: that is
/// a causal mask in which true hides. Nothing else can be told from what somebody may mean.
Mask dense_mask(const Tensor& allowed);

std::ostream& operator<<(std::ostream& out, const Mask& mask);

}  // namespace gradus
