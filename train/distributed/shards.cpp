#include "gradus/train/distributed/shards.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradus/base/parallel.h"
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/train/distributed/parts.h"

namespace gradus::distributed {
namespace {

constexpr std::int64_t kGrain = 65536;  // numbers that a thread copies or scales at a time

/// to[at, at + n) = from[begin, begin + n), both contiguous and of one floating-point dtype.
void copy_numbers(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t begin,
                  std::int64_t n) {
  dispatch_float("shards", to.dtype(), [&]<class T>() {
    T* a = to.mutable_data<T>() + at;
    const T* b = from.data<T>() + begin;
    parallel_for(n, kGrain,
                 [&](std::int64_t i, std::int64_t end) { std::copy(b + i, b + end, a + i); });
  });
}

/// x[begin, end) becomes f of it.
template <class F>
void change(Tensor& x, std::int64_t begin, std::int64_t end, F&& f) {
  dispatch_float("shards", x.dtype(), [&]<class T>() {
    T* a = x.mutable_data<T>() + begin;
    parallel_for(end - begin, kGrain, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) a[i] = static_cast<T>(f(a[i]));
    });
  });
}

/// Bytes of the numbers begin … end.
Bytes bytes_at(Tensor& x, std::int64_t begin, std::int64_t end) {
  return dispatch_float("shards", x.dtype(), [&]<class T>() {
    return writable_bytes_of(x.mutable_data<T>() + begin, end - begin);
  });
}

std::int64_t bytes_each(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 8; }

}  // namespace

Shards::Shards(nn::Module& model, optim::Optimizer& optimizer, Transport& transport,
               std::int64_t count)
    : optimizer_(optimizer),
      transport_(transport),
      count_(count),
      own_(shards_of(transport.rank(), transport.size(), count)) {
  require(
      transport.size() <= count, transport.size(), " processes, but ", count,
      count == 1 ? " shard" : " shards",
      " a step: each process wants one at least, so start fewer, or a run with more (--shards)");
  optimizer.shard(transport);
  add(optimizer.flat());
  parameters_ = tensors_.size();
  cuts_ = optimizer.cuts();
  std::vector<nn::NamedTensor> buffers = model.buffers();
  std::erase_if(buffers, [](const nn::NamedTensor& each) {
    return each.tensor.dtype() == Dtype::i64 || each.tensor.dtype() == Dtype::bool_;
  });
  add(std::move(buffers));
  cuts_.back() = numel_;
  fold_ = Fold(numel_, tensors_.front().tensor.dtype());
}

void Shards::add(std::vector<nn::NamedTensor> tensors) {
  for (nn::NamedTensor& each : tensors) {
    const Dtype dtype = tensors_.empty() ? each.tensor.dtype() : tensors_.front().tensor.dtype();
    require<DtypeError>(each.tensor.dtype() == dtype, "shards: ", each.name, " is ",
                        each.tensor.dtype(), ", but ", dtype, " is what comes before it");
    const std::int64_t n = each.tensor.numel();
    tensors_.push_back({std::move(each.name), each.tensor, numel_});
    numel_ += n;
  }
}

double Shards::gradients(std::int64_t step, const LossOf& loss_of, bool& stop) {
  transport_.note_step(step);
  transport_.note("in the forward and backward pass");
  fold_.clear();
  losses_.clear();
  reached_.assign(parameters_, 0);
  std::vector<Tensor> before;  // of buffers
  for (std::size_t i = parameters_; i < tensors_.size(); ++i)
    before.push_back(kernel::copy(tensors_[i].tensor));
  std::uint32_t position = generator().position();
  const std::uint64_t seed = generator().seed();
  Generator last(seed);
  for (std::int64_t shard = own_.begin; shard < own_.end; ++shard) {
    for (std::size_t i = 0; i < before.size(); ++i)
      tensors_[parameters_ + i].tensor.copy_(before[i]);
    Generator own(seed);
    own.restore(seed, generator().position());
    own.set_rank(static_cast<std::uint32_t>(shard));
    const GeneratorScope scope(own);
    run_shard(step, shard, loss_of);
    position = std::max(position, own.position());
  }
  optimizer_.zero_grad();
  for (std::size_t i = 0; i < before.size(); ++i) tensors_[parameters_ + i].tensor.copy_(before[i]);
  if (!compared_ || step % kCheckEvery == 0) compare();
  compared_ = true;
  const double mean = share_losses(stop, position);
  generator().restore(seed, position);
  return mean;
}

void Shards::run_shard(std::int64_t step, std::int64_t shard, const LossOf& loss_of) {
  const BatchLoss loss = loss_of(step * count_ + shard);
  require(loss.count >= 0, "shards: a loss of ", loss.count, " tokens");
  optimizer_.zero_grad();  // not earlier: a loss may look at the last gradients
  const auto count = static_cast<double>(loss.count);
  losses_.insert(losses_.end(), {loss.count > 0 ? loss.mean.item() : 0, count});
  if (loss.count > 0) (loss.mean * count).backward();
  Tensor sum = fold_.buffer();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& [name, tensor, offset] = tensors_[i];
    const Tensor gradient = i < parameters_ ? tensor.grad() : tensor;
    const std::int64_t n = tensor.numel();
    if (gradient.defined())
      copy_numbers(sum, offset, kernel::contiguous(gradient), 0, n);
    else
      change(sum, offset, offset + n, [](auto) { return 0; });
    if (i < parameters_ && gradient.defined()) reached_[i] = 1;
  }
  fold_.push({0, shard}, std::move(sum));
}

/// One message from each process to each: does it stop, where are its random streams, which
/// parameters has it reached, and its losses.
double Shards::share_losses(bool& stop, std::uint32_t& position) {
  transport_.note("waiting for the losses of others");
  std::vector<double> own = {stop ? 1.0 : 0.0, static_cast<double>(position)};
  own.insert(own.end(), reached_.begin(), reached_.end());
  own.insert(own.end(), losses_.begin(), losses_.end());
  std::vector<std::size_t> sizes;
  std::size_t all_bytes = 0;
  for (int r = 0; r < transport_.size(); ++r) {
    const ShardRange range = shards_of(r, transport_.size(), count_);
    const auto shards = static_cast<std::size_t>(range.end - range.begin);
    sizes.push_back(sizeof(double) * (2 + parameters_ + 2 * shards));
    all_bytes += sizes.back();
  }
  std::vector<double> all(all_bytes / sizeof(double));
  transport_.all_gather(std::as_bytes(std::span(own)), sizes,
                        std::as_writable_bytes(std::span(all)));
  double sum = 0;
  total_ = 0;
  const double* at = all.data();
  for (const std::size_t bytes : sizes) {
    const double* end = at + bytes / sizeof(double);
    stop |= *at++ != 0;
    position = std::max(position, static_cast<std::uint32_t>(*at++));
    for (char& each : reached_) each |= *at++ != 0;
    for (; at < end; at += 2) sum += at[0] * at[1], total_ += at[1];
  }
  require(total_ > 0, "shards: the losses of all ", count_, " shards are of 0 tokens");
  return sum / total_;
}

void Shards::compare() const {
  transport_.note("comparing parameters");
  std::vector<std::uint64_t> own;
  for (const Named& each : tensors_) {
    Tensor shared = each.tensor;
    own.push_back(checksum(bytes_at(shared, 0, shared.numel())));
  }
  const std::vector<std::uint64_t> all = transport_.all_gather(own);
  std::size_t other = 0;
  while (other < all.size() && all[other] == all[other % own.size()]) ++other;
  if (other == all.size()) return;
  if (other / own.size() == static_cast<std::size_t>(transport_.rank()))
    transport_.abort("has other numbers in " + tensors_[other % own.size()].name +
                     " than rank 0: the processes have diverged");
  transport_.barrier();  // until that process has ended all
}

std::int64_t Shards::part_numel(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return cuts_[r + 1] - cuts_[r];
}

/// Sends every process its part of each subtree that is here, and adds what others send.
Tensor Shards::reduce() {
  const int size = transport_.size();
  if (size == 1) return fold_.finish();
  transport_.note("waiting for the gradients of others");
  const std::int64_t own = part_numel(transport_.rank());
  const Dtype dtype = tensors_.front().tensor.dtype();
  std::vector<std::vector<Subtree>> places;
  for (int r = 0; r < size; ++r) places.push_back(subtrees(shards_of(r, size, count_)));
  std::vector<std::vector<Tensor>> received(places.size());
  const auto most = std::ranges::max(places, {}, &std::vector<Subtree>::size).size();
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<ConstBytes> out(places.size());
    std::vector<Bytes> in(places.size());
    for (std::size_t r = 0; r < places.size(); ++r) {
      if (k < fold_.parts().size()) {
        Tensor sum = fold_.parts()[k].second;
        out[r] = bytes_at(sum, cuts_[r], cuts_[r + 1]);
      }
      if (k >= places[r].size()) continue;
      received[r].push_back(Tensor::empty({own}, dtype));
      in[r] = bytes_at(received[r].back(), 0, own);
    }
    transport_.exchange(out, in);
  }
  fold_.clear();
  Fold whole(own, dtype);
  for (std::size_t r = 0; r < places.size(); ++r)
    for (std::size_t k = 0; k < places[r].size(); ++k)
      whole.push(places[r][k], std::move(received[r][k]));
  return whole.finish();
}

double Shards::update(const optim::StepOptions& options, double clip_value) {
  Tensor sum = reduce();
  transport_.note("updating parameters");
  const std::int64_t numbers = optimizer_.part_end() - optimizer_.part_begin();
  const double total = total_, shards = static_cast<double>(count_);
  change(sum, 0, numbers, [=](auto g) { return g / static_cast<decltype(g)>(total); });
  change(sum, numbers, sum.numel(), [=](auto x) { return x / static_cast<decltype(x)>(shards); });
  if (clip_value > 0)
    change(sum, 0, numbers, [=](auto g) {
      const auto limit = static_cast<decltype(g)>(clip_value);
      return g < -limit ? -limit : g > limit ? limit : g;  // NaN stays
    });
  optim::FlatGradient gradient{optim::part_of(sum, 0, numbers), reached_};
  optim::StepOptions with = options;
  with.gradient = &gradient;
  const double norm = optimizer_.step(with);
  if (!options.only_finite || std::isfinite(norm)) share(sum);
  fold_.clear();
  if (transport_.size() == 1) fold_.reuse(std::move(sum));
  return norm;
}

/// `own`, which has this process's part of the buffers, gets its part of the parameters; then
/// everything becomes everybody's.
void Shards::share(Tensor& own) {
  const bool several = transport_.size() > 1;
  const std::int64_t begin = optimizer_.part_begin(), end = optimizer_.part_end();
  Tensor all = own;
  if (several) {
    for (std::size_t i = 0; i < parameters_; ++i) {
      const auto& [name, tensor, offset] = tensors_[i];
      const std::int64_t from = std::clamp(begin, offset, offset + tensor.numel());
      const std::int64_t to = std::clamp(end, offset, offset + tensor.numel());
      if (from < to) copy_numbers(own, from - begin, tensor, from - offset, to - from);
    }
    transport_.note("waiting for the parameters of others");
    all = fold_.buffer();
    std::vector<std::size_t> sizes;
    for (int r = 0; r < transport_.size(); ++r)
      sizes.push_back(static_cast<std::size_t>(part_numel(r) * bytes_each(all.dtype())));
    transport_.all_gather(bytes_at(own, 0, own.numel()), sizes, bytes_at(all, 0, numel_));
  }
  for (std::size_t i = several ? 0 : parameters_; i < tensors_.size(); ++i)
    copy_numbers(tensors_[i].tensor, 0, all, tensors_[i].offset, tensors_[i].tensor.numel());
  if (several) fold_.reuse(std::move(all));
}

std::int64_t Shards::bytes_a_step() const {
  const int rank = transport_.rank();
  const std::int64_t others = transport_.size() - 1, own = part_numel(rank);
  const std::int64_t element = bytes_each(tensors_.front().tensor.dtype());
  const std::int64_t sums =
      std::ssize(subtrees(own_)) * (numel_ - own) * element +  // reduce-scatter
      others * own * element;                                  // all-gather
  const auto messages = 2 + static_cast<std::int64_t>(parameters_) + 2 * (own_.end - own_.begin);
  return sums + others * 8 * (messages + optimizer_.part_chunks());
}

}  // namespace gradus::distributed
