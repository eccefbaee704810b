#include <algorithm>
#include <cstdint>
#include <numeric>

#include "gradus/check/raw/differences.h"
#include "gradus/engine/base/bit_cast.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using Curve = std::function<Values(double)>;

struct Subject {
  std::string name;
  Curve f, df;
  Values places;  // points where differences can resolve the derivative
};

/// Returns a pseudo-random value in ±size/2.
double jitter(double x, double size) {
  const double many = x * 7919.0 * 1024;
  return size * (many - std::floor(many) - 0.5);
}

double chebyshev(double x) { return std::cos(40 * std::acos(x)); }
double d_chebyshev(double x) { return 40 * std::sin(40 * std::acos(x)) / std::sqrt(1 - x * x); }

Subject one(const std::string& name, double (*f)(double), double (*df)(double),
            const Values& places) {
  return {name, [f](double x) { return Values{f(x)}; }, [df](double x) { return Values{df(x)}; },
          places};
}

std::vector<Subject> subjects() {
  using X = double;
  return {
      one(
          "constant", [](X) { return 3.0; }, [](X) { return 0.0; }, {0, 1, 1e-30, 1e20}),
      one(
          "square", [](X x) { return x * x; }, [](X x) { return 2 * x; }, {0, 0.5, -2, 1e-6, 1e5}),
      one("root", root, d_root, {1e-8, 1, 4}),
      one(
          "from 2 on", [](X x) { return x < 2 ? nan_value : x * x; }, [](X x) { return 2 * x; },
          {2, 2 + 1e-6, 3}),
      one("abs", absolute, sign, {1, 1e-5, -2}),
      one("relu", relu, sigma, {1e-4, -1e-7, 3}),
      one(
          "jittering", [](X x) { return x * x + jitter(x, 1e-11); }, [](X x) { return 2 * x; },
          {0.5, 3}),
      one(
          "tiny unit", [](X x) { return 1 / (1 + x * x * 1e16); },
          [](X x) { return -2e16 * x / std::pow(1 + x * x * 1e16, 2); }, {1e-8, 1e-5}),
      one(
          "huge unit", [](X x) { return x / (1 + x * x * 1e-16); },
          [](X x) { return (1 - x * x * 1e-16) / std::pow(1 + x * x * 1e-16, 2); }, {3e7, 2e8}),
      {"two outputs",
       [](X x) {
         return Values{x * x * x, 1 - x};
       },
       [](X x) {
         return Values{3 * x * x, -1};
       },
       {0, 1.5, 1e-4}},
      {"on a hill",
       [](X x) {
         return Values{1e12 + x, 1e9 + x * x};
       },
       [](X x) {
         return Values{1, 2 * x};
       },
       {0.5, 3}},
      {"many periods",
       [](X x) {
         return Values{chebyshev(x), x};
       },
       [](X x) {
         return Values{d_chebyshev(x), 1};
       },
       {0.3, 0.05, 0}},
      {"cancelling",
       [](X x) {
         return Values{(x + 1e3) - 1e3, x};
       },
       [](X) {
         return Values{1, 1};
       },
       {1, 0.25}}};
}

/// Checks a derivative multiplied by `factor`. A derivative of 0 becomes factor - 1.
Report report_of(const Subject& s, double x, double factor, const Options& options = {}) {
  const auto vjp = [&s, factor](const Arguments& in, const Values& dy) {
    const Values d = s.df(in[0][0]);
    double dx = 0;
    for (Index i = 0; i < dy.size(); ++i) dx += dy[i] * (d[i] == 0 ? factor - 1 : factor * d[i]);
    return Arguments{{dx}};
  };
  return run(s.name, {[&s](const Arguments& in) { return s.f(in[0][0]); }, vjp}, {{"x", {}, {x}}},
             options);
}

}  // namespace

TEST_CASE("differences: correct derivatives pass and errors of 0.1 % fail", "[check][raw]") {
  for (const Subject& s : subjects())
    for (const double x : s.places) {
      CAPTURE(s.name, x);
      testing::passes(report_of(s, x, 1));
      testing::fails(report_of(s, x, 1.001));
    }
}

TEST_CASE("differences: an error of one part in a million fails at any scale", "[check][raw]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Options options;
    options.seed = seed;
    // At a scale of 100, a softmax saturates and its derivatives are rounding errors.
    const double scale = std::pow(10.0, static_cast<double>(seed % 6) - 3);
    for (const Case& c : {softmax(2, 4, random_values(8, seed, scale)),
                          layer_norm(2, 3, scale, seed), matmul(2, 1, 3, seed)}) {
      CAPTURE(seed, scale);
      testing::passes(run(c, options));
      if (scale > 1) continue;  // rounding may hide an error of 1e-6
      const auto k = static_cast<Index>(seed) % c.inputs.size();
      const Report report = run_spoiled(
          c,
          [k, seed](Arguments& dx, const Arguments&, const Values&) {
            Values& d = dx[k];
            const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
            const auto largest = std::max_element(d.begin(), d.end(), smaller);
            for (auto v = d.begin(); v != d.end(); ++v)
              if (seed % 2 == 0 || v == largest) *v *= 1 + 1e-6;
          },
          options);
      testing::fails(report);
      REQUIRE(!report.findings.empty());
      CHECK(report.findings[0].input == k);
    }
  }
}

TEST_CASE("differences: an estimate bounds the error of its slope", "[check][raw]") {
  for (const Subject& s : subjects())
    for (const double x : s.places) {
      const LineFunction line = s.f;
      const Values y = s.f(x), right = s.df(x);
      const std::vector<Slope> slopes =
          JacobianColumn(line, x, unit_of(x, std::abs(x)), y, Goal()).measure();
      for (Index i = 0; i < y.size(); ++i) {
        CAPTURE(s.name, x, i, slopes[i].value, slopes[i].estimate());
        if (!slopes[i].finite()) continue;
        CHECK(std::abs(slopes[i].value - right[i]) <=
              20 * slopes[i].estimate() + 1e-12 * std::abs(right[i]) + 1e-15);
      }
    }
}

TEST_CASE("differences: six calls of a function cover all its outputs at a smooth point") {
  for (const Case& c : {matmul(2, 3, 5), elementwise("gelu", random_values(9, 1), gelu, d_gelu)}) {
    const Report report = run(c);
    std::int64_t elements = 0;
    for (const Input& input : c.inputs) elements += std::ssize(input.values);
    testing::passes(report);
    CHECK(report.counts.forward <= 6 * elements + 10);
  }
}

TEST_CASE("differences: a step that samples a wave at its zeros is detected") {
  // Six points with spacing 1/512 cannot resolve this wave.
  const double turns = 2 * std::acos(-1.0) * 512;
  const Report report = scalar(
      "hidden wave",
      [turns](const Arguments& in) { return in[0][0] + 1e-3 * std::sin(turns * (in[0][0] - 1)); },
      [turns](const Arguments&) { return Arguments{{1 + 1e-3 * turns}}; }, {{1}});
  testing::passes(report);
}

TEST_CASE("differences: a point where f has no derivative or no value never passes") {
  const auto undecided = [](const std::string& name, double (*f)(double), double (*df)(double),
                            double x, const std::string& words) {
    testing::undecided(run(elementwise(name, {x}, f, df)), words);
  };
  const auto zero = [](double) { return 0.0; };

  undecided("√ at 0", root, d_root, 0, "an infinite derivative. Choose other values");
  undecided("a jump", heaviside, zero, 0, "a jump");
  undecided("√ of -1", root, zero, -1, "forward gives nan");
  undecided("NaN given", cube, d_cube, nan_value, "forward gives nan");
  undecided("infinity given", relu, sigma, infinity, "forward gives inf");
  const auto noisy = [](double x) {
    const std::uint64_t mixed = bit_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15;
    return x * x + 1e-3 * static_cast<double>(mixed >> 54);  // 0 to 1,023
  };
  undecided(
      "noise", noisy, [](double x) { return 2 * x; }, 1.3, "the differences are accurate only to");
  const auto infinite = [](const Arguments& in, const Values& dy) {
    const double d = 1 / (3 * std::cbrt(in[0][0] * in[0][0]));
    return Arguments{{dy[0] == 0 ? 0 : dy[0] * d}};
  };
  const auto cbrt = [](const Arguments& in) { return Values{std::cbrt(in[0][0])}; };
  testing::undecided(run("∛ at 0", {cbrt, infinite}, {{"x", {}, {0}}}),
                     "or its derivative is infinite");
}

TEST_CASE("differences: a point where f has no value does not hide a failure elsewhere") {
  testing::fails(run(elementwise("log", {-1, 2}, logarithm, raw_cases::one)));
}

TEST_CASE("differences: a function that ignores its input has derivative 0") {
  const auto constant = [](const Arguments&) { return Values{5, 1e6}; };
  const std::vector<Input> x{{"x", {3}, {1, 2, 3}}};
  const auto none = [](const Arguments&, const Values&) { return Arguments{{0, 0, 0}}; };
  const auto some = [](const Arguments&, const Values& dy) { return Arguments{{0, dy[0], 0}}; };
  testing::passes(run("constant", {constant, none}, x), "every measured derivative is 0");
  testing::fails(run("constant", {constant, some}, x));
  // Below about -9, the value underflows to 0, but the derivative does not.
  const Case underflow = elementwise("gelu", {-10, -12}, gelu, d_gelu);
  REQUIRE(underflow.forward({{-10, -12}}) == Values{0, 0});
  testing::passes(run(underflow));
  const Spoil ones = [](Arguments& dx, const Arguments&, const Values& dy) { dx[0] = dy; };
  CHECK(run_spoiled(underflow, ones).inputs[0].wrong == 2);
  // The sum of a softmax is 1 up to rounding.
  testing::passes(scalar(
                      "sum of a softmax",
                      [](const Arguments& in) {
                        const Values y = softmax_rows(in[0], in[0].size());
                        return y[0] + y[1] + y[2] + y[3];
                      },
                      [](const Arguments& in) { return Arguments{Values(in[0].size())}; },
                      {random_values(4, 9)}),
                  "every measured derivative is 0");
}

TEST_CASE("differences: a derivative of 0 is recognized despite the rounding of large terms") {
  // A constant c added to all keys shifts all scores by q·c, so its derivative is 0. The rounding
  // error grows with the scores.
  constexpr Index keys = 4, width = 2;
  int not_right = 0, missed = 0;
  for (const double size : {0.01, 0.3, 1.0, 4.0, 16.0, 100.0})
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Values q = random_values(width, 3 * seed, size);
      const Values k = random_values(keys * width, 3 * seed + 1);
      const Values v = random_values(keys, 3 * seed + 2);
      const auto f = [&](const Arguments& in) {
        Values scores(keys, 0.0);
        for (Index j = 0; j < keys; ++j)
          for (Index d = 0; d < width; ++d) scores[j] += q[d] * (k[j * width + d] + in[0][d]);
        const Values weights = softmax_rows(scores, keys);
        return std::inner_product(v.begin(), v.end(), weights.begin(), 0.0);
      };
      const auto gives = [&](double first, double second) {
        return scalar("shift", f,
                      [=](const Arguments&) {
                        return Arguments{{first, second}};
                      },
                      {Values(width, 0.0)});
      };
      not_right += gives(1e-17, 1e-17) ? 0 : 1;
      missed += gives(1e-17, 1e-6).verdict == Verdict::fail ? 0 : 1;
    }
  CHECK(not_right == 0);
  CHECK(missed == 0);
}

}  // namespace gradus::raw_cases
