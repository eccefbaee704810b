#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// A query and a key. Positions are absolute: after n cached tokens, the first query has position
/// n.
struct QueryKey {
  std::int64_t example, head, query, key;
};

/// A half-open rectangle of queries × keys in one example and head.
struct MaskBlock {
  std::int64_t example, head, first_query, last_query, first_key, last_key;
};

/// Sizes of an attention call.
struct MaskSizes {
  std::int64_t examples, heads, queries, keys;
};

/// The share of a block's pairs that the mask allows.
enum class Coverage { none, some, all };

/// Determines which queries may attend to which keys, for pairs and for blocks. Kernels skip hidden
/// keys. true means "may attend". Combine masks with & and |. The default allows everything.
class Mask {
 public:
  class Rule;  // ops/mask/rule.h
  Mask() = default;

  bool allows(const QueryKey& pair) const;
  Coverage coverage(const MaskBlock& block) const;
  bool allows_everything() const { return rule_ == nullptr; }

  /// Sets allowed[j] = allows(first.query, first.key + j) for n keys. Called by kernels.
  void row(const QueryKey& first, std::int64_t n, bool* allowed) const;

  /// Throws ShapeError if the mask was made for other sizes. Unless `whole`, throws only if `sizes`
  /// are larger.
  void check_sizes(const MaskSizes& sizes, bool whole = true) const;
  Tensor dense(const MaskSizes& sizes) const;  // bool [examples, heads, queries, keys]

  std::string describe() const;  // returns for example "causal & lengths [3, 5]"
  /// Returns one character per pair: '#' may attend, '.' may not.
  std::string picture(std::int64_t queries, std::int64_t keys, std::int64_t example = 0,
                      std::int64_t head = 0) const;

  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);

  explicit Mask(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

 private:
  std::shared_ptr<const Rule> rule_;  // null allows everything
};

/// Causal mask: query + offset ≥ key. offset = 0 aligns the first query with the first key.
Mask causal_mask(std::int64_t offset = 0);
/// Causal mask that aligns the last query with the last key: causal_mask(keys − queries). With
/// fewer keys than queries, the first rows are empty. Throws ValueError for negative sizes.
Mask causal_lower_right(std::int64_t queries, std::int64_t keys);
/// Sliding-window mask: query − before ≤ key ≤ query + after. Throws ValueError for negative sizes.
Mask window_mask(std::int64_t before, std::int64_t after = 0);
/// Hides padding: in example b, no query attends to keys from position lengths[b] onward.
Mask padding_mask(std::vector<std::int64_t> lengths);
/// Allows only the keys before `length`. causal_mask() | prefix_mask(n) is a prefix language model.
/// The second overload takes one length for each example.
Mask prefix_mask(std::int64_t length);
Mask prefix_mask(std::vector<std::int64_t> lengths);

/// Pattern of block-sparse attention, after BigBird (Zaheer et al. 2020).
struct BlockSparse {
  std::int64_t length;      // maximum number of queries and keys
  std::int64_t block = 64;  // queries and keys per block
  std::int64_t window = 1;  // visible blocks on each side
  std::int64_t global = 1;  // first blocks whose rows and columns are entirely visible
  std::int64_t random = 2;  // additional random blocks for each block of queries
  std::uint64_t seed = 0;   // seed of the random blocks
  std::int64_t heads = 1;   // 1: heads share the random blocks; otherwise each draws its own
};
/// Returns a block-sparse mask. For a causal mask, add & causal_mask(). Throws ValueError for a
/// negative length or number of blocks, or if `block` or `heads` is below 1.
Mask block_sparse_mask(const BlockSparse& pattern);

/// Mask from a bool tensor of shape [queries, keys], [B, queries, keys] or [B, H, queries, keys]; B
/// and H may be 1. Throws ValueError for [T, T], T ≥ 3, that is true exactly above the diagonal: a
/// causal mask in which true hides. Other inverted masks are not detected.
Mask dense_mask(const Tensor& allowed);

/// Positions of rows: one list for all examples, or one for each.
using Positions = std::vector<std::vector<std::int64_t>>;
/// Applies `mask` to rows at positions other than 0, 1, 2, …: after cached tokens, in a ring
/// buffer, or with unequal lengths. Query row i is at queries[b][i], key row j at keys[b][j]. −1
/// marks an empty row, which is hidden and attends to nothing. Throws ValueError below −1.
Mask remap_positions(const Mask& mask, const Positions& queries, const Positions& keys);

std::ostream& operator<<(std::ostream& out, const Mask& mask);

}  // namespace gradus
