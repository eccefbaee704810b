// check::raw on every kind of array and derivative that people have.
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gradus/check/raw/check.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

using V = std::vector<double>;
using F = std::vector<float>;
using check::Report;
using check::Verdict;
using raw_cases::squares;
using raw_cases::squares_vjp;

/// What the checker needs of a matrix, as Eigen names it.
template <class T, bool RowMajor>
class Grid {
 public:
  enum { IsRowMajor = RowMajor };
  Grid() = default;
  Grid(std::int64_t rows, std::int64_t cols)
      : rows_(rows), cols_(cols), numbers_(static_cast<std::size_t>(rows * cols)) {}
  const T* data() const { return numbers_.data(); }
  T* data() { return numbers_.data(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  T& operator()(std::int64_t r, std::int64_t c) {
    return numbers_[static_cast<std::size_t>(RowMajor ? r * cols_ + c : c * rows_ + r)];
  }
  T operator()(std::int64_t r, std::int64_t c) const { return const_cast<Grid&>(*this)(r, c); }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<T> numbers_;
};

/// a · b, with dA = dC Bᵀ, dB = Aᵀ dC.
template <class G>
G product(const G& a, const G& b) {
  G c(a.rows(), b.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t j = 0; j < b.cols(); ++j)
      for (std::int64_t p = 0; p < a.cols(); ++p) c(i, j) += a(i, p) * b(p, j);
  return c;
}

template <class G>
std::tuple<G, G> product_vjp(const G& a, const G& b, const G& dc) {
  G da(a.rows(), a.cols()), db(b.rows(), b.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t j = 0; j < b.cols(); ++j)
      for (std::int64_t p = 0; p < a.cols(); ++p) {
        da(i, p) += dc(i, j) * b(p, j);
        db(p, j) += a(i, p) * dc(i, j);
      }
  return {da, db};
}

template <class G>
G numbered(std::int64_t rows, std::int64_t cols, double from) {
  G g(rows, cols);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      g(r, c) = std::sin(from + static_cast<double>(r * cols + c));
  return g;
}

double dot(const V& a, const V& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void c_squares(const float* x, float* y) {
  for (int i = 0; i < 3; ++i) y[i] = x[i] * x[i];
}
void c_squares_vjp(const float* x, const float* dy, float* dx) {
  for (int i = 0; i < 3; ++i) dx[i] = 2 * x[i] * dy[i];
}

const V kX{0.5, -1.25, 2.0};
const F kF{0.5F, -1.25F, 2.0F};

/// A right derivative passes and names nothing; of a wrong one (an element of dx changed) the
/// element is named.
void passes(const Report& report) {
  CAPTURE(report.text());
  CHECK(report);
  CHECK(report.findings.empty());
}

bool says(const Report& report, const std::string& words) {
  return report.text().find(words) != std::string::npos ||
         report.json().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("raw: vectors, scalars, arrays, spans, C arrays", "[check][raw]") {
  passes(check::raw("vector", squares, squares_vjp, kX));
  passes(check::raw(
      "scalar", [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }, 2.0));
  passes(check::raw(
      "auto", [](auto x) { return x * x; }, [](auto x, auto dy) { return 2 * x * dy; }, 2.0));
  using A = std::array<double, 3>;
  passes(check::raw(
      "array",
      [](const A& x) {
        return A{x[0] * x[1], x[1], x[2]};
      },
      [](const A& x, const A& dy) {
        return A{x[1] * dy[0], x[0] * dy[0] + dy[1], dy[2]};
      },
      A{0.5, -1.25, 2.0}));
  using S = std::span<const double>;
  passes(check::raw(
      "span",
      [](S x) {
        return dot({x.begin(), x.end()}, {x.begin(), x.end()});
      },
      [](S x, double dy, std::span<double> dx) {
        for (std::size_t i = 0; i < x.size(); ++i) dx[i] = 2 * x[i] * dy;
      },
      S(kX)));
  const double numbers[] = {0.5, -1.25, 2.0};
  passes(check::raw(
      "C array", [](const double* x) { return x[0] * x[1] * x[2]; },
      [](const double* x, double* g) {
        g[0] = x[1] * x[2], g[1] = x[0] * x[2], g[2] = x[0] * x[1];
      },
      numbers));
}

TEST_CASE("raw: pointers, with the shape of the result", "[check][raw]") {
  const auto reference = [](const V& x) { return squares(x); };
  passes(check::raw("pointers", c_squares, c_squares_vjp, kF).output({3}).reference(reference));
  CHECK_THROWS_AS(check::raw("no output", c_squares, c_squares_vjp, kF).report(), check::BadInput);
  const auto adds = [](const float* x, const float* dy, float* dx) {
    for (int i = 0; i < 3; ++i) dx[i] += 2 * x[i] * dy[i];
  };
  passes(check::raw("adds", c_squares, adds, kF).output({3}).accumulates().reference(reference));
  const Report undeclared =
      check::raw("adds", c_squares, adds, kF).output({3}).reference(reference);
  CHECK(undeclared.inputs[0].cause.name == "ADDS");
  CHECK(undeclared.inputs[0].wrong == 0);
  const Report over = check::raw("writes", c_squares, c_squares_vjp, kF)
                          .output({3})
                          .accumulates()
                          .reference(reference);
  CHECK(over.inputs[0].cause.name == "OVERWRITES");
  const Report partly = check::raw(
                            "partly", c_squares,
                            [](const float* x, const float* dy, float* dx) {
                              for (int i = 0; i < 2; ++i) dx[i] = 2 * x[i] * dy[i];
                            },
                            kF)
                            .output({3})
                            .reference(reference);
  CHECK(partly.inputs[0].cause.name == "NEVER WRITTEN");
  CHECK(says(partly, "1 of 3 elements of dx0 are never written"));
}

TEST_CASE("raw: matrices by rows and by columns", "[check][raw]") {
  using Rows = Grid<double, true>;
  using Columns = Grid<double, false>;
  passes(check::raw("rows", product<Rows>, product_vjp<Rows>, numbered<Rows>(2, 3, 1),
                    numbered<Rows>(3, 5, 2)));
  const Columns a = numbered<Columns>(2, 3, 1), b = numbered<Columns>(3, 5, 2);
  passes(check::raw("columns", product<Columns>, product_vjp<Columns>, a, b));
  const Report wrong = check::raw(
      "columns", product<Columns>,
      [](const Columns& x, const Columns& y, const Columns& dc) {
        std::tuple<Columns, Columns> d = product_vjp(x, y, dc);
        std::get<1>(d)(2, 3) *= 1.5;
        return d;
      },
      check::input(a, "a"), check::input(b, "b"));
  REQUIRE_FALSE(wrong.findings.empty());
  CHECK(wrong.inputs[1].shape == check::Shape{3, 5});
  CHECK(wrong.inputs[1].cause.name == "SUBSET");
  CHECK(says(wrong, "/ d b[2,3]"));
  CHECK(wrong.findings[0].output.size() == 2);
}

TEST_CASE("raw: Jacobians, gradients, directions", "[check][raw]") {
  // y = (x0 x1, x0 + x2): a Jacobian of 2 rows and 3 columns.
  const auto f = [](const V& x) { return V{x[0] * x[1], x[0] + x[2]}; };
  const auto by_rows = [](const V& x) { return V{x[1], x[0], 0, 1, 0, 1}; };
  const auto by_columns = [](const V& x) { return V{x[1], 1, x[0], 0, 0, 1}; };
  passes(check::raw("rows", f, by_rows, kX));
  passes(check::raw("columns", f, check::jacobian(by_columns, check::Order::column_major), kX));
  CHECK(check::raw("not rows", f, by_columns, kX).report().verdict == Verdict::fail);
  passes(check::raw(
      "written", f,
      [](const V& x, double* j) {
        j[0] = x[1], j[1] = x[0], j[2] = 0, j[3] = 1, j[4] = 0, j[5] = 1;
      },
      kX));
  passes(check::raw(
      "matrix", f,
      [](const V& x) {
        Grid<double, false> j(2, 3);
        j(0, 0) = x[1], j(0, 1) = x[0], j(1, 0) = 1, j(1, 2) = 1;
        return j;
      },
      kX));
  passes(check::raw("jvp", f, check::jvp([](const V& x, const V& v) {
                      return V{v[0] * x[1] + x[0] * v[1], v[0] + v[2]};
                    }),
                    kX));
  const Report bent = check::raw("jvp", f, check::jvp([](const V& x, const V& v) {
                                   return V{v[0] * x[1] + x[0] * v[1], v[0] + std::abs(v[2])};
                                 }),
                                 kX);
  CHECK(says(bent, "not linear in its direction"));
  passes(check::raw(
      "two", dot,
      [](const V& a, const V& b) {
        return std::tuple{b, a};
      },
      kX, squares(kX)));
  passes(check::raw(
      "list", dot,
      [](const V& a, const V& b) {
        return std::vector<V>{b, a};
      },
      kX, squares(kX)));
  CHECK(check::raw(
            "order", dot,
            [](const V& a, const V& b) {
              return std::tuple{a, b};
            },
            kX, squares(kX))
            .report()
            .inputs[0]
            .cause.name == "SWAPPED");
  const Report small = check::raw(
      "too small", f,
      [](const V&) {
        return V{1, 2};
      },
      kX);
  CHECK(says(small, "the Jacobian has 2 values for 2 outputs and 3 elements"));
}

TEST_CASE("raw: integers and constants get no gradient", "[check][raw]") {
  const auto pick = [](const V& x, const std::vector<int>& at, const V& w) {
    return x[static_cast<std::size_t>(at[0])] * w[0];
  };
  const Report report = check::raw(
      "pick", pick,
      [](const V& x, const std::vector<int>& at, const V& w) {
        V dx(x.size(), 0.0);
        dx[static_cast<std::size_t>(at[0])] = w[0];
        return dx;
      },
      kX, std::vector<int>{2}, check::constant(V{3.0}, "w"));
  passes(report);
  CHECK(says(report, "input 2 'w' [1]: not differentiable"));
}

TEST_CASE("raw: float asks for help, and says what it could not see", "[check][raw]") {
  const Report alone = check::raw("float", c_squares, c_squares_vjp, kF).output({3});
  CHECK(alone.verdict == Verdict::inconclusive);
  CHECK(says(alone, ".reference(f)"));
  CHECK(says(alone, ".resolution(1e-3)"));
  const Report coarse =
      check::raw("float", c_squares, c_squares_vjp, kF).output({3}).resolution(1e-3);
  passes(coarse);
  CHECK(says(coarse, "a resolution of 0.001"));
  const auto off = [](float factor) {
    return [factor](const float* x, const float* dy, float* dx) {
      for (int i = 0; i < 3; ++i) dx[i] = factor * 2 * x[i] * dy[i];
    };
  };
  const auto with = [&](float factor) {
    return check::raw("float", c_squares, off(factor), kF).output({3});
  };
  CHECK_FALSE(with(1.005F).resolution(1e-3));
  CHECK(with(1.0001F).resolution(1e-3));
  CHECK(with(1.005F).resolution(1e-3).report().verdict == Verdict::fail);
  // A reference in double sees fifty times more.
  CHECK_FALSE(with(1.0001F).reference(squares));
  const Report other = with(1).reference([](const V& x) { return V(x.size(), 1.0); });
  CHECK(other.verdict == Verdict::inconclusive);
  CHECK(says(other, "not the same function"));
  // The noise is measured: of an inner result in steps of 1e-4 no resolution of 1e-6 is left.
  const auto rough = [](const V& x) { return V{std::round(x[0] * x[0] * 1e4) / 1e4}; };
  const auto d_rough = [](const V& x) { return V{2 * x[0]}; };
  CHECK(check::raw("rough", rough, d_rough, V{1.3}).resolution(1e-6).report().verdict ==
        Verdict::inconclusive);
}

TEST_CASE("raw: options", "[check][raw]") {
  passes(check::raw("own dy", squares, squares_vjp, kX)
             .upstream({1, 2, 3})
             .seed(5)
             .tolerance(1e-8, 1e-10));
  CHECK_THROWS_AS(check::raw("dy", squares, squares_vjp, kX).upstream({1, 2}).report(),
                  check::BadInput);
  passes(check::raw("shape", squares, squares_vjp, V(6, 0.5)).output({2, 3}));
  CHECK_THROWS_AS(check::raw("shape", squares, squares_vjp, kX).output({2, 3}).report(),
                  check::BadInput);
}

}  // namespace gradus
