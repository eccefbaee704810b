// Sums over shards in a fixed order, for any number of processes. The order is a binary tree over
// shard numbers: each node is the sum of 2^k shards, starting at a multiple of 2^k. Remaining nodes
// are added at the end, right to left: ((0+1)+(2+3)) + ((4+5) + 6).
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
/// Returns the shards of process `rank` among `size` processes. Their counts differ by at most 1.
ShardRange shards_of(int rank, int size, std::int64_t shards);

/// Returns the nodes of a Fold after a range of n shards: at most 2 · log2 n.
std::vector<ShardRange> nodes_of(ShardRange range);

/// Adds tensors of equal shape, pushed in shard order.
class Fold {
 public:
  struct Node {
    ShardRange shards;
    Tensor sum;
  };
  void push(ShardRange shards, Tensor sum);
  const std::vector<Node>& nodes() const { return nodes_; }
  Tensor finish();  // returns the total and clears the Fold
  void clear() { nodes_.clear(); }

 private:
  void add_last();
  std::vector<Node> nodes_;
};

}  // namespace gradus::distributed
