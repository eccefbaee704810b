// Long work: what a budget leaves out is said, and what it finds is named; threads change nothing.
#include <algorithm>
#include <chrono>

#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kInputs = 400;

Values point() {
  Values x(kInputs);
  for (std::size_t i = 0; i < kInputs; ++i) x[i] = std::sin(static_cast<double>(7 * i + 1)) + 2;
  return x;
}

/// Each call takes `wait` and gives Σ xᵢ³.
struct Slow {
  std::chrono::microseconds wait;
  double operator()(const Values& x) const {
    const auto end = std::chrono::steady_clock::now() + wait;  // works, as a busy function does
    double sum = 0;
    for (const double v : x) sum += v * v * v;
    while (std::chrono::steady_clock::now() < end) continue;
    return sum;
  }
};

Values cubes_gradient(const Values& x) {
  Values g = x;
  for (double& v : g) v = 3 * v * v;
  return g;
}

bool notes(const Report& report, const std::string& text) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a budget looks at fewer elements, along directions at all, and says so") {
  // All elements would take 400 · 8 · 2 ms = 6.4 s.
  const Report report = raw("cubes", Slow{2ms}, cubes_gradient, point()).budget(1s);
  INFO(report.text());
  CHECK(report);
  CHECK(report.inputs[0].looked_at < 200);
  CHECK(notes(report, "of 400 elements of x0 moved one by one, and all along 3 directions"));
  CHECK(notes(report, "is missed with a chance of"));
}

TEST_CASE("a budget finds one wrong element that it did not look at by itself") {
  for (const std::size_t place : {std::size_t{3}, std::size_t{399}}) {
    const auto wrong = [place](const Values& x) {
      Values g = cubes_gradient(x);
      g[place] *= 1.001;
      return g;
    };
    const Report report = raw("cubes", Slow{2ms}, wrong, point()).budget(1s);
    INFO(report.text());
    REQUIRE(report.verdict == Verdict::fail);
    CHECK(std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
      return !f.along && f.at == Shape{static_cast<std::int64_t>(place)};
    }));
  }
}

TEST_CASE("where there is time for all, a budget changes nothing but the clock") {
  const auto quick = [](const Values& x) { return Slow{0us}(x); };
  const Report with = raw("cubes", quick, cubes_gradient, point()).budget(600s);
  const Report without = raw("cubes", quick, cubes_gradient, point());
  CHECK(with.text() == without.text());
}

TEST_CASE("several threads give the report of one") {
  const auto wrong = [](const Values& x) {
    Values g = cubes_gradient(x);
    g[17] = 0;
    return g;
  };
  for (const int threads : {2, 3, 7}) {
    const Report one = raw("cubes", Slow{0us}, wrong, point());
    const Report some = raw("cubes", Slow{0us}, wrong, point()).parallel(threads);
    CHECK(one.text() == some.text());
    CHECK(raw("cubes", Slow{0us}, cubes_gradient, point()).parallel(threads));
  }
}

TEST_CASE("what a function throws on another thread is in the report") {
  const auto sometimes = [](const Values& x) {
    const Values at = point();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i == 211 && x[i] != at[i]) throw std::runtime_error("no way on from here");
    return Slow{0us}(x);
  };
  const Report report = raw("cubes", sometimes, cubes_gradient, point()).parallel(3);
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(report.text().find("no way on from here") != std::string::npos);
}

}  // namespace gradus::check
