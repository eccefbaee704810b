// Mask: which queries may attend to which keys, as a description. true = may attend, everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// One query and one key. Positions are absolute: with a cache, queries start later.
struct QueryKey {
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

/// A small value that answers for single pairs and for whole blocks, so that kernels skip what is
/// hidden without a T × S tensor. Combine with & and |. The default allows everything.
class Mask {
 public:
  class Rule;  // one kind of mask; ops/mask/rule.h
  Mask() = default;

  bool allows(const QueryKey& pair) const;
  Coverage coverage(const MaskBlock& block) const;
  bool allows_everything() const { return rule_ == nullptr; }

  /// allowed[j] = allows(first.query, first.key + j), for n keys: what kernels call.
  void row(const QueryKey& first, std::int64_t n, bool* allowed) const;

  /// ShapeError if the mask was made for others. Unless `whole` these may be a part of its own.
  void check_sizes(const MaskSizes& sizes, bool whole = true) const;
  Tensor dense(const MaskSizes& sizes) const;  // bool [examples, heads, queries, keys]

  std::string describe() const;  // "causal & lengths [3, 5]"
  /// One character a pair: '#' may attend, '.' may not.
  std::string picture(std::int64_t queries, std::int64_t keys, std::int64_t example = 0,
                      std::int64_t head = 0) const;

  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);

  explicit Mask(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

 private:
  std::shared_ptr<const Rule> rule_;  // null: everything
};

/// query + offset ≥ key. offset = 0 aligns the first query and the first key.
Mask causal_mask(std::int64_t offset = 0);
/// Causal, aligning the last query and the last key: causal_mask(keys − queries). With fewer keys
/// than queries the first rows are empty. ValueError for negative sizes.
Mask causal_lower_right(std::int64_t queries, std::int64_t keys);
/// query − before ≤ key ≤ query + after. ValueError for negatives.
Mask window_mask(std::int64_t before, std::int64_t after = 0);
/// In example b, keys from lengths[b] on are padding: no query attends to them.
Mask padding_mask(std::vector<std::int64_t> lengths);
/// Every query attends to the keys before `length`, and to nothing else: causal_mask() |
/// prefix_mask(n) is a prefix language model. With `lengths`, one for each example.
Mask prefix_mask(std::int64_t length);
Mask prefix_mask(std::vector<std::int64_t> lengths);

/// Blocks of queries × keys, after BigBird (Zaheer et al. 2020).
struct BlockSparse {
  std::int64_t length;      // the most queries and keys
  std::int64_t block = 64;  // of so many each
  std::int64_t window = 1;  // blocks on each side of the query's own that it sees
  std::int64_t global = 1;  // the first blocks: they see all keys, all queries see them
  std::int64_t random = 2;  // more blocks for each block of queries, drawn once when it is made
  std::uint64_t seed = 0;
  std::int64_t heads = 1;  // 1: the same for all; else each of so many draws its own
};
/// Not causal: that is block_sparse_mask(pattern) & causal_mask(). ValueError for a length or
/// numbers of blocks below 0, blocks or heads below 1.
Mask block_sparse_mask(const BlockSparse& pattern);

/// A bool tensor [queries, keys], [B, queries, keys] or [B, H, queries, keys]; B, H may be 1.
/// ValueError for [T, T], T ≥ 3, that is true exactly where the key comes after the query: that is
/// a causal mask in which true hides. Other orientations cannot be detected.
Mask dense_mask(const Tensor& allowed);

/// Where rows stand: one list for all examples, or one for each.
using Positions = std::vector<std::vector<std::int64_t>>;
/// `mask` for rows that do not stand at 0, 1, 2, …: behind a cache, in a ring buffer, in a batch of
/// unequal lengths. Query row i stands at queries[b][i], key row j at keys[b][j]. At −1 there is
/// nothing: such a key is hidden from all, such a query sees nothing. ValueError below −1.
Mask remap_positions(const Mask& mask, const Positions& queries, const Positions& keys);

std::ostream& operator<<(std::ostream& out, const Mask& mask);

}  // namespace gradus
