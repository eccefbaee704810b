// Tests points where a difference quotient depends on its step: a right derivative never fails
// there, and a wrong one still fails where the function is smooth.
#include <cmath>
#include <cstdio>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using Curve = double (*)(double);

struct Subject {
  std::string name;
  Curve f, df;
  Values extreme;   // points where differences of many steps are wrong
  Values moderate;  // points where wrong derivatives must fail
};

double phi(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0)); }
double cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Returns center ± 10⁻¹ … center ± 10⁻¹⁴, relative to the center.
Values around(double center) {
  Values result;
  for (int digits = 1; digits < 15; ++digits)
    for (const double m : {-5.7, -1.0, 1.0, 2.3})
      result.push_back(center * (1 + m * std::pow(10.0, -digits)));
  return result;
}

/// Returns from, 1.3 from, 1.69 from … to.
Values from_to(double from, double to) {
  Values result;
  for (double x = from; x < to; x *= 1.3) result.push_back(x);
  return result;
}

std::vector<Subject> subjects() {
  using X = double;
  return {
      {"tan",
       [](X x) { return std::tan(x); },
       [](X x) { return 1 / (std::cos(x) * std::cos(x)); },
       around(std::acos(0.0)),
       {0.3, -1, 2, 4}},
      {"1/(x - 1.3)",
       [](X x) { return 1 / (x - 1.3); },
       [](X x) { return -1 / ((x - 1.3) * (x - 1.3)); },
       around(1.3),
       {0.3, -1, 2, 4}},
      {"sin(10⁶x)",
       [](X x) { return std::sin(1e6 * x); },
       [](X x) { return 1e6 * std::cos(1e6 * x); },
       from_to(1e-4, 1e6),
       {1e-8, 3e-7, 1e-5, 1e-3}},
      {"sin(x²)",
       [](X x) { return std::sin(x * x); },
       [](X x) { return 2 * x * std::cos(x * x); },
       from_to(1, 1e6),
       {0.1, 1, -3, 10}},
      {"sin(1/x)",
       [](X x) { return std::sin(1 / x); },
       [](X x) { return -std::cos(1 / x) / (x * x); },
       from_to(1e-8, 1),
       {0.1, 1, -3, 10}},
      {"sin(x) + 10⁻⁹ sin(10⁸x)",
       [](X x) { return std::sin(x) + 1e-9 * std::sin(1e8 * x); },
       [](X x) { return std::cos(x) + 0.1 * std::cos(1e8 * x); },
       from_to(0.01, 10),
       {}},
      {"floor",
       [](X x) { return std::floor(x); },
       [](X) { return 0.0; },
       {5700.5, 1e6 + 0.5, 1e8 + 0.5},
       {}},
      {"x - floor(x)",
       [](X x) { return x - std::floor(x); },
       [](X) { return 1.0; },
       {5700.5, 1e6 + 0.5, 1e8 + 0.5},
       {0.3, 1.4, -2.7}},
      {"∛x",
       [](X x) { return std::cbrt(x); },
       [](X x) { return 1 / (3 * std::cbrt(x) * std::cbrt(x)); },
       {1e-30, -1e-99, 1e-101, -1e-150, 1e-200, 1e-300},
       {0.01, 0.3, -5, 20}},
      {"√(x² + 10⁻¹⁶)",
       [](X x) { return std::hypot(x, 1e-8); },
       [](X x) { return x / std::hypot(x, 1e-8); },
       from_to(1e-14, 1),
       {1e-8, 0.1, 3}},
      {"log Φ(x)",
       [](X x) { return std::log(cdf(x)); },
       [](X x) { return phi(x) / cdf(x); },
       from_to(1, 50),
       {-5, -1, 0.3, 2}},
      {"log(1 - exp(-x))",
       [](X x) { return std::log(1 - std::exp(-x)); },
       [](X x) { return 1 / std::expm1(x); },
       from_to(1e-11, 800),
       {0.01, 0.3, 2, 5}},
      {"log(1 / (1 + exp(-x)))",
       [](X x) { return std::log(1 / (1 + std::exp(-x))); },
       [](X x) { return 1 / (1 + std::exp(x)); },
       from_to(1, 800),
       {-5, 0.3, 2, 5}},
      {"log of a Cauchy cdf",
       [](X x) { return std::log(std::atan(x) / std::acos(-1.0) + 0.5); },
       [](X x) { return 1 / (1 + x * x) / (std::atan(x) + std::acos(0.0)); },
       from_to(1, 1e12),
       {-5, 0.3, 2, 5}},
  };
}

Report check_at(const Subject& s, const Values& x, double factor, const Options& options = {}) {
  const auto f = [&s](const Arguments& in) {
    Values y;
    for (const double v : in[0]) y.push_back(s.f(v));
    return y;
  };
  const auto vjp = [&s, factor](const Arguments& in, const Values& dy) {
    Arguments dx{{}};
    for (Index i = 0; i < dy.size(); ++i) dx[0].push_back(factor * s.df(in[0][i]) * dy[i]);
    return dx;
  };
  return run(s.name, {f, vjp}, {{"x", {}, x}}, options);
}

}  // namespace

TEST_CASE("steps: a right derivative never fails where differences depend on the step") {
  int points = 0, passed = 0;
  for (const Subject& s : subjects())
    for (const double x : s.extreme) {
      CAPTURE(s.name, x);
      const Report report = check_at(s, {x}, 1);
      INFO(report.text());
      CHECK(report.verdict != Verdict::fail);
      ++points;
      passed += report ? 1 : 0;
    }
  std::printf("steps: %d points: %d pass, %d inconclusive\n", points, passed, points - passed);
}

TEST_CASE("steps: a wrong derivative of these functions fails at moderate points") {
  for (const Subject& s : subjects())
    for (const double x : s.moderate) {
      CAPTURE(s.name, x);
      testing::passes(check_at(s, {x}, 1));
      for (const double factor : {-1.0, 0.0, 0.5, 1.001, 1 + 1e-5})
        testing::fails(check_at(s, {x}, factor));
    }
}

TEST_CASE("steps: a sample and its sums do not fail either, and find a wrong derivative") {
  const auto sum = [](Curve f) {
    return [f](const Arguments& in) {
      double y = 0;
      for (const double v : in[0]) y += f(v);
      return Values{y, 2 * in[0][0]};
    };
  };
  const auto gradient = [](Curve df, double factor) {
    return [df, factor](const Arguments& in, const Values& dy) {
      Arguments dx{{}};
      for (const double v : in[0]) dx[0].push_back(df(v) * dy[0]);
      dx[0][0] = factor * (dx[0][0] + 2 * dy[1]);
      return dx;
    };
  };
  Options sampled;
  sampled.mode = Mode::projections;
  sampled.rows = sampled.columns = 1;
  for (const Subject& s : subjects()) {
    if (s.moderate.empty()) continue;
    for (Index i = 0; i < s.extreme.size(); i += 3) {
      Values x = s.moderate;
      x.push_back(s.extreme[i]);
      CAPTURE(s.name, s.extreme[i]);
      for (const Options& options : {Options(), sampled}) {
        const Report report = run(s.name, {sum(s.f), gradient(s.df, 1)}, {{"x", {}, x}}, options);
        INFO(report.text());
        CHECK(report.verdict != Verdict::fail);
      }
    }
    for (const Options& options : {Options(), sampled})
      testing::fails(
          run(s.name, {sum(s.f), gradient(s.df, 1.1)}, {{"x", {}, s.moderate}}, options));
  }
}

TEST_CASE("steps: the report says that the difference quotient depends on the step") {
  const auto tenth = [](double x) { return std::floor(x) / 10; };  // not a float
  testing::undecided(run(elementwise("floor", {1e6 + 0.7}, tenth, flat)),
                     "the difference quotient depends on the step");
}

TEST_CASE("steps: a derivative that passes takes no additional calls") {
  const Report report = run(elementwise("gelu", random_values(9, 1), gelu, d_gelu));
  testing::passes(report);
  CHECK(report.counts.forward <= 6 * 9 + 10);
}

TEST_CASE("steps: a gradient below 2⁻¹⁰²² is linear in dy up to its rounding") {
  const auto exponential = [](double x) { return std::exp(x); };
  CHECK(run(elementwise("exp", {-737.9545}, exponential, exponential)).verdict != Verdict::fail);
}

}  // namespace gradus::raw_cases
