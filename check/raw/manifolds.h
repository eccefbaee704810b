// Implements the manifolds of manifold.h.
#pragma once

#include <array>

#include "gradus/check/raw/manifold.h"

namespace gradus::check {

inline SmallMatrix product(const SmallMatrix& a, const SmallMatrix& b) {
  SmallMatrix c{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
inline Values times(const SmallMatrix& a, const Values& x) {
  return product(a, {x.size(), 1, x}).values;
}

/// Returns B [numbers, dimension] by six-point differences, with an error of a few roundings.
inline SmallMatrix tangent_basis(const Manifold& m, const Values& x) {
  constexpr double h = 0x1p-7;
  constexpr std::array weight{45.0 / 60, -9.0 / 60, 1.0 / 60};
  SmallMatrix b{x.size(), m.dimension(x.size())};
  Values delta(b.columns, 0.0);
  for (std::size_t j = 0; j < b.columns; ++j) {
    for (std::size_t step = 0; step < 3; ++step) {
      delta[j] = static_cast<double>(step + 1) * h;
      const Values up = m.plus(x, delta);
      delta[j] = -delta[j];
      const Values down = m.plus(x, delta);
      for (std::size_t i = 0; i < b.rows; ++i) b(i, j) += weight[step] * (up[i] - down[i]) / h;
    }
    delta[j] = 0;
  }
  return b;
}

/// Returns (BᵀB)⁻¹ v by elimination; BᵀB is positive definite.
inline Values solve_normal(const SmallMatrix& b, Values v) {
  SmallMatrix a = product(transposed(b), b);
  const std::size_t n = v.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a(i, k) / a(k, k);
      for (std::size_t j = k; j < n; ++j) a(i, j) -= factor * a(k, j);
      v[i] -= factor * v[k];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) v[i] -= a(i, j) * v[j];
    v[i] /= a(i, i);
  }
  return v;
}

/// Returns the tangent ambient vector g with Bᵀg = v.
inline Values lifted(const SmallMatrix& b, const Values& v) { return times(b, solve_normal(b, v)); }

inline Values tangent_of(const Manifold& m, const SmallMatrix& b, const Values& y,
                         const Values& x) {
  if (m.minus) return m.minus(y, x);
  Values apart = y;
  for (std::size_t i = 0; i < y.size(); ++i) apart[i] -= x[i];
  return solve_normal(b, times(transposed(b), apart));
}

inline double orthonormal_residual(const SmallMatrix& rows) {
  SmallMatrix gram = product(rows, transposed(rows));
  for (std::size_t i = 0; i < rows.rows; ++i) gram(i, i) -= 1;
  return largest_of(gram.values);
}

/// Returns sin(a)/a, (1 − cos a)/a² and (a − sin a)/a³ for a² = a2, accurate near 0.
inline std::array<double, 3> rotation_factors(double a2) {
  if (a2 < 1e-4)
    return {1 - a2 / 6 * (1 - a2 / 20), 0.5 - a2 / 24 * (1 - a2 / 30),
            1.0 / 6 - a2 / 120 * (1 - a2 / 42)};
  const double a = std::sqrt(a2);
  return {std::sin(a) / a, (1 - std::cos(a)) / a2, (a - std::sin(a)) / (a2 * a)};
}

/// Returns I + p W + q W², where W is the cross product with w.
inline SmallMatrix rotation_series(const double* w, double p, double q) {
  SmallMatrix r{3, 3};
  const SmallMatrix cross{3, 3, {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0}};
  const SmallMatrix squared = product(cross, cross);
  for (std::size_t i = 0; i < 9; ++i)
    r.values[i] = (i % 4 == 0 ? 1 : 0) + p * cross.values[i] + q * squared.values[i];
  return r;
}

inline auto always(std::size_t n) {
  return [n](std::size_t) { return n; };
}

GRADUS_CHECK_INLINE Manifold quaternion() {
  const auto plus = [](const Values& q, const Values& d) {
    const double a2 = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / 4;
    const double s = rotation_factors(a2)[0] / 2, w = std::cos(std::sqrt(a2));
    const double x = s * d[0], y = s * d[1], z = s * d[2];
    return Values{
        q[0] * w - q[1] * x - q[2] * y - q[3] * z, q[0] * x + q[1] * w + q[2] * z - q[3] * y,
        q[0] * y - q[1] * z + q[2] * w + q[3] * x, q[0] * z + q[1] * y - q[2] * x + q[3] * w};
  };
  const auto residual = [](const Values& q) {
    return q.size() == 4 ? orthonormal_residual({1, 4, q}) : 1.0;
  };
  return {"unit quaternions", always(3), plus, {}, residual};
}

GRADUS_CHECK_INLINE Manifold so3() {
  const auto plus = [](const Values& r, const Values& d) {
    const auto [s, c, unused] = rotation_factors(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    return product({3, 3, r}, rotation_series(d.data(), s, c)).values;
  };
  const auto residual = [](const Values& r) {
    if (r.size() != 9) return 1.0;
    const double det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
                       r[2] * (r[3] * r[7] - r[4] * r[6]);
    return std::max(orthonormal_residual({3, 3, r}), std::abs(det - 1));
  };
  return {"rotation matrices", always(3), plus, {}, residual};
}

GRADUS_CHECK_INLINE Manifold se3() {
  const auto rotation = [](const Values& t) {
    return Values{t[0], t[1], t[2], t[4], t[5], t[6], t[8], t[9], t[10]};
  };
  const auto plus = [rotation](const Values& t, const Values& d) {
    const double* w = d.data() + 3;
    const auto [s, c, e] = rotation_factors(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    const SmallMatrix r{3, 3, rotation(t)}, turned = product(r, rotation_series(w, s, c));
    const Values way = times(r, times(rotation_series(w, c, e), {d.begin(), d.begin() + 3}));
    Values result = t;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) result[4 * i + j] = turned(i, j);
      result[4 * i + 3] += way[i];
    }
    return result;
  };
  const auto residual = [rotation](const Values& t) {
    const bool whole = t.size() == 16 && t[12] == 0 && t[13] == 0 && t[14] == 0 && t[15] == 1;
    return whole || t.size() == 12 ? so3().residual(rotation(t)) : 1.0;
  };
  return {"rigid motions", always(6), plus, {}, residual};
}

/// Returns n − rows rows that complete the orthonormal rows of x [rows, n] to a basis. Applies
/// Gram-Schmidt (twice) to the axes.
inline SmallMatrix complement(const SmallMatrix& x) {
  const std::size_t n = x.columns;
  SmallMatrix all = x;
  for (std::size_t axis = 0; axis < n; ++axis) {
    Values v(n, 0.0);
    v[axis] = 1;
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t r = 0; r < all.rows; ++r) {
        double dot = 0;
        for (std::size_t i = 0; i < n; ++i) dot += all(r, i) * v[i];
        for (std::size_t i = 0; i < n; ++i) v[i] -= dot * all(r, i);
      }
    const double norm = rms(v) * std::sqrt(static_cast<double>(n));
    if (norm < 1e-3) continue;
    for (double& value : v) value /= norm;
    all.values.insert(all.values.end(), v.begin(), v.end());
    ++all.rows;
  }
  return {n - x.rows, n,
          Values(all.values.begin() + static_cast<std::ptrdiff_t>(x.rows * n), all.values.end())};
}

/// Returns the nearest orthonormal rows by Newton's iteration.
inline SmallMatrix orthonormal(SmallMatrix rows) {
  for (int step = 0; step < 8; ++step) {
    const SmallMatrix change = product(product(rows, transposed(rows)), rows);
    for (std::size_t i = 0; i < rows.values.size(); ++i)
      rows.values[i] = 1.5 * rows.values[i] - 0.5 * change.values[i];
  }
  return rows;
}

GRADUS_CHECK_INLINE Manifold frame(std::size_t rows, std::size_t count) {
  const auto columns = [=](const Values& x) { return transposed({rows, count, x}); };
  const auto plus = [=](const Values& given, const Values& d) {
    const SmallMatrix x = columns(given);
    const SmallMatrix outside = complement(x);
    SmallMatrix moved = x;
    std::size_t at = 0;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b, ++at)
        for (std::size_t i = 0; i < rows; ++i) {
          moved(b, i) += d[at] * x(a, i);
          moved(a, i) -= d[at] * x(b, i);
        }
    for (std::size_t r = 0; r < outside.rows; ++r)
      for (std::size_t c = 0; c < count; ++c, ++at)
        for (std::size_t i = 0; i < rows; ++i) moved(c, i) += d[at] * outside(r, i);
    return transposed(orthonormal(moved)).values;
  };
  const auto residual = [=](const Values& x) {
    return x.size() == rows * count ? orthonormal_residual(columns(x)) : 1.0;
  };
  const std::string name = joined("frames of ", count, " orthonormal columns");
  const std::size_t free = rows * count - count * (count + 1) / 2;
  return {name, always(free), plus, {}, residual, GradientSpace::embedded};
}

GRADUS_CHECK_INLINE Manifold sphere() {
  return {"the unit sphere",
          [](std::size_t n) { return n - 1; },
          [](const Values& x, const Values& d) { return frame(x.size(), 1).plus(x, d); },
          {},
          [](const Values& x) { return frame(x.size(), 1).residual(x); },
          GradientSpace::embedded};
}

GRADUS_CHECK_INLINE Manifold symmetric() {
  const auto side = [](std::size_t numbers) {
    return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(numbers))));
  };
  const auto dimension = [side](std::size_t n) { return side(n) * (side(n) + 1) / 2; };
  const auto plus = [side](Values x, const Values& d) {
    const std::size_t n = side(x.size());
    for (std::size_t i = 0, at = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j, ++at) {
        x[i * n + j] += d[at];
        if (i != j) x[j * n + i] += d[at];
      }
    return x;
  };
  const auto residual = [side](const Values& x) {
    const std::size_t n = side(x.size());
    if (n * n != x.size()) return 1.0;
    Values apart = transposed({n, n, x}).values;
    for (std::size_t i = 0; i < x.size(); ++i) apart[i] -= x[i];
    return largest_of(apart) / std::max(largest_of(x), 1e-300);
  };
  return {"symmetric matrices", dimension, plus, {}, residual, GradientSpace::ambient};
}

GRADUS_CHECK_INLINE Manifold positive() {
  const auto plus = [](Values x, const Values& d) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp(d[i]);
    return x;
  };
  const auto residual = [](const Values& x) {
    return std::all_of(x.begin(), x.end(), [](double v) { return v > 0; }) ? 0.0 : 1.0;
  };
  return {"positive numbers", [](std::size_t n) { return n; }, plus, {},
          residual,           GradientSpace::ambient};
}

}  // namespace gradus::check
