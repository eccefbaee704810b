#include "gradus/train/distributed/sharded_optimizer.h"

#include <algorithm>
#include <tuple>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/train/optim/stages.h"

namespace gradus::distributed {

using optim::part_of;
using optim::Slot;

ShardedOptimizer::ShardedOptimizer(optim::Optimizer& optimizer, Transport& transport)
    : optimizer_(optimizer), transport_(transport) {
  std::vector<Slot>& slots = optimizer.slots_;
  std::int64_t numel = 0;
  for (const Slot& slot : slots) {
    require<GraphError>(slot.is_complete() && !slot.hook, "ShardedOptimizer: the optimizer is ",
                        "already sharded, or step_in_backward() was called on it");
    parameters_.push_back({slot.name, slot.parameter});
    offsets_.push_back(numel);
    numel += slot.parameter.numel();
  }
  const auto cut = [&](std::size_t i, std::int64_t inside) {
    cuts_.push_back(offsets_[i] + inside);
    chunk_cuts_.push_back(slots[i].chunk + optim::chunks_in(inside));
  };
  cut(0, 0);
  for (int r = 1; r < transport.size(); ++r) {
    const std::int64_t target = numel * r / transport.size();
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), target);
    const auto i = static_cast<std::size_t>(after - offsets_.begin() - 1);
    const std::int64_t n = slots[i].parameter.numel(), unit = slots[i].whole ? n : optim::kChunk;
    cut(i, std::min(n, (target - offsets_[i] + unit / 2) / unit * unit));
  }
  cut(slots.size() - 1, slots.back().parameter.numel());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    std::tie(slot.begin, slot.end) = part(i, rank());
    for (nn::NamedTensor& each : slot.state)
      each.tensor = kernel::copy(part_of(each.tensor, slot.begin, slot.end));
  }
}

/// Returns the range of elements of parameter i that process r owns.
std::pair<std::int64_t, std::int64_t> ShardedOptimizer::part(std::size_t i, std::size_t r) const {
  const auto inside = [&](std::int64_t cut) {
    return std::clamp<std::int64_t>(cut - offsets_[i], 0, parameters_[i].tensor.numel());
  };
  return {inside(cuts_[r]), inside(cuts_[r + 1])};
}

double ShardedOptimizer::step(const Tensor& gradient, const std::vector<char>& reached,
                              const optim::StepOptions& options) {
  const NoGrad off;
  const std::vector<Slot>& slots = optimizer_.slots_;
  require<ShapeError>(gradient.numel() == end() - begin(), "ShardedOptimizer: the gradient must ",
                      "have ", end() - begin(), " elements, got ", gradient.numel());
  require<ShapeError>(reached.size() == parameters_.size(), "ShardedOptimizer: reached has ",
                      reached.size(), " entries for ", parameters_.size(), " parameters");
  const bool warn = optimizer_.steps_ == 0 && optimizer_.warns_;
  std::vector<optim::Piece> work = optim::pieces(slots, warn, [&](const Slot& slot) {
    const auto i = static_cast<std::size_t>(&slot - slots.data());
    if (!reached[i]) return Tensor();
    const std::int64_t n = slot.end - slot.begin;
    const std::int64_t first = n > 0 ? offsets_[i] + slot.begin - begin() : 0;
    const Tensor own = part_of(gradient, first, first + n);
    return slot.is_complete() ? kernel::reshaped(own, slot.parameter.shape()) : own;
  });
  const double norm = optim::norm(slots, work, [&](std::vector<double>& sums) {
    std::vector<std::size_t> bytes;
    for (std::size_t r = 0; r + 1 < cuts_.size(); ++r)
      bytes.push_back(sizeof(double) *
                      static_cast<std::size_t>(chunk_cuts_[r + 1] - chunk_cuts_[r]));
    const auto first = static_cast<std::size_t>(chunk_cuts_[rank()]);
    const std::span all(sums), own = all.subspan(first, static_cast<std::size_t>(chunks()));
    transport_.all_gather(std::as_bytes(own), bytes, std::as_writable_bytes(all));
  });
  return optimizer_.apply(work, norm, options);
}

nn::StateDict ShardedOptimizer::state_dict() const {
  if (transport_.size() == 1) return optimizer_.state_dict();
  nn::StateDict state = {{"step", full({}, optimizer_.steps_, Dtype::i64)}};
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (const auto& [name, own] : optimizer_.slots_[i].state) {
      std::vector<ConstBytes> out(cuts_.size() - 1);
      std::vector<Bytes> in(cuts_.size() - 1);
      out[0] = bytes_of(own, 0, own.numel());
      if (rank() == 0) state[name] = Tensor::empty_like(parameters_[i].tensor);
      for (std::size_t r = 0; r < in.size() && rank() == 0; ++r) {
        const auto [begin, end] = part(i, r);
        in[r] = bytes_of(state[name], begin, end);
      }
      transport_.exchange(out, in);
    }
  return rank() == 0 ? state : nn::StateDict();
}

}  // namespace gradus::distributed
