#include <numeric>

#include "gradus/check/raw/manifolds.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes;

const Values kAngles{0.7, -0.4, 1.1}, kPoint{0.3, -1.2, 0.8};
const Values kIdentity{1, 0, 0, 0, 1, 0, 0, 0, 1};

Values rotation() { return so3().plus(kIdentity, kAngles); }
Values unit_quaternion() { return quaternion().plus({1, 0, 0, 0}, kAngles); }
/// [R t] with shape [3, 4].
Values motion() {
  const Values r = rotation();
  return {r[0], r[1], r[2], 2, r[3], r[4], r[5], -1, r[6], r[7], r[8], 0.5};
}

Values cross(const Values& a, const Values& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
Values rotate(const Values& r, const Values& v) { return times({3, 3, r}, v); }
Values rotate_back(const Values& r, const Values& v) { return times(transposed({3, 3, r}), v); }

/// The rotation matrix of q, multiplied by |q|².
Values matrix_of(const Values& q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  return {
      w * w + x * x - y * y - z * z, 2 * (x * y - w * z),           2 * (x * z + w * y),
      2 * (x * y + w * z),           w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
      2 * (x * z - w * y),           2 * (y * z + w * x),           w * w - x * x - y * y + z * z};
}

SmallMatrix exponential(const SmallMatrix& a) {
  SmallMatrix sum{a.rows, a.rows}, term{a.rows, a.rows};
  for (Index i = 0; i < a.rows; ++i) term(i, i) = 1;
  for (int n = 1; n < 40; ++n) {
    for (Index i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
    term = product(term, a);
    for (double& v : term.values) v /= n;
  }
  return sum;
}

Report number_on(const Manifold& m, const Values& x, const std::function<double(const Values&)>& f,
                 const std::function<Values(const Values&)>& gradient, const Options& o = {}) {
  return run_on({{m}},
                {[f](const Arguments& in) { return Values{f(in[0])}; },
                 [gradient](const Arguments& in, const Values& dy) {
                   return Arguments{scaled(gradient(in[0]), dy[0])};
                 }},
                {{"x", {}, x}}, o);
}

using ByTurn = std::function<Values(const Values& turn, const Values& point, const Values& dy)>;
Report turned(const Manifold& m, const Values& turn, const ByTurn& by_turn) {
  const bool is_quaternion = turn.size() == 4;
  const auto matrix = [is_quaternion](const Values& t) { return is_quaternion ? matrix_of(t) : t; };
  return run_on({{m, {}}},
                {[matrix](const Arguments& in) { return rotate(matrix(in[0]), in[1]); },
                 [=](const Arguments& in, const Values& dy) {
                   return Arguments{by_turn(in[0], in[1], dy), rotate_back(matrix(in[0]), dy)};
                 }},
                {{"q", {}, turn}, {"v", {}, kPoint}});
}

/// A step δ moves R v by R (δ × v).
Values by_step(const Values& q, const Values& v, const Values& dy) {
  return cross(v, rotate_back(q.size() == 4 ? matrix_of(q) : q, dy));
}

}  // namespace

TEST_CASE("manifolds: plus stays on the manifold and starts at the point, and minus inverts plus") {
  const Values r = rotation();
  const struct {
    Manifold manifold;
    Values point;
    Index dimension;
  } cases[] = {{quaternion(), unit_quaternion(), 3},
               {so3(), r, 3},
               {se3(), motion(), 6},
               {sphere(), {0.6, 0, -0.8}, 2},
               {frame(3, 2), {r[0], r[1], r[3], r[4], r[6], r[7]}, 3},
               {frame(3, 3), r, 3},
               {frame(4, 1), {0.5, 0.5, -0.5, 0.5}, 3},
               {symmetric(), {1, 2, 2, -3}, 3},
               {positive(), {0.1, 7}, 2}};
  for (const auto& [m, x, dimension] : cases) {
    CAPTURE(m.name);
    REQUIRE(m.dimension(x.size()) == dimension);
    CHECK(m.residual(x) < 1e-14);
    CHECK(close(m.plus(x, Values(dimension, 0.0)), x, 1e-15));
    Values delta(dimension);
    for (Index i = 0; i < dimension; ++i) delta[i] = 0.3 - 0.13 * static_cast<double>(i);
    CHECK(m.residual(m.plus(x, delta)) < 1e-13);
    const SmallMatrix basis = tangent_basis(m, x);
    const Values small = scaled(delta, 1e-6);  // correct to second order
    CHECK(close(tangent_of(m, basis, m.plus(x, small), x), small, 1e-5));
    CHECK(close(times(transposed(basis), lifted(basis, delta)), delta, 1e-12));
  }
}

TEST_CASE("manifolds: rotations and rigid motions step by the exponential of a matrix") {
  const Values r = rotation();
  for (const double size : {0.0, 1e-7, 0.009, 0.0101, 0.3, 3.0}) {
    const Values d{size * 0.48, -size * 0.6, size * 0.64}, way{1.5, -2, 0.25};
    const SmallMatrix turn = exponential({3, 3, {0, -d[2], d[1], d[2], 0, -d[0], -d[1], d[0], 0}});
    CHECK(close(so3().plus(r, d), product({3, 3, r}, turn).values, 1e-12));
    CHECK(close(matrix_of(quaternion().plus(unit_quaternion(), d)),
                so3().plus(matrix_of(unit_quaternion()), d), 1e-12));
    const SmallMatrix screw = exponential(
        {4,
         4,
         {0, -d[2], d[1], way[0], d[2], 0, -d[0], way[1], -d[1], d[0], 0, way[2], 0, 0, 0, 0}});
    Values whole = motion();
    whole.insert(whole.end(), {0, 0, 0, 1});
    const Values all{way[0], way[1], way[2], d[0], d[1], d[2]};
    const Values moved = product({4, 4, whole}, screw).values;
    CHECK(close(se3().plus(whole, all), moved, 1e-12));
    CHECK(close(se3().plus(motion(), all), Values(moved.begin(), moved.begin() + 12), 1e-12));
  }
}

TEST_CASE(
    "manifolds: a rotation's tangent derivative passes, and other derivatives fail with a cause") {
  for (const auto& [m, x] : {std::pair(quaternion(), unit_quaternion()), {so3(), rotation()}}) {
    passes(turned(m, x, by_step));
    const Report negated = turned(m, x, [](const Values& q, const Values& v, const Values& dy) {
      return scaled(by_step(q, v, dy), -1);
    });
    fails(negated);
    CHECK(negated.inputs[0].cause.name == "SIGN");
  }
  passes(turned(quaternion(), {1, 0, 0, 0}, by_step));
}

TEST_CASE("manifolds: a gradient with respect to quaternion coordinates is reported as AMBIENT") {
  const auto surrounding = [](double factor) {
    return [factor](const Values& q, const Values& v, const Values& dy) {
      Values dq(4, 0.0);
      for (Index k = 0; k < 4; ++k) {
        Values up = q, down = q;  // differences are exact, because the matrix is quadratic in q
        up[k] += 1, down[k] -= 1;
        const Values d = rotate(matrix_of(up), v), e = rotate(matrix_of(down), v);
        for (Index i = 0; i < 3; ++i) dq[k] += factor * dy[i] * (d[i] - e[i]) / 2;
      }
      return dq;
    };
  };
  const Report ambient = turned(quaternion(), unit_quaternion(), surrounding(1));
  fails(ambient, "dq has 4 values, as q has, but a tangent vector of unit quaternions has 3");
  fails(ambient, "then it is correct");
  CHECK(ambient.inputs[0].cause.name == "AMBIENT");
  const Report wrong = turned(quaternion(), unit_quaternion(), surrounding(2));
  fails(wrong, "even then it is wrong");
  CHECK(wrong.inputs[0].cause.name == "AMBIENT");
}

TEST_CASE("manifolds: a derivative that is correct only at the identity fails") {
  const Report report =
      turned(so3(), kIdentity,
             [](const Values&, const Values& v, const Values& dy) { return cross(v, dy); });
  fails(report, "the inputs have zeros, which hides mistakes; the finding is at a point nearby");
}

TEST_CASE("manifolds: gradients are written to buffers of the tangent space") {
  const auto part = [](const Values& t) {
    return Values{t[0], t[1], t[2], t[4], t[5], t[6], t[8], t[9], t[10]};
  };
  const auto moved = [part](bool rotation_first) {
    Functions f;
    f.forward = [part](const Arguments& in) {
      Values y = rotate(part(in[0]), in[1]);
      for (Index i = 0; i < 3; ++i) y[i] += in[0][4 * i + 3];
      return y;
    };
    f.into = [=](const Arguments& in, const Values& dy, const Arguments&) {
      const Values way = rotate_back(part(in[0]), dy), turn = cross(in[1], way);
      Values dt = rotation_first ? turn : way;
      const Values& rest = rotation_first ? way : turn;
      dt.insert(dt.end(), rest.begin(), rest.end());
      return Arguments{dt, way};
    };
    return run_on({{se3(), {}}}, f, {{"T", {3, 4}, motion()}, {"v", {}, kPoint}});
  };
  passes(moved(false));
  fails(moved(true));
}

TEST_CASE("manifolds: a gradient in the ambient space must be tangent to the sphere") {
  const SmallMatrix a{3, 3, {2, 0.5, -1, 0.5, 3, 0.25, -1, 0.25, -1.5}};
  const auto energy = [a](const Values& x) { return dot(x, times(a, x)); };
  const auto gradient = [a](const Values& x) { return scaled(times(a, x), 2); };
  const auto tangent = [=](double size) {
    return [=](const Values& x) {
      Values g = gradient(x);
      const double outside = dot(x, g);
      for (Index i = 0; i < 3; ++i) g[i] -= outside * x[i];
      return scaled(g, size);
    };
  };
  const Values x{0.48, 0.6, 0.64};
  passes(number_on(sphere(), x, energy, tangent(1)));
  fails(number_on(sphere(), x, energy, tangent(2)));
  const Report report = number_on(sphere(), x, energy, gradient);
  fails(report, "dx leaves the unit sphere");
  CHECK(report.inputs[0].cause.name == "AMBIENT");
}

TEST_CASE("manifolds: the test for tangent gradients does not depend on their size") {
  Options alone;
  alone.neighborhood = false;
  for (const double size : {1e-9, 1.0, 1e9})
    for (const double outside : {1e-9, 1e-5}) {
      CAPTURE(size, outside);
      const Report report = number_on(
          sphere(), {0, 1}, [size](const Values& x) { return size * x[0]; },
          [=](const Values&) {
            return Values{size, outside * size};  // the second component is normal to the sphere
          },
          alone);
      CHECK((report.inputs[0].cause.name == "AMBIENT") == (outside > 1e-7));
    }
}

TEST_CASE("manifolds: a frame accepts tangent coordinates or a tangent matrix") {
  const Values r = rotation();
  const Values x{r[0], r[1], r[3], r[4], r[6], r[7]};  // two columns of the matrix
  const Values weight{0.2, -1, 3, 0.7, 0.4, 2};
  const auto f = [weight](const Values& v) { return dot(v, weight); };
  const SmallMatrix basis = tangent_basis(frame(3, 2), x);
  const Values numbers = times(transposed(basis), weight);
  passes(number_on(frame(3, 2), x, f, [&](const Values&) { return numbers; }));
  passes(number_on(frame(3, 2), x, f, [&](const Values&) { return lifted(basis, numbers); }));
  const Report report = number_on(frame(3, 2), x, f, [&](const Values&) { return weight; });
  fails(report);
  CHECK(report.inputs[0].cause.name == "AMBIENT");
}

TEST_CASE("manifolds: only symmetric steps count for a symmetric matrix") {
  const auto lower = [](const Values& x) {  // reads only the lower triangle, like LAPACK
    return 2 * x[0] * x[3] - x[2] * x[2];
  };
  const auto spread = [](double share) {
    return [share](const Values& x) {
      return Values{2 * x[3], -share * x[2], -share * x[2], 2 * x[0]};
    };
  };
  const Values x{2, 0.5, 0.5, 3};
  passes(number_on(symmetric(), x, lower, spread(1)));
  fails(number_on(symmetric(), x, lower, spread(2)));
  fails(scalar(
      "lower", [&](const Arguments& in) { return lower(in[0]); },
      [&](const Arguments& in) { return Arguments{spread(1)(in[0])}; }, {x}));
}

TEST_CASE("manifolds: positive numbers move by factors, from 1e-12 to 1e9") {
  const auto logs = [](const Values& x) { return std::log(x[0]) + 3 * std::log(x[1]); };
  const auto inverse = [](double c) {
    return [c](const Values& x) { return Values{1 / x[0], c / x[1]}; };
  };
  passes(number_on(positive(), {1e-12, 1e9}, logs, inverse(3)));
  fails(number_on(positive(), {1e-12, 1e9}, logs, inverse(3.003)));
}

TEST_CASE("manifolds: an output on a manifold gets dy in the ambient space") {
  const Values q = so3().plus(rotation(), {0.2, 0.9, -0.3});
  const auto composed = [q](double sign) {
    const Functions f{[q](const Arguments& in) {
                        return product({3, 3, in[0]}, {3, 3, q}).values;
                      },
                      [=](const Arguments& in, const Values& dy) {
                        // The skew part of Rᵀ dy Qᵀ.
                        const SmallMatrix g = product({3, 3, dy}, transposed({3, 3, q}));
                        const Values s = product(transposed({3, 3, in[0]}), g).values;
                        return Arguments{{s[7] - s[5], s[2] - s[6], sign * (s[3] - s[1])}};
                      }};
    return run_on({{so3()}, so3()}, f, {{"R", {3, 3}, rotation()}});
  };
  passes(composed(1));
  fails(composed(-1));
}

TEST_CASE("manifolds: a point that is not on its manifold is rejected") {
  const auto rejected = [](const Manifold& m, const Values& x) {
    const auto message = testing::message_of<BadInput>([&] {
      number_on(
          m, x, [](const Values& v) { return v[0]; }, [](const Values& v) { return v; });
    });
    CAPTURE(m.name, message);
    CHECK(testing::has(message, "'x'"));
    CHECK(testing::has(message, m.name));
  };
  rejected(quaternion(), {2, 0, 0, 0});
  rejected(so3(), {1, 0, 0, 0, 1, 0, 0, 0, -1});  // a reflection
  rejected(so3(), {2, 0, 0, 0, 1, 0, 0, 0, 1});
  rejected(se3(), {1, 0, 0, 5, 0, 1, 0, 6, 0, 0, -1, 7});
  rejected(sphere(), {1, 1});
  rejected(frame(3, 2), {0, 2, 1, 0, 0, 0});
  rejected(symmetric(), {1, 2, 2.5, 3});
  rejected(positive(), {1, -1});
  for (const Manifold& m : {quaternion(), so3(), se3(), frame(3, 2), symmetric(), positive()})
    rejected(m, {-1, 0, 0, 0, 1});
}

TEST_CASE("manifolds: an output that is not on its manifold is rejected") {
  const auto rejected = [](const Manifold& m, const Values& y) {
    const Functions f{[=](const Arguments&) { return y; },
                      [](const Arguments&, const Values&) { return Arguments{{0}}; }};
    const auto message = testing::message_of<BadInput>([&] {
      run_on({{std::nullopt}, m}, f, {{"x", {1}, {1}}});
    });
    CAPTURE(m.name, message);
    CHECK(testing::has(message, "output"));
    CHECK(testing::has(message, m.name));
  };
  rejected(so3(), {2, 0, 0, 0, 1, 0, 0, 0, 1});
  for (const Manifold& m : {quaternion(), so3(), se3(), frame(3, 2), symmetric(), positive()})
    rejected(m, {-1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("manifolds: a custom manifold consists of a name, a dimension and plus") {
  const Manifold circle{.name = "angles",
                        .dimension = [](std::size_t) { return std::size_t{1}; },
                        .plus =
                            [](const Values& x, const Values& d) {
                              const double c = std::cos(d[0]), s = std::sin(d[0]);
                              return Values{c * x[0] - s * x[1], s * x[0] + c * x[1]};
                            }};
  const auto area = [](const Values& x) { return x[0] * x[1]; };
  const auto slope = [](double sign) {
    return [sign](const Values& x) { return Values{x[0] * x[0] - sign * x[1] * x[1]}; };
  };
  passes(number_on(circle, {0.6, 0.8}, area, slope(1)));
  fails(number_on(circle, {0.6, 0.8}, area, slope(-1)));
}

}  // namespace gradus::raw_cases
