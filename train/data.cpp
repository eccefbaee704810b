#include "gradus/train/data.h"

#include <algorithm>

#include "gradus/engine/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"

namespace gradus::train {
namespace {

std::vector<std::int64_t> longer_of(const std::vector<std::pair<Sequence, Sequence>>& pairs) {
  std::vector<std::int64_t> lengths;
  for (const auto& [source, target] : pairs) {
    require(!source.empty(), "PairBatches: the source of pair ", lengths.size(), " is empty");
    lengths.push_back(std::max(std::ssize(source), std::ssize(target) + 1));
  }
  return lengths;
}

}  // namespace

std::vector<Batch> batches(const Tensor& x, const Tensor& y, std::int64_t size,
                           std::uint64_t seed) {
  require(x.rank() > 0 && y.rank() > 0, "batches: x and y must have at least one axis");
  require<ShapeError>(x.size(0) == y.size(0), "batches: x ", x.shape(), " and y ", y.shape(),
                      " have different numbers of rows");
  require(size > 0, "batches: the batch size must be positive, got ", size);
  const std::int64_t rows = x.size(0);
  Generator own(seed);
  const GeneratorScope scope(own);
  const Tensor order = randperm(rows);
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < rows; i += size) {
    const std::int64_t n = std::min(size, rows - i);
    const Tensor chosen = kernel::strided_view(order, {n}, {1}, i);
    out.push_back({index_select(x, 0, chosen), index_select(y, 0, chosen)});
  }
  return out;
}

TokenBatches::TokenBatches(std::vector<std::int64_t> tokens, std::int64_t context,
                           std::int64_t batch, std::uint64_t seed)
    : tokens_(std::move(tokens)), context_(context), batch_(batch), seed_(seed) {
  require(context > 0 && batch > 0, "TokenBatches: context and batch must be positive, got ",
          context, " and ", batch);
  require(size() > context, "TokenBatches: the text has ", size(), " tokens, but a context of ",
          context, " needs at least ", context + 1, ". Use a longer text or a shorter context.");
}

Batch TokenBatches::windows(const std::vector<std::int64_t>& starts, std::int64_t length) const {
  const Shape shape{std::ssize(starts), length};
  Batch batch{Tensor::empty(shape, Dtype::i64), Tensor::empty(shape, Dtype::i64)};
  auto *x = batch.x.mutable_data<std::int64_t>(), *y = batch.y.mutable_data<std::int64_t>();
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
  std::int64_t start = 0;
  while (start + context_ < size()) {
    std::vector<std::int64_t> starts;
    for (; std::ssize(starts) < batch_ && start + context_ < size(); start += context_)
      starts.push_back(start);
    out.push_back(windows(starts, context_));
  }
  if (start + 1 < size()) out.push_back(windows({start}, size() - 1 - start));
  return out;
}

LengthBuckets::LengthBuckets(std::vector<std::int64_t> lengths, std::int64_t batch,
                             std::uint64_t seed, std::int64_t pool)
    : lengths_(std::move(lengths)), batch_(batch), pool_(pool), seed_(seed) {
  require(!lengths_.empty(), "LengthBuckets: no sequences were given. Pass at least one.");
  require(batch > 0 && pool > 0, "LengthBuckets: batch and pool must be positive, got ", batch,
          " and ", pool);
}

std::int64_t LengthBuckets::batches_per_pass() const {
  return (std::ssize(lengths_) + batch_ - 1) / batch_;
}

void LengthBuckets::shuffle_for(std::int64_t pass) const {
  Generator own(seed_);
  own.restore(seed_, static_cast<std::uint32_t>(2 * pass));
  const GeneratorScope scope(own);
  std::vector<std::int64_t> order = randperm(std::ssize(lengths_)).to_vector<std::int64_t>();
  const std::vector<std::int64_t> places = randperm(batches_per_pass()).to_vector<std::int64_t>();
  for (std::int64_t i = 0; i < std::ssize(order) && pool_ > 1; i += pool_ * batch_) {
    const auto end = order.begin() + std::min<std::int64_t>(std::ssize(order), i + pool_ * batch_);
    std::stable_sort(order.begin() + i, end, [&](std::int64_t a, std::int64_t b) {
      return lengths_[static_cast<std::size_t>(a)] < lengths_[static_cast<std::size_t>(b)];
    });
  }
  batches_.clear();
  for (const std::int64_t place : places) {
    const std::int64_t i = place * batch_,
                       end = std::min<std::int64_t>(std::ssize(order), i + batch_);
    batches_.emplace_back(order.begin() + i, order.begin() + end);
  }
  pass_ = pass;
}

std::vector<std::int64_t> LengthBuckets::at(std::int64_t step) const {
  require(step >= 0, "LengthBuckets: step must not be negative, got ", step);
  const std::int64_t pass = step / batches_per_pass();
  if (pass != pass_) shuffle_for(pass);
  return batches_[static_cast<std::size_t>(step % batches_per_pass())];
}

PairBatches::PairBatches(std::vector<std::pair<Sequence, Sequence>> pairs, std::int64_t batch,
                         std::uint64_t seed, PairTokens tokens)
    : pairs_(std::move(pairs)),
      tokens_(tokens),
      batch_(batch),
      buckets_(longer_of(pairs_), batch, seed) {}

PairBatch PairBatches::gather(const std::vector<std::int64_t>& which) const {
  std::vector<Sequence> sources, inputs, outputs;
  std::int64_t count = 0;
  for (const std::int64_t i : which) {
    const auto& [source, target] = pairs_[static_cast<std::size_t>(i)];
    sources.push_back(source);
    Sequence& input = inputs.emplace_back(Sequence{tokens_.begin});
    input.insert(input.end(), target.begin(), target.end());
    outputs.emplace_back(target).push_back(tokens_.end);
    count += std::ssize(input);
  }
  return {pad_sequences(sources, tokens_.pad), pad_sequences(inputs, tokens_.pad),
          pad_sequences(outputs, tokens_.pad).ids, count};
}

std::vector<PairBatch> PairBatches::once() const {
  std::vector<PairBatch> out;
  for (std::int64_t i = 0; i < size();) {
    std::vector<std::int64_t> which;
    while (std::ssize(which) < batch_ && i < size()) which.push_back(i++);
    out.push_back(gather(which));
  }
  return out;
}

}  // namespace gradus::train
