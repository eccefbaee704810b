// What a run will cost, from a few steps on its real shapes that are thrown away.
#pragma once

#include <cstdint>

#include "flags.h"

namespace gradus::examples {

struct CostEstimate {
  std::int64_t steps;         // five; more of small models, until a quarter of a second is over
  double step_seconds;        // of one training step
  double evaluation_seconds;  // of one pass over the held-out part
  std::int64_t peak_bytes;    // the most memory that the program will hold, checkpoints included
};

/// Takes a model, an optimiser and random numbers of its own: the run afterwards, new or resumed,
/// is bit for bit what it would be without. Of several processes all get rank 0's.
CostEstimate estimate_cost(const GptFlags& flags, const Corpus& corpus);

/// Seconds from `step` to the end.
double seconds_left(const CostEstimate& cost, const train::TimeBudget& budget, std::int64_t step);

/// Sets steps, warm-up and the interval of evaluations so that the run takes flags.time.seconds,
/// or flags.time.most_steps. It evaluates and saves `evaluations` times, or less often (once at
/// least) if that took more than a fifth of the time; 0: the interval stays.
void fit_to_time(GptFlags& flags, const CostEstimate& cost, std::int64_t evaluations);

}  // namespace gradus::examples
