// Points on manifolds with a reference, with written gradients and shapes; forward mode and written
// Jacobians of raw functions that do not do what they should.
#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

using V = Values;

/// y = (−z, x, y) of points of the sphere, whose gradients are right, or twice that.
Functions turned(double size = 1) {
  return {[](const Arguments& in) {
            return V{-in[0][2], in[0][0], in[0][1]};
          },
          [size](const Arguments&, const V& dy) {
            return Arguments{{size * dy[1], size * dy[2], -size * dy[0]}};
          }};
}

const std::vector<Input> kPoint{{"x", {}, {0.48, 0.6, -0.64}}};

Report check(const Functions& f, const Places& places, RawOptions options = {},
             const std::vector<Input>& inputs = kPoint) {
  return check_on("f", f, inputs, places, options);
}

const V kX{0.75, -1.5, 2}, kW{1.5, 0.25};
V two(const V& x, const V& w) { return {x[0] * w[0] + w[1], x[1] * x[2] * w[1]}; }

}  // namespace

TEST_CASE(
    "an output on a manifold: with its whole shape, with a reference, with written gradients") {
  const Places places{{sphere()}, sphere()};
  RawOptions shaped;
  shaped.output_shape = {3};
  CHECK(check(turned(), places, shaped).inputs[0].wrong == 0);
  Functions f = turned();
  f.reference = f.forward;
  f.ulp = 0x1p-23;
  CHECK(check(f, {{std::nullopt}, sphere()}));
  f = turned();
  f.into = [vjp = f.vjp](const Arguments& in, const V& dy, const Arguments&) {
    return vjp(in, dy);
  };
  f.vjp = {};
  const Report written = check(f, {{std::nullopt}, sphere()});
  INFO(written.text());
  CHECK(written);
}

TEST_CASE("a gradient of the surrounding space is said to be right, or wrong besides") {
  for (const double size : {1.0, 2.0}) {
    const Cause cause = check(turned(size), {{sphere()}}).inputs[0].cause;
    CHECK(cause.name == "AMBIENT");
    CHECK((cause.hint.find("so it is right") != std::string::npos) == (size == 1));
    CHECK((cause.hint.find("it is wrong after that, too") != std::string::npos) == (size == 2));
  }
}

TEST_CASE("how far a gradient leaves its manifold is seen beside its own size") {
  Manifold m = sphere();
  m.gradient = Gradient::embedded;
  for (const double size : {1e-9, 1.0, 1e9})
    for (const double share : {1e-9, 1e-5}) {
      // y = size · x₀ at x = (0, 1): the part along x is outside.
      const Functions f{[size](const Arguments& in) { return V{size * in[0][0]}; },
                        [=](const Arguments&, const V& dy) {
                          return Arguments{{size * dy[0], share * size * dy[0]}};
                        }};
      RawOptions alone;
      alone.beside = false;
      CAPTURE(size, share);
      CHECK((check(f, {{m}}, alone, {{"x", {}, {0, 1}}}).inputs[0].cause.name == "AMBIENT") ==
            (share > 1e-7));
    }
}

TEST_CASE("what gets no gradient may lie where it likes, and gradients are counted on manifolds") {
  const Functions f{[](const Arguments& in) { return V{in[0][0] * in[1][0] * in[1][1]}; },
                    [](const Arguments& in, const V& dy) {
                      return Arguments{{dy[0] * in[1][0] * in[1][1]}, {}};
                    }};
  const Report r =
      check(f, {{std::nullopt, positive()}}, {}, {{"a", {}, {0.5}}, {"b", {}, {1, 1}, false}});
  CHECK(r);
  CHECK(r.text().find("which hides mistakes") == std::string::npos);
  for (const std::size_t count : {0U, 2U, 3U}) {
    Functions g = turned();
    g.vjp = [count](const Arguments& in, const V&) { return Arguments(count, in[0]); };
    const Report wrong = check(g, {{sphere()}});
    CHECK(wrong.text().find(joined("the derivative gives ", count, " gradients for 1 inputs")) !=
          std::string::npos);
  }
}

TEST_CASE("a Jacobian that is added to, and written gradients of the last of two inputs") {
  const auto adds = [](const V& x, const V& w, V& jx, V& jw) {
    const V a{w[0], 0, 0, 0, x[2] * w[1], x[1] * w[1]}, b{x[0], 1, 0, x[1] * x[2]};
    for (std::size_t i = 0; i < a.size(); ++i) jx[i] += a[i];
    for (std::size_t i = 0; i < b.size(); ++i) jw[i] += b[i];
  };
  auto added = raw("f", two, jacobian(adds), kX, kW);
  CHECK(added.accumulates());
  const auto last = [](const V& x, const V&, const V& dy, V& dw) {
    dw = {x[0] * dy[0], dy[0] + x[1] * x[2] * dy[1]};
  };
  CHECK(raw("f", two, last, constant(kX), kW));
}

TEST_CASE("forward mode may not change the inputs, nor give more or fewer outputs") {
  const auto changes = [](V& x, const V& w, const V& dx, const V& dw) {
    const V y{dx[0] * w[0] + x[0] * dw[0] + dw[1],
              (dx[1] * x[2] + x[1] * dx[2]) * w[1] + x[1] * x[2] * dw[1]};
    x[1] += 1;
    return y;
  };
  const Report changed = raw("f", two, jvp(changes), kX, kW);
  CHECK(changed.verdict == Verdict::fail);
  CHECK(changed.text().find("the derivative changes x0") != std::string::npos);
  for (const std::size_t outputs : {0U, 1U, 3U, 300U}) {
    const auto other = [outputs](const V&, const V&, const V&, const V&) {
      return V(outputs, 1.0);
    };
    CHECK(Report(raw("f", two, jvp(other), kX, kW)).verdict == Verdict::fail);
  }
}

TEST_CASE("a gradient that leaves its manifold is found at its own input") {
  const Functions f{[](const Arguments& in) { return V{in[0][0] * (in[1][0] + 2 * in[1][2])}; },
                    [](const Arguments& in, const V& dy) {
                      const double a = in[0][0] * dy[0];
                      return Arguments{{dy[0] * (in[1][0] + 2 * in[1][2])}, {a, 0, 2 * a}};
                    }};
  const Report r =
      check(f, {{std::nullopt, sphere()}}, {}, {{"a", {}, {0.5}}, {"x", {}, {0.48, 0.6, -0.64}}});
  REQUIRE(r.findings.size() == 1);
  CHECK((r.findings[0].kind == Kind::structure && r.findings[0].input == 1));
}

TEST_CASE("the point beside a special one on a manifold is the seed's") {
  Manifold m = sphere();
  m.gradient = Gradient::ambient;
  const auto beside = [&m](std::uint64_t seed) {
    V last, point;
    Functions f = turned();
    // Each look at a point begins with two calls there.
    f.forward = [&, y = f.forward](const Arguments& in) {
      if (in[0] == last) point = last;
      last = in[0];
      return y(in);
    };
    RawOptions options;
    options.seed = seed;
    CHECK(check(f, {{m}}, options));
    CHECK(point != kPoint[0].values);
    return point;
  };
  CHECK(beside(3) == beside(3));
  CHECK(beside(3) != beside(4));
}

}  // namespace gradus::check
