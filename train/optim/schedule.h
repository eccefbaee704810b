// Learning-rate schedules: a factor of the optimizer's learning rate for each step.
#pragma once

#include <cstdint>
#include <functional>

namespace gradus::optim {

/// factor = schedule(step), step counted from 0: optimizer.step({.factor = schedule(i)}).
using Schedule = std::function<double(std::int64_t step)>;

/// 1 at every step.
Schedule constant_schedule();
/// (step + 1) / warmup up to 1, then half a cosine down to `floor` at `total`, then `floor`.
Schedule warmup_cosine(std::int64_t warmup, std::int64_t total, double floor = 0.1);
/// The same warm-up, then linearly down to `floor` at `total`.
Schedule warmup_linear(std::int64_t warmup, std::int64_t total, double floor = 0.0);
/// The same warm-up, then 1, then over the last `decay` steps down to `floor` at `total` by 1 − √p,
/// p the part of these steps that is over. Hägele et al. 2024 ("1-sqrt").
Schedule warmup_stable_decay(std::int64_t warmup, std::int64_t decay, std::int64_t total,
                             double floor = 0.0);
/// width^−½ · min(s^−½, s · warmup^−1.5) with s = step + 1: Vaswani et al. 2017, §5.3. The factor
/// is the learning rate itself: use it with a learning rate of 1.
Schedule noam(std::int64_t width, std::int64_t warmup);

}  // namespace gradus::optim
