// Sums over shards in a fixed order, for any number of processes: a binary tree over shard numbers.
// A node is the sum of 2^k shards, starting at a multiple of 2^k. Neighbors are added when
// complete, the rest at the end, right to left: ((0+1)+(2+3)) + ((4+5) + 6).
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// Shards begin … end − 1.
struct ShardRange {
  std::int64_t begin, end;
  bool operator==(const ShardRange&) const = default;
};
/// Shards of process `rank` of `size`. Counts differ by at most 1.
ShardRange shards_of(int rank, int size, std::int64_t shards);

/// Nodes that a Fold holds after a range of shards: at most 2 · log2 of their number.
std::vector<ShardRange> nodes_of(ShardRange range);

/// Adds tensors of one shape, pushed in shard order.
class Fold {
 public:
  struct Node {
    ShardRange shards;
    Tensor sum;
  };
  void push(ShardRange shards, Tensor sum);
  const std::vector<Node>& nodes() const { return nodes_; }
  Tensor finish();  // returns the total and clears
  void clear() { nodes_.clear(); }

 private:
  void add_last();
  std::vector<Node> nodes_;
};

}  // namespace gradus::distributed
