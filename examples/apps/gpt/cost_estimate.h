#pragma once

#include <cstdint>

#include "flags.h"

namespace gradus::examples {

struct CostEstimate {
  std::int64_t steps;  // five steps; more if they take less than 0.25 s
  double step_seconds;
  double evaluation_seconds;
  std::int64_t peak_bytes;  // including checkpoints
};

/// Estimates a run's cost from trial steps, which do not affect the run. All processes receive rank
/// 0's estimate.
CostEstimate estimate_cost(const GptFlags& flags, const Corpus& corpus);

double seconds_left(const CostEstimate& cost, const train::TimeBudget& budget, std::int64_t step);

/// Sets steps, warm-up and eval_every so that the run takes flags.time.seconds, or
/// flags.time.most_steps steps. Plans `evaluations` evaluations, or fewer if they would use more
/// than a fifth of the time. If `evaluations` is 0, eval_every does not change.
void fit_to_time(GptFlags& flags, const CostEstimate& cost, std::int64_t evaluations);

}  // namespace gradus::examples
