#include <cmath>
#include <vector>

#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

constexpr Index kRows = 3, kWidth = 5;
const At kShape = {kRows, kWidth};

Case softmax_case() { return softmax(kRows, kWidth, plain_values(kRows * kWidth)); }

/// y = x - log Σ eˣ, dx = dy - eʸ Σ dy.
Case log_softmax_case() {
  Case c = softmax_case();
  c.name = "log_softmax";
  c.forward = [](const Arguments& in) {
    Values y = softmax_rows(in[0], kWidth);
    for (double& v : y) v = std::log(v);
    return y;
  };
  c.vjp = [](const Arguments& in, const Values& dy) {
    const Values p = softmax_rows(in[0], kWidth);
    Values dx = dy;
    for (Index i = 0; i < dx.size(); ++i) {
      for (Index c = 0; c < kWidth; ++c) dx[i] -= p[i] * dy[i - i % kWidth + c];
    }
    return Arguments{dx};
  };
  return c;
}

/// y = x / rms(x) · w
Arguments rms_vjp(const Arguments& in, const Values& dy, bool with_term) {
  Arguments d{Values(in[0].size(), 0.0), Values(kWidth, 0.0)};
  for (Index r = 0; r < in[0].size(); r += kWidth) {
    double square = 1e-5, dot = 0;
    for (Index c = 0; c < kWidth; ++c) square += in[0][r + c] * in[0][r + c] / kWidth;
    const double scale = 1 / std::sqrt(square);
    for (Index c = 0; c < kWidth; ++c) dot += dy[r + c] * in[1][c] * in[0][r + c] / kWidth;
    for (Index c = 0; c < kWidth; ++c) {
      d[0][r + c] = scale * dy[r + c] * in[1][c];
      if (with_term) d[0][r + c] -= in[0][r + c] * scale * scale * scale * dot;
      d[1][c] += dy[r + c] * in[0][r + c] * scale;
    }
  }
  return d;
}

Case rms_norm_case() {
  return {
      "rms_norm",
      {{"x", kShape, plain_values(kRows * kWidth, 2)}, {"w", {kWidth}, plain_values(kWidth, 3)}},
      [](const Arguments& in) {
        Values y(in[0].size());
        for (Index i = 0; i < y.size(); ++i) {
          double square = 1e-5;
          for (Index c = 0; c < kWidth; ++c) {
            square += in[0][i - i % kWidth + c] * in[0][i - i % kWidth + c] / kWidth;
          }
          y[i] = in[0][i] / std::sqrt(square) * in[1][i % kWidth];
        }
        return y;
      },
      [](const Arguments& in, const Values& dy) { return rms_vjp(in, dy, true); }};
}

/// dx = y (dy - share · Σ y dy). If `sum_goes_on`, the sum is not reset between rows.
Spoil softmax_with(double share, bool with_y, bool sum_goes_on) {
  return instead(0, [=](const Arguments& in, const Values& dy) {
    const Values y = softmax_rows(in[0], kWidth);
    Values dx(y.size());
    double dot = 0;
    for (Index r = 0; r < y.size(); r += kWidth) {
      if (!sum_goes_on) dot = 0;
      for (Index c = 0; c < kWidth; ++c) dot += y[r + c] * dy[r + c];
      for (Index c = 0; c < kWidth; ++c) {
        dx[r + c] = (with_y ? y[r + c] : 1) * (dy[r + c] - share * dot);
      }
    }
    return dx;
  });
}

/// The gradient of layer_norm with faults. A share multiplies one of its two mean terms: 1 keeps
/// the entire term.
Spoil norm_with(double mean_share, double hat_share, bool with_rstd, bool with_gamma) {
  return instead(0, [=](const Arguments& in, const Values& dy) {
    Values dx(dy.size());
    for (Index r = 0; r < dy.size(); r += kWidth) {
      const Row row = statistics(&in[0][r], kWidth);
      double mean_g = 0, mean_gx = 0;
      for (Index c = 0; c < kWidth; ++c) {
        const double g = (with_gamma ? in[1][c] : 1) * dy[r + c];
        mean_g += g / kWidth;
        mean_gx += g * (in[0][r + c] - row.mean) * row.rstd / kWidth;
      }
      for (Index c = 0; c < kWidth; ++c) {
        const double g = (with_gamma ? in[1][c] : 1) * dy[r + c];
        const double hat = (in[0][r + c] - row.mean) * row.rstd;
        dx[r + c] =
            (with_rstd ? row.rstd : 1) * (g - mean_share * mean_g - hat_share * hat * mean_gx);
      }
    }
    return dx;
  });
}

}  // namespace

std::vector<FaultyOp> faulty_norm() {
  const Case norm = layer_norm(kRows, kWidth, 1);
  const auto rows_of = [](Index k, Index first, Index last, double factor) {
    return instead(k, [=](const Arguments& in, const Values& dy) {
      Values part(dy.size(), 0.0);
      for (Index i = first * kWidth; i < last * kWidth; ++i) part[i] = factor * dy[i];
      return layer_norm_vjp(in, part, true)[k];
    });
  };
  const Spoil skip_last_column = each(0, [](double v, Index i) { return i % kWidth == 4 ? 0 : v; });
  const Spoil transposed = [](Arguments& dx, const Arguments&, const Values&) {
    const Values right = dx[0];
    for (Index r = 0; r < kRows; ++r) {
      for (Index c = 0; c < kWidth; ++c) dx[0][c * kRows + r] = right[r * kWidth + c];
    }
  };
  return {
      {"softmax, no dot", softmax_case(), softmax_with(0, true, false), "MISSING TERM", 0, kShape},
      {"softmax, mean for sum", softmax_case(), softmax_with(0.2, true, false), "MISSING TERM", 0,
       kShape},
      {"softmax, term twice", softmax_case(), softmax_with(2, true, false), "MISSING TERM", 0,
       kShape},
      {"softmax, term added", softmax_case(), softmax_with(-1, true, false), "MISSING TERM", 0,
       kShape},
      {"softmax, no y", softmax_case(), softmax_with(1, false, false), "FACTOR", 0, kShape},
      {"softmax, sum not reset", softmax_case(), softmax_with(1, true, true), "LEAK", 0, kShape},
      {"softmax, sign", softmax_case(), each(0, [](double v, Index) { return -v; }), "SIGN", 0,
       kShape},
      {"softmax, layout", softmax_case(), transposed, "TRANSPOSED", 0, kShape},
      {"softmax, last column", softmax_case(), skip_last_column, "LEFT OUT", 0, kShape},
      {"log_softmax, dy only", log_softmax_case(),
       instead(0, [](const Arguments&, const Values& dy) { return dy; }), "UPSTREAM ONLY", 0,
       kShape},
      {"log_softmax, mean", log_softmax_case(),
       instead(0,
               [](const Arguments& in, const Values& dy) {
                 const Values p = softmax_rows(in[0], kWidth);
                 Values dx = dy;
                 for (Index i = 0; i < dx.size(); ++i) {
                   for (Index c = 0; c < kWidth; ++c) dx[i] -= p[i] * dy[i - i % kWidth + c] / 5;
                 }
                 return dx;
               }),
       "MISSING TERM", 0, kShape},
      {"norm, no mean(g)", norm, norm_with(0, 1, true, true), "MISSING TERM", 0, kShape},
      {"norm, sum for mean(g)", norm, norm_with(5, 1, true, true), "MISSING TERM", 0, kShape},
      {"norm, no mean(g x̂)", norm, norm_with(1, 0, true, true), "MISSING TERM", 0, kShape},
      {"norm, neither", norm, norm_with(0, 0, true, true), "", 0, kShape},
      {"norm, n - 1", norm, norm_with(1.25, 1.25, true, true), "", 0, kShape},
      {"norm, no rstd", norm, norm_with(1, 1, false, true), "FACTOR", 0, kShape},
      {"norm, no gamma", norm, norm_with(1, 1, true, false), "FACTOR", 0, kShape},
      {"norm, dgamma without x̂", norm,
       instead(1, [](const Arguments& in,
                     const Values& dy) { return layer_norm_vjp(in, dy, true)[2]; }),
       "SAME AS ANOTHER", 1, kShape},
      {"norm, dgamma and dbeta", norm,
       [](Arguments& dx, const Arguments&, const Values&) { std::swap(dx[1], dx[2]); }, "SWAPPED",
       1, kShape},
      {"norm, dgamma of one row", norm, rows_of(1, 0, 1, 1), "PARTIAL SUM", 1, kShape},
      {"norm, dbeta of the last row", norm, rows_of(2, 2, 3, 1), "PARTIAL SUM", 2, kShape},
      {"norm, mean over rows", norm, rows_of(2, 0, 3, 1.0 / 3), "SCALE", 2, kShape},
      {"norm, dgamma sign", norm, rows_of(1, 0, 3, -1), "SIGN", 1, kShape},
      {"norm, last row of dx", norm, rows_of(0, 0, 2, 1), "LEFT OUT", 0, kShape},
      {"rms, no term", rms_norm_case(),
       instead(0, [](const Arguments& in, const Values& dy) { return rms_vjp(in, dy, false)[0]; }),
       "MISSING TERM", 0, kShape},
      {"rms, dw twice", rms_norm_case(), each(1, [](double v, Index) { return 2 * v; }), "SCALE", 1,
       kShape},
  };
}

}  // namespace gradus::raw_cases
