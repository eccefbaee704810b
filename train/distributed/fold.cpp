#include "gradus/train/distributed/fold.h"

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"

namespace gradus::distributed {

ShardRange shards_of(int rank, int size, std::int64_t shards) {
  return {shards * rank / size, shards * (rank + 1) / size};
}

std::vector<ShardRange> nodes_of(ShardRange range) {
  Fold fold;
  for (std::int64_t s = range.begin; s < range.end; ++s) fold.push({s, s + 1}, zeros({}));
  std::vector<ShardRange> nodes;
  for (const Fold::Node& node : fold.nodes()) nodes.push_back(node.shards);
  return nodes;
}

void Fold::push(ShardRange shards, Tensor sum) {
  nodes_.push_back({shards, std::move(sum)});
  while (nodes_.size() > 1) {
    const ShardRange left = nodes_[nodes_.size() - 2].shards, right = nodes_.back().shards;
    const std::int64_t size = right.end - right.begin;
    if (left.end - left.begin != size || left.begin % (2 * size) != 0) return;
    add_last();
  }
}

void Fold::add_last() {
  const Node last = std::move(nodes_.back());
  nodes_.pop_back();
  nodes_.back().shards.end = last.shards.end;
  nodes_.back().sum += last.sum;
}

Tensor Fold::finish() {
  while (nodes_.size() > 1) add_last();
  Tensor sum = std::move(nodes_.back().sum);
  nodes_.clear();
  return sum;
}

}  // namespace gradus::distributed
