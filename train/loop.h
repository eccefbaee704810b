// The training loop: loss, gradients, update, and regular evaluations. Trainer (trainer.h) adds
// checkpoints, logs and more.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "gradus/train/distributed/batch_loss.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/optim/schedule.h"

namespace gradus::distributed {
class Shards;
}

namespace gradus::train {

/// Mean loss of a batch, and its number of tokens.
using BatchLoss = distributed::BatchLoss;

/// Options of a Loop.
struct LoopOptions {
  std::int64_t steps = 1000;
  std::int64_t eval_every = 100;  // steps between evaluations; the last step is also evaluated
  double clip_norm = 1;           // limit of the global gradient norm; 0: none
  double clip_value = 0;          // limit of each gradient element, applied first; 0: none
};

/// Runs the steps of a training run.
///
///   train::Loop loop(optimizer, optim::warmup_cosine(50, 1000), {.steps = 1000});
///   loop.run([&](std::int64_t i) { return cross_entropy(model(data.at(i).x), data.at(i).y); },
///            [&] { std::printf("step %d: %.3f\n", int(loop.step()), accuracy(model)); });
///
/// To debug a training step, set a breakpoint in Loop::run. Subclasses override its event
/// functions.
class Loop {
 public:
  /// Returns the scalar loss of batch i.
  using LossOf = distributed::LossOf;

  /// Stores a reference to the optimizer. Throws ValueError if an option is out of range.
  Loop(optim::Optimizer& optimizer, optim::Schedule schedule, const LoopOptions& options = {});
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs the remaining steps. Throws ValueError if a loss or gradient is not finite; that step
  /// does not change the weights.
  void run(const LossOf& loss_of, const std::function<void()>& evaluate);

  std::int64_t step() const { return step_; }  // completed steps
  double loss() const { return loss_; }        // loss of the last step

 protected:
  // Events of a step, in call order.
  virtual bool begin_step() { return step_ < options_.steps; }  // false ends the run
  virtual double factor() { return schedule_(step_); }          // factor for the learning rate
  virtual void after_update(const LossOf& loss_of);             // throws if a value is not finite
  virtual bool evaluates() { return step_ % options_.eval_every == 0 || step_ == options_.steps; }
  virtual void end_step() {}  // called after the evaluation, if any

  optim::Optimizer& optimizer_;
  optim::Schedule schedule_;
  std::unique_ptr<distributed::Shards> shards_;  // null with one loss per step and one process
  std::int64_t step_ = 0;
  double factor_ = 1, loss_ = std::numeric_limits<double>::infinity(), norm_ = 0;  // last step
  bool stop_ = false;  // stop requested; Shards::gradients synchronizes it

 private:
  LoopOptions options_;
};

}  // namespace gradus::train
