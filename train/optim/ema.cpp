#include "gradus/train/optim/ema.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/train/optim/optim.h"

namespace gradus::optim {

EMA::EMA(const std::vector<nn::NamedTensor>& parameters, double decay)
    : weights_(parameters), decay_(decay) {
  require(0 <= decay && decay < 1, "EMA: a decay of ", decay, " is not in [0, 1)");
  require(!parameters.empty(), "EMA: no parameters were given");
  for (const nn::NamedTensor& each : parameters) averages_.push_back(zeros_like(each.tensor));
}

void EMA::update() {
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Tensor& now = weights_[i].tensor;
    averages_[i].copy_(updates_ == 0 ? now : averages_[i] * decay_ + now * (1 - decay_));
  }
  ++updates_;
}

void EMA::swap() {
  if (updates_ == 0) return;
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Tensor now = kernel::copy(weights_[i].tensor);
    weights_[i].tensor.copy_(averages_[i]);
    averages_[i].copy_(now);
  }
}

nn::StateDict EMA::state_dict() const {
  std::map<std::string, Tensor> out;
  for (std::size_t i = 0; i < averages_.size(); ++i) out[weights_[i].name] = averages_[i];
  out["updates"] = full({}, static_cast<double>(updates_), Dtype::i64);
  return out;
}

void EMA::load_state_dict(const nn::StateDict& given) {
  load_state("EMA", given, state_dict());
  updates_ = static_cast<std::int64_t>(given.at("updates").item());
}

}  // namespace gradus::optim
