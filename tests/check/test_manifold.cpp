// Inputs that live on manifolds: steps stay on them, right derivatives pass, and one of the
// surrounding space where a tangent one is wanted is called that.
#include "gradus/check/raw/check.h"
#include "gradus/check/raw/manifolds.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::check {
using testing::message_of;

namespace {

Values cross(const Values& a, const Values& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The rotation that plus() makes of an angle for each axis.
const Values kAngles{0.7, -0.4, 1.1};
Values rotation_matrix() { return so3().plus({1, 0, 0, 0, 1, 0, 0, 0, 1}, kAngles); }
Values unit_quaternion() { return quaternion().plus({1, 0, 0, 0}, kAngles); }

Values matrix_of(const Values& q) {  // the usual formula, for any length
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  return {
      w * w + x * x - y * y - z * z, 2 * (x * y - w * z),           2 * (x * z + w * y),
      2 * (x * y + w * z),           w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
      2 * (x * z - w * y),           2 * (y * z + w * x),           w * w - x * x - y * y + z * z};
}
Values rotate(const Values& r, const Values& v) { return times({3, 3, r}, v); }
Values rotate_back(const Values& r, const Values& v) { return times(transposed({3, 3, r}), v); }

const Values kPoint{0.3, -1.2, 0.8};

std::string cause_of(const Report& report, std::size_t input = 0) {
  return report.inputs[input].cause.name;
}

bool says(const Report& report, const std::string& text) {
  std::string flat = report.text();
  flat.erase(
      std::unique(flat.begin(), flat.end(),
                  [](char a, char b) { return std::isspace(a) != 0 && std::isspace(b) != 0; }),
      flat.end());
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  return flat.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("plus stays on the manifold, begins at the point, and its derivative has full rank") {
  const Values r = rotation_matrix();
  const Values motion{r[0], r[1], r[2], 2, r[3], r[4], r[5], -1, r[6], r[7], r[8], 0.5};
  const struct {
    Manifold manifold;
    Values point;
    std::size_t dimension;
  } cases[] = {{quaternion(), unit_quaternion(), 3},
               {so3(), r, 3},
               {se3(), motion, 6},
               {sphere(), {0.6, 0, -0.8}, 2},
               {frame(3, 2), {r[0], r[1], r[3], r[4], r[6], r[7]}, 3},
               {frame(3, 3), r, 3},
               {symmetric(), {1, 2, 2, -3}, 3},
               {positive(), {0.1, 7}, 2}};
  for (const auto& [m, x, dimension] : cases) {
    CAPTURE(m.name);
    REQUIRE(m.dimension(x.size()) == dimension);
    CHECK(m.residual(x) < 1e-14);
    CHECK(close(m.plus(x, Values(dimension, 0.0)), x, 1e-15));
    Values delta(dimension);
    for (std::size_t i = 0; i < dimension; ++i) delta[i] = 0.3 - 0.13 * static_cast<double>(i);
    CHECK(m.residual(m.plus(x, delta)) < 1e-14);
    // minus undoes a small plus: what is left is of second order.
    const Matrix basis = tangent_basis(m, x);
    const Values small = scaled(delta, 1e-6);
    CHECK(close(tangent_of(m, basis, m.plus(x, small), x), small, 1e-5));
    CHECK(close(times(transposed(basis), lifted(basis, delta)), delta, 1e-12));
  }
}

TEST_CASE("turning a point: right and wrong derivatives by a quaternion") {
  const auto turn = [](const Values& q, const Values& v) { return rotate(matrix_of(q), v); };
  const auto by_step = [](const Values& q, const Values& v, const Values& dy) {
    return cross(v, rotate_back(matrix_of(q), dy));  // R v moves by R (δ × v)
  };
  const auto right = [=](const Values& q, const Values& v, const Values& dy) {
    return std::tuple(by_step(q, v, dy), rotate_back(matrix_of(q), dy));
  };
  const auto q = input(unit_quaternion(), "q").on(quaternion());
  CHECK(raw("turn", turn, right, q, kPoint));
  CHECK(raw("turn at the identity", turn, right, input(Values{1, 0, 0, 0}, "q").on(quaternion()),
            kPoint));

  const auto negated = [=](const Values& q_, const Values& v, const Values& dy) {
    return std::tuple(scaled(by_step(q_, v, dy), -1), rotate_back(matrix_of(q_), dy));
  };
  const Report wrong = raw("turn", turn, negated, q, kPoint);
  CHECK(wrong.verdict == Verdict::fail);
  CHECK(cause_of(wrong) == "SIGN");

  // By the four numbers of q, as differentiating the formula for the matrix gives it.
  const auto surrounding = [=](const Values& q_, const Values& v, const Values& dy) {
    Values dq(4, 0.0);
    for (std::size_t k = 0; k < 4; ++k) {
      Values up = q_, down = q_;  // the matrix is quadratic in q: this difference is exact
      up[k] += 1, down[k] -= 1;
      const Values d = rotate(matrix_of(up), v), e = rotate(matrix_of(down), v);
      for (std::size_t i = 0; i < 3; ++i) dq[k] += dy[i] * (d[i] - e[i]) / 2;
    }
    return std::tuple(dq, rotate_back(matrix_of(q_), dy));
  };
  const Report ambient = raw("turn", turn, surrounding, q, kPoint);
  CHECK(ambient.verdict == Verdict::fail);
  CHECK(cause_of(ambient) == "AMBIENT");
  CHECK(says(ambient, "dq has 4 numbers, as q has; a step on unit quaternions has 3"));
  CHECK(says(ambient, "by the derivative of plus at 0: so it is right"));
  CHECK(raw("turn", turn, surrounding, unit_quaternion(), kPoint));  // as four plain numbers
}

TEST_CASE("what is right at the identity alone fails beside it") {
  const auto turn = [](const Values& r, const Values& v) { return rotate(r, v); };
  const auto forgets_r = [](const Values& r, const Values& v, const Values& dy) {
    return std::tuple(cross(v, dy), rotate_back(r, dy));
  };
  const Values identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  const Report report = raw("turn", turn, forgets_r, input(identity, "R").on(so3()), kPoint);
  CHECK(report.verdict == Verdict::fail);
  CHECK(says(report, "the inputs have zeros, which hides mistakes; this is beside it"));
}

TEST_CASE("a rigid motion, written into buffers of its tangent space") {
  const Values r = rotation_matrix();
  const Values motion{r[0], r[1], r[2], 2, r[3], r[4], r[5], -1, r[6], r[7], r[8], 0.5};
  const auto part = [](const double* t) {
    return Values{t[0], t[1], t[2], t[4], t[5], t[6], t[8], t[9], t[10]};
  };
  const auto move = [part](const double* t, const double* v, double* y) {
    const Values turned = rotate(part(t), {v, v + 3});
    for (std::size_t i = 0; i < 3; ++i) y[i] = turned[i] + t[4 * i + 3];
  };
  const auto back = [part](const double* t, const double* v, const double* dy, double* dt,
                           double* dv) {
    const Values way = rotate_back(part(t), {dy, dy + 3}), turn = cross({v, v + 3}, way);
    for (std::size_t i = 0; i < 3; ++i) dt[i] = way[i], dt[3 + i] = turn[i], dv[i] = way[i];
  };
  const auto T = input(motion, "T", {3, 4}).on(se3());
  CHECK(raw("move", move, back, T, kPoint).output({3}));
  const auto turned_first = [back](const double* t, const double* v, const double* dy, double* dt,
                                   double* dv) {
    back(t, v, dy, dt, dv);
    for (std::size_t i = 0; i < 3; ++i) std::swap(dt[i], dt[3 + i]);
  };
  CHECK(!raw("move", move, turned_first, T, kPoint).output({3}));
}

TEST_CASE("a vector of the surrounding space must be tangent to the sphere") {
  const Matrix a{3, 3, {2, 0.5, -1, 0.5, 3, 0.25, -1, 0.25, -1.5}};  // symmetric
  const auto energy = [a](const Values& x) {
    const Values ax = times(a, x);
    return std::inner_product(x.begin(), x.end(), ax.begin(), 0.0);
  };
  const auto gradient = [a](const Values& x) { return scaled(times(a, x), 2); };
  const auto tangent = [=](const Values& x) {
    Values g = gradient(x);
    const double outside = std::inner_product(x.begin(), x.end(), g.begin(), 0.0);
    for (std::size_t i = 0; i < 3; ++i) g[i] -= outside * x[i];
    return g;
  };
  const auto x = input(Values{0.48, 0.6, 0.64}, "x").on(sphere());
  CHECK(raw("energy", energy, tangent, x));
  const Report report = raw("energy", energy, gradient, x);
  CHECK(report.verdict == Verdict::fail);
  CHECK(cause_of(report) == "AMBIENT");
  CHECK(says(report, "dx leaves the unit sphere"));
  const auto doubled = [=](const Values& v) { return scaled(tangent(v), 2); };
  CHECK(!raw("energy", energy, doubled, x));
}

TEST_CASE("a frame, and a Jacobian by its tangent space") {
  const Values r = rotation_matrix();
  const Values given{r[0], r[1], r[3], r[4], r[6], r[7]};  // two columns
  const Values weight{0.2, -1, 3, 0.7, 0.4, 2};
  const auto f = [weight](const Values& x) {
    return std::inner_product(x.begin(), x.end(), weight.begin(), 0.0);
  };
  const Matrix basis = tangent_basis(frame(3, 2), given);
  const auto by_tangent = [=](const Values&) { return times(transposed(basis), weight); };
  const auto embedded = [=](const Values&) {
    return lifted(basis, times(transposed(basis), weight));
  };
  const auto x = input(given, "X", {3, 2}).on(frame(3, 2));
  CHECK(raw("sum", f, by_tangent, x));
  CHECK(raw("sum", f, embedded, x));
  CHECK(cause_of(raw(
                     "sum", f, [=](const Values&) { return weight; }, x)
                     .report()) == "AMBIENT");
}

TEST_CASE("of a symmetric matrix only symmetric steps count, of positive numbers positive ones") {
  const auto lower = [](const Values& x) {  // reads one triangle, as LAPACK does
    return 2 * x[0] * x[3] - x[2] * x[2];
  };
  const auto spread = [](const Values& x) { return Values{2 * x[3], -x[2], -x[2], 2 * x[0]}; };
  const Values given{2, 0.5, 0.5, 3};
  CHECK(raw("lower", lower, spread, input(given, "A", {2, 2}).symmetric()));
  CHECK(!raw("lower", lower, spread, input(given, "A", {2, 2})));
  const auto twice = [](const Values& x) {
    return Values{2 * x[3], -2 * x[2], -2 * x[2], 2 * x[0]};
  };
  CHECK(!raw("lower", lower, twice, input(given, "A", {2, 2}).symmetric()));

  const auto logs = [](const Values& x) { return std::log(x[0]) + 3 * std::log(x[1]); };
  const auto inverse = [](const Values& x) { return Values{1 / x[0], 3 / x[1]}; };
  CHECK(raw("logs", logs, inverse, input(Values{1e-12, 1e9}, "x").positive()));
  const auto one = [](const Values& x) { return Values{1 / x[0], 1 / x[1]}; };
  CHECK(!raw("logs", logs, one, input(Values{1e-12, 1e9}, "x").positive()));
}

TEST_CASE("an output on a manifold: a Jacobian from tangent space to tangent space") {
  const Values q = so3().plus(rotation_matrix(), {0.2, 0.9, -0.3});
  const auto compose = [q](const Values& r) { return product({3, 3, r}, {3, 3, q}).values; };
  const auto r = input(rotation_matrix(), "R").on(so3());
  // R exp(δ) Q = R Q exp(Qᵀδ)
  const auto right = [q](const Values&) {
    return Values{q[0], q[3], q[6], q[1], q[4], q[7], q[2], q[5], q[8]};
  };
  CHECK(raw("compose", compose, jacobian(right), r).output_on(so3()));
  CHECK(!raw("compose", compose, jacobian([q](const Values&) { return q; }), r).output_on(so3()));
  // A vjp takes dy in the surrounding space.
  const auto vjp = [q](const Values& r_, const Values& dy) {
    Values g(9, 0.0);  // dy Qᵀ, and of Rᵀ of that the skew part
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 3; ++k) g[3 * i + j] += dy[3 * i + k] * q[3 * j + k];
    Values s(9, 0.0);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 3; ++k) s[3 * i + j] += r_[3 * k + i] * g[3 * k + j];
    return Values{s[7] - s[5], s[2] - s[6], s[3] - s[1]};
  };
  CHECK(raw("compose", compose, vjp, r).output_on(so3()));
}

TEST_CASE("a point that is not on its manifold is refused") {
  const auto f = [](const Values& x) { return x[0]; };
  const auto d = [](const Values&) { return Values{1, 0, 0}; };
  const auto check = [&] {
    static_cast<void>(raw("f", f, d, input(Values{2, 0, 0, 0}, "q").on(quaternion())).report());
  };
  CHECK(message_of<BadInput>(check) ==
        "f: input 'q' is not on unit quaternions: by 3, and 1e-6 is allowed");
}

TEST_CASE("a manifold of one's own is a name, a dimension and plus") {
  const Manifold circle{.name = "angles",
                        .dimension = [](std::size_t) { return std::size_t{1}; },
                        .plus =
                            [](const Values& x, const Values& d) {
                              const double c = std::cos(d[0]), s = std::sin(d[0]);
                              return Values{c * x[0] - s * x[1], s * x[0] + c * x[1]};
                            }};
  const auto f = [](const Values& x) { return x[0] * x[1]; };
  const auto d = [](const Values& x) { return Values{x[0] * x[0] - x[1] * x[1]}; };
  CHECK(raw("area", f, d, input(Values{0.6, 0.8}, "x").on(circle)));
  const auto wrong = [](const Values& x) { return Values{x[0] * x[0] + x[1] * x[1]}; };
  CHECK(!raw("area", f, wrong, input(Values{0.6, 0.8}, "x").on(circle)));
}

}  // namespace gradus::check
