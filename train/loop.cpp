#include "gradus/train/loop.h"

#include <cmath>

#include "gradus/train/distributed/shards.h"

namespace gradus::train {

Loop::Loop(optim::Optimizer& optimizer, optim::Schedule schedule, const LoopOptions& options)
    : optimizer_(optimizer), schedule_(std::move(schedule)), options_(options) {
  require(options.steps > 0, "training loop: steps must be positive, got ", options.steps);
  require(options.eval_every > 0, "training loop: eval_every must be positive, got ",
          options.eval_every);
  for (const double limit : {options.clip_norm, options.clip_value})
    require(limit >= 0, "training loop: clipping limits must be positive, or 0 for none, got ",
            limit);
}

Loop::~Loop() = default;

void Loop::run(const LossOf& loss_of, const std::function<void()>& evaluate) {
  while (begin_step()) {
    factor_ = factor();
    const optim::StepOptions update{
        .clip_norm = options_.clip_norm, .factor = factor_, .only_finite = true};
    if (shards_) {  // multiple losses per step, or multiple processes
      loss_ = shards_->gradients(step_, loss_of, stop_);
      norm_ = shards_->update(update, options_.clip_value);
    } else {
      const Tensor loss = loss_of(step_).mean;
      optimizer_.zero_grad();  // not earlier, because loss_of may read the last gradients
      loss.backward();
      if (options_.clip_value > 0)
        for (const optim::Group& group : optimizer_.groups())
          optim::clip_grad_value(group.parameters, options_.clip_value);
      norm_ = optimizer_.step(update);
      loss_ = loss.item();
    }
    ++step_;
    after_update(loss_of);
    if (evaluates()) evaluate();
    end_step();
  }
}

void Loop::after_update(const LossOf&) {
  require(std::isfinite(loss_) && std::isfinite(norm_), "training loop: the ",
          std::isfinite(loss_) ? "gradient" : "loss", " is not finite at step ", step_);
}

}  // namespace gradus::train
