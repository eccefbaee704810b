// check::raw on members, structs, rows of rows, overloads, and a value and gradient in one call.
#include <cmath>
#include <string>
#include <vector>

#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

namespace forms {

struct Pose {
  double x, y, turn;
};

}  // namespace forms

template <>
struct gradus::check::Array<forms::Pose> : gradus::check::Fields<forms::Pose, double> {};

namespace gradus {
namespace {

using V = std::vector<double>;
using Rows = std::vector<V>;
using forms::Pose;

double value(const V& x) { return x[0] * x[0] + 3 * x[1]; }
double by_reference(const V& x, V& g) {
  g = {2 * x[0], 3.0};
  return value(x);
}
double by_address(const V& x, V* g) {
  if (g != nullptr) *g = {2 * x[0], 3.0};
  return value(x);
}
double by_pointer(const double* x, double* g) {
  g[0] = 2 * x[0];
  g[1] = 3;
  return x[0] * x[0] + 3 * x[1];
}
double half_written(const double* x, double* g) {
  g[0] = 2 * x[0];
  return x[0] * x[0] + 3 * x[1];
}
double past_the_end(const double* x, double* g) {
  g[2] = 0;
  return by_pointer(x, g);
}

struct Parabola {
  double k = 2;
  int calls = 0;
  double f(double x) const { return k * x * x; }
  double df(double x) {
    ++calls;
    return 2 * k * x;
  }
};

V sums(const Rows& m) {
  V y;
  for (const V& row : m) {
    y.push_back(0);
    for (const double v : row) y.back() += v * v;
  }
  return y;
}
Rows sums_vjp(const Rows& m, const V& dy) {
  Rows d = m;
  for (std::size_t i = 0; i < m.size(); ++i)
    for (double& v : d[i]) v *= 2 * dy[i];
  return d;
}

double turned(const Pose& p) { return p.x * p.x + p.y * p.turn; }
Pose turned_gradient(const Pose& p) { return {2 * p.x, p.turn, p.y}; }

const V kX{0.5, -1.25};

bool says(const check::Report& report, const std::string& words) {
  return report.text().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("raw: the value and the gradient in one call", "[check][raw]") {
  CHECK(check::raw("reference", by_reference, kX));
  CHECK(check::raw("address", by_address, kX));
  CHECK(check::raw("pointer", by_pointer, kX));
  CHECK(check::raw("beside the function", value, by_reference, kX));
  CHECK(says(check::raw("half", half_written, kX), "NOT A NUMBER"));
  CHECK(says(check::raw("past", past_the_end, kX), "past the end of its gradient"));
}

TEST_CASE("raw: members, structs, rows of rows, overloads", "[check][raw]") {
  Parabola p;
  const Parabola& same = p;
  CHECK(check::raw("member", check::method(&Parabola::f, same), check::method(&Parabola::df, p),
                   0.7));
  CHECK(p.calls > 0);
  CHECK(check::raw("struct", turned, turned_gradient, Pose{1, 2, 3.5}));
  CHECK(check::raw("rows", sums, sums_vjp, Rows{{1, 2, 3}, {-1, 0.5, 4}}));
  const check::Report wrong = check::raw(
      "rows, dy", sums, [](const Rows& m, const V&) { return m; }, Rows{{1, 2}, {-1, 0.5}});
  CHECK(!wrong);
  CHECK(wrong.inputs[0].shape == check::Shape{2, 2});
  CHECK(check::raw("exp", std::exp, std::exp, 0.5));
  CHECK(!check::raw("sin", std::sin, std::sin, 0.5));
}

TEST_CASE("raw: a Jacobian as rows", "[check][raw]") {
  const auto f = [](const V& x) { return V{x[0] * x[1], x[0], x[1] * x[1]}; };
  CHECK(check::raw(
      "rows", f,
      [](const V& x) {
        return Rows{{x[1], x[0]}, {1, 0}, {0, 2 * x[1]}};
      },
      kX));
  CHECK(!check::raw(
      "swapped", f,
      [](const V& x) {
        return Rows{{x[0], x[1]}, {1, 0}, {0, 2 * x[1]}};
      },
      kX));
}

}  // namespace gradus
