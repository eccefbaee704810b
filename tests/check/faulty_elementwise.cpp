#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

double tanh_of(double x) { return std::tanh(x); }
double d_tanh(double x) { return 1 - std::tanh(x) * std::tanh(x); }
double square(double x) { return x * x; }
double d_square(double x) { return 2 * x; }
double exp_of(double x) { return std::exp(x); }
double d_reciprocal(double x) { return -1 / (x * x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double d_sigmoid(double x) { return sigmoid(x) * (1 - sigmoid(x)); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }

/// dx = dy · wrong(x)
Spoil local(double (*wrong)(double)) {
  return instead(0, [wrong](const Arguments& in, const Values& dy) {
    Values dx;
    for (Index i = 0; i < dy.size(); ++i) dx.push_back(dy[i] * wrong(in[0][i]));
    return dx;
  });
}

/// dx = changed(dy) · f(x)
Spoil with_upstream(double (*f)(double), double (*changed)(double)) {
  return instead(0, [f, changed](const Arguments& in, const Values& dy) {
    Values dx;
    for (Index i = 0; i < dy.size(); ++i) dx.push_back(changed(dy[i]) * f(in[0][i]));
    return dx;
  });
}

Case positive(const char* name, double (*f)(double), double (*df)(double)) {
  Values x = plain_values(7);
  for (double& v : x) v = std::abs(v);
  return elementwise(name, x, f, df);
}

}  // namespace

Values plain_values(Index count, std::uint64_t seed) {
  Random random(seed);
  Values result;
  for (Index i = 0; i < count; ++i) {
    const double size = random.between(0.3, 1.7);
    result.push_back(i % 3 == 1 ? -size : size);
  }
  return result;
}

Spoil instead(Index k, const Wrong& wrong) {
  return
      [k, wrong](Arguments& dx, const Arguments& in, const Values& dy) { dx[k] = wrong(in, dy); };
}

Spoil each(Index k, const std::function<double(double, Index)>& f) {
  return [k, f](Arguments& dx, const Arguments&, const Values&) {
    for (Index i = 0; i < dx[k].size(); ++i) dx[k][i] = f(dx[k][i], i);
  };
}

std::vector<FaultyOp> faulty_elementwise() {
  const Case th = elementwise("tanh", plain_values(7), tanh_of, d_tanh);
  const Case sq = elementwise("square", plain_values(7), square, d_square);
  const Case re = elementwise("relu", plain_values(7), relu, sigma);
  const Case ex = elementwise("exp", plain_values(7), exp_of, exp_of);
  const Case sg = elementwise("sigmoid", plain_values(7), sigmoid, d_sigmoid);
  return {
      {"sign", th, each(0, [](double v, Index) { return -v; }), "SIGN"},
      {"twice", th, each(0, [](double v, Index) { return 2 * v; }), "SCALE"},
      {"1e-5 too much", th, each(0, [](double v, Index) { return v * (1 + 1e-5); }), "SCALE"},
      {"nothing", th, each(0, [](double, Index) { return 0.0; }), "NO GRADIENT"},
      {"dy only", th, local([](double) { return 1.0; }), "UPSTREAM ONLY"},
      {"dy ignored", th, with_upstream(d_tanh, [](double) { return 1.0; }), "UPSTREAM IGNORED"},
      {"|dy|", th, with_upstream(d_tanh, [](double v) { return std::abs(v); }), "NOT LINEAR"},
      {"dy clipped", th, with_upstream(d_tanh, [](double v) { return std::clamp(v, -9.0, 9.0); }),
       "NOT LINEAR"},
      {"dy squared", th, with_upstream(d_tanh, [](double v) { return v * v; }), "NOT LINEAR"},
      {"positive dy", th, with_upstream(d_tanh, [](double v) { return std::max(v, 0.0); }),
       "NOT LINEAR"},
      {"1 - y", th, local([](double x) { return 1 - std::tanh(x); }), "LOCAL DERIVATIVE"},
      {"1 + y²", th, local([](double x) { return 1 + std::tanh(x) * std::tanh(x); }),
       "LOCAL DERIVATIVE"},
      {"1 - x²", th, local([](double x) { return 1 - x * x; }), "LOCAL DERIVATIVE"},
      {"y for y(1 - y)", sg, local(sigmoid), "LOCAL DERIVATIVE"},
      {"1 - y for y(1 - y)", sg, local([](double x) { return 1 - sigmoid(x); }), "FACTOR"},
      {"y twice", sg, local([](double x) { return d_sigmoid(x) * sigmoid(x); }), "FACTOR"},
      {"sin for cos", elementwise("sin", plain_values(7), sine, cosine), local(sine),
       "LOCAL DERIVATIVE"},
      {"relu, always 1", re, local(one), "UPSTREAM ONLY"},
      {"relu leaks", re, local([](double x) { return x > 0 ? 1 : 0.01; }), "LEAK"},
      {"relu inverted", re, local([](double x) { return x > 0 ? 0.0 : 1.0; }), "LOCAL DERIVATIVE"},
      {"square, x missing", sq, local([](double) { return 2.0; }), "FACTOR"},
      {"square, x²", sq, local([](double x) { return 2 * x * x; }), "FACTOR"},
      {"square, x for 2x", sq, local([](double x) { return x; }), "SCALE"},
      {"square, |2x|", sq, local([](double x) { return std::abs(2 * x); }), "SUBSET"},
      {"cube, 2x²", elementwise("cube", plain_values(7), cube, d_cube),
       local([](double x) { return 2 * x * x; }), "SCALE"},
      {"exp, dy only", ex, local(one), "UPSTREAM ONLY"},
      {"exp, x eˣ", ex, local([](double x) { return x * std::exp(x); }), "FACTOR"},
      {"exp, e²ˣ", ex, local([](double x) { return std::exp(2 * x); }), "FACTOR"},
      {"sqrt, y missing", positive("sqrt", root, d_root), local([](double) { return 0.5; }),
       "FACTOR"},
      {"sqrt, half missing", positive("sqrt", root, d_root),
       local([](double x) { return 1 / std::sqrt(x); }), "SCALE"},
      {"log, x for 1/x", positive("log", logarithm, reciprocal), local([](double x) { return x; }),
       "FACTOR"},
      {"log, 1/x²", positive("log", logarithm, reciprocal),
       local([](double x) { return 1 / (x * x); }), "FACTOR"},
      {"1/x, sign", positive("1/x", reciprocal, d_reciprocal),
       each(0, [](double v, Index) { return -v; }), "SIGN"},
      {"1/x, 1/x for 1/x²", positive("1/x", reciprocal, d_reciprocal),
       local([](double x) { return -1 / x; }), "FACTOR"},
      {"abs, sign missing", elementwise("abs", plain_values(7), absolute, sign), local(one),
       "UPSTREAM ONLY"},
      {"gelu, cubic term", elementwise("gelu", plain_values(7), gelu, d_gelu),
       local([](double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }),
       "LOCAL DERIVATIVE"},
      {"rolled", th,
       [](Arguments& dx, const Arguments&, const Values&) {
         std::rotate(dx[0].begin(), dx[0].begin() + 1, dx[0].end());
       },
       "OFF BY ONE"},
      {"dy read shifted by one", th,
       instead(0,
               [](const Arguments& in, const Values& dy) {
                 Values dx(dy.size(), 0.0);
                 for (Index i = 0; i + 1 < dy.size(); ++i) dx[i] = dy[i + 1] * d_tanh(in[0][i]);
                 return dx;
               }),
       "OFF BY ONE"},
      {"reversed", th,
       [](Arguments& dx, const Arguments&, const Values&) {
         std::reverse(dx[0].begin(), dx[0].end());
       },
       "FLIPPED"},
      {"last one skipped", th, each(0, [](double v, Index i) { return i == 6 ? 0 : v; }),
       "LEFT OUT"},
      {"blocks of 4 only", th, each(0, [](double v, Index i) { return i < 4 ? v : 0; }),
       "LEFT OUT"},
      {"first twice", th, each(0, [](double v, Index i) { return i == 0 ? 2 * v : v; }), "SUBSET"},
      {"negative halved", th,
       [](Arguments& dx, const Arguments& in, const Values&) {
         for (Index i = 0; i < 7; ++i) dx[0][i] *= in[0][i] < 0 ? 0.5 : 1;
       },
       "SUBSET"},
      {"NaN at the end", th, each(0, [](double v, Index i) { return i == 6 ? nan_value : v; }),
       "NOT A NUMBER"},
      {"a constant on top", th, each(0, [](double v, Index) { return v + 0.1; }), "NOT LINEAR"},
  };
}

}  // namespace gradus::raw_cases
