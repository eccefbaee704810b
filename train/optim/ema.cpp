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
  require(0 <= decay && decay < 1, "EMA: decay must be in [0, 1), got ", decay);
  require(!parameters.empty(), "EMA: no parameters were given. Pass model.parameters().");
  for (const auto& [name, weight] : weights_) averages_.push_back({name, zeros_like(weight)});
}

void EMA::update() {
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor &average = averages_[i].tensor, &weight = weights_[i].tensor;
    average.copy_(updates_ == 0 ? weight : average * decay_ + weight * (1 - decay_));
  }
  ++updates_;
}

void EMA::swap() {
  if (updates_ == 0) return;
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Tensor weight = kernel::copy(weights_[i].tensor);
    weights_[i].tensor.copy_(averages_[i].tensor);
    averages_[i].tensor.copy_(weight);
  }
}

nn::StateDict EMA::state_dict() const {
  nn::StateDict out = {{"updates", full({}, updates_, Dtype::i64)}};
  for (const auto& [name, average] : averages_) out[name] = average;
  return out;
}

void EMA::load_state_dict(const nn::StateDict& given) {
  load_state("EMA", given, state_dict());
  updates_ = given.at("updates").item<std::int64_t>();
}

}  // namespace gradus::optim
