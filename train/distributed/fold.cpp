#include "gradus/train/distributed/fold.h"

#include "gradus/base/parallel.h"
#include "gradus/engine/dtype.h"

namespace gradus::distributed {

ShardRange shards_of(int rank, int size, std::int64_t shards) {
  return {shards * rank / size, shards * (rank + 1) / size};
}

std::vector<Subtree> subtrees(ShardRange range) {
  std::vector<Subtree> all;
  for (std::int64_t shard = range.begin; shard < range.end; ++shard) {
    all.push_back({0, shard});
    while (all.size() > 1 && all.back().index % 2 == 1 &&
           all[all.size() - 2] == Subtree{all.back().level, all.back().index - 1}) {
      const Subtree last = all.back();
      all.pop_back();
      all.back() = {last.level + 1, last.index / 2};
    }
  }
  return all;
}

void add_numbers(Tensor& to, const Tensor& from) {
  dispatch_float("fold", to.dtype(), [&]<class T>() {
    T* a = to.mutable_data<T>();
    const T* b = from.data<T>();
    parallel_for(to.numel(), kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) a[i] += b[i];
    });
  });
}

Tensor Fold::buffer() {
  if (spare_.empty()) return Tensor::empty({numel_}, dtype_);
  Tensor last = std::move(spare_.back());
  spare_.pop_back();
  return last;
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
  Tensor last = std::move(parts_.back().second);
  parts_.pop_back();
  add_numbers(parts_.back().second, last);
  spare_.push_back(std::move(last));
}

Tensor Fold::finish() {
  while (parts_.size() > 1) add_last();
  Tensor sum = std::move(parts_.back().second);
  parts_.clear();
  return sum;
}

void Fold::clear() {
  for (auto& [place, sum] : parts_) spare_.push_back(std::move(sum));
  parts_.clear();
}

}  // namespace gradus::distributed
