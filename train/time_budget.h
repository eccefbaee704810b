// Time limits of training runs.
//
// N steps are planned, s steps are done, and r seconds remain. A step takes t seconds, measured
// since the last check. An evaluation takes e seconds, a multiple of t. m evaluations remain. The
// run would be late by
//
//   (N − s)·t + m·e − r
//
// seconds. The goal changes if two consecutive checks find the run late by both 10 % of r and 5 %
// of the total time, or early by 10 % of the total time. The smaller of the two deviations
// determines the new goal:
//
//   N' = s + (r − m'·e) / t
//
// with m' evaluations, at least one, which take at most a fifth of r. The schedule is then
// evaluated at positions in the plan of P steps:
//
//   p(i) = p(s) + (i − s) · (P − p(s)) / (N' − s)   for i ≥ s; p(i) = i before the first rescaling
//
// p is continuous. The learning rate therefore does not jump, the warm-up is not repeated, and a
// decay ends with the run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gradus::train {

/// Time limit of a run, and an upper limit for its steps.
struct TimeLimit {
  double seconds = 0;                       // 0: none
  double evaluation_steps = 0;              // cost of an evaluation in steps, until measured
  std::int64_t most_steps = 1'000'000'000;  // upper limit of the plan
};

/// A change of the goal that TimeBudget::rescale() made.
struct Rescale {
  std::int64_t steps_before, steps;
  double step_seconds;  // measured time per step
};

/// Plans the steps and evaluations of a run. With a time limit, adapts the plan to the measured
/// speed.
class TimeBudget {
 public:
  using Clock = std::function<double()>;  // in seconds; must never decrease
  static double system_clock();

  /// Plans `steps` steps, with an evaluation after every `every` steps and after the last. Throws
  /// ValueError if the limit is negative, not finite, or allows no step.
  TimeBudget(const TimeLimit& limit, std::int64_t steps, std::int64_t every, Clock clock);

  std::int64_t steps() const { return now_.steps; }  // the current goal
  double position(std::int64_t step) const;          // position in the plan, for the schedule
  bool evaluates(std::int64_t step) const;  // true if an evaluation follows this many steps
  std::int64_t evaluations_left(std::int64_t step) const;

  void start();  // starts or resumes the clock
  double seconds() const;
  void stepped(double seconds);
  void evaluated(double seconds);
  /// Returns the new number of steps, or nothing if it does not change. Call it after `step` steps.
  /// Checks at most once per 5 % of the time limit.
  std::optional<Rescale> rescale(std::int64_t step);

  /// Returns the state as text. After loading this state, the same clock leads to the same
  /// decisions.
  std::string state() const;
  bool load_state(const std::string& text);  // false if the text is invalid; nothing changes then

 private:
  struct State {
    std::int64_t steps, every, from = 0;  // current goal and interval; step of the last rescaling
    double at = 0;                        // position(from)
    double seconds = 0, looked = 0;       // at start(); at the last check
    std::int64_t steps_seen = 0;          // since the last check
    double steps_seconds = 0;
    double step_seconds = 0, late = 0;  // at the last check; late 0: on time
    double evaluation_steps = 0;

    std::array<double*, 7> doubles() {  // in the order of state()
      return {&at, &seconds, &looked, &steps_seconds, &step_seconds, &late, &evaluation_steps};
    }
  };
  std::optional<Rescale> fit(std::int64_t step, double left, double step_seconds);

  TimeLimit limit_;
  std::int64_t planned_, planned_every_;
  Clock clock_;
  std::optional<double> started_;
  State now_;
};

}  // namespace gradus::train
