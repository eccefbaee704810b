// How many steps a run makes that has a time to end in: those of the plan it began with, fitted
// again to the time that is left where the machine turns out slower or faster.
//
// Of N steps s are done, and r seconds are left. A step takes t seconds, as measured since the last
// look, and an evaluation e, a multiple of t. m evaluations are to come. The run would be late by
//
//   (N − s)·t + m·e − r
//
// seconds. Where two looks in a row say that this is more than 10 % of r and 5 % of the whole time,
// or that the end is early by 10 % of the whole time, the run gets another goal, by the milder of
// the two looks:
//
//   N' = s + (r − m'·e) / t
//
// with m' evaluations that take at most a fifth of r, one at least. Schedules are asked for places
// in the plan, which had P steps, and no longer for steps:
//
//   p(i) = p(s) + (i − s) · (P − p(s)) / (N' − s)   for i ≥ s; p(i) = i before the first such fit
//
// p is continuous: the learning rate goes on from where it is, a warm-up is not repeated, and a
// decay ends with the run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gradus {

struct TimeLimit {
  double seconds = 0;           // 0: none, the steps stay
  double evaluation_steps = 0;  // that one evaluation is as long as, until the first was measured
  std::int64_t most_steps = 1'000'000'000;
};

/// What one fit changed.
struct Refit {
  std::int64_t steps_before, steps;
  double step_seconds;  // as measured
};

class Pace {
 public:
  using Clock = std::function<double()>;  // seconds from any beginning; never goes back
  static double system_clock();

  /// A plan of so many steps, an evaluation after each `every` and after the last.
  /// ValueError: the limit is negative or not finite, or allows no step.
  Pace(const TimeLimit& limit, std::int64_t steps, std::int64_t every, Clock clock);

  std::int64_t steps() const { return now_.steps; }  // the goal
  double place(std::int64_t step) const;             // in the plan
  bool evaluates(std::int64_t step) const;           // after so many steps
  std::int64_t evaluations_left(std::int64_t step) const;

  void start();  // the run's time begins to count, or goes on
  double seconds() const;
  void stepped(double seconds);    // a step took this
  void evaluated(double seconds);  // an evaluation did
  /// After `step` steps, and at most each twentieth of the time: a new goal, where one is due.
  std::optional<Refit> refit(std::int64_t step);

  /// All of it as text: with the same clock, a Pace that loads it decides the same.
  std::string state() const;
  bool load_state(const std::string& text);  // false: it is none

 private:
  struct State {
    std::int64_t steps, every, from = 0;  // of the last fit: goal, interval, the step it was at …
    double at = 0;                        // … and that step's place
    double seconds = 0, looked = 0;       // until start(), until the last look
    std::int64_t steps_seen = 0;          // since then
    double steps_seconds = 0;             // of these
    double step_seconds = 0, late = 0;    // said the last look; late 0: near enough
    double evaluation_steps = 0;          // of the last one
  };

  std::optional<Refit> fit(std::int64_t step, double left, double step_seconds);

  TimeLimit limit_;
  std::int64_t planned_, planned_every_;
  Clock clock_;
  std::optional<double> started_;
  State now_;
};

}  // namespace gradus
