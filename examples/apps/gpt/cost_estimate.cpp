#include "cost_estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/support/processes.h"
#include "gradus/trace/trace.h"
#include "gradus/train/data.h"
#include "gradus/train/optim/optim.h"
#include "training.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kSteps = 5;
constexpr double kSeconds = 0.25;  // minimum duration of the trial, for small models

template <class F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::int64_t> beginning(const std::vector<std::int64_t>& tokens, std::int64_t count) {
  return {tokens.begin(), tokens.begin() + std::min<std::int64_t>(std::ssize(tokens), count)};
}

/// Measures the mean time per step, excluding the first step, which allocates memory.
void time_steps(CostEstimate& cost, nn::GPT& model, const GptFlags& flags, const Corpus& corpus) {
  const ScopedPause trial;  // keeps the trial out of traces
  const std::unique_ptr<optim::Optimizer> optimizer = make_optimizer(flags, model);
  const std::int64_t window = flags.context + 1;
  const train::TokenBatches batches(beginning(corpus.training, flags.batch * window), flags.context,
                                    flags.batch, 0);
  const auto step = [&] {
    const train::Batch batch = batches.at(cost.steps++);
    const Tensor loss = model.loss(batch.x, batch.y);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step({.clip_norm = flags.clip_norm});
  };
  step();
  double seconds = 0;
  while (cost.steps < kSteps || seconds < kSeconds) seconds += seconds_of(step);
  cost.step_seconds = seconds / static_cast<double>(cost.steps - 1);
}

/// Returns the bytes that only the run needs: tokens, an evaluation and a checkpoint of weights and
/// two moments.
std::int64_t bytes_to_come(const nn::GPT& model, const Corpus& corpus) {
  const auto token = static_cast<std::int64_t>(sizeof(std::int64_t));
  const nn::GPTOptions& o = model.options;
  return token * (std::ssize(corpus.training) + 3 * std::ssize(corpus.held_out)) +
         4 * o.layers * o.block.heads * o.context * o.context + 3 * 4 * model.parameter_count();
}

}  // namespace

CostEstimate estimate_cost(const GptFlags& flags, const Corpus& corpus) {
  Generator own(0);
  const GeneratorScope scope(own);
  nn::GPT model = flags.make_model(false);
  CostEstimate cost{};
  time_steps(cost, model, flags, corpus);
  const std::int64_t processes_of_run = processes().size();
  cost.step_seconds *=
      static_cast<double>((flags.shards + processes_of_run - 1) / processes_of_run);
  model.eval();
  const std::int64_t side_by_side = evaluation_batch(flags);
  const std::vector<std::int64_t> part =
      beginning(corpus.held_out, side_by_side * flags.context + 1);
  const auto evaluate = [&] { mean_loss(model, part, side_by_side, flags.context); };
  evaluate();  // warm-up
  cost.evaluation_seconds = seconds_of(evaluate) *
                            static_cast<double>(std::ssize(corpus.held_out)) /
                            static_cast<double>(std::ssize(part));
  cost.peak_bytes =
      static_cast<std::int64_t>(platform::peak_resident_bytes()) + bytes_to_come(model, corpus);
  return processes().broadcast(cost);
}

double seconds_left(const CostEstimate& cost, const train::TimeBudget& budget, std::int64_t step) {
  return static_cast<double>(budget.steps() - step) * cost.step_seconds +
         static_cast<double>(budget.evaluations_left(step)) * cost.evaluation_seconds;
}

void fit_to_time(GptFlags& flags, const CostEstimate& cost, std::int64_t evaluations) {
  flags.time.evaluation_steps = cost.evaluation_seconds / cost.step_seconds;
  double seconds = flags.time.seconds, each = cost.step_seconds;
  double times = static_cast<double>(evaluations);
  if (evaluations == 0) {
    each += cost.evaluation_seconds / static_cast<double>(flags.eval_every);
  } else {
    times = std::clamp(std::floor(0.2 * seconds / cost.evaluation_seconds), 1.0, times);
    seconds -= times * cost.evaluation_seconds;
  }
  const auto most = static_cast<double>(flags.time.most_steps);
  flags.steps = static_cast<std::int64_t>(std::clamp(seconds / each, 1.0, most));
  flags.warmup = std::min<std::int64_t>(flags.warmup, flags.steps / 10);
  if (evaluations > 0)
    flags.eval_every =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(flags.steps) / times));
}

}  // namespace gradus::examples
