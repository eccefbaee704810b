// The manifolds and their linear algebra against plain arithmetic: exp by its series, tangent bases
// by their meaning, and what lies on each manifold.
#include "gradus/check/raw/pullback.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

Matrix numbered(std::size_t rows, std::size_t columns, double step) {
  Matrix m{rows, columns};
  for (std::size_t i = 0; i < m.values.size(); ++i)
    m.values[i] = static_cast<double>(i * i % 7) - 2.5 + step * static_cast<double>(i);
  return m;
}

/// exp of a square matrix: I + A + A²/2 + …
Matrix exponential(const Matrix& a) {
  Matrix sum{a.rows, a.rows}, term{a.rows, a.rows};
  for (std::size_t i = 0; i < a.rows; ++i) term(i, i) = 1;
  for (int n = 1; n < 40; ++n) {
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
    Matrix next{a.rows, a.rows};
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < a.rows; ++j)
        for (std::size_t k = 0; k < a.rows; ++k) next(i, j) += term(i, k) * a(k, j) / n;
    term = next;
  }
  return sum;
}

void check_same(const Values& a, const Values& b, double within) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i, a[i], b[i]);
    CHECK(std::abs(a[i] - b[i]) <= within);
  }
}

/// Steps of all sizes, those around 0.01, where rotation_factors changes its formula, among them.
std::vector<Values> steps() {
  std::vector<Values> all;
  for (const double size : {0.0, 1e-7, 0.009, 0.0101, 0.3, 1.0, 3.0})
    all.push_back({size * 0.48, -size * 0.6, size * 0.64});
  return all;
}

const Values kRotation{0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6};

/// The first half of the page.
void show_residuals(Page& page) {
  const auto residuals = [&](const Manifold& m, const std::vector<Values>& points) {
    page.line("==", m.name, "gradient", static_cast<int>(m.gradient));
    for (const Values& x : points)
      page.line(x, "off by", golden::shown(m.residual(x), 3), "dimension", m.dimension(x.size()));
  };
  const Values one{1, 0, 0, 0, 1, 0, 0, 0, 1}, mirror{1, 0, 0, 0, 1, 0, 0, 0, -1};
  residuals(
      quaternion(),
      {{1, 0, 0, 0}, {0.6, 0, 0.8, 0}, {1, 1, 0, 0}, {1, 0, 0}, {1, 0, 0, 0, 0}, {0.9, 0, 0, 0}});
  residuals(so3(), {one,
                    mirror,
                    {1, 0, 0, 0},
                    {2, 0, 0, 0, 1, 0, 0, 0, 1},
                    {0, 1, 0, 0, 0, 1, 1, 0, 0},
                    {0, 1, 0, 1, 0, 0, 0, 0, 1},
                    {1, 0.5, 0, 0, 1, 0, 0, 0.25, 1}});
  std::vector<Values> motions{
      {1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7}, {1, 0, 0, 5, 0, 1, 0, 6, 0, 0, -1, 7}, one};
  for (std::size_t i = 12; i < 17; ++i) {
    Values whole{0, 1, 0, 5, 0, 0, 1, 6, 1, 0, 0, 7, 0, 0, 0, 1};
    if (i < 16) whole[i] += 0.5;
    motions.push_back(whole);
  }
  residuals(se3(), motions);
  residuals(frame(3, 2), {{1, 0, 0, 1, 0, 0},
                          {1, 0, 1, 0, 0, 0},
                          {1, 0, 0, 1},
                          {0, 0.6, 1, 0, 0, 0.8},
                          {0, 2, 1, 0, 0, 0}});
  residuals(sphere(), {{1, 0}, {0.6, 0.8}, {1, 1}, {0, 0, 0.5}});
  residuals(
      symmetric(),
      {{1, 2, 2, 3}, {1, 2, 2.5, 3}, {1, 2, 3}, {7}, {0, 0, 0, 0}, {1, 2, 3, 2, 4, 5, 3, 5, 6}});
  residuals(positive(), {{1, 2}, {0, 1}, {1, -1}, {}, {1e-300}});
}

}  // namespace

TEST_CASE("matrices multiply, and normal equations are solved, as on paper") {
  for (const auto& [n, m, p] : {std::tuple{2, 3, 4}, {3, 1, 2}, {1, 4, 1}}) {
    const Matrix a = numbered(n, m, 0.25), b = numbered(m, p, -0.5);
    const Matrix c = product(a, b), t = transposed(a);
    REQUIRE((c.rows == a.rows && c.columns == b.columns && t.rows == a.columns));
    for (std::size_t i = 0; i < c.rows; ++i)
      for (std::size_t j = 0; j < c.columns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j);
        CHECK(c(i, j) == Approx(sum).margin(1e-12));
      }
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < a.columns; ++j) CHECK(t(j, i) == a(i, j));
    const Values y = times(a, numbered(m, 1, 1).values);
    check_same(y, product(a, numbered(m, 1, 1)).values, 1e-12);
  }
  for (const auto& [rows, columns] : {std::pair{4, 3}, {3, 3}, {5, 1}, {4, 2}}) {
    const Matrix b = numbered(rows, columns, 0.75);
    const Values v = numbered(columns, 1, 0.5).values;
    const Values x = solve_normal(b, v);
    check_same(times(transposed(b), times(b, x)), v, 1e-9);
    check_same(times(transposed(b), lifted(b, v)), v, 1e-9);
  }
}

TEST_CASE("the factors of a rotation are those of their series, small and large") {
  for (const double a : {1e-8, 1e-3, 0.00999, 0.01001, 0.05, 0.7, 2.5}) {
    double sine = 0, cosine = 0, third = 0,
           term = 1;  // (-a²)ⁿ / (2n + 1)!, / (2n + 2)!, / (2n + 3)!
    for (int n = 0; n < 20; ++n) {
      sine += term;
      cosine += term / (2 * n + 2);
      third += term / (2 * n + 2) / (2 * n + 3);
      term *= -a * a / (2 * n + 2) / (2 * n + 3);
    }
    const auto [s, c, e] = rotation_factors(a * a);
    CAPTURE(a);
    CHECK(std::abs(s - sine) <= 3e-15);
    CHECK(std::abs(c - cosine) <= (a < 0.01 ? 1e-15 : 1e-10));
    CHECK(std::abs(e - third) <= (a < 0.01 ? 1e-15 : 1e-8));
  }
  check_same(
      {rotation_factors(0.81e-4)[0], rotation_factors(0.81e-4)[1], rotation_factors(0.81e-4)[2]},
      {1 - 0.81e-4 / 6 + 0.81e-4 * 0.81e-4 / 120, 0.5 - 0.81e-4 / 24 + 0.81e-4 * 0.81e-4 / 720,
       1.0 / 6 - 0.81e-4 / 120 + 0.81e-4 * 0.81e-4 / 5040},
      1e-15);
}

TEST_CASE("rotations and rigid motions step by the exponential of a matrix") {
  for (const Values& d : steps()) {
    const Matrix turn = exponential({3, 3, {0, -d[2], d[1], d[2], 0, -d[0], -d[1], d[0], 0}});
    check_same(so3().plus(kRotation, d), product({3, 3, kRotation}, turn).values, 1e-12);
    const Values way{1.5, -2, 0.25};
    const Matrix motion = exponential(
        {4,
         4,
         {0, -d[2], d[1], way[0], d[2], 0, -d[0], way[1], -d[1], d[0], 0, way[2], 0, 0, 0, 0}});
    const Values& r = kRotation;
    const Matrix t{
        4, 4, {r[0], r[1], r[2], 2, r[3], r[4], r[5], -1, r[6], r[7], r[8], 3, 0, 0, 0, 1}};
    const Values all{way[0], way[1], way[2], d[0], d[1], d[2]}, moved = product(t, motion).values;
    check_same(se3().plus(t.values, all), moved, 1e-11);
    const Values short_form(t.values.begin(), t.values.begin() + 12);
    check_same(se3().plus(short_form, all), {moved.begin(), moved.begin() + 12}, 1e-11);
  }
}

TEST_CASE("quaternions turn as the matrices do that belong to them") {
  const auto matrix = [](const Values& q) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    return Matrix{3,
                  3,
                  {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                   2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                   2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  };
  for (const Values& q :
       {Values{0.5, 0.5, -0.5, 0.5}, Values{1, 0, 0, 0}, Values{0.1, 0.7, -0.1, 0.7}})
    for (const Values& d : steps())
      check_same(matrix(quaternion().plus(q, d)).values, so3().plus(matrix(q).values, d), 1e-11);
}

TEST_CASE("frames and spheres: steps stay, and go where the first order says") {
  for (const auto& [rows, count] :
       {std::pair<std::size_t, std::size_t>{3, 1}, {3, 2}, {4, 2}, {2, 2}, {4, 3}}) {
    const Manifold m = frame(rows, count);
    Values x(rows * count, 0.0);
    for (std::size_t c = 0; c < count; ++c)
      x[(c == 0 && rows > 2 ? 2 : c) * count + c] = c == 1 ? -1 : 1;
    if (m.residual(x) > 0) continue;
    CAPTURE(rows, count);
    CHECK(m.dimension(x.size()) == rows * count - count * (count + 1) / 2);
    const Matrix b = tangent_basis(m, x);
    check_same(
        product(transposed(b), b).values,
        [&] {
          Matrix one{b.columns, b.columns};
          const std::size_t skew = count * (count - 1) / 2;
          for (std::size_t j = 0; j < b.columns; ++j) one(j, j) = j < skew ? 2 : 1;
          return one.values;
        }(),
        1e-9);
    Values d(b.columns, 0.0);
    for (std::size_t j = 0; j < d.size(); ++j) d[j] = 0.125 - 0.05 * static_cast<double>(j);
    CHECK(m.residual(m.plus(x, d)) <= 1e-12);
    Values first = times(b, d);
    for (std::size_t i = 0; i < x.size(); ++i) first[i] += x[i];
    check_same(m.plus(x, d), first, 0.08);
    if (count == 1) check_same(sphere().plus(x, d), m.plus(x, d), 0);
  }
}

TEST_CASE("what completes orthonormal rows is orthonormal, and at right angles to them") {
  for (const Matrix& x : {Matrix{1, 3, {0, 0, 1}}, Matrix{1, 3, {0.6, 0, -0.8}},
                          Matrix{2, 4, {0, 1, 0, 0, 0.6, 0, 0, 0.8}}, Matrix{1, 2, {1, 0}},
                          Matrix{2, 2, {0, 1, 1, 0}}, Matrix{1, 4, {0.5, 0.5, -0.5, 0.5}}}) {
    const Matrix rest = complement(x);
    REQUIRE((rest.rows == x.columns - x.rows && rest.columns == x.columns));
    REQUIRE(rest.values.size() == rest.rows * rest.columns);
    if (rest.rows == 0) continue;
    CHECK(orthonormal_residual(rest) <= 1e-14);
    CHECK(largest_of(product(rest, transposed(x)).values) <= 1e-14);
  }
  const Matrix near{2, 3, {1.02, 0.01, 0, -0.03, 0.97, 0.05}};
  CHECK(orthonormal_residual(orthonormal(near)) <= 1e-13);
  CHECK(largest_of(scaled(orthonormal({1, 2, {0.9, 0}}).values, 1)) == Approx(1));
}

TEST_CASE("what has not the size or the sign of a manifold's points is off by 1") {
  for (const Manifold& m : {quaternion(), so3(), se3(), frame(3, 2), symmetric(), positive()}) {
    CAPTURE(m.name);
    CHECK(m.residual({-1, 0, 0, 0, 1}) == 1);
  }
}

TEST_CASE("what completes a row that is nearly an axis is as orthonormal as any") {
  for (const double off : {2e-3, 1e-2, 0.1}) {
    const Matrix x{1, 4, {std::sqrt(1 - 3 * off * off), off, off, -off}};
    const Matrix rest = complement(x);
    CHECK(orthonormal_residual(rest) <= 1e-15);
    CHECK(largest_of(product(rest, transposed(x)).values) <= 1e-15);
  }
}

TEST_CASE("tables of manifolds are golden/check/manifold_tables.txt") {
  Page page;
  show_residuals(page);
  page.line("symmetric", symmetric().plus({1, 2, 2, 3}, {0.5, 0.25, -1}),
            symmetric().plus({1, 2, 3, 2, 4, 5, 3, 5, 6}, {1, 2, 3, 4, 5, 6}));
  page.line("positive", positive().plus({1, 2, 4}, {0, std::log(2), -std::log(4)}));
  for (const Manifold& m : {symmetric(), positive()}) {
    const Matrix b = tangent_basis(m, {1, 2, 2, 3});
    page.line(m.name, b.rows, b.columns, b.values);
    page.line("tangent", tangent_of(m, b, {2, 3, 3, 5}, {1, 2, 2, 3}));
  }
  Manifold own = positive();
  own.minus = [](const Values& y, const Values& x) { return Values{y[0] - 2 * x[0]}; };
  page.line("own minus", tangent_of(own, {1, 1, {1}}, {9}, {2}));
  page.compare("manifold_tables.txt");
}

}  // namespace gradus::check
