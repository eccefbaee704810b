// Learning-rate schedules: a factor for each step, to multiply the optimiser's learning rate with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gradus::optim {

/// factor = schedule(step), step counted from 0: optimizer.step({.factor = schedule(i)}).
using Schedule = std::function<double(std::int64_t step)>;

/// 1 at every step.
Schedule constant_schedule();
/// (step + 1) / warmup up to 1, then half a cosine down to `floor` at `total`, then `floor`.
Schedule warmup_cosine(std::int64_t warmup, std::int64_t total, double floor = 0.1);
/// The same warm-up, then a straight line down to `floor`.
Schedule warmup_linear(std::int64_t warmup, std::int64_t total, double floor = 0.0);
/// The same warm-up, then 1 until the last `decay` steps, in which it falls by 1 − √ of their part
/// that is over, to `floor` at `total`: warm-up, stable, decay. Hägele et al. 2024 ("1-sqrt").
Schedule warmup_stable_decay(std::int64_t warmup, std::int64_t decay, std::int64_t total,
                             double floor = 0.0);
/// width^−½ · min(s^−½, s · warmup^−1.5) with s = step + 1: Vaswani et al. 2017, §5.3. The factor
/// is the rate itself: use it with a learning rate of 1.
Schedule noam(std::int64_t width, std::int64_t warmup);

}  // namespace gradus::optim
