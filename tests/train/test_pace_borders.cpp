// A pace at the very borders of what it lets pass, and with clocks that stand.
#include <chrono>

#include "gradus/tests/support/catch.h"
#include "gradus/train/pace.h"

namespace gradus::testing {
namespace {

/// A pace whose looks are told: steps of so long, then a time at which refit() is asked.
struct Looked {
  double time = 0;
  std::int64_t step = 0;
  Pace pace;

  Looked(const TimeLimit& limit, std::int64_t steps, std::int64_t every)
      : pace(limit, steps, every, [this] { return time; }) {
    pace.start();
  }
  Looked(const Looked&) = delete;
  Looked& operator=(const Looked&) = delete;
  std::optional<Refit> look(double at, std::int64_t done, double step_seconds) {
    time = at;
    step = done;
    pace.stepped(step_seconds);
    return pace.refit(step);
  }
};

}  // namespace

TEST_CASE("a run that is early by a tenth of its time, or late by the most, keeps its plan") {
  {
    Looked early({10, 0}, 100, 1000);   // all numbers are exact
    CHECK_FALSE(early.look(2, 93, 1));  // 7 seconds to go, and 8 left
    CHECK_FALSE(early.look(4, 95, 1));  // 5 and 6
    CHECK_FALSE(early.look(6, 97, 1));
    CHECK(early.pace.steps() == 100);
  }
  {
    Looked late({20, 0}, 100, 1000);
    CHECK_FALSE(late.look(11, 90, 1));  // 10 seconds to go, and 9 left: a twentieth of 20 more
    CHECK_FALSE(late.look(13, 92, 1));
    CHECK_FALSE(late.look(15, 94, 1));
    CHECK(late.pace.steps() == 100);
  }
}

TEST_CASE("what is left when the time is over is nothing, not less") {
  Looked run({60, 0}, 500, 1000);
  CHECK_FALSE(run.look(70, 490, 0.1));  // a second of steps is less than the twentieth
  CHECK(run.pace.steps() == 500);
}

TEST_CASE("a new goal goes by the milder of two looks, and by one evaluation at least") {
  {
    Looked late({100, 0}, 100, 1000);
    CHECK_FALSE(late.look(10, 1, 4));
    const auto refit = late.look(20, 2, 2);
    REQUIRE(refit);
    CHECK(refit->steps == 2 + 40);
    CHECK(refit->step_seconds == 2);
  }
  {
    Looked late({100, 0}, 100, 1000);
    CHECK_FALSE(late.look(10, 1, 2));
    const auto refit = late.look(20, 2, 4);
    REQUIRE(refit);
    CHECK(refit->steps == 2 + 40);
  }
  {
    Looked early({1024, 0}, 100, 1000);
    CHECK_FALSE(early.look(64, 1, 1));
    const auto refit = early.look(128, 2, 0.5);
    REQUIRE(refit);
    CHECK(refit->steps == 2 + 896);
  }
  for (const double evaluation : {1e-9, 60000.0}) {  // of 60,000 steps, each as long as one
    Looked late({100'000, evaluation}, 1'000'000, 2'000'000);
    CHECK_FALSE(late.look(10'000, 10'000, 1));
    const auto refit = late.look(20'000, 20'000, 1);
    REQUIRE(refit);
    CHECK(refit->steps == (evaluation > 1 ? 40'000 : 99'999));  // the same as without, rounded down
  }
}

TEST_CASE("a pace that would be fitted to the goal that it has tells nothing") {
  Looked early({10, 0, 100}, 100, 1000);
  for (std::int64_t step = 20; step < 100; step += 20)
    CHECK_FALSE(early.look(static_cast<double>(step) / 20, step, 0.05));
  CHECK(early.pace.place(50) == 50);
  CHECK(early.pace.steps() == 100);
}

TEST_CASE("time counts while a run goes on, whose start() is a second one too") {
  Looked run({60, 0}, 10, 10);
  run.time = 3;
  CHECK(run.pace.seconds() == 3);
  run.pace.start();
  run.time = 4;
  CHECK(run.pace.seconds() == 4);
}

TEST_CASE("the clock of the system counts seconds") {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  const double before = now(), said = Pace::system_clock();
  CHECK(before <= said);
  CHECK(said <= now());
}

}  // namespace gradus::testing
