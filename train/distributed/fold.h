// Sums over shards in one fixed order, whatever process has which of them: a binary tree over shard
// numbers, as summed by a counter in binary. Node (level, index) is the sum of the shards
// [index · 2^level, (index + 1) · 2^level); two nodes whose parent is complete are added, and at
// the end what is left from right to left: of 7 shards ((0+1)+(2+3)) + ((4+5) + 6).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

struct Subtree {
  std::int64_t level, index;
  bool operator==(const Subtree&) const = default;
};

struct ShardRange {
  std::int64_t begin, end;
};
/// Those of process `rank` of `size`, of `shards` in all: as many as others have, or one more.
ShardRange shards_of(int rank, int size, std::int64_t shards);

/// What a Fold holds after the shards of that range: at most 2 · log2 of them.
std::vector<Subtree> subtrees(ShardRange range);

/// Adds tensors of one shape from left to right, and holds at most log2 of their number.
class Fold {
 public:
  void push(Subtree place, Tensor sum);
  const std::vector<std::pair<Subtree, Tensor>>& parts() const { return parts_; }
  Tensor finish();  // the sum of all that was pushed; nothing is left
  void clear() { parts_.clear(); }

 private:
  void add_last();  // to the one before it
  std::vector<std::pair<Subtree, Tensor>> parts_;
};

}  // namespace gradus::distributed
