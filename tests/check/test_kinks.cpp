#include "gradus/check/raw/kinks.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes;

struct Bend {
  std::string name;
  std::function<double(double)> f;
  double x, left, right;
};

std::vector<Bend> bends() {
  return {{"relu", [](double x) { return std::max(x, 0.0); }, 0, 0, 1},
          {"abs", [](double x) { return std::abs(x); }, 0, -1, 1},
          {"hinge", [](double x) { return std::max(1 - x, 0.0); }, 1, -1, 0},
          {"abs and curve", [](double x) { return std::abs(x - 1) + x * x * x; }, 1, 2, 4},
          {"large", [](double x) { return 1e9 * std::max(3 * x, 5 * x - 4); }, 2, 3e9, 5e9},
          {"small", [](double x) { return 1e-9 * std::abs(x + 3); }, -3, -1e-9, 1e-9}};
}

Report at_kink(const Bend& b, double share, const std::vector<Kink>& declared = {}) {
  Options options;
  options.kinks = declared;
  options.neighborhood = false;
  const double d = b.left + share * (b.right - b.left);
  return run(b.name,
             {[&b](const Arguments& in) { return Values{b.f(in[0][0])}; },
              [d](const Arguments&, const Values& dy) { return Arguments{{d * dy[0]}}; }},
             {{"x", {}, {b.x}}}, options);
}

}  // namespace

TEST_CASE("kinks: only values between the one-sided derivatives pass") {
  for (const Bend& b : bends()) {
    for (const double share : {0.0, 0.25, 0.5, 1.0}) {
      const Report report = at_kink(b, share);
      passes(report, "are at a kink");
      CHECK(report.inputs[0].kinks == 1);
    }
    for (const double share : {-1.0, -0.001, 1.001, 2.0}) fails(at_kink(b, share), "is correct");
  }
}

TEST_CASE("kinks: with a declared convention, only its value passes") {
  for (const Bend& b : bends())
    for (const double declared : {0.0, 0.5, 1.0})
      for (const double share : {0.0, 0.499, 0.5, 0.501, 1.0})
        for (const std::optional<double> at : {std::optional<double>(), {b.x}}) {
          const Report report = at_kink(b, share, {{.at = at, .share = declared}});
          if (share == declared) passes(report);
          if (share != declared) fails(report, "the declared convention gives");
        }
}

TEST_CASE("kinks: a point next to a kink does not count as a kink") {
  for (const double near : {1e-3, 1e-5, -1e-7}) {
    const Report report = run(elementwise("relu", {near, 1}, relu, half));
    fails(report);
    CHECK(report.inputs[0].wrong == 2);
    CHECK(report.inputs[0].kinks == 0);
    passes(run(elementwise("relu", {near, 1}, relu, sigma)));
  }
}

TEST_CASE("kinks: each element is compared at its own kink and counted once") {
  const Report report = run(elementwise("relu", {0, 1, -1, 0}, relu, two_at_zero));
  fails(report, "2 of 4 elements wrong");
  fails(report, "any value from 0 to 1 is correct");
  CHECK(report.findings.at(0).at == At{0});
}

TEST_CASE("kinks: one-sided slopes that move, are infinite or agree are not a kink") {
  const auto slope = [](double left, double right) {
    Slope s{.value = 0, .noise = 1e-15, .step = 0.5};
    s.left = left, s.right = right;
    return s;
  };
  const auto kink = [](const std::vector<Slope>& tried) {
    const Slope found = kink_of(tried);
    return found.kink && found.finite();
  };
  CHECK(kink({slope(0, 1), slope(0, 1)}));
  CHECK(kink({slope(0, 1), slope(0.01, 1.01)}));
  CHECK(!kink({slope(0, 1)}));               // one step size cannot show a kink
  CHECK(!kink({slope(1, 1), slope(1, 1)}));  // smooth
  CHECK(!kink({slope(0, 1), slope(0.4, 0.5)}));
  CHECK(!kink({slope(0, 1), slope(0, 4)}));  // a jump: the difference grows as the step shrinks
  for (const Slope& other : {slope(0, infinity), slope(-infinity, 0), slope(-infinity, infinity)}) {
    CHECK(!kink({slope(0, 1), other}));
    CHECK(!kink({other, other}));
  }
}

}  // namespace gradus::raw_cases
