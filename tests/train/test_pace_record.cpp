// All that a pace decides in some runs, and all that it then knows, look after look.
#include <bit>
#include <functional>

#include "gradus/tests/support/outcomes.h"
#include "gradus/train/pace.h"

namespace gradus::testing {
namespace {

/// A state's whole numbers, then its doubles, which the text has as their bits.
std::string readable(const std::string& state) {
  std::istringstream in(state);
  std::string out;
  for (int i = 0; i < 11; ++i) {
    std::int64_t number = 0;
    in >> number;
    out += i < 4 ? str_cat(number, " ")
                 : str_cat(std::setprecision(10), std::bit_cast<double>(number), " ");
  }
  return out;
}

struct Machine {
  std::string name;
  std::function<double(std::int64_t)> step_seconds;
  double evaluation_seconds;
  TimeLimit limit = {60, 10, 1'000'000};
  std::int64_t steps = 500, every = 50;
};

/// A line for each refit, each evaluation, and each look at the clock.
std::string record(const Machine& machine) {
  double time = 1000;
  Pace pace(machine.limit, machine.steps, machine.every, [&] { return time; });
  std::string out = "-- " + machine.name + "\n" + readable(pace.state()) + "\n", looked;
  pace.start();
  for (std::int64_t step = 0; step < pace.steps();) {
    const double taken = machine.step_seconds(step);
    time += taken;
    pace.stepped(taken);
    ++step;
    const std::optional<Refit> refit = pace.refit(step);
    const std::string now = readable(pace.state());
    if (refit)
      out += str_cat("refit at ", step, ": ", refit->steps_before, " to ", refit->steps, ", ",
                     std::setprecision(10), refit->step_seconds, "\n");
    const bool evaluates = pace.evaluates(step);
    if (refit || evaluates || step % 37 == 0)
      out += str_cat(step, " place ", std::setprecision(10), pace.place(step), ", ",
                     pace.evaluations_left(step), " left: ", now, "\n");
    if (!evaluates) continue;
    time += machine.evaluation_seconds;
    pace.evaluated(machine.evaluation_seconds);
  }
  return out + str_cat("ends after ", std::setprecision(10), pace.seconds(), ": ",
                       readable(pace.state()), "\n");
}

/// Each step takes so long.
std::function<double(std::int64_t)> always(double seconds) {
  return [=](std::int64_t) { return seconds; };
}

}  // namespace

TEST_CASE("what a pace decides, and what it knows") {
  std::string text;
  text += record({"as planned", always(0.0997), 1.013});
  text += record({"three times as slow", always(0.3137), 2.9});
  text += record({"four times as fast", always(0.0271), 0.33, {10, 10, 1'000'000}, 80, 9});
  text += record({"as fast as it may be", always(0.01017), 0.11, {10, 10, 130}, 80, 20});
  text += record({"slower from step 100 on",
                  [](std::int64_t step) { return step < 100 ? 0.1013 : 0.2179; }, 1.1});
  text += record({"faster from step 60 on",
                  [](std::int64_t step) { return step < 60 ? 0.1031 : 0.0413; },
                  0.7,
                  {12, 10, 1'000'000},
                  100,
                  12});
  text += record({"one step of a minute and a half",
                  [](std::int64_t step) { return step == 40 ? 90 : 0.1009; }, 1});
  text += record({"one slow step, in time",
                  [](std::int64_t step) { return step == 40 ? 4 : 0.1007; },
                  1,
                  {60, 10, 1'000'000},
                  450});
  text += record({"evaluations that take most", always(0.11), 17.3});
  text += record({"steps too fast for the clock", always(0), 1, {10, 10, 1'000'000}, 60, 20});
  text += record({"no evaluation known", always(0.2013), 1.1, {10, 0, 1'000'000}, 100, 200});
  text += record({"uneven steps, each of which is a look",
                  [](std::int64_t step) { return 0.11 + 0.013 * static_cast<double>(step % 7); },
                  0.21,
                  {2, 3, 1'000'000},
                  18,
                  3});
  text += record({"without a limit", always(7), 1, {0, 10, 1'000'000}, 20, 9});
  check_said("pace", text);
}

TEST_CASE("a pace that is read again in the middle decides the same") {
  const auto run = [](bool read) {
    double time = 0;
    const Pace::Clock clock = [&] { return time; };
    auto pace = std::make_unique<Pace>(TimeLimit{60, 10, 1'000'000}, 500, 50, clock);
    pace->start();
    std::string out;
    for (std::int64_t step = 0; step < pace->steps();) {
      time += 0.2;
      pace->stepped(0.2);
      if (const auto refit = pace->refit(++step)) out += str_cat(step, " ", refit->steps, "; ");
      if (pace->evaluates(step)) {
        time += 3;
        pace->evaluated(3);
      }
      if (!read || step % 5 != 0) continue;
      const std::string state = pace->state();
      pace = std::make_unique<Pace>(TimeLimit{60, 10, 1'000'000}, 500, 50, clock);
      REQUIRE(pace->load_state(state));
      REQUIRE(pace->state() == state);
      pace->start();
    }
    return out;
  };
  CHECK(run(true) == run(false));
  CHECK_FALSE(run(false).empty());
}

TEST_CASE("a text that is no state is refused, and changes nothing") {
  Pace pace({60, 10, 900}, 500, 50, [] { return 0.0; });
  const std::string rest = " 0 0 0 0 0 0 0 0", before = pace.state();
  for (const char* text : {"500 50 -1", "500 0 1", "500 -1 1", "500 50 501", "500 50", "x 50 1"}) {
    INFO(text);
    CHECK_FALSE(pace.load_state(text + rest.substr(std::string(text) == "500 50" ? 16 : 0)));
    CHECK(pace.state() == before);
  }
  for (const char* text : {"500 1 0", "500 50 500", "0 1 0"}) {
    INFO(text);
    CHECK(pace.load_state(text + rest));
  }
}

}  // namespace gradus::testing
