// The exponential moving average of a model's weights: often better than the last ones.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::optim {

/// average = decay · average + (1 − decay) · weights after each step; the first update() takes the
/// weights as they are. Buffers are not averaged. Keeps handles: make it after model.to(dtype).
class EMA {
 public:
  /// ValueError unless 0 ≤ decay < 1.
  explicit EMA(const std::vector<nn::NamedTensor>& parameters, double decay = 0.999);
  EMA(const EMA&) = delete;
  EMA& operator=(const EMA&) = delete;

  void update();  // after optimizer.step()
  void swap();    // average and weights change places

  /// The model has the averaged weights while one of these lives:  { EMA::Scope scope(ema); … }
  /// Before the first update() nothing changes.
  class Scope {
   public:
    explicit Scope(EMA& ema) : ema_(ema) { ema_.swap(); }
    ~Scope() { ema_.swap(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EMA& ema_;
  };

  /// What a checkpoint must hold: the averages by name, and "updates". load_state refuses misfits.
  nn::StateDict state_dict() const;
  void load_state_dict(const nn::StateDict& state);

 private:
  std::vector<nn::NamedTensor> weights_;
  std::vector<Tensor> averages_;
  double decay_;
  std::int64_t updates_ = 0;
};

}  // namespace gradus::optim
