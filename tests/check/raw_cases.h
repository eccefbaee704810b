// Functions with their right gradients, and ways to spoil them, for the tests of the raw checker.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/vjp_check.h"

namespace gradus::raw_cases {

using namespace check;
using check::Shape;
using Options = RawOptions;

using Index = std::size_t;
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

inline Values squares(const Values& x) {
  Values y;
  for (const double v : x) y.push_back(v * v);
  return y;
}
inline Values squares_vjp(const Values& x, const Values& dy) {
  Values dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(2 * x[i] * dy[i]);
  return dx;
}

struct Case {
  std::string name;
  std::vector<Input> inputs;
  Forward forward;
  Derivative vjp;
};

inline Report run(const Case& c, const Options& options = {}) {
  return check_vjp(c.name, {c.forward, c.vjp}, c.inputs, options);
}

/// A case whose gradients are changed after the right ones are known: [input][element].
using Spoil = std::function<void(Arguments& dx, const Arguments& in, const Values& dy)>;

inline Report run_spoiled(Case c, const Spoil& spoil, const Options& options = {}) {
  const Derivative right = c.vjp;
  c.vjp = [right, spoil](const Arguments& in, const Values& dy) {
    Arguments dx = right(in, dy);
    spoil(dx, in, dy);
    return dx;
  };
  return run(c, options);
}

inline Values random_values(Index count, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  Values result(count);
  for (double& v : result) v = scale * random.between(-2, 2);
  return result;
}

/// One elementwise function with its derivative.
inline Case elementwise(const std::string& name, Values x, double (*f)(double),
                        double (*df)(double)) {
  const auto size = static_cast<std::int64_t>(x.size());
  return {name,
          {{"x", {size}, std::move(x)}},
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
inline Values softmax_rows(const Values& x, Index width) {
  Values y(x.size());
  for (Index r = 0; r < x.size(); r += width) {
    double most = -infinity, sum = 0;
    for (Index c = 0; c < width; ++c) most = std::max(most, x[r + c]);
    for (Index c = 0; c < width; ++c) sum += std::exp(x[r + c] - most);
    for (Index c = 0; c < width; ++c) y[r + c] = std::exp(x[r + c] - most) / sum;
  }
  return y;
}

inline Case softmax(Index rows, Index width, Values x) {
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

inline constexpr double norm_eps = 1e-5;

struct Row {
  double mean = 0, rstd = 0;
};

inline Row statistics(const double* x, Index width) {
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
inline Arguments layer_norm_vjp(const Arguments& in, const Values& dy, bool with_mean) {
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

inline Case layer_norm(Index rows, Index width, double scale, std::uint64_t seed = 3) {
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
inline Case matmul(Index m, Index k, Index n, std::uint64_t seed = 5) {
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

inline double cube(double x) { return x * x * x; }
inline double d_cube(double x) { return 3 * x * x; }
inline double relu(double x) { return x > 0 ? x : 0; }
inline double sigma(double x) { return x > 0 ? 1 : 0; }
inline double half_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 0.5); }
inline double two_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 2); }
inline double absolute(double x) { return std::abs(x); }
inline double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }
inline double logarithm(double x) { return std::log(x); }
inline double reciprocal(double x) { return 1 / x; }
inline double flat(double) { return 0; }
inline double half(double) { return 0.5; }
inline double heaviside(double x) { return x >= 0 ? 1 : 0; }
inline double root(double x) { return std::sqrt(x); }
inline double d_root(double x) { return 0.5 / std::sqrt(x); }
inline double wave(double x) { return std::sin(300 * x); }
inline double d_wave(double x) { return 300 * std::cos(300 * x); }
inline double on_a_hill(double x) { return 1e12 + x; }
inline double one(double) { return 1; }

inline double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
inline double d_gelu(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * density;
}

inline bool mentions(const Report& report, const std::string& words) {
  return report.text().find(words) != std::string::npos;
}

/// In characters: a byte 10xxxxxx of UTF-8 continues one.
inline Index longest_line(const std::string& text) {
  std::istringstream in(text);
  Index longest = 0;
  for (std::string line; std::getline(in, line);) {
    const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
    longest = std::max(longest, static_cast<Index>(characters));
  }
  return longest;
}

inline bool ends_a_line_with_a_blank(const std::string& text) {
  return text.find(" \n") != std::string::npos;
}

using At = std::vector<std::int64_t>;

}  // namespace gradus::raw_cases
