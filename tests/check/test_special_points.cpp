#include <algorithm>
#include <numeric>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using Gradient = std::function<Arguments(const Arguments& in)>;
using testing::fails, testing::passes;

double largest(const Arguments& in) { return *std::max_element(in[0].begin(), in[0].end()); }

/// Each tied element receives the fraction share(ties) of dy.
Gradient pays(const std::function<double(double ties)>& share) {
  return [share](const Arguments& in) {
    const double most = largest(in);
    const auto ties = static_cast<double>(std::count(in[0].begin(), in[0].end(), most));
    Values dx;
    for (const double v : in[0]) dx.push_back(v == most ? share(ties) : 0);
    return Arguments{dx};
  };
}

TEST_CASE("ties: a maximum that passes the full dy to each of two equal inputs fails",
          "[check][raw]") {
  const Gradient halves = pays([](double ties) { return 1 / ties; });
  const Gradient all = pays([](double) { return 1; });
  const Gradient first = [](const Arguments& in) {
    Values dx(in[0].size(), 0.0);
    dx[static_cast<Index>(std::max_element(in[0].begin(), in[0].end()) - in[0].begin())] = 1;
    return Arguments{dx};
  };
  for (const Values& x : {Values{3, 3, 1}, Values{2, 2, 2}, Values{-1, 0.5, -2, 0.5}}) {
    passes(scalar("max", largest, halves, {x}));
    passes(scalar("max", largest, first, {x}));
    fails(scalar("max", largest, all, {x}), "move together");
  }
  // The tied elements may belong to different inputs.
  const auto max = [](const Arguments& in) { return std::max(in[0][0], in[1][0]); };
  passes(scalar("maximum", max,
                [](const Arguments& in) {
                  return in[0][0] >= in[1][0] ? Arguments{{1}, {0}} : Arguments{{0}, {1}};
                },
                {{2}, {2}}));
  fails(scalar("maximum", max,
               [](const Arguments& in) {
                 return Arguments{{in[0][0] >= in[1][0] ? 1.0 : 0.0},
                                  {in[1][0] >= in[0][0] ? 1.0 : 0.0}};
               },
               {{2}, {2}}),
        "move together");
  // Equal elements at independent kinks are not ties.
  passes(run(elementwise("relu", {0, 0, 1}, relu, sigma)));
  passes(run(elementwise("abs", {0, 0, 0}, absolute, sign)));
}

Values product(const Values& a, const Values& b, bool transpose_a, bool transpose_b) {
  constexpr Index n = 3;
  Values y(n * n, 0.0);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      for (Index k = 0; k < n; ++k)
        y[i * n + j] +=
            a[transpose_a ? k * n + i : i * n + k] * b[transpose_b ? j * n + k : k * n + j];
  return y;
}

TEST_CASE("special points: a transposition also fails at symmetric and constant matrices",
          "[check][raw]") {
  const Values identity{1, 0, 0, 0, 1, 0, 0, 0, 1}, diagonal{1, 0, 0, 0, 2, 0, 0, 0, 3};
  const Values symmetric{2, 1, 0.5, 1, 3, 4, 0.5, 4, 5}, equal(9, 0.7), zero(9, 0.0);
  for (const Values& a : {identity, diagonal, symmetric, equal, zero}) {
    for (const bool wrong : {false, true}) {
      const Report report = run(
          "matmul",
          {[](const Arguments& in) { return product(in[0], in[1], false, false); },
           [wrong](const Arguments& in, const Values& dy) {
             return Arguments{product(dy, in[1], false, true), product(in[0], dy, !wrong, false)};
           }},
          {{"a", {3, 3}, a}, {"b", {3, 3}, random_values(9, 4)}});
      if (!wrong) passes(report);
      if (wrong) fails(report, "which hides mistakes");
    }
  }
}

TEST_CASE("special points: mistakes that zeros, equal values or a length of 1 hide fail") {
  // Swapping the gradients of x y² has no effect at x = y.
  const auto xy2 = [](const Arguments& in) { return in[0][0] * in[1][0] * in[1][0]; };
  const auto d_xy2 = [](const Arguments& in) {
    return Arguments{{in[1][0] * in[1][0]}, {2 * in[0][0] * in[1][0]}};
  };
  const auto swapped_xy2 = [](const Arguments& in) {
    return Arguments{{in[0][0] * in[1][0]}, {2 * in[1][0] * in[1][0]}};
  };
  passes(scalar("x y²", xy2, d_xy2, {{1.5}, {1.5}}));
  fails(scalar("x y²", xy2, swapped_xy2, {{1.5}, {1.5}}), "equal values");
  // At angles of 0, sin x₀ = 0 hides a wrong sign.
  const auto arm = [](const Arguments& in) {
    return 2 * std::cos(in[0][0]) + std::sin(in[0][0] + in[0][1]);
  };
  const auto d_arm = [](double sign_of_sine) {
    return [sign_of_sine](const Arguments& in) {
      const double both = std::cos(in[0][0] + in[0][1]);
      return Arguments{{sign_of_sine * 2 * std::sin(in[0][0]) + both, both}};
    };
  };
  passes(scalar("arm", arm, d_arm(-1), {{0, 0}}));
  fails(scalar("arm", arm, d_arm(1), {{0, 0}}), "zeros");
  // x / |x|. At length 1, a missing division has no effect, but a missing projection has one.
  const auto length = [](const Values& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  const auto unit = [length](const Arguments& in) { return scaled(in[0], 1 / length(in[0])); };
  const auto projected = [length](const Arguments& in, const Values& dy) {
    const double n = length(in[0]);
    const double along = std::inner_product(dy.begin(), dy.end(), in[0].begin(), 0.0) / (n * n);
    Values dx;
    for (Index j = 0; j < dy.size(); ++j) dx.push_back((dy[j] - along * in[0][j]) / n);
    return Arguments{dx};
  };
  const Report report = run("unit", {unit, projected}, {{"q", {}, {0.5, -0.5, 0.1, 0.7}}});
  passes(report, "a length of 1");
  RawOptions options;
  options.neighborhood = false;
  CHECK(run(elementwise(
                "square", {0, 0}, [](double x) { return x * x; }, [](double x) { return -2 * x; }),
            options));
}

TEST_CASE("special points: at the edge of a domain, the side with values is used") {
  Options options;
  options.neighborhood = false;
  const auto at_edge = [](double x) { return std::sqrt(1 - x) * (1 - x) + 2 * x; };
  const auto d_at_edge = [](double x) { return 2 - 1.5 * std::sqrt(1 - x); };
  const auto negated = [](double x) { return -2 + 1.5 * std::sqrt(1 - x); };
  const auto smooth = [](double x) { return x < 0 ? nan_value : std::exp(x); };
  const auto minus = [](double x) { return -std::exp(x); };
  const auto doubled = [](double x) { return 2 * std::exp(x); };
  const auto plus = [](double x) { return std::exp(x); };
  passes(run(elementwise("exp from 0 on", {0, 1}, smooth, plus), options));
  CHECK(run(elementwise("exp from 0 on", {0, 1}, smooth, minus), options).verdict == Verdict::fail);
  CHECK(run(elementwise("exp from 0 on", {0, 1}, smooth, doubled), options).verdict ==
        Verdict::fail);
  CHECK(run(elementwise("edge", {1, 0.5}, at_edge, d_at_edge), options).verdict != Verdict::fail);
  CHECK(run(elementwise("edge", {1, 0.5}, at_edge, negated), options).verdict == Verdict::fail);
}

TEST_CASE("ties: a finding about equal elements reports their input") {
  const Report report = scalar(
      "a + max", [](const Arguments& in) { return in[0][0] + std::max(in[1][0], in[1][1]); },
      [](const Arguments&) {
        return Arguments{{1}, {1, 1}};
      },
      {{0.5}, {2, 2}});
  REQUIRE(report.findings.size() == 1);
  CHECK((report.findings[0].input == 1 && report.findings[0].input_name == "x1"));
  CHECK((report.inputs[0].wrong == 0 && report.inputs[1].wrong == 1));
}

TEST_CASE("special points: a wrong gradient fails at an optimum, where any factor looks correct") {
  const auto bowl = [](const Arguments& in) {
    const Values& x = in[0];
    return (x[0] - 1.5) * (x[0] - 1.5) + 3 * (x[1] + 0.7) * (x[1] + 0.7);
  };
  const auto slope = [](double factor) {
    return [factor](const Arguments& in) {
      return Arguments{{factor * 2 * (in[0][0] - 1.5), factor * 6 * (in[0][1] + 0.7)}};
    };
  };
  const Report right = scalar("bowl", bowl, slope(1), {{1.5, -0.7}});
  passes(right, "This is a stationary point, or the output does not depend on it");
  passes(right, "a sample nearby is correct too");
  fails(scalar("bowl", bowl, slope(-1), {{1.5, -0.7}}), "a derivative of 0 everywhere");
}

/// pays(a, b) returns whether the first and the second element receive dy.
template <class Pays>
Report pooled(const Values& x, Pays pays) {
  return run("pool",
             {[](const Arguments& in) {
                Values y;
                for (Index i = 0; i < in[0].size(); i += 2)
                  y.push_back(std::max(in[0][i], in[0][i + 1]));
                return y;
              },
              [pays](const Arguments& in, const Values& dy) {
                Values dx(in[0].size());
                for (Index i = 0; i < dx.size(); i += 2) {
                  const auto [first, second] = pays(in[0][i], in[0][i + 1]);
                  dx[i] = first ? dy[i / 2] : 0;
                  dx[i + 1] = second ? dy[i / 2] : 0;
                }
                return Arguments{dx};
              }},
             {{"x", {}, x}});
}

TEST_CASE("ties: a pool that passes the full dy to two equal inputs also fails in a sample") {
  Values x = random_values(2100, 1);
  for (Index i = 0; i < x.size(); i += 2) x[i + 1] = x[i];
  passes(pooled(x, [](double a, double b) { return std::pair(a >= b, b > a); }));
  fails(pooled(x, [](double a, double b) { return std::pair(a >= b, b >= a); }));
}

TEST_CASE("ties: a pool that always passes dy to the first input is reported as WRONG CHOICE") {
  const Values x{1, 3, 2, 5, 7, 4, 0, 1};
  passes(pooled(x, [](double a, double b) { return std::pair(a >= b, b > a); }));
  const Report report = pooled(x, [](double, double) { return std::pair(true, false); });
  fails(report);
  CHECK(report.inputs[0].cause.name == "WRONG CHOICE");
}

}  // namespace
}  // namespace gradus::raw_cases
