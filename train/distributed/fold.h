// Sums over shards in one fixed order, whichever process has them: a binary tree over shard
// numbers. A node of the tree is the sum of 2^k shards from a multiple of 2^k on. Two neighbors are
// added as soon as their parent is complete, and at the end the remaining nodes from right to left:
// of 7 shards ((0+1)+(2+3)) + ((4+5) + 6).
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// Consecutive shards: of a process, or of a node.
struct ShardRange {
  std::int64_t begin, end;
  bool operator==(const ShardRange&) const = default;
};
/// The shards of process `rank` of `size`: as many as the others have, or one more.
ShardRange shards_of(int rank, int size, std::int64_t shards);

/// The nodes that a Fold holds after the shards of a range: at most 2 · log2 of their number.
std::vector<ShardRange> nodes_of(ShardRange range);

/// Adds tensors of one shape, pushed in the order of shards.
class Fold {
 public:
  struct Node {
    ShardRange shards;
    Tensor sum;
  };
  void push(ShardRange shards, Tensor sum);
  const std::vector<Node>& nodes() const { return nodes_; }
  Tensor finish();  // the sum of all that was pushed; nothing is left
  void clear() { nodes_.clear(); }

 private:
  void add_last();  // to the one before it
  std::vector<Node> nodes_;
};

}  // namespace gradus::distributed
