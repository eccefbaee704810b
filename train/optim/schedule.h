// Learning-rate schedules.
#pragma once

#include <cstdint>
#include <functional>

namespace gradus::optim {

/// Returns the factor for the learning rate: optimizer.step({.factor = schedule(step)}). `step`
/// starts at 0.
using Schedule = std::function<double(std::int64_t step)>;

/// Returns 1 for every step.
Schedule constant_schedule();
/// Returns (step + 1) / warmup up to 1, then half a cosine down to `floor` at `total`, then
/// `floor`.
Schedule warmup_cosine(std::int64_t warmup, std::int64_t total, double floor = 0.1);
/// Returns the warm-up of warmup_cosine, then a linear decrease to `floor` at `total`.
Schedule warmup_linear(std::int64_t warmup, std::int64_t total, double floor = 0.0);
/// Returns the warm-up of warmup_cosine, then 1, then 1 − √p down to `floor` at `total`. p is the
/// elapsed fraction of the last `decay` steps. Hägele et al. 2024 ("1-sqrt").
Schedule warmup_stable_decay(std::int64_t warmup, std::int64_t decay, std::int64_t total,
                             double floor = 0.0);
/// Returns width^−½ · min(s^−½, s · warmup^−1.5) with s = step + 1. Use a learning rate of 1.
/// Vaswani et al. 2017, §5.3.
Schedule noam(std::int64_t width, std::int64_t warmup);

}  // namespace gradus::optim
