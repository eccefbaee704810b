// Tests check::raw with functions and arrays of each supported type.
#include "gradus/check/raw/check.h"

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include "gradus/check/raw/catch2.h"
#include "gradus/tests/check/verdicts.h"

namespace forms {

struct Pose {
  double x, y, turn;
};

}  // namespace forms

template <>
struct gradus::check::Array<forms::Pose> : gradus::check::Fields<forms::Pose, double> {};

namespace gradus::check::test_raw {
namespace {

using testing::fails, testing::passes, testing::says, testing::undecided;
using V = std::vector<double>;
using F = std::vector<float>;
using Table = std::vector<V>;
using Span = std::span<const double>;

const V kX{0.5, -1.25, 2.0}, kW{1.5, 0.25};

template <class Make>
void holds(const std::string& form, Make make) {
  CAPTURE(form);
  passes(make(1.0));
  fails(make(1.001));
}

// y = [x₀w₀ + w₁, x₁x₂w₁] and its Jacobians, multiplied by c.
V two(const V& x, const V& w) { return {x[0] * w[0] + w[1], x[1] * x[2] * w[1]}; }
V by_x(const V& x, const V& w, double c = 1) {
  return {c * w[0], 0, 0, 0, c * x[2] * w[1], c * x[1] * w[1]};
}
V by_w(const V& x, double c = 1) { return {c * x[0], c, 0, c * x[1] * x[2]}; }
V times(const V& dy, const V& jacobian) {
  V dx(jacobian.size() / 2, 0.0);
  for (std::size_t p = 0; p < jacobian.size(); ++p)
    dx[p % dx.size()] += dy[p / dx.size()] * jacobian[p];
  return dx;
}
V by_columns(const V& m) {
  V result;
  for (std::size_t j = 0; j < m.size() / 2; ++j)
    result.insert(result.end(), {m[j], m[j + m.size() / 2]});
  return result;
}

// y = x₀² + x₁x₂ and its gradient, multiplied by c.
double number_of(const V& x) { return x[0] * x[0] + x[1] * x[2]; }
V gradient_of(const V& x, double c = 1) { return {c * 2 * x[0], c * x[2], c * x[1]}; }

V squares(const V& x) {
  V y = x;
  for (double& v : y) v *= v;
  return y;
}
V squares_vjp(const V& x, const V& dy) {
  V dx = x;
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] *= 2 * dy[i];
  return dx;
}

using Function = std::function<V(const V&)>;
using Vjp = std::function<V(const V&, const V&)>;

auto squares_with(Vjp vjp, const V& x = kX) {
  return raw("squares", Function(squares), std::move(vjp), x);
}

void c_squares(const float* x, float* y) {
  for (int i = 0; i < 3; ++i) y[i] = x[i] * x[i];
}

/// A matrix with the members of Eigen matrices that the checker uses.
template <bool RowMajor>
struct Grid {
  enum { IsRowMajor = RowMajor };
  Grid() = default;
  Grid(std::int64_t r, std::int64_t c)
      : rows_(r), cols_(c), numbers(static_cast<std::size_t>(r * c)) {}
  const double* data() const { return numbers.data(); }
  double* data() { return numbers.data(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  double& operator()(std::int64_t r, std::int64_t c) {
    return numbers[static_cast<std::size_t>(RowMajor ? r * cols_ + c : c * rows_ + r)];
  }
  double operator()(std::int64_t r, std::int64_t c) const { return const_cast<Grid&>(*this)(r, c); }
  std::int64_t rows_ = 0, cols_ = 0;
  V numbers;
};

/// y = (x²)ᵀ, [2, 3] → [3, 2]
template <bool RowMajor>
Report grid_of_squares(double factor) {
  using G = Grid<RowMajor>;
  G x(2, 3);
  for (std::int64_t p = 0; p < 6; ++p) x(p / 3, p % 3) = 0.5 + 0.25 * static_cast<double>(p * p);
  return raw(
      "squares",
      [](const G& a) {
        G y(3, 2);
        for (std::int64_t p = 0; p < 6; ++p) y(p % 3, p / 3) = a(p / 3, p % 3) * a(p / 3, p % 3);
        return y;
      },
      [factor](const G& a, const G& dy) {
        G dx(2, 3);
        for (std::int64_t p = 0; p < 6; ++p)
          dx(p / 3, p % 3) = 2 * a(p / 3, p % 3) * dy(p % 3, p / 3) * (p == 3 ? factor : 1);
        return dx;
      },
      input(x, "x"));
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

}  // namespace

TEST_CASE("raw: a vector-Jacobian product may return, write or add its gradients") {
  holds("tuple", [](double c) {
    return raw(
        "f", two,
        [c](const V& x, const V& w, const V& dy) {
          return std::tuple(times(dy, by_x(x, w)), times(dy, by_w(x, c)));
        },
        kX, kW);
  });
  holds("vector of vectors", [](double c) {
    return raw(
        "f", two,
        [c](const V& x, const V& w, const V& dy) {
          return Table{times(dy, by_x(x, w, c)), times(dy, by_w(x))};
        },
        kX, kW);
  });
  for (const bool adds : {false, true})
    holds(adds ? "added" : "written", [adds](double c) {
      auto check = raw(
          "f",
          [](Span x, const double* w, std::span<double> y) {
            const V now = two({x.begin(), x.end()}, {w, w + 2});
            std::copy(now.begin(), now.end(), y.begin());
          },
          [=](Span x, const double* w, const double* dy, std::span<double> dx, double* dw) {
            const V a(x.begin(), x.end()), b(w, w + 2), up(dy, dy + 2);
            const V ga = times(up, by_x(a, b, c)), gb = times(up, by_w(a));
            for (std::size_t i = 0; i < 3; ++i) dx[i] = ga[i] + (adds ? dx[i] : 0);
            for (std::size_t i = 0; i < 2; ++i) dw[i] = gb[i] + (adds ? dw[i] : 0);
          },
          kX, kW);
      check.output({2});
      if (adds) check.accumulates();
      return check.report();
    });
}

TEST_CASE("raw: a scalar's gradient may be returned, written, or given with the value") {
  holds("returned", [](double c) {
    return raw(
        "f", number_of, [c](const V& x) { return gradient_of(x, c); }, kX);
  });
  holds("written", [](double c) {
    return raw(
        "f", number_of,
        [c](const V& x, double* g) {
          const V now = gradient_of(x, c);
          std::copy(now.begin(), now.end(), g);
        },
        kX);
  });
  const auto both = [](double c) {
    return [c](const V& x, V& g) {
      g = gradient_of(x, c);
      return number_of(x);
    };
  };
  holds("value and gradient", [&](double c) { return raw("f", both(c), kX); });
  holds("next to the function", [&](double c) { return raw("f", number_of, both(c), kX); });
  holds("by address", [](double c) {
    return raw(
        "f",
        [c](const V& x, V* g) {
          if (g != nullptr) *g = gradient_of(x, c);
          return number_of(x);
        },
        kX);
  });
  const auto half = [](const V& x, double* g) {
    g[0] = 2 * x[0];
    return number_of(x);
  };
  fails(raw("half", half, kX), "NOT A NUMBER");
}

TEST_CASE("raw: a Jacobian may be row-major, column-major, flat, nested, or written") {
  holds("rows", [](double c) {
    return raw("f", two,
               jacobian([c](const V& x, const V& w) { return std::tuple(by_x(x, w, c), by_w(x)); }),
               kX, kW);
  });
  const auto columns = [](double c) {
    return [c](const V& x, const V& w) {
      return std::tuple(by_columns(by_x(x, w)), by_columns(by_w(x, c)));
    };
  };
  holds("columns",
        [&](double c) { return raw("f", two, jacobian(columns(c), Order::column_major), kX, kW); });
  const Report wrong_order = raw("f", two, jacobian(columns(1)), kX, kW);
  fails(wrong_order);
  CHECK(wrong_order.inputs[0].cause.name == "COLUMN MAJOR");
  CHECK(wrong_order.inputs[0].map_rows == 2);  // outputs × elements
  CHECK(wrong_order.inputs[0].map.size() == 6);
  fails(wrong_order, "map of d outputs / d x0, one row per output");
  const auto of_squares = [](const V& x, double c) {
    return Table{{2 * c * x[0], 0, 0}, {0, 2 * x[1], 0}, {0, 0, 2 * x[2]}};
  };
  holds("rows of rows", [&](double c) {
    return raw(
        "squares", squares, [=](const V& x) { return of_squares(x, c); }, kX);
  });
  holds("written", [&](double c) {
    return raw(
        "squares", squares,
        [=](const V& x, double* j) {
          for (const V& row : of_squares(x, c)) j = std::copy(row.begin(), row.end(), j);
        },
        kX);
  });
  fails(raw(
            "small", squares,
            [](const V&) {
              return V{1, 2};
            },
            kX),
        "the Jacobian has 2 values for 3 outputs and 3 elements");
}

TEST_CASE("raw: a forward-mode derivative must be linear in its direction") {
  const auto along = [](double c, bool bent) {
    return jvp([=](const V& x, const V& w, const V& dx, const V& dw) {
      V y(2, 0.0);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) y[i] += by_x(x, w, c)[3 * i + j] * dx[j];
        for (std::size_t j = 0; j < 2; ++j) y[i] += by_w(x)[2 * i + j] * dw[j];
        if (bent) y[i] += 0.1 * y[i] * y[i];
      }
      return y;
    });
  };
  holds("jvp", [&](double c) { return raw("f", two, along(c, false), kX, kW); });
  fails(raw("f", two, along(1, true), kX, kW), "not linear in its direction");
}

TEST_CASE("raw: inputs may be numbers, arrays, C arrays, nested rows, or structs") {
  holds("number", [](double c) {
    return raw(
        "cube", [](double x) { return x * x * x; }, [c](double x) { return 3 * c * x * x; }, 2.0);
  });
  holds("auto", [](double c) {
    return raw(
        "square", [](auto x) { return x * x; }, [c](auto x, auto dy) { return 2 * c * x * dy; },
        2.0);
  });
  using A = std::array<double, 3>;
  holds("array", [](double c) {
    return raw(
        "f",
        [](const A& x) {
          return A{x[0] * x[1], x[1], x[2]};
        },
        [c](const A& x, const A& dy) {
          return A{x[1] * dy[0], x[0] * dy[0] + c * dy[1], dy[2]};
        },
        A{0.5, -1.25, 2.0});
  });
  const double numbers[] = {0.5, -1.25, 2.0};
  holds("C array", [&](double c) {
    return raw(
        "product", [](const double* x) { return x[0] * x[1] * x[2]; },
        [c](const double* x, double* g) {
          g[0] = c * x[1] * x[2], g[1] = x[0] * x[2], g[2] = x[0] * x[1];
        },
        numbers);
  });
  holds("rows of rows", [](double c) {
    return raw(
        "sums",
        [](const Table& m) {
          V y;
          for (const V& row : m) y.push_back(row[0] * row[1]);
          return y;
        },
        [c](const Table& m, const V& dy) {
          Table d = m;
          for (std::size_t i = 0; i < m.size(); ++i) d[i] = {c * dy[i] * m[i][1], dy[i] * m[i][0]};
          return d;
        },
        Table{{1, 2}, {-1, 0.5}, {3, 4}});
  });
  using forms::Pose;
  holds("struct", [](double c) {
    return raw(
        "turned", [](const Pose& p) { return p.x * p.x + p.y * p.turn; },
        [c](const Pose& p) {
          return Pose{2 * p.x, p.turn, c * p.y};
        },
        Pose{1, 2, 3.5});
  });
}

TEST_CASE("raw: row-major and column-major matrices have the same elements") {
  for (const auto grid : {grid_of_squares<true>, grid_of_squares<false>}) {
    passes(grid(1));
    const Report report = grid(1.5);
    fails(report, "/ d x[1,0]: 1.5 times");
    CHECK(report.inputs[0].shape == Dims{2, 3});
    CHECK(report.findings.at(0).output == Dims{0, 1});
  }
}

TEST_CASE("raw: member functions and functions of the standard library can be checked") {
  Parabola p;
  const Parabola& same = p;
  passes(raw("member", method(&Parabola::f, same), method(&Parabola::df, p), 0.7));
  CHECK(p.calls > 0);
  passes(raw("exp", std::exp, std::exp, 0.5));
  fails(raw("sin", std::sin, std::sin, 0.5));
}

TEST_CASE("raw: integers and constants get no gradient, and inputs have names and shapes") {
  const auto pick = [](const V& x, const std::vector<int>& at, const V& w) {
    return x[static_cast<std::size_t>(at[0])] * w[0];
  };
  const Report report = raw(
      "pick", pick,
      [](const V& x, const std::vector<int>& at, const V& w) {
        V dx(x.size(), 0.0);
        dx[static_cast<std::size_t>(at[0])] = w[0];
        return dx;
      },
      input(kX, "table", {3, 1}), std::vector<int>{2}, constant(V{3.0}, "w"));
  passes(report, "input 0 'table' [3,1]: ok");
  passes(report, "input 1 'x1' [1]: not differentiable");
  passes(report, "input 2 'w' [1]: not differentiable");
}

TEST_CASE("raw: two gradients in the wrong order are reported as swapped") {
  const auto dot = [](const V& a, const V& b) { return a[0] * b[0] + a[1] * b[1]; };
  const Report report = raw(
      "dot", dot, [](const V& a, const V& b) { return std::tuple(a, b); }, kW, V{-2, 3});
  fails(report);
  CHECK(report.inputs[0].cause.name == "SWAPPED");
}

TEST_CASE("raw: inputs and the output may be on manifolds") {
  const Function spread = [](const V& x) { return V{2 * x[3], -x[2], -x[2], 2 * x[0]}; };
  const auto lower = [](const V& x) { return 2 * x[0] * x[3] - x[2] * x[2]; };
  const V a{2, 0.5, 0.5, 3};
  passes(raw("lower", lower, spread, input(a, "A", {2, 2}).symmetric()));
  fails(raw("lower", lower, spread, input(a, "A", {2, 2})));
  const auto logs = [](const V& x) { return std::log(x[0]) + std::log(x[1]); };
  const Function inverse = [](const V& x) { return V{1 / x[0], 1 / x[1]}; };
  passes(raw("logs", logs, inverse, input(V{1e-12, 1e9}, "x").positive()));
  const V r = so3().plus({1, 0, 0, 0, 1, 0, 0, 0, 1}, {0.7, -0.4, 1.1}), q = so3().plus(r, kX);
  // R exp(δ) Q = R Q exp(Qᵀδ)
  const Function compose = [q](const V& x) { return product({3, 3, x}, {3, 3, q}).values; };
  const auto on = [&](const V& by_tangents) {
    const Function d = [by_tangents](const V&) { return by_tangents; };
    return raw("compose", compose, jacobian(d), input(r, "R", {3, 3}).on(so3())).output_on(so3());
  };
  passes(on(transposed({3, 3, q}).values));
  fails(on(q));
}

TEST_CASE("raw: writes before the start and past the end of arguments fail") {
  for (const int at : {-32, -1, 3, 34}) {
    CAPTURE(at);
    const std::string where = at < 0 ? "writes before the start of " : "writes past the end of ";
    fails(raw(
              "f", [](const double* x) { return x[0]; },
              [at](const double*, double dy, double* dx) {
                dx[0] = dy;
                dx[1] = dx[2] = 0;
                dx[at] = 5;
              },
              kX),
          "the derivative " + where + "dx0, which has 3 elements");
    fails(raw(
              "f",
              [at](Span x, std::span<double> y) {
                std::copy(x.begin(), x.end(), y.begin());
                y.data()[at] = 7;
              },
              [](Span, Span dy, std::span<double> dx) {
                std::copy(dy.begin(), dy.end(), dx.begin());
              },
              kX)
              .output({3}),
          "forward " + where + "its output");
  }
}

TEST_CASE("raw: a function that changes its read-only arguments fails") {
  fails(raw(
            "f",
            [](V& x) {
              x[1] = 0.25;
              return x;
            },
            [](const V&, const V& dy) { return dy; }, kX),
        "forward changes x0, which it must only read: element [1] was -1.25 and is 0.25");
  for (const bool of_dy : {false, true})
    fails(raw(
              "squares", squares,
              [of_dy](V& x, V& dy) {
                V dx = squares_vjp(x, dy);
                (of_dy ? dy : x)[0] = 9;
                return dx;
              },
              kX),
          of_dy ? "the derivative changes dy" : "the derivative changes x0");
  fails(raw("squares", squares, jvp([](V& x, const V& v) {
              V dy = squares_vjp(x, v);
              x[1] += 1;
              return dy;
            }),
            kX),
        "the derivative changes x0");
}

TEST_CASE("raw: a float function passes with a reference or a resolution") {
  const F x{0.5F, -1.25F, 2.0F};
  const auto vjp = [](float c) {
    return [c](const float* a, const float* dy, float* dx) {
      for (int i = 0; i < 3; ++i) dx[i] = c * 2 * a[i] * dy[i];
    };
  };
  const auto check = [&](float c) { return raw("squares", c_squares, vjp(c), x).output({3}); };
  undecided(check(1), ".reference(f)");
  passes(check(1).reference(squares));
  fails(check(1.0001F).reference(squares));
  passes(check(1.0001F).resolution(1e-3));
  fails(check(1.005F).resolution(1e-3));
}

TEST_CASE("raw: options change the check") {
  using namespace std::chrono_literals;
  const auto check = [](const V& x) { return squares_with(squares_vjp, x); };
  const V many(100, 0.5);
  passes(check(many).sampled().columns(7).directions(2), "7 of 100 elements");
  passes(check(many).sampled().columns(7).full(), "input 0 'x0' [100]: ok");
  passes(check(V(6, 0.5)).output({2, 3}).budget(2s).parallel(2));
  CHECK(check(kX).seed(5).report().seed == 5);
  CHECK(check(kX).budget(250ms).options.seconds == 0.25);
  CHECK(check(kX).parallel().options.threads == 0);  // one per core
  const auto off = [](double share) {
    return squares_with([share](const V& x, const V& dy) {
      V dx = squares_vjp(x, dy);
      dx[1] *= 1 + share;
      return dx;
    });
  };
  fails(off(1e-5));
  passes(off(1e-5).tolerance(1e-4, 1e-9));
  fails(off(1e-3).tolerance(1e-4, 1e-9));
  const Vjp moody = [](const V& x, const V& dy) {
    V dx = squares_vjp(x, dy);
    dx[0] *= dy[0] == 7 ? 1.5 : 1;
    return dx;
  };
  passes(squares_with(moody));
  fails(squares_with(moody).upstream({7, 1, 1}));
  const Vjp negated = [](const V& x, const V& dy) { return squares_vjp(x, V{-dy[0]}); };
  auto alone = squares_with(negated, V{0});
  alone.options.neighborhood = false;
  passes(alone);
  fails(squares_with(negated, V{0}));
  const Vjp right = [](const V& x, const V& dy) { return V{x[0] >= 0 ? dy[0] : 0}; };
  const auto relu = [&](double share) {
    const Function f = [](const V& x) { return V{std::max(x[0], 0.0)}; };
    return raw("relu", f, right, V{0}).kinks({{.at = 0.0, .share = share}});
  };
  passes(relu(1));
  fails(relu(0));
}

TEST_CASE("raw: the report shows how to repeat the check, and Catch2 can match it") {
  const Report right = squares_with(squares_vjp);
  const Report wrong = squares_with([](const V& x, const V&) { return x; }).seed(7);
  fails(wrong, "reproduce: check::raw(\"squares\", …).seed(7)");
  CHECK_THAT(right, HasCorrectGradients());
  CHECK_THAT(wrong, !HasCorrectGradients());
  CHECK((right && !wrong));
}

TEST_CASE("raw: an invalid call of the checker throws BadInput") {
  const auto nothing = [](const float*, const float*, float*) {};
  CHECK_THROWS_AS(raw("no output", c_squares, nothing, F{1, 2, 3}).report(), BadInput);
  CHECK_THROWS_AS(squares_with(squares_vjp).output({4}).report(), BadInput);
  const auto check = [](const auto& x) { return raw("f", Function(squares), Vjp(squares_vjp), x); };
  CHECK_THROWS_AS(check(input(kX, "x", {2, 2})).report(), BadInput);
  CHECK_THROWS_AS(check(constant(kX)).report(), BadInput);
}

TEST_CASE("raw: only_here() accepts a derivative that is right at the inputs alone") {
  const auto step = [](const Values& x) { return Values{std::sin(x[0]), x[1] * x[1] + x[1]}; };
  const auto at_zero = [](const Values&, const Values& dy) { return dy; };
  const Values zero{0, 0};
  CHECK(!check::raw("step", step, at_zero, zero));
  CHECK(check::raw("step", step, at_zero, zero).only_here());
}

}  // namespace gradus::check::test_raw
