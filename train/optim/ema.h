// EMA: exponential moving average of weights, which often performs better than the final weights.
#pragma once

#include <vector>

#include "gradus/nn/module.h"

namespace gradus::optim {

/// After each step, sets average = decay · average + (1 − decay) · weights. The first update()
/// copies the weights. Buffers are not averaged. Construct after model.to(dtype).
class EMA {
 public:
  /// Throws ValueError unless 0 ≤ decay < 1.
  explicit EMA(const std::vector<nn::NamedTensor>& parameters, double decay = 0.999);
  EMA(const EMA&) = delete;
  EMA& operator=(const EMA&) = delete;

  void update();  // call after optimizer.step(); allocates nothing
  void swap();    // exchanges average and weights; allocates nothing

  /// RAII guard under which the model has the averaged weights. Has no effect before the first
  /// update().
  class Scope {
   public:
    explicit Scope(EMA& ema) : ema_(ema) { ema_.swap(); }
    ~Scope() { ema_.swap(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EMA& ema_;
  };

  /// Returns the averages by name, and "updates". Loading throws ShapeError if a name, shape or
  /// dtype differs.
  nn::StateDict state_dict() const;
  void load_state_dict(const nn::StateDict& state);

 private:
  std::vector<nn::NamedTensor> weights_, averages_;
  double decay_;
  std::int64_t updates_ = 0;
};

}  // namespace gradus::optim
