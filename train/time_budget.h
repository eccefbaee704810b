// How many steps a run makes, and after which ones it evaluates. With a time limit, the steps of
// the plan are rescaled to the time that is left whenever the machine turns out slower or faster.
//
// Of N steps s are made, and r seconds are left. A step takes t seconds, measured since the last
// look at the clock, and an evaluation e, a multiple of t. m evaluations are to come. The run would
// be late by
//
//   (N − s)·t + m·e − r
//
// seconds. If at two looks in a row this is more than 10 % of r and 5 % of the entire time, or the
// run would be early by 10 % of the entire time, the run gets a new goal, by the milder of the two
// measurements:
//
//   N' = s + (r − m'·e) / t
//
// with m' evaluations, at least one, that take at most a fifth of r. From then on the schedule is
// evaluated at positions in the plan of P steps instead of at steps:
//
//   p(i) = p(s) + (i − s) · (P − p(s)) / (N' − s)   for i ≥ s; p(i) = i before the first rescaling
//
// p is continuous: the learning rate does not jump, a warm-up is not repeated, and a decay ends
// with the run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gradus::train {

struct TimeLimit {
  double seconds = 0;           // 0: none
  double evaluation_steps = 0;  // how many steps an evaluation takes, until one has been measured
  std::int64_t most_steps = 1'000'000'000;
};

/// A change of the goal.
struct Rescale {
  std::int64_t steps_before, steps;
  double step_seconds;  // as measured
};

class TimeBudget {
 public:
  using Clock = std::function<double()>;  // seconds since any start; never decreases
  static double system_clock();

  /// A plan of `steps` steps with an evaluation after each `every` and after the last.
  /// ValueError: the limit is negative or not finite, or allows no step.
  TimeBudget(const TimeLimit& limit, std::int64_t steps, std::int64_t every, Clock clock);

  std::int64_t steps() const { return now_.steps; }  // the goal
  double position(std::int64_t step) const;          // in the plan
  bool evaluates(std::int64_t step) const;           // after so many steps
  std::int64_t evaluations_left(std::int64_t step) const;

  void start();  // starts the run's clock, or continues it
  double seconds() const;
  void stepped(double seconds);    // a step took this long
  void evaluated(double seconds);  // an evaluation did
  /// After `step` steps, and at most each twentieth of the time: the new goal, if there is one.
  std::optional<Rescale> rescale(std::int64_t step);

  /// Everything as text. With the same clock, a TimeBudget that loads it makes the same decisions.
  std::string state() const;
  bool load_state(const std::string& text);  // false: not a state; nothing has changed

 private:
  struct State {
    std::int64_t steps, every, from = 0;  // since the last rescaling: goal, interval, its step
    double at = 0;                        // position(from)
    double seconds = 0, looked = 0;       // at start(); at the last look
    std::int64_t steps_seen = 0;          // since the last look
    double steps_seconds = 0;             // they took
    double step_seconds = 0, late = 0;    // found at the last look; late 0: near enough
    double evaluation_steps = 0;          // of the last evaluation

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
