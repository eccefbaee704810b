// Plants wrong entries in Jacobians, and compares the number of missed ones with the stated
// probability. docs/checking/probability.md explains it.
#include <cmath>
#include <cstdio>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {
namespace {

constexpr Index kSize = 6;

/// y = A x with a derivative of A + E, where a few entries of E are not 0.
struct Planted {
  Values a, e;

  Planted(check::Random& random, double size) : a(kSize * kSize), e(kSize * kSize, 0.0) {
    for (double& v : a) v = random.upstream();
    const std::int64_t faults = 1 + random.below(4);
    for (std::int64_t i = 0; i < faults; ++i) {
      double& entry = e[static_cast<Index>(random.below(kSize * kSize))];
      entry = size * random.between(1, 1.5) * (random.below(2) == 0 ? 1 : -1);
    }
  }

  Functions functions() const {
    return {[this](const Arguments& in) {
              Values y(kSize, 0.0);
              for (Index i = 0; i < kSize; ++i)
                for (Index j = 0; j < kSize; ++j) y[i] += a[i * kSize + j] * in[0][j];
              return y;
            },
            [this](const Arguments&, const Values& dy) {
              Arguments dx{Values(kSize, 0.0)};
              for (Index i = 0; i < kSize; ++i)
                for (Index j = 0; j < kSize; ++j)
                  dx[0][j] += (a[i * kSize + j] + e[i * kSize + j]) * dy[i];
              return dx;
            }};
  }
};

struct Experiment {
  double stated = 0, variance = 0;
  int missed = 0, checks = 0;
};

/// Faults so small that some of them are missed: 1e-9 to 1e-7 of the largest entry.
Experiment plant(int checks, bool all_rows, bool all_columns) {
  Experiment result;
  check::Random random(all_rows ? 1 : 2);
  for (int i = 0; i < checks; ++i) {
    const double share = std::pow(10.0, random.between(-9, -7));
    Values x(kSize);
    for (double& v : x) v = random.upstream() / 2;
    const Planted planted(random, share * 2.5 * 1.25);  // at least share · the largest entry
    Options options;
    options.mode = check::Mode::projections;
    options.rows = all_rows ? kSize : 1;
    options.columns = all_columns ? kSize : 1;
    options.projections = static_cast<int>(1 + random.below(3));
    options.seed = random.next();
    options.neighborhood = false;
    const Report report = run("planted", planted.functions(), {{"x", {kSize}, x}}, options);
    const double p = check::missed(report.inputs[0].coverage, share);
    ++result.checks;
    result.stated += p;
    result.variance += p * (1 - p);
    result.missed += report.verdict == Verdict::pass ? 1 : 0;
  }
  return result;
}

void holds(int checks) {
  for (const auto& [all_rows, all_columns, what] :
       {std::tuple{false, false, "sums and directions"}, std::tuple{true, false, "directions"},
        std::tuple{false, true, "sums"}}) {
    const Experiment e = plant(checks, all_rows, all_columns);
    std::printf("%-20s %8d planted, %7d missed, stated at most %.0f\n", what, e.checks, e.missed,
                e.stated);
    CAPTURE(what, e.missed, e.stated);
    CHECK(e.missed > 0);                                         // else the experiment says nothing
    CHECK(e.missed <= e.stated + 2.58 * std::sqrt(e.variance));  // 99 %
  }
}

}  // namespace

TEST_CASE("missed: planted faults are missed at most as often as stated", "[check][raw]") {
  holds(3'000);
}

TEST_CASE("missed: a million planted faults", "[.][million]") { holds(1'000'000 / 3 + 1); }

TEST_CASE("missed: the bound falls with every sum and direction", "[check][raw]") {
  check::Coverage c{.sums = 1, .directions = 1, .allowed = 1e-7, .largest = 2};
  double before = check::missed(c, 1e-4);
  CHECK(before < 1);
  for (int i = 2; i < 7; ++i) {
    c.sums = c.directions = i;
    const double now = check::missed(c, 1e-4);
    CHECK(now < before);
    before = now;
  }
  CHECK(before < 1e-12);
  CHECK(check::missed({.sums = 3, .directions = 3, .allowed = 1, .largest = 1}, 1e-4) == 1);
  CHECK(check::missed({.allowed = 1e-7, .largest = 1}, 1e-4) == 0);  // every entry was compared
}

}  // namespace gradus::raw_cases
