// The raw checker: right gradients pass, planted faults fail at the right place, what cannot be
// seen is inconclusive.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

using namespace gradus::check::raw;

namespace {

using Index = std::size_t;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string name;
  std::vector<Input> inputs;
  Forward forward;
  Vjp vjp;
};

Report run(const Case& c, const Options& options = {}) {
  return check_vjp(c.name, c.forward, c.vjp, c.inputs, options);
}

/// A case whose gradients are changed after the right ones are known: [input][element].
using Spoil = std::function<void(Arguments& dx, const Arguments& in, const Values& dy)>;

Report run_spoiled(Case c, const Spoil& spoil, const Options& options = {}) {
  const Vjp right = c.vjp;
  c.vjp = [right, spoil](const Arguments& in, const Values& dy) {
    Arguments dx = right(in, dy);
    spoil(dx, in, dy);
    return dx;
  };
  return run(c, options);
}

Values random_values(Index count, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  Values result(count);
  for (double& v : result) v = scale * random.between(-2, 2);
  return result;
}

/// One elementwise function with its derivative.
Case elementwise(const std::string& name, Values x, double (*f)(double), double (*df)(double)) {
  const auto size = static_cast<std::int64_t>(x.size());
  return {name, {{"x", {size}, std::move(x)}},
          [f](const Arguments& in) {
            Values y;
            for (double v : in[0]) y.push_back(f(v));
            return y;
          },
          [df](const Arguments& in, const Values& dy) {
            Values dx;
            for (Index i = 0; i < dy.size(); ++i) dx.push_back(df(in[0][i]) * dy[i]);
            return Arguments{dx};
          }};
}

/// Along the last of two axes: y = e^x / Σe^x, dx = y (dy - Σ y dy).
Values softmax_rows(const Values& x, Index width) {
  Values y(x.size());
  for (Index r = 0; r < x.size(); r += width) {
    double most = -infinity, sum = 0;
    for (Index c = 0; c < width; ++c) most = std::max(most, x[r + c]);
    for (Index c = 0; c < width; ++c) sum += std::exp(x[r + c] - most);
    for (Index c = 0; c < width; ++c) y[r + c] = std::exp(x[r + c] - most) / sum;
  }
  return y;
}

Case softmax(Index rows, Index width, Values x) {
  return {"softmax",
          {{"x", {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)}, x}},
          [width](const Arguments& in) { return softmax_rows(in[0], width); },
          [width](const Arguments& in, const Values& dy) {
            const Values y = softmax_rows(in[0], width);
            Values dx(y.size());
            for (Index r = 0; r < y.size(); r += width) {
              double dot = 0;
              for (Index c = 0; c < width; ++c) dot += y[r + c] * dy[r + c];
              for (Index c = 0; c < width; ++c) dx[r + c] = y[r + c] * (dy[r + c] - dot);
            }
            return Arguments{dx};
          }};
}

constexpr double norm_eps = 1e-5;

struct Row {
  double mean = 0, rstd = 0;
};

Row statistics(const double* x, Index width) {
  Row row;
  double variance = 0;
  for (Index c = 0; c < width; ++c) row.mean += x[c] / static_cast<double>(width);
  for (Index c = 0; c < width; ++c) {
    variance += (x[c] - row.mean) * (x[c] - row.mean) / static_cast<double>(width);
  }
  row.rstd = 1 / std::sqrt(variance + norm_eps);
  return row;
}

/// dx = rstd (g - mean(g) - xhat mean(g xhat)), g = gamma dy; the term mean(g) can be left out.
Arguments layer_norm_vjp(const Arguments& in, const Values& dy, bool with_mean) {
  const Values &x = in[0], &gamma = in[1];
  const Index width = gamma.size();
  const auto n = static_cast<double>(width);
  Arguments d{Values(x.size()), Values(width), Values(width)};
  for (Index r = 0; r < x.size(); r += width) {
    const Row row = statistics(&x[r], width);
    double mean_g = 0, mean_gx = 0;
    for (Index c = 0; c < width; ++c) {
      const double hat = (x[r + c] - row.mean) * row.rstd;
      mean_g += gamma[c] * dy[r + c] / n;
      mean_gx += gamma[c] * dy[r + c] * hat / n;
      d[1][c] += hat * dy[r + c];
      d[2][c] += dy[r + c];
    }
    for (Index c = 0; c < width; ++c) {
      const double hat = (x[r + c] - row.mean) * row.rstd;
      const double g = gamma[c] * dy[r + c];
      d[0][r + c] = row.rstd * (g - (with_mean ? mean_g : 0) - hat * mean_gx);
    }
  }
  return d;
}

Case layer_norm(Index rows, Index width, double scale, std::uint64_t seed = 3) {
  const auto r = static_cast<std::int64_t>(rows), w = static_cast<std::int64_t>(width);
  return {"layer_norm",
          {{"x", {r, w}, random_values(rows * width, seed, scale)},
           {"gamma", {w}, random_values(width, seed + 1)},
           {"beta", {w}, random_values(width, seed + 2)}},
          [](const Arguments& in) {
            const Index n = in[1].size();
            Values y(in[0].size());
            for (Index i = 0; i < y.size(); ++i) {
              const Row row = statistics(&in[0][i - i % n], n);
              y[i] = in[1][i % n] * (in[0][i] - row.mean) * row.rstd + in[2][i % n];
            }
            return y;
          },
          [](const Arguments& in, const Values& dy) { return layer_norm_vjp(in, dy, true); }};
}

/// C = A B, [m,k] x [k,n]; da = dC Bᵀ, db = Aᵀ dC.
Case matmul(Index m, Index k, Index n, std::uint64_t seed = 5) {
  const auto axis = [](Index i) { return static_cast<std::int64_t>(i); };
  return {"matmul",
          {{"a", {axis(m), axis(k)}, random_values(m * k, seed)},
           {"b", {axis(k), axis(n)}, random_values(k * n, seed + 1)}},
          [m, k, n](const Arguments& in) {
            Values c(m * n);
            for (Index i = 0; i < m; ++i) {
              for (Index j = 0; j < n; ++j) {
                for (Index p = 0; p < k; ++p) c[i * n + j] += in[0][i * k + p] * in[1][p * n + j];
              }
            }
            return c;
          },
          [m, k, n](const Arguments& in, const Values& dy) {
            Values da(m * k), db(k * n);
            for (Index i = 0; i < m; ++i) {
              for (Index j = 0; j < n; ++j) {
                for (Index p = 0; p < k; ++p) {
                  da[i * k + p] += dy[i * n + j] * in[1][p * n + j];
                  db[p * n + j] += dy[i * n + j] * in[0][i * k + p];
                }
              }
            }
            return Arguments{da, db};
          }};
}

double cube(double x) { return x * x * x; }
double d_cube(double x) { return 3 * x * x; }
double relu(double x) { return x > 0 ? x : 0; }
double sigma(double x) { return x > 0 ? 1 : 0; }
double half_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 0.5); }
double two_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 2); }
double absolute(double x) { return std::abs(x); }
double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }
double logarithm(double x) { return std::log(x); }
double reciprocal(double x) { return 1 / x; }
double flat(double) { return 0; }
double half(double) { return 0.5; }
double heaviside(double x) { return x >= 0 ? 1 : 0; }
double root(double x) { return std::sqrt(x); }
double d_root(double x) { return 0.5 / std::sqrt(x); }
double wave(double x) { return std::sin(300 * x); }
double d_wave(double x) { return 300 * std::cos(300 * x); }
double on_a_hill(double x) { return 1e12 + x; }
double one(double) { return 1; }

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double d_gelu(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * density;
}

bool mentions(const Report& report, const std::string& words) {
  return report.text().find(words) != std::string::npos;
}

Index longest_line(const std::string& text) {
  std::istringstream in(text);
  Index longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

using At = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("raw: right gradients pass", "[check][raw]") {
  for (const Case& c : {softmax(2, 5, random_values(10, 1)), layer_norm(3, 5, 1), matmul(2, 3, 5),
                        softmax(2, 3, random_values(6, 2, 0.005)), layer_norm(2, 7, 0.005),
                        elementwise("gelu", {-3, -1, 0, 1e-3, 0.7, 4}, gelu, d_gelu),
                        elementwise("cube", {-1.5, -1e-4, 0, 0.01, 2}, cube, d_cube),
                        elementwise("cube of zeros", {0, 0}, cube, d_cube),
                        elementwise("log near 0", {1e-5, 3e-3, 1, 1}, logarithm, reciprocal),
                        elementwise("sqrt near 0", {1e-6, 1, 2}, root, d_root),
                        elementwise("fast wave", {0.3, 1, -2}, wave, d_wave),
                        elementwise("relu near 0", {1e-4, -1e-6, 1, -1}, relu, sigma)}) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report);
    CHECK(report.findings.empty());
    CHECK(report.counts.forward > 0);
    CHECK(longest_line(report.text()) <= 76);
  }
}

TEST_CASE("raw: no false alarm on many random right cases", "[check][raw]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Options options;
    options.seed = seed;
    // 0.001 … 10. With inputs in the hundreds a softmax can saturate until all its derivatives are
    // the rounding of 1, and inconclusive is the right answer.
    const double scale = std::pow(10.0, static_cast<double>(seed % 5) - 3);
    for (const Case& c : {softmax(2, 4, random_values(8, seed, scale)),
                          layer_norm(2, 3, scale, seed), matmul(2, 1, 3, seed),
                          elementwise("gelu", random_values(4, seed, scale), gelu, d_gelu)}) {
      const Report report = run(c, options);
      CAPTURE(seed, scale, report.text());
      CHECK(report);
    }
  }
}

TEST_CASE("raw: no fault of one part in a million escapes", "[check][raw]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Options options;
    options.seed = seed;
    const double scale = std::pow(10.0, static_cast<double>(seed % 4) - 3);
    for (const Case& c : {softmax(2, 4, random_values(8, seed, scale)),
                          layer_norm(2, 3, scale, seed), matmul(2, 1, 3, seed)}) {
      Random random(seed);
      const auto k = static_cast<Index>(random.below(static_cast<std::int64_t>(c.inputs.size())));
      const auto fault = [k, seed](Arguments& dx, const Arguments&, const Values&) {
        // Alternately all elements of one input, and only the one with the largest gradient.
        Values& d = dx[k];
        const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
        if (seed % 2 == 0) {
          for (double& v : d) v *= 1 + 1e-6;
        } else {
          *std::max_element(d.begin(), d.end(), smaller) *= 1 + 1e-6;
        }
      };
      const Report report = run_spoiled(c, fault, options);
      CAPTURE(seed, k, report.text());
      CHECK(report.verdict == Verdict::fail);
      REQUIRE_FALSE(report.findings.empty());
      CHECK(report.findings[0].input == k);
    }
  }
}

TEST_CASE("raw: smooth points cost six calls an element", "[check][raw]") {
  const Report report = run(matmul(2, 3, 5));
  CHECK(report.counts.forward == 2 + 6 * (6 + 15));
  CHECK(report.counts.vjp == 1 + 10 + 3);  // zeros, all rows, three weighted sums
}

TEST_CASE("raw: planted faults fail and are found", "[check][raw]") {
  const Case norm = layer_norm(3, 5, 1);
  const Case product = matmul(3, 3, 3);
  const auto times = [](Index k, double factor) {
    return [k, factor](Arguments& dx, const Arguments&, const Values&) {
      for (double& v : dx[k]) v *= factor;
    };
  };
  struct Fault {
    const char* name;
    const Case* subject;
    Spoil spoil;
    Index input;
    std::int64_t wrong;  // elements
  };
  const Fault faults[] = {
      {"sign", &norm, times(0, -1), 0, 15},
      {"twice", &norm, times(1, 2), 1, 5},
      {"a little", &norm, times(2, 1 + 1e-6), 2, 5},
      {"a little in the product", &product, times(1, 1 + 1e-6), 1, 9},
      {"zero", &product, times(0, 0), 0, 9},
      {"missing mean", &norm,
       [](Arguments& dx, const Arguments& in, const Values& dy) {
         dx = layer_norm_vjp(in, dy, false);
       }, 0, 15},
      {"transposed", &product,
       [](Arguments& dx, const Arguments&, const Values&) {
         for (Index i = 0; i < 3; ++i) {
           for (Index j = 0; j < i; ++j) std::swap(dx[1][i * 3 + j], dx[1][j * 3 + i]);
         }
       }, 1, 6},
      {"swapped", &product,
       [](Arguments& dx, const Arguments&, const Values&) { std::swap(dx[0], dx[1]); }, 0, 9},
      {"last element", &norm,
       [](Arguments& dx, const Arguments&, const Values&) { dx[0].back() = 0; }, 0, 1},
      {"NaN", &norm,
       [](Arguments& dx, const Arguments&, const Values&) { dx[1][4] = nan_value; }, 1, 1},
      {"positive part of dy only", &norm,
       [](Arguments& dx, const Arguments& in, const Values& dy) {
         Values positive = dy;
         for (double& v : positive) v = std::max(v, 0.0);
         dx[2] = layer_norm_vjp(in, positive, true)[2];
       }, 2, 5},
  };
  for (const Fault& fault : faults) {
    const Report report = run_spoiled(*fault.subject, fault.spoil);
    CAPTURE(fault.name, report.text());
    CHECK(report.verdict == Verdict::fail);
    CHECK_FALSE(report);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].input == fault.input);
    CHECK(report.inputs[fault.input].wrong == fault.wrong);
    CHECK(longest_line(report.text()) <= 76);
  }
}

TEST_CASE("raw: one wrong element is named with its output", "[check][raw]") {
  Options options;
  options.output_shape = {2, 5};
  const Spoil spoil = [](Arguments& dx, const Arguments& in, const Values& dy) {
    dx[1][2 * 5 + 3] += 0.25 * in[0][1 * 3 + 2] * dy[1 * 5 + 3];  // b[2,3], through out[1,3] only
  };
  const Report report = run_spoiled(matmul(2, 3, 5), spoil, options);
  CAPTURE(report.text());
  REQUIRE(report.findings.size() == 1);
  const Finding& finding = report.findings[0];
  CHECK(finding.kind == Kind::element);
  CHECK(finding.input == 1);
  CHECK(finding.input_name == "b");
  CHECK(finding.at == At{2, 3});
  CHECK(finding.output == At{1, 3});
  const double a = matmul(2, 3, 5).inputs[0].values[1 * 3 + 2];
  CHECK(std::abs(finding.numeric - a) < 1e-10);
  CHECK(std::abs(finding.analytic - 1.25 * a) < 1e-10);
  CHECK(finding.allowed < 1e-6);
  CHECK(mentions(report, "d out[1,3] / d b[2,3]"));
  CHECK(mentions(report, "GRADCHECK FAIL  matmul"));
  CHECK(mentions(report, "input 0 'a' [2,3]: ok"));
}

TEST_CASE("raw: an ignored upstream gradient is found", "[check][raw]") {
  const Case c = elementwise("cube", {0.5, 2}, cube, d_cube);
  const Spoil ignore = [](Arguments& dx, const Arguments& in, const Values&) {
    for (Index i = 0; i < dx[0].size(); ++i) dx[0][i] = d_cube(in[0][i]);
  };
  const Report report = run_spoiled(c, ignore);
  CAPTURE(report.text());
  CHECK(report.verdict == Verdict::fail);
  REQUIRE_FALSE(report.findings.empty());
  CHECK(report.findings[0].kind == Kind::zero_upstream);

  // The same where the output is a single number, which dy = 1 would hide.
  const Case sum{"sum", {{"x", {2}, {1, 2}}},
                 [](const Arguments& in) { return Values{in[0][0] + in[0][1]}; },
                 [](const Arguments&, const Values&) { return Arguments{{1, 1}}; }};
  CHECK(run(sum).verdict == Verdict::fail);
  CHECK(run(sum).inputs[0].wrong == 2);
}

TEST_CASE("raw: missing values and gradients are structural", "[check][raw]") {
  const Case norm = layer_norm(2, 3, 1);
  const Report shorter = run_spoiled(
      norm, [](Arguments& dx, const Arguments&, const Values&) { dx[1].pop_back(); });
  CAPTURE(shorter.text());
  CHECK(shorter.verdict == Verdict::fail);
  REQUIRE(shorter.findings.size() == 1);
  CHECK(shorter.findings[0].kind == Kind::structure);
  CHECK(shorter.findings[0].input_name == "gamma");
  CHECK(mentions(shorter, "has 2 values, the input has 3"));
  const Report fewer = run_spoiled(
      norm, [](Arguments& dx, const Arguments&, const Values&) { dx.pop_back(); });
  CHECK(fewer.verdict == Verdict::fail);
  CHECK(mentions(fewer, "2 gradients for 3 inputs"));
}

TEST_CASE("raw: kinks", "[check][raw]") {
  const Values x{0, 1, -1};
  for (const Case& c : {elementwise("relu", x, relu, sigma),
                        elementwise("relu", x, relu, half_at_zero),
                        elementwise("abs", x, absolute, sign),
                        elementwise("abs", {0, 0, 0}, absolute, sign)}) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report);
    CHECK(report.inputs[0].kinks >= 1);
    CHECK(mentions(report, "lie at a kink, the first at [0]"));
  }
  const Report outside = run(elementwise("relu", x, relu, two_at_zero));
  CAPTURE(outside.text());
  CHECK(outside.verdict == Verdict::fail);
  CHECK(outside.inputs[0].wrong == 1);
  REQUIRE(outside.findings.size() == 1);
  CHECK(outside.findings[0].at == At{0});
  CHECK(mentions(outside, "from 0 to 1 would be right"));

  SECTION("a kink nearby is not a kink") {
    const Report half_near = run(elementwise("relu", {1e-5, 1}, relu, half));
    CHECK(half_near.inputs[0].wrong == 2);
    CHECK(half_near.inputs[0].kinks == 0);
  }
}

TEST_CASE("raw: what cannot be seen is inconclusive", "[check][raw]") {
  const auto inconclusive = [](const Case& c) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK_FALSE(report);
    CHECK(longest_line(report.text()) <= 76);
    return report;
  };
  CHECK(mentions(inconclusive(elementwise("log", {-1, 2}, logarithm, reciprocal)),
                 "forward gives"));
  inconclusive(elementwise("sqrt at the edge", {0, 1}, root, d_root));
  inconclusive(elementwise("jump", {0, 1}, heaviside, flat));
  inconclusive(elementwise("rounded away", {1, 2}, on_a_hill, one));
  inconclusive(elementwise("NaN given", {nan_value, 1}, cube, d_cube));
  inconclusive(elementwise("infinity given", {infinity, 1}, relu, sigma));

  Case c = elementwise("random", {1, 2}, cube, d_cube);
  auto calls = std::make_shared<int>(0);
  c.forward = [calls](const Arguments& in) { return Values{in[0][0] + 1e-9 * ++*calls}; };
  CHECK(mentions(inconclusive(c), "different values"));
  c.forward = [](const Arguments&) -> Values { throw std::runtime_error("out of cheese"); };
  CHECK(mentions(inconclusive(c), "forward throws: out of cheese"));
  c.forward = [](const Arguments& in) { return Values(in[0][0] > 1 ? 3U : 2U, 0.0); };
  CHECK(mentions(inconclusive(c), "close by"));

  SECTION("a failure elsewhere is still a failure") {
    CHECK(run(elementwise("log", {-1, 2}, logarithm, one)).verdict == Verdict::fail);
  }
}

TEST_CASE("raw: a function that does not depend on its input", "[check][raw]") {
  const auto constant = [](const Arguments&) { return Values{5, 1e6}; };
  const auto none = [](const Arguments&, const Values&) { return Arguments{{0, 0, 0}}; };
  const Report report = check_vjp("constant", constant, none, std::vector<Values>{{1, 2, 3}});
  CAPTURE(report.text());
  CHECK(report);
  CHECK(mentions(report, "every measured derivative is 0"));
  const auto some = [](const Arguments&, const Values& dy) { return Arguments{{0, dy[0], 0}}; };
  CHECK(check_vjp("constant", constant, some, std::vector<Values>{{1, 2, 3}}).verdict ==
        Verdict::fail);
  // Exactly 0 to the left of -9, where the derivative is not yet.
  const Case underflow = elementwise("gelu", {-10, -12}, gelu, d_gelu);
  CHECK(underflow.forward({{-10, -12}}) == Values{0, 0});
  CHECK(run(underflow));
  const auto all_ones = [](const Arguments&, const Values& dy) { return Arguments{dy}; };
  CHECK(check_vjp("gelu", underflow.forward, all_ones, underflow.inputs).inputs[0].wrong == 2);
  // The sum of a softmax is 1 but for rounding.
  Case c = softmax(1, 4, random_values(4, 9));
  c.forward = [](const Arguments& in) {
    const Values y = softmax_rows(in[0], in[0].size());
    return Values{y[0] + y[1] + y[2] + y[3]};
  };
  c.vjp = [](const Arguments& in, const Values&) { return Arguments{Values(in[0].size())}; };
  CHECK(run(c));
  CHECK(mentions(run(c), "every measured derivative is 0"));
}

TEST_CASE("raw: large outputs are sampled, and a fault is traced to its output", "[check][raw]") {
  const Case c = matmul(20, 3, 10);
  const Report right = run(c);
  CAPTURE(right.text());
  CHECK(right);
  CHECK(right.counts.vjp == 1 + 16 + 3);
  CHECK(mentions(right, "16 of its 200 rows"));

  for (Index output : {Index{0}, Index{77}, Index{199}}) {
    const Spoil spoil = [output](Arguments& dx, const Arguments&, const Values& dy) {
      dx[1][4] += 1e-3 * dy[output];
    };
    const Report report = run_spoiled(c, spoil);
    CAPTURE(output, report.text());
    CHECK(report.verdict == Verdict::fail);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == Kind::element);
    CHECK(report.findings[0].at == At{0, 4});
    CHECK(report.findings[0].output == At{static_cast<std::int64_t>(output)});
  }
  // A permuted gradient, which one positive projection cannot tell from the right one.
  const Spoil roll = [](Arguments& dx, const Arguments&, const Values&) {
    std::rotate(dx[0].begin(), dx[0].begin() + 1, dx[0].end());
  };
  CHECK(run_spoiled(c, roll).inputs[0].wrong == 60);
  Options full;
  full.mode = Mode::full;
  CHECK(run(c, full).counts.vjp == 1 + 200 + 3);
}

TEST_CASE("raw: inputs that are not differentiable, empty, single", "[check][raw]") {
  const Case pick{"pick", {{"x", {3}, {1, 2, 3}}, {"index", {}, {2}, false}},
                  [](const Arguments& in) { return Values{in[0][static_cast<Index>(in[1][0])]}; },
                  [](const Arguments&, const Values& dy) { return Arguments{{0, 0, dy[0]}, {}}; }};
  const Report report = run(pick);
  CAPTURE(report.text());
  CHECK(report);
  CHECK(mentions(report, "not differentiable, left out"));

  const Case empty{"empty", {{"x", {0, 4}, {}}}, [](const Arguments&) { return Values{}; },
                   [](const Arguments&, const Values&) { return Arguments{Values{}}; }};
  CHECK(run(empty));
  CHECK(mentions(run(empty), "nothing to compare"));
}

TEST_CASE("raw: a wrong call throws", "[check][raw]") {
  const Case c = elementwise("cube", {1, 2}, cube, d_cube);
  const auto with = [&c](const Input& input) {
    return check_vjp("c", c.forward, c.vjp, {input});
  };
  CHECK_THROWS_AS(with({"x", {3}, {1, 2}}), BadInput);
  CHECK_THROWS_AS(with({"x", {-1, -2}, {1, 2}}), BadInput);
  CHECK_THROWS_AS(with({"x", {2}, {1, 2}, false}), BadInput);
  CHECK_THROWS_AS(check_vjp("c", c.forward, c.vjp, std::vector<Input>{}), BadInput);
  Options options;
  options.output_shape = {3};
  CHECK_THROWS_AS(run(c, options), BadInput);
}

TEST_CASE("raw: the same seed gives the same report", "[check][raw]") {
  const Spoil spoil = [](Arguments& dx, const Arguments&, const Values&) { dx[0][1] = 7; };
  const auto text = [&](std::uint64_t seed) {
    Options options;
    options.seed = seed;
    return run_spoiled(layer_norm(2, 3, 1), spoil, options).text();
  };
  CHECK(text(1) == text(1));
  CHECK(text(1) != text(2));
  Random random(1234567);  // the published first value of splitmix64 for this seed
  CHECK(random.next() == 6457827717110365317ULL);
  for (int i = 0; i < 1000; ++i) {
    const double w = std::abs(random.upstream());
    CHECK((w >= 1.5 && w < 2.5));
  }
}

TEST_CASE("raw: differences reach their accuracy and know it", "[check][raw]") {
  // Six points lose 1.8 half-ulps of f over h: 1e-13 for f and x about 1 (h = 2⁻⁹).
  const Line line = [](double t) { return Values{std::exp(t), std::sin(3 * t)}; };
  for (double x : {-1.0, 0.3, 1.7}) {
    const std::vector<Slope> slopes = column(line, x, unit_of(x, 1), line(x), Goal{});
    const double right[] = {std::exp(x), 3 * std::cos(3 * x)};
    for (Index i = 0; i < 2; ++i) {
      const double error = std::abs(slopes[i].value - right[i]);
      CHECK(error <= 1e-11);
      CHECK(error <= 20 * slopes[i].estimate());
      CHECK(slopes[i].estimate() <= 1e-9);
      CHECK_FALSE(slopes[i].kink);
    }
  }
}

TEST_CASE("raw: NaN never passes the rule", "[check][raw]") {
  Slope n;
  CHECK(judge(0, n, 1, {}).verdict == Verdict::inconclusive);
  n.value = 1;
  CHECK(judge(1, n, 1, {}).verdict == Verdict::pass);
  CHECK(judge(1 + 2e-7, n, 1, {}).verdict == Verdict::fail);
  CHECK(judge(nan_value, n, 1, {}).verdict == Verdict::fail);
  CHECK(judge(infinity, n, 1, {}).verdict == Verdict::fail);
  n.noise = 1e-2;  // 20 times that is a fifth of n
  CHECK(judge(1, n, 1, {}).verdict == Verdict::inconclusive);
  n.noise = infinity;
  CHECK(judge(1, n, 1, {}).verdict == Verdict::inconclusive);
}
