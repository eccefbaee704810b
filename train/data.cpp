// Every draw is a RandomStream's, at a seed and a step: there is no state to save.
#include "gradus/train/data.h"

#include <algorithm>

#include "gradus/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"

namespace gradus {

std::vector<Batch> batches(const Tensor& x, const Tensor& y, std::int64_t size,
                           std::uint64_t seed) {
  require(x.defined() && y.defined() && x.rank() > 0 && y.rank() > 0,
          "batches: x and y must have rows");
  require<ShapeError>(x.size(0) == y.size(0), "batches: x ", x.shape(), " and y ", y.shape(),
                      " have different numbers of rows");
  require(size > 0, "batches: a size of ", size);
  const std::int64_t rows = x.size(0);
  Generator own(seed);
  const GeneratorScope scope(own);
  const Tensor order = randperm(rows);
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < rows; i += size) {
    const std::int64_t n = std::min(size, rows - i);
    const Tensor chosen = order.view({n}, {1}, i);
    out.push_back({index_select(x, 0, chosen), index_select(y, 0, chosen)});
  }
  return out;
}

TokenBatches::TokenBatches(std::vector<std::int64_t> tokens, std::int64_t context,
                           std::int64_t batch, std::uint64_t seed)
    : tokens_(std::move(tokens)), context_(context), batch_(batch), seed_(seed) {
  require(context > 0 && batch > 0, "TokenBatches: context ", context, " and batch ", batch,
          " must be positive");
  require(size() > context, "TokenBatches: the text has ", size(), " tokens, but a context of ",
          context, " wants at least ", context + 1, ": take a longer text or a shorter context");
}

Batch TokenBatches::windows(const std::vector<std::int64_t>& starts, std::int64_t length) const {
  const Shape shape{std::ssize(starts), length};
  Batch batch{Tensor::empty(shape, Dtype::i64), Tensor::empty(shape, Dtype::i64)};
  std::int64_t *x = batch.x.mutable_data<std::int64_t>(), *y = batch.y.mutable_data<std::int64_t>();
  for (const std::int64_t start : starts) {
    x = std::copy_n(tokens_.begin() + start, length, x);
    y = std::copy_n(tokens_.begin() + start + 1, length, y);
  }
  return batch;
}

Batch TokenBatches::at(std::int64_t step) const {
  const RandomStream random{seed_, static_cast<std::uint32_t>(step), 0};
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < batch_; ++i) starts.push_back(random.below(i, size() - context_));
  return windows(starts, context_);
}

std::vector<Batch> TokenBatches::once() const {
  std::vector<Batch> out;
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (; start + context_ < size(); start += context_) {
    starts.push_back(start);
    if (std::ssize(starts) == batch_) out.push_back(windows(starts, context_)), starts.clear();
  }
  if (!starts.empty()) out.push_back(windows(starts, context_));
  if (start + 1 < size()) out.push_back(windows({start}, size() - 1 - start));
  return out;
}

}  // namespace gradus
