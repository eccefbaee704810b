#include "gradus/train/distributed/shards.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/optim/stages.h"

namespace gradus::distributed {

using optim::part_of;

static std::int64_t checked(std::int64_t count, const Transport& transport) {
  require(transport.size() <= count, transport.size(), " processes, but ", count,
          count == 1 ? " shard" : " shards",
          " per step. Each process needs at least one, so start fewer processes, or a run with ",
          "more shards (--shards).");
  return count;
}

Shards::Shards(nn::Module& model, optim::Optimizer& optimizer, Transport& transport,
               std::int64_t count)
    : transport_(transport),
      count_(checked(count, transport)),
      own_(shards_of(transport.rank(), transport.size(), count)),
      optimizer_(optimizer, transport),
      tensors_(optimizer_.parameters()),
      parameters_(tensors_.size()),
      dtype_(tensors_.front().tensor.dtype()) {
  for (nn::NamedTensor& each : model.buffers())
    if (is_float(each.tensor.dtype())) tensors_.push_back(std::move(each));
  for (const auto& [name, tensor] : tensors_) {
    require<DtypeError>(tensor.dtype() == dtype_, "shards: ", name, " is ", tensor.dtype(),
                        ", but ", tensors_.front().name, " is ", dtype_);
    offsets_.push_back(numel_);
    numel_ += tensor.numel();
  }
  cuts_ = optimizer_.cuts();
  cuts_.back() = numel_;
}

Tensor Shards::place(const Tensor& flat, std::size_t i) const {
  const Tensor& like = tensors_[i].tensor;
  return kernel::reshaped(part_of(flat, offsets_[i], offsets_[i] + like.numel()), like.shape());
}

double Shards::gradients(std::int64_t step, const LossOf& loss_of, bool& stop) {
  transport_.note_step(step);
  transport_.note("in the forward and backward pass");
  fold_.clear();
  losses_.clear();
  reached_.assign(parameters_, 0);
  std::vector<Tensor> before;
  for (std::size_t i = parameters_; i < tensors_.size(); ++i)
    before.push_back(kernel::copy(tensors_[i].tensor));
  const std::uint64_t seed = generator().seed();
  std::uint32_t position = generator().position();
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
  transport_.note("comparing parameters");
  if (!compared_ || step % kCheckEvery == 0) require_same(transport_, optimizer_.parameters());
  compared_ = true;
  const double mean = share_losses(stop, position);
  generator().restore(seed, position);
  return mean;
}

void Shards::run_shard(std::int64_t step, std::int64_t shard, const LossOf& loss_of) {
  const BatchLoss loss = loss_of(step * count_ + shard);
  require(loss.count >= 0, "shards: the token count of a loss must not be negative, got ",
          loss.count);
  optimizer_.zero_grad();
  const auto count = static_cast<double>(loss.count);
  losses_.insert(losses_.end(), {loss.count > 0 ? loss.mean.item() : 0, count});
  if (loss.count > 0) (loss.mean * count).backward();
  const NoGrad off;
  Tensor sum = Tensor::empty({numel_}, dtype_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& each = tensors_[i].tensor;
    const Tensor numbers = i < parameters_ ? each.grad() : each;
    if (numbers.defined())
      place(sum, i).copy_(numbers);
    else
      place(sum, i).fill_(0);
    if (i < parameters_ && numbers.defined()) reached_[i] = 1;
  }
  fold_.push({shard, shard + 1}, std::move(sum));
}

/// Exchanges the stop flag, random position, reached parameters and losses with all processes.
/// Messages are padded to the largest number of shards.
double Shards::share_losses(bool& stop, std::uint32_t& position) {
  transport_.note("waiting for the losses of the others");
  std::vector<double> own = {static_cast<double>(stop), static_cast<double>(position)};
  own.insert(own.end(), reached_.begin(), reached_.end());
  own.insert(own.end(), losses_.begin(), losses_.end());
  own.resize(message_size());
  const std::vector<double> all = transport_.all_gather(own);
  double sum = 0;
  total_ = 0;
  for (const double* at = all.data(); at < all.data() + all.size();) {
    const double* end = at + own.size();
    stop |= *at++ != 0;
    position = std::max(position, static_cast<std::uint32_t>(*at++));
    for (char& each : reached_) each |= *at++ != 0;
    for (; at < end; at += 2) {
      sum += at[0] * at[1];
      total_ += at[1];
    }
  }
  require(total_ > 0, "shards: the losses of all ", count_, " shards have 0 tokens");
  return sum / total_;
}

std::size_t Shards::message_size() const {
  const std::int64_t most = (count_ + transport_.size() - 1) / transport_.size();
  return 2 + parameters_ + 2 * static_cast<std::size_t>(most);
}

/// Returns this process's part of the gradient, summed over all shards. Sends each process its part
/// of the local partial sums (the nodes in fold.h), and adds the partial sums that it receives.
Tensor Shards::reduce() {
  const int size = transport_.size();
  if (size == 1) return fold_.finish();
  transport_.note("waiting for the gradients of the others");
  const std::int64_t own = part_numel();
  std::vector<std::vector<ShardRange>> nodes;
  std::size_t most = 0;
  for (int r = 0; r < size; ++r) {
    nodes.push_back(nodes_of(shards_of(r, size, count_)));
    most = std::max(most, nodes.back().size());
  }
  std::vector<std::vector<Tensor>> received(nodes.size());
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<ConstBytes> out(nodes.size());
    std::vector<Bytes> in(nodes.size());
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      if (k < fold_.nodes().size()) out[r] = bytes_of(fold_.nodes()[k].sum, cuts_[r], cuts_[r + 1]);
      if (k >= nodes[r].size()) continue;
      received[r].push_back(Tensor::empty({own}, dtype_));
      in[r] = bytes_of(received[r].back(), 0, own);
    }
    transport_.exchange(out, in);
  }
  fold_.clear();  // frees memory before adding the received partial sums
  Fold whole;
  for (std::size_t r = 0; r < nodes.size(); ++r)
    for (std::size_t k = 0; k < nodes[r].size(); ++k)
      whole.push(nodes[r][k], std::move(received[r][k]));
  return whole.finish();
}

double Shards::update(const optim::StepOptions& options, double clip_value) {
  const NoGrad off;
  Tensor sum = reduce();
  transport_.note("updating parameters");
  const std::int64_t numel = optimizer_.end() - optimizer_.begin();
  Tensor gradient = part_of(sum, 0, numel), buffers = part_of(sum, numel, sum.numel());
  gradient.copy_(gradient / full({}, total_, dtype_));  // · (1 / total_) rounds differently
  buffers.copy_(buffers / full({}, static_cast<double>(count_), dtype_));
  if (clip_value > 0) gradient.copy_(clamp(gradient, -clip_value, clip_value));
  const double norm = optimizer_.step(gradient, reached_, options);
  if (!options.only_finite || std::isfinite(norm)) share(buffers);
  return norm;
}

/// Sends this process's part of the parameters to all others. The last process also sends the
/// buffers.
void Shards::share(const Tensor& buffers) {
  transport_.note("waiting for the parameters of the others");
  const Tensor all = Tensor::empty({numel_}, dtype_);
  for (std::size_t i = 0; i < parameters_; ++i) place(all, i).copy_(tensors_[i].tensor);
  part_of(all, numel_ - buffers.numel(), numel_).copy_(buffers);
  std::vector<std::size_t> sizes;
  for (std::size_t r = 0; r + 1 < cuts_.size(); ++r)
    sizes.push_back(bytes_of(all, cuts_[r], cuts_[r + 1]).size());
  transport_.all_gather(bytes_of(all, cuts_[rank()], cuts_[rank() + 1]), sizes,
                        bytes_of(all, 0, numel_));
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].tensor.copy_(place(all, i));
}

std::int64_t Shards::bytes_a_step() const {
  const std::int64_t others = transport_.size() - 1, own = part_numel();
  const auto element = static_cast<std::int64_t>(size_of(dtype_));
  const std::int64_t scattered = std::ssize(nodes_of(own_)) * (numel_ - own) * element;
  const std::int64_t doubles = static_cast<std::int64_t>(message_size()) + optimizer_.chunks();
  return scattered + others * (own * element + 8 * doubles);
}

}  // namespace gradus::distributed
