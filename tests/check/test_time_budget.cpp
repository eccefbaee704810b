#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes, testing::undecided;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Slow {
  std::size_t elements;
  double call;
  std::function<double(Index)> factor = [](Index) { return 1.0; };

  Report report(double budget, int threads = 1) const {
    Values x(elements);
    for (Index i = 0; i < elements; ++i) x[i] = std::sin(static_cast<double>(7 * i + 1)) + 2;
    Options options;
    options.seconds = budget;
    options.threads = threads;
    return run("cubes",
               {[wait = call](const Arguments& in) {
                  const auto begin = Clock::now();
                  double sum = 0;
                  for (const double v : in[0]) sum += v * v * v;
                  while (seconds_since(begin) < wait) continue;
                  return Values{sum};
                },
                [f = factor](const Arguments& in, const Values& dy) {
                  Values dx = in[0];
                  for (Index i = 0; i < dx.size(); ++i) dx[i] = 3 * dx[i] * dx[i] * dy[0] * f(i);
                  return Arguments{dx};
                }},
               {{"x", {}, x}}, options);
  }
};

}  // namespace

TEST_CASE("budget: fewer elements are checked, all along directions, and the report notes it") {
  // Checking all elements would take 400 · 6 · 2 ms = 4.8 s.
  const Slow cubes{400, 2e-3};
  const auto begin = Clock::now();
  const Report report = cubes.report(1);
  const double taken = seconds_since(begin);
  passes(report, "of 400 elements of x were checked one by one, and all along");
  passes(report, "with a probability of at most");
  CHECK(report.inputs[0].looked_at >= 1);
  CHECK(report.inputs[0].looked_at < 200);
  CHECK(taken < 3);  // calls may be slower than planned
}

TEST_CASE("budget: a wrong element that was not checked individually is found") {
  for (const Index place : {Index{3}, Index{399}}) {
    const Slow cubes{400, 2e-3, [place](Index i) { return i == place ? 1.001 : 1.0; }};
    const Report report = cubes.report(1);
    fails(report);
    CHECK(std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
      return !f.along && f.at == Dims{static_cast<std::int64_t>(place)};
    }));
  }
}

TEST_CASE("budget: a sufficient time limit changes nothing") {
  const Slow cubes{50, 0};
  CHECK(cubes.report(600).text() == cubes.report(0).text());
}

TEST_CASE("budget: without any time, the report is inconclusive and states the reason") {
  undecided(Slow{40, 1e-4}.report(1e-9),
            "left no time for x. Increase it, or check only this input");
}

TEST_CASE("threads: a thread-safe function is called by several threads") {
  std::mutex mutex;
  std::set<std::thread::id> callers;
  const auto forward = [&](const Arguments& in) {
    {
      const std::lock_guard lock(mutex);
      callers.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Values{in[0][0] + in[0][1]};
  };
  const auto vjp = [](const Arguments& in, const Values& dy) {
    Values dx(in[0].size(), 0.0);
    dx[0] = dx[1] = dy[0];
    return Arguments{dx};
  };
  const std::vector<Input> x{{"x", {}, random_values(40, 1)}};
  Options options;
  passes(run("sum", {forward, vjp}, x, options));
  CHECK(callers.size() == 1);
  options.threads = 4;
  passes(run("sum", {forward, vjp}, x, options));
  CHECK(callers.size() > 1);
  CHECK(callers.size() <= 4);
}

TEST_CASE("threads: the number of threads does not change the report") {
  const Slow wrong{400, 0, [](Index i) { return i == 17 ? 0.0 : 1.0; }};
  const std::string one = wrong.report(0, 1).text();
  for (const int threads : {2, 3, 7, 0}) CHECK(wrong.report(0, threads).text() == one);
}

}  // namespace gradus::raw_cases
