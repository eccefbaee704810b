// Estimates the cost of a run from trial steps.
#pragma once

#include <cstdint>

#include "flags.h"

namespace gradus::examples {

struct CostEstimate {
  std::int64_t steps;  // five; more if they take less than 0.25 s
  double step_seconds;
  double evaluation_seconds;  // over the held-out part
  std::int64_t peak_bytes;    // checkpoints included
};

/// Does not change the run: uses its own model, optimizer and random numbers. All processes get
/// rank 0's estimate.
CostEstimate estimate_cost(const GptFlags& flags, const Corpus& corpus);

double seconds_left(const CostEstimate& cost, const train::TimeBudget& budget, std::int64_t step);

/// Sets steps, warm-up and eval_every so that the run takes flags.time.seconds, or
/// flags.time.most_steps. Evaluates `evaluations` times, or less often (at least once) to use at
/// most a fifth of the time; 0 keeps eval_every.
void fit_to_time(GptFlags& flags, const CostEstimate& cost, std::int64_t evaluations);

}  // namespace gradus::examples
