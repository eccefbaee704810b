#include "gradus/train/optim/ema.h"

#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/train/optim/optim.h"

namespace gradus::optim {

namespace {

template <class T>
void move_toward(T* average, std::int64_t step, const T* weight, std::int64_t weight_step,
                 std::int64_t n, T decay, T rest) {
  if (step == 1 && weight_step == 1)  // the compiler vectorizes this loop
    for (std::int64_t i = 0; i < n; ++i) average[i] = average[i] * decay + weight[i] * rest;
  else
    for (std::int64_t i = 0; i < n; ++i)
      average[i * step] = average[i * step] * decay + weight[i * weight_step] * rest;
}

}  // namespace

EMA::EMA(const std::vector<nn::NamedTensor>& parameters, double decay)
    : weights_(parameters), decay_(decay) {
  require(0 <= decay && decay < 1, "EMA: decay must be in [0, 1), got ", decay);
  require(!parameters.empty(), "EMA: no parameters were given. Pass model.parameters().");
  for (const auto& [name, weight] : weights_) averages_.push_back({name, zeros_like(weight)});
}

// update() and swap() allocate nothing, so they cannot stop halfway.
void EMA::update() {
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor& average = averages_[i].tensor;
    const Tensor& weight = weights_[i].tensor;
    if (updates_ == 0) {
      average.copy_(weight);
      continue;
    }
    const Strides strides[] = {average.strides(), weight.strides()};
    dispatch_float("EMA", average.dtype(), [&]<class T>() {
      T* const to = average.mutable_data<T>();
      const T* const from = weight.data<T>();
      const T decay = static_cast<T>(decay_), rest = static_cast<T>(1 - decay_);
      for_each_row(average.shape(), strides,
                   [&](const Offsets& at, std::int64_t n, const Offsets& step) {
                     move_toward(to + at[0], step[0], from + at[1], step[1], n, decay, rest);
                   });
    });
  }
  ++updates_;
}

void EMA::swap() {
  if (updates_ == 0) return;
  const NoGrad off;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor &average = averages_[i].tensor, &weight = weights_[i].tensor;
    const Strides strides[] = {average.strides(), weight.strides()};
    dispatch_float("EMA", average.dtype(), [&]<class T>() {
      T *const a = average.mutable_data<T>(), *const w = weight.mutable_data<T>();
      for_each_row(average.shape(), strides,
                   [&](const Offsets& at, std::int64_t n, const Offsets& step) {
                     for (std::int64_t k = 0; k < n; ++k)
                       std::swap(a[at[0] + k * step[0]], w[at[1] + k * step[1]]);
                   });
    });
  }
}

nn::StateDict EMA::state_dict() const {
  nn::StateDict out = {{"updates", full({}, updates_, Dtype::i64)}};
  for (const auto& [name, average] : averages_) out[name] = average;
  return out;
}

void EMA::load_state_dict(const nn::StateDict& given) {
  const nn::StateDict own = state_dict();
  load_state("EMA", given, own);
  updates_ = given.at("updates").item<std::int64_t>();
}

}  // namespace gradus::optim
