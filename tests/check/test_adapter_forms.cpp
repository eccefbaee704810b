// check::raw on functions of all forms: what each is called with, in order, and the whole report of
// right ones, of wrong ones, and of those that do damage.
#include <chrono>

#include "gradus/check/raw/check.h"
#include "gradus/tests/check/recorded.h"

namespace gradus::check {
namespace {

using golden::Page;
using V = std::vector<double>;

/// A matrix as Eigen names its parts, by rows or by columns.
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
  std::int64_t rows_ = 0, cols_ = 0;
  V numbers;
};

/// What the derivative was called with, of the last check.
std::string calls;
template <class... A>
void called(const A&... parts) {
  ((calls += golden::word(parts) + " "), ...);
  calls += "\n";
}

template <class Raw>
void show(Page& page, const std::string& what, const Raw& raw) {
  calls.clear();
  std::string report;
  try {
    report = recorded::rounded(raw.report().json());
  } catch (const BadInput& error) {
    report = std::string("refused: ") + error.what();
  }
  page.line("====== " + what + "\n" + page.once(calls));
  page.line(page.once(report));
}

const V kX{0.75, -1.5, 2}, kW{1.5, 0.25};

/// [x₀w₀ + w₁, x₁x₂w₁] and its Jacobians.
V two(const V& x, const V& w) { return {x[0] * w[0] + w[1], x[1] * x[2] * w[1]}; }
V by_x(const V& x, const V& w) { return {w[0], 0, 0, 0, x[2] * w[1], x[1] * w[1]}; }
V by_w(const V& x, const V&) { return {x[0], 1, 0, x[1] * x[2]}; }
V times(const V& dy, const V& matrix) {
  V dx(matrix.size() / 2, 0.0);
  for (std::size_t p = 0; p < matrix.size(); ++p)
    dx[p % dx.size()] += dy[p / dx.size()] * matrix[p];
  return dx;
}
V by_columns(const V& m) {
  V result;
  for (std::size_t j = 0; j < m.size() / 2; ++j)
    result.insert(result.end(), {m[j], m[j + m.size() / 2]});
  return result;
}

/// The first half of the page.
void show_returned(Page& page) {
  show(page, "a tuple",
       raw(
           "f", two,
           [](const V& x, const V& w, const V& dy) {
             called("vjp", dy);
             return std::tuple(times(dy, by_x(x, w)), times(dy, by_w(x, w)));
           },
           kX, kW));
  show(page, "a vector of vectors",
       raw(
           "f", two,
           [](const V& x, const V& w, const V& dy) {
             return std::vector<V>{times(dy, by_x(x, w)), times(dy, by_w(x, w))};
           },
           input(kX, "x", {3, 1}), input(kW, "w"))
           .output({2, 1}));
  show(page, "one is constant",
       raw(
           "f", two, [](const V& x, const V& w, const V& dy) { return times(dy, by_w(x, w)); },
           constant(kX, "x"), input(kW)));
}

/// The first half of the page.
void show_jacobians(Page& page) {
  const auto rows = [](const V& x, const V& w) { return std::tuple(by_x(x, w), by_w(x, w)); };
  const auto columns = [](const V& x, const V& w) {
    return std::tuple(by_columns(by_x(x, w)), by_columns(by_w(x, w)));
  };
  show(page, "by rows", raw("f", two, jacobian(rows), kX, kW));
  show(page, "by columns", raw("f", two, jacobian(columns, Order::column_major), kX, kW));
  show(page, "by columns, called rows", raw("f", two, jacobian(columns), kX, kW));
  show(page, "one row too many",
       raw("f", two,
           jacobian([](const V& x, const V& w) { return std::tuple(V(9, 1.0), by_w(x, w)); }), kX,
           kW));
  show(page, "another each time",
       raw("f", two, jacobian([n = 0.0](const V& x, const V& w) mutable {
             return std::tuple(by_x(x, w), V{x[0] + ++n, 1, 0, x[1] * x[2]});
           }),
           kX, kW));
  show(page, "not a number",
       raw("f", two, jacobian([](const V& x, const V& w) {
             return std::tuple(V(6, std::nan("")), by_w(x, w));
           }),
           kX, kW));
  show(page, "written",
       raw("f", two, jacobian([](const V& x, const V& w, V& jx, V& jw) {
             called("starts", jx, jw);
             jx = by_x(x, w);
             jw = by_w(x, w);
           }),
           kX, kW));
}

/// The first half of the page.
void show_writes(Page& page) {
  for (const int at : {-32, -1, 3, 34}) {
    show(page, "vjp writes at " + std::to_string(at),
         raw(
             "f", [](const double* x) { return x[0]; },
             [at](const double* x, double dy, double* dx) {
               dx[0] = dy + 0 * x[0];
               dx[1] = dx[2] = 0;
               dx[at] = 5;
             },
             kX));
    show(page, "forward writes at " + std::to_string(at),
         raw(
             "f",
             [at](std::span<const double> x, std::span<double> y) {
               std::copy(x.begin(), x.end(), y.begin());
               (y.data())[at] = 7;
             },
             [](std::span<const double>, std::span<const double> dy, std::span<double> dx) {
               std::copy(dy.begin(), dy.end(), dx.begin());
             },
             kX)
             .output({3}));
  }
}

/// The first half of the page.
void show_both_at_once(Page& page) {
  show(page, "by reference",
       raw(
           "f",
           [](const V& x, V& g) {
             called("starts", g);
             g = {2 * x[0], x[2], x[1]};
             return x[0] * x[0] + x[1] * x[2];
           },
           kX));
  show(page, "by address",
       raw(
           "f",
           [](const V& x, V* g) {
             called("starts", *g);
             *g = {2 * x[0], x[2], 0};
             return x[0] * x[0] + x[1] * x[2];
           },
           kX));
  show(page, "of C",
       raw(
           "f",
           [](std::span<const double> x, double* g) {
             g[0] = 2 * x[0];
             g[1] = x[2];
             g[2] = x[1];
             return x[0] * x[0] + x[1] * x[2];
           },
           kX));
  show(page, "a value and its gradient, apart",
       raw(
           "f", [](const V& x) { return x[0]; },
           [](const V& x, V& g) {
             g = {1, 0, 0};
             return x[0];
           },
           kX));
}

}  // namespace

TEST_CASE("vector-Jacobian products of all forms are golden/check/forms.txt") {
  Page page;
  show_returned(page);
  for (const bool adds : {false, true}) {
    auto spans = raw(
        "f",
        [](std::span<const double> x, const double* w, std::span<double> y) {
          const V now = two({x.begin(), x.end()}, {w, w + 2});
          std::copy(now.begin(), now.end(), y.begin());
        },
        [adds](std::span<const double> x, const double* w, const double* dy, std::span<double> dx,
               double* dw) {
          called("into", V(dy, dy + 2), V(dx.begin(), dx.end()), V(dw, dw + 2));
          const V a(x.begin(), x.end()), b(w, w + 2), up(dy, dy + 2);
          const V ga = times(up, by_x(a, b)), gb = times(up, by_w(a, b));
          for (std::size_t i = 0; i < 3; ++i) dx[i] = ga[i] + (adds ? dx[i] : 0);
          for (std::size_t i = 0; i < 2; ++i) dw[i] = gb[i] + (adds ? dw[i] : 0);
        },
        kX, kW);
    show(page, "no output size", spans);
    auto known = spans;
    known = spans.output({2});
    if (adds) known.accumulates();
    show(page, adds ? "added" : "written", known);
  }
  show(page, "too many",
       raw(
           "f", two,
           [](const V& x, const V& w, const V&) {
             return std::vector<V>{x, w, w};
           },
           kX, kW));
  page.compare("forms.txt");
}

TEST_CASE("Jacobians and directional derivatives are golden/check/jacobians.txt") {
  Page page;
  show_jacobians(page);
  const auto forward_mode = [](double square) {
    return [square](const V& x, const V& w, const V& dx, const V& dw) {
      called("jvp", dx, dw);
      V y(2, 0.0);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) y[i] += by_x(x, w)[3 * i + j] * dx[j];
        for (std::size_t j = 0; j < 2; ++j) y[i] += by_w(x, w)[2 * i + j] * dw[j];
        y[i] += square * y[i] * y[i];
      }
      return y;
    };
  };
  show(page, "jvp", raw("f", two, jvp(forward_mode(0)), kX, kW));
  show(page, "jvp, not linear", raw("f", two, jvp(forward_mode(0.1)), kX, kW));
  show(page, "jvp of one",
       raw("f", two, jvp([](const V& x, const V& w, const V& dw) {
             called("jvp", dw);
             return V{x[0] * dw[0] + dw[1], x[1] * x[2] * dw[1] + 0 * w[0]};
           }),
           constant(kX), kW));
  page.compare("jacobians.txt");
}

TEST_CASE("matrices by rows and by columns are golden/check/grids.txt") {
  Page page;
  const auto check_grids = [&]<bool RowMajor>(std::bool_constant<RowMajor>) {
    using G = Grid<RowMajor>;
    G x(2, 3);
    for (std::int64_t i = 0; i < 6; ++i) x(i / 3, i % 3) = 0.5 + 0.25 * static_cast<double>(i * i);
    const auto squares = [](const G& a) {
      G y(3, 2);
      for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          y(j, i) = const_cast<G&>(a)(i, j) * const_cast<G&>(a)(i, j);
      return y;
    };
    const std::string order = RowMajor ? "rows" : "columns";
    show(page, "by " + order,
         raw(
             "squares", squares,
             [](const G& a, const G& dy) {
               called("vjp", a.numbers, dy.numbers);
               G dx(2, 3);
               for (std::int64_t i = 0; i < 2; ++i)
                 for (std::int64_t j = 0; j < 3; ++j)
                   dx(i, j) = 2 * const_cast<G&>(a)(i, j) * const_cast<G&>(dy)(j, i) +
                              (i == 1 && j == 0 ? 0.5 : 0);
               return dx;
             },
             x));
    show(page, "Jacobian by " + order,
         raw("squares", squares, jacobian([](const G& a) {
               G m(6, 6);
               for (std::int64_t i = 0; i < 2; ++i)
                 for (std::int64_t j = 0; j < 3; ++j)
                   m(RowMajor ? j * 2 + i : i * 3 + j, RowMajor ? i * 3 + j : j * 2 + i) =
                       2 * const_cast<G&>(a)(i, j);
               return m;
             }),
             x));
  };
  check_grids(std::true_type());
  check_grids(std::false_type());
  page.compare("grids.txt");
}

TEST_CASE("damage to memory is golden/check/damage.txt") {
  Page page;
  show_writes(page);
  show(page, "forward changes x",
       raw(
           "f",
           [](V& x) {
             return V{x[0], x[1] += 1};
           },
           [](const V& x, const V& dy) { return V(x.size(), dy[0]); }, input(kX, "x", {3, 1})));
  show(page, "vjp changes dy",
       raw(
           "f", [](const V& x) { return x; },
           [](const V&, V& dy) {
             dy[2] = 3;
             return dy;
           },
           kX));
  show(page, "vjp makes x shorter",
       raw(
           "f", [](const V& x) { return x; },
           [](V& x, const V& dy) {
             x.pop_back();
             return dy;
           },
           kX));
  show(page, "an array of another size",
       raw(
           "f", [](const std::array<double, 2>& x) { return x[0]; },
           [](const std::array<double, 2>&) {
             return std::array<double, 2>{1, 0};
           },
           kX));
  show(page, "a shape that does not fit",
       raw(
           "f", [](const V& x) { return x; }, [](const V&, const V& dy) { return dy; },
           input(kX, "x", {2, 2})));
  page.compare("damage.txt");
}

TEST_CASE("one call for both, and options by their names, are golden/check/options.txt") {
  Page page;
  show_both_at_once(page);
  const auto f = [](const V& x) { return x; };
  const auto df = [](const V&, const V& dy) { return dy; };
  auto all = raw("f", f, df, kX);
  all.tolerance(1e-3, 1e-4)
      .seed(9)
      .columns(2)
      .directions(1)
      .upstream({1, 2, 3})
      .kinks({{0, {}, 1}})
      .resolution(0.25);
  const RawOptions& o = all.options;
  page.line(o.rtol, o.atol, std::to_string(o.seed), o.columns, o.projections, o.upstream,
            o.kinks.size(), o.resolution, o.threads);
  using namespace std::chrono_literals;
  for (const double seconds : {all.budget(2s).options.seconds, all.budget(250ms).options.seconds,
                               all.budget(3min).options.seconds,
                               all.budget(std::chrono::duration<double>(0.5)).options.seconds})
    page.line(seconds);
  page.line("three threads", all.parallel(3).options.threads);
  page.line("as many as there are cores", all.parallel().options.threads);
  page.line("full", static_cast<int>(all.full().options.mode));
  page.line("sampled", static_cast<int>(all.sampled().options.mode));
  show(page, "with options", all.parallel(1).budget(0s));
  page.compare("options.txt");
}

}  // namespace gradus::check
