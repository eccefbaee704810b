// Each check of the plan measures only the steps since the last check, to follow changes of speed.
#include "gradus/train/time_budget.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <utility>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/error.h"

namespace gradus::train {
namespace {

constexpr double kLook = 0.05;  // time between checks, relative to the total time
constexpr double kLateOfLeft = 0.1,
                 kLateOfAll = 0.05;   // tolerated lateness: the larger of the two
constexpr double kEarlyOfAll = 0.1;   // tolerated earliness
constexpr double kEvaluations = 0.2;  // maximum fraction of the time left

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

double TimeBudget::system_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TimeBudget::TimeBudget(const TimeLimit& limit, std::int64_t steps, std::int64_t every, Clock clock)
    : limit_(limit),
      planned_(steps),
      planned_every_(every),
      clock_(clock ? std::move(clock) : system_clock),
      now_{.steps = steps, .every = every, .evaluation_steps = limit.evaluation_steps} {
  require(limit.seconds >= 0 && std::isfinite(limit.seconds),
          "TimeLimit: seconds must be finite and not negative, got ", limit.seconds);
  require(limit.most_steps > 0, "TimeLimit: most_steps must be positive, got ", limit.most_steps);
}

double TimeBudget::position(std::int64_t step) const {
  if (now_.steps == now_.from) return now_.at;
  return now_.at + static_cast<double>(step - now_.from) *
                       (static_cast<double>(planned_) - now_.at) /
                       static_cast<double>(now_.steps - now_.from);
}

bool TimeBudget::evaluates(std::int64_t step) const {
  return step == now_.steps || (step > now_.from && (step - now_.from) % now_.every == 0);
}

std::int64_t TimeBudget::evaluations_left(std::int64_t step) const {
  return divide_up(now_.steps - now_.from, now_.every) - (step - now_.from) / now_.every;
}

void TimeBudget::start() {
  now_.seconds = seconds();
  started_ = clock_();
}

double TimeBudget::seconds() const { return now_.seconds + (started_ ? clock_() - *started_ : 0); }

void TimeBudget::stepped(double seconds) {
  ++now_.steps_seen;
  now_.steps_seconds += seconds;
}

void TimeBudget::evaluated(double seconds) {
  const double t = now_.steps_seen > 0 ? now_.steps_seconds / static_cast<double>(now_.steps_seen)
                                       : now_.step_seconds;
  if (t > 0) now_.evaluation_steps = seconds / t;
}

std::optional<Rescale> TimeBudget::rescale(std::int64_t step) {
  const double time = seconds();
  if (limit_.seconds == 0 || step >= now_.steps || time - now_.looked < kLook * limit_.seconds)
    return std::nullopt;
  const double t = now_.steps_seconds / static_cast<double>(now_.steps_seen);
  const double before = std::exchange(now_.step_seconds, t);
  const double late_before = std::exchange(now_.late, 0);
  now_.looked = time;
  now_.steps_seen = 0;
  now_.steps_seconds = 0;
  if (!(t > 0)) return std::nullopt;  // below the clock's resolution
  const double left = std::max(0.0, limit_.seconds - time);
  const double late = (static_cast<double>(now_.steps - step) +
                       static_cast<double>(evaluations_left(step)) * now_.evaluation_steps) *
                          t -
                      left;
  const double least = std::max(kLateOfLeft * left, kLateOfAll * limit_.seconds);
  if (-kEarlyOfAll * limit_.seconds <= late && late <= least) return std::nullopt;
  now_.late = late;
  if (left > 0 && late * late_before <= 0) return std::nullopt;
  now_.late = 0;
  return fit(step, left, late > 0 ? std::min(t, before) : std::max(t, before));
}

std::optional<Rescale> TimeBudget::fit(std::int64_t step, double left, double t) {
  const double e = now_.evaluation_steps * t;
  const double at = position(step);
  double times =
      std::ceil((static_cast<double>(planned_) - at) / static_cast<double>(planned_every_));
  if (e > 0) times = std::max(1.0, std::min(times, std::floor(kEvaluations * left / e)));
  const auto most = static_cast<double>(limit_.most_steps - step);
  const auto more = static_cast<std::int64_t>(std::clamp((left - times * e) / t, 0.0, most));
  const Rescale done{now_.steps, step + more, t};
  if (done.steps == now_.steps) return std::nullopt;  // the plan already has most_steps
  now_.steps = done.steps;
  now_.every = std::max<std::int64_t>(1, divide_up(more, static_cast<std::int64_t>(times)));
  now_.from = step;
  now_.at = at;
  return done;
}

std::string TimeBudget::state() const {
  State now = now_;
  now.seconds = seconds();
  std::string out = str_cat(now.steps, ' ', now.every, ' ', now.from, ' ', now.steps_seen);
  for (const double* each : now.doubles()) out += str_cat(' ', bit_cast<std::int64_t>(*each));
  return out;
}

bool TimeBudget::load_state(const std::string& text) {
  std::istringstream in(text);
  State read{};
  in >> read.steps >> read.every >> read.from >> read.steps_seen;
  for (double* each : read.doubles()) {
    std::int64_t bits = 0;
    in >> bits;
    *each = bit_cast<double>(bits);
  }
  const bool good = in && 0 <= read.from && read.from <= read.steps && read.every > 0;
  if (good) now_ = read;
  return good;
}

}  // namespace gradus::train
