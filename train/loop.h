// The training loop. A step computes a loss, its gradients and new weights; every few steps there
// is an evaluation. Trainer (trainer.h) is this loop with checkpoints, logs and the like around it.
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

/// A loss, and of how many tokens it is the mean.
using BatchLoss = distributed::BatchLoss;

struct LoopOptions {
  std::int64_t steps = 1000;
  std::int64_t eval_every = 100;  // steps between evaluations; the last step has one, too
  double clip_norm = 1;           // limit of the global norm of the gradients; 0: none
  double clip_value = 0;          // limit of each element of a gradient, applied before; 0: none
};

/// Makes the steps of a training run.
///
///   train::Loop loop(optimizer, optim::warmup_cosine(50, 1000), {.steps = 1000});
///   loop.run([&](std::int64_t i) { return cross_entropy(model(data.at(i).x), data.at(i).y); },
///            [&] { std::printf("step %d: %.3f\n", int(loop.step()), accuracy(model)); });
///
/// To watch a training step in a debugger, set a breakpoint in Loop::run. A subclass adds to the
/// loop by overriding its events.
class Loop {
 public:
  /// The loss of batch i, a scalar.
  using LossOf = distributed::LossOf;

  /// Keeps a reference to the optimizer. ValueError names an option that is out of range.
  Loop(optim::Optimizer& optimizer, optim::Schedule schedule, const LoopOptions& options = {});
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Makes all steps that are left. ValueError if a loss or a gradient is not finite: the weights
  /// are those before that step.
  void run(const LossOf& loss_of, const std::function<void()>& evaluate);

  std::int64_t step() const { return step_; }  // how many are made
  double loss() const { return loss_; }        // of the last one

 protected:
  // The events of a step, in their order.
  virtual bool begin_step() { return step_ < options_.steps; }  // false ends the run
  virtual double factor() { return schedule_(step_); }          // of the learning rate
  virtual void after_update(const LossOf& loss_of);             // throws if something is not finite
  virtual bool evaluates() { return step_ % options_.eval_every == 0 || step_ == options_.steps; }
  virtual void end_step() {}  // after the evaluation, if there was one

  optim::Optimizer& optimizer_;
  optim::Schedule schedule_;
  std::unique_ptr<distributed::Shards> shards_;  // null: one loss per step, in one process
  std::int64_t step_ = 0;
  double factor_ = 1, loss_ = std::numeric_limits<double>::infinity(), norm_ = 0;  // of a step
  bool stop_ = false;  // a process was asked to stop; in Shards::gradients all agree on it

 private:
  LoopOptions options_;
};

}  // namespace gradus::train
