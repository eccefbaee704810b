// Defines functions with correct derivatives, and runs the checker on them.
#include <algorithm>
#include <sstream>
#include <utility>

#include "gradus/check/raw/pullback.h"
#include "gradus/tests/check/raw_cases.h"

namespace gradus::raw_cases {

Report run(const std::string& name, const Functions& functions, const std::vector<Input>& inputs,
           const Options& options) {
  return check_vjp(name, functions, inputs, options);
}

Report run(const Case& c, const Options& options) {
  return run(c.name, {c.forward, c.vjp}, c.inputs, options);
}

Report run_spoiled(Case c, const Spoil& spoil, const Options& options) {
  const Derivative right = c.vjp;
  c.vjp = [right, spoil](const Arguments& in, const Values& dy) {
    Arguments dx = right(in, dy);
    spoil(dx, in, dy);
    return dx;
  };
  return run(c, options);
}

Report run_on(const Domains& domains, const Functions& functions, const std::vector<Input>& inputs,
              const Options& options) {
  return check_on("f", functions, inputs, domains, options);
}

Report scalar(const std::string& name, const std::function<double(const Arguments&)>& f,
              const std::function<Arguments(const Arguments&)>& gradient, const Arguments& x,
              const Dims& shape) {
  std::vector<Input> inputs;
  for (const Values& values : x) inputs.push_back({{}, shape, values});
  return run(name,
             {[f](const Arguments& in) { return Values{f(in)}; },
              [gradient](const Arguments& in, const Values& dy) {
                Arguments dx = gradient(in);
                for (Values& part : dx) part = scaled(part, dy[0]);
                return dx;
              }},
             inputs);
}

Values random_values(Index count, std::uint64_t seed, double scale) {
  Random random(seed);
  Values result(count);
  for (double& v : result) v = scale * random.between(-2, 2);
  return result;
}

Case elementwise(const std::string& name, Values x, double (*f)(double), double (*df)(double)) {
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

constexpr double kEps = 1e-5;

Row statistics(const double* x, Index width) {
  Row row;
  double variance = 0;
  for (Index c = 0; c < width; ++c) row.mean += x[c] / static_cast<double>(width);
  for (Index c = 0; c < width; ++c) {
    variance += (x[c] - row.mean) * (x[c] - row.mean) / static_cast<double>(width);
  }
  row.rstd = 1 / std::sqrt(variance + kEps);
  return row;
}

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

Case layer_norm(Index rows, Index width, double scale, std::uint64_t seed) {
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

Case matmul(Index m, Index k, Index n, std::uint64_t seed) {
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

Index longest_line(const std::string& text) {
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

}  // namespace gradus::raw_cases
