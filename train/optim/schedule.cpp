#include "gradus/train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/math64.h"

namespace gradus::optim {
namespace {

void check_plan(const char* name, std::int64_t warmup, std::int64_t total, double floor) {
  require(0 <= warmup && warmup < total, name, ": the warm-up must be shorter than the ", total,
          " steps in total, got ", warmup);
  require(0 <= floor && floor <= 1, name, ": floor must be in [0, 1], got ", floor);
}

Schedule after_warmup(std::int64_t warmup, const Schedule& rest) {
  return [=](std::int64_t step) {
    return step < warmup ? static_cast<double>(step + 1) / static_cast<double>(warmup) : rest(step);
  };
}

/// Returns a value that rises from 0 at `begin` to 1 at `end`, and is then constant.
double progress(std::int64_t step, std::int64_t begin, std::int64_t end) {
  return std::min(1.0, static_cast<double>(step - begin) / static_cast<double>(end - begin));
}

}  // namespace

Schedule constant_schedule() {
  return [](std::int64_t) { return 1.0; };
}

Schedule warmup_cosine(std::int64_t warmup, std::int64_t total, double floor) {
  check_plan("warmup_cosine", warmup, total, floor);
  return after_warmup(warmup, [=](std::int64_t step) {
    const double angle = std::numbers::pi * progress(step, warmup, total);
    return floor + (1 - floor) * 0.5 * (1 + math64::cos(angle));
  });
}

Schedule warmup_linear(std::int64_t warmup, std::int64_t total, double floor) {
  check_plan("warmup_linear", warmup, total, floor);
  return after_warmup(
      warmup, [=](std::int64_t step) { return 1 - (1 - floor) * progress(step, warmup, total); });
}

Schedule warmup_stable_decay(std::int64_t warmup, std::int64_t decay, std::int64_t total,
                             double floor) {
  check_plan("warmup_stable_decay", warmup, total, floor);
  require(0 < decay && warmup + decay <= total, "warmup_stable_decay: the decay must be 1 to ",
          total - warmup, " steps (total ", total, ", warm-up ", warmup, "), got ", decay);
  return after_warmup(warmup, [=](std::int64_t step) {
    if (step < total - decay) return 1.0;
    return 1 - (1 - floor) * std::sqrt(progress(step, total - decay, total));
  });
}

Schedule noam(std::int64_t width, std::int64_t warmup) {
  require(width > 0 && warmup > 0, "noam: width and warm-up must be positive, got ", width, " and ",
          warmup);
  return [=](std::int64_t step) {
    const auto s = static_cast<double>(step + 1), w = static_cast<double>(warmup);
    return std::min(1 / std::sqrt(s), s / (w * std::sqrt(w))) /
           std::sqrt(static_cast<double>(width));
  };
}

}  // namespace gradus::optim
