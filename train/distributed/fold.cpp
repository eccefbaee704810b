#include "gradus/train/distributed/fold.h"

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"

namespace gradus::distributed {

ShardRange shards_of(int rank, int size, std::int64_t shards) {
  return {shards * rank / size, shards * (rank + 1) / size};
}

std::vector<Subtree> subtrees(ShardRange range) {
  Fold fold;
  for (std::int64_t s = range.begin; s < range.end; ++s) fold.push({0, s}, zeros({}));
  std::vector<Subtree> places;
  for (const auto& [place, sum] : fold.parts()) places.push_back(place);
  return places;
}

void Fold::push(Subtree place, Tensor sum) {
  parts_.emplace_back(place, std::move(sum));
  while (parts_.size() > 1) {
    const Subtree last = parts_.back().first;
    Subtree& left = parts_[parts_.size() - 2].first;
    if (last.index % 2 == 0 || left != Subtree{last.level, last.index - 1}) return;
    left = {last.level + 1, last.index / 2};
    add_last();
  }
}

void Fold::add_last() {
  const Tensor last = std::move(parts_.back().second);
  parts_.pop_back();
  parts_.back().second += last;
}

Tensor Fold::finish() {
  while (parts_.size() > 1) add_last();
  Tensor sum = std::move(parts_.back().second);
  parts_.clear();
  return sum;
}

}  // namespace gradus::distributed
