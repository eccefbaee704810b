// The optimiser in parts: which numbers belong to this process, and what it tells of them.
#include "gradus/train/distributed/parts.h"

#include <algorithm>

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

void Optimizer::shard(distributed::Transport& transport) {
  const bool in_backward = std::any_of(slots_.begin(), slots_.end(),
                                       [](const Slot& slot) { return slot.hook.has_value(); });
  require<GraphError>(!transport_ && !in_backward, "shard: once, and not after step_in_backward()");
  transport_ = &transport;
  const std::int64_t all = slots_.back().offset + slots_.back().parameter.numel();
  cuts_ = {0};
  for (int r = 1; r < transport.size(); ++r) {
    const std::int64_t target = all * r / transport.size();
    const Slot& slot = *std::find_if(slots_.rbegin(), slots_.rend(),
                                     [&](const Slot& each) { return each.offset <= target; });
    const std::int64_t n = slot.parameter.numel(), inside = target - slot.offset;
    const std::int64_t unit = takes_whole(*slot.group) ? n : kChunk;
    cuts_.push_back(slot.offset + std::min(n, (inside + unit / 2) / unit * unit));
  }
  cuts_.push_back(all);
  for (Slot& slot : slots_) {
    const std::int64_t n = slot.parameter.numel();
    slot.begin = std::clamp<std::int64_t>(part_begin() - slot.offset, 0, n);
    slot.end = std::clamp<std::int64_t>(part_end() - slot.offset, 0, n);
    for (Tensor& each : slot.tensors) each = kernel::copy(part_of(each, slot.begin, slot.end));
  }
}

std::vector<nn::NamedTensor> Optimizer::flat() const {
  std::vector<nn::NamedTensor> all;
  for (const Slot& slot : slots_) all.push_back({slot.name, slot.parameter});
  return all;
}

std::int64_t Optimizer::part_begin() const {
  return cuts_[static_cast<std::size_t>(transport_->rank())];
}

std::int64_t Optimizer::part_end() const {
  return cuts_[static_cast<std::size_t>(transport_->rank() + 1)];
}

std::int64_t Optimizer::part_chunks() const {
  return chunk_at(part_end()) - chunk_at(part_begin());
}

bool Optimizer::keeps_all() const { return !transport_ || transport_->rank() == 0; }

std::int64_t Optimizer::chunk_at(std::int64_t cut) const {
  const Slot& slot = *std::find_if(slots_.rbegin(), slots_.rend(),
                                   [&](const Slot& each) { return each.offset <= cut; });
  return slot.chunk + chunks_in(cut - slot.offset);
}

void Optimizer::gather_sums(std::vector<double>& sums) const {
  std::vector<std::size_t> sizes;
  for (std::size_t r = 0; r + 1 < cuts_.size(); ++r)
    sizes.push_back(sizeof(double) *
                    static_cast<std::size_t>(chunk_at(cuts_[r + 1]) - chunk_at(cuts_[r])));
  const std::int64_t begin = chunk_at(part_begin());
  const std::vector<double> own(sums.begin() + begin, sums.begin() + chunk_at(part_end()));
  transport_->all_gather(std::as_bytes(std::span(own)), sizes,
                         std::as_writable_bytes(std::span(sums)));
}

Tensor Optimizer::whole(const Slot& slot, const Tensor& part) const {
  if (!transport_ || transport_->size() == 1) return part;
  std::vector<distributed::ConstBytes> out(cuts_.size() - 1);
  std::vector<distributed::Bytes> in(cuts_.size() - 1);
  out[0] = bytes_of(part, 0, slot.end - slot.begin);
  Tensor all = Tensor::empty_like(slot.parameter);
  const auto inside = [&](std::int64_t cut) {
    return std::clamp<std::int64_t>(cut - slot.offset, 0, all.numel());
  };
  for (std::size_t r = 0; r < in.size() && transport_->rank() == 0; ++r)
    in[r] = bytes_of(all, inside(cuts_[r]), inside(cuts_[r + 1]));
  transport_->exchange(out, in);
  return all;
}

}  // namespace gradus::optim
