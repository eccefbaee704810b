// AutoDiffScalar (first and second derivatives), AutoDiffJacobian, and the special functions of
// Eigen that are derivatives of others.
#include "hunt.h"

#include <Eigen/Dense>
#include <unsupported/Eigen/AutoDiff>
#include <unsupported/Eigen/SpecialFunctions>

using namespace hunt;
using Eigen::VectorXd;
using Active = Eigen::AutoDiffScalar<VectorXd>;
using Twice = Eigen::AutoDiffScalar<Eigen::Matrix<Active, Eigen::Dynamic, 1>>;

template <bool twice = true, class F>
void autodiff(const std::string& name, F f, const std::vector<V>& points) {
  const auto value = [f](const V& x) { return V{static_cast<double>(f(x.data()))}; };
  const auto gradient = [f](const V& x) {
    std::vector<Active> in;
    for (std::size_t i = 0; i < x.size(); ++i) in.emplace_back(x[i], x.size(), i);
    const Active y = f(in.data());
    if (y.derivatives().size() == 0) return V(x.size());
    return V(y.derivatives().data(), y.derivatives().data() + x.size());
  };
  sweep(name, value, gradient, points);
  if constexpr (twice) {
    const auto hessian = [f](const V& x) {
      const Eigen::Index n = x.size();
      std::vector<Twice> in(n);
      for (Eigen::Index i = 0; i < n; ++i) {
        in[i].value() = Active(x[i], n, i);
        in[i].derivatives().resize(n);
        for (Eigen::Index k = 0; k < n; ++k)
          in[i].derivatives()[k] = Active(i == k, VectorXd::Zero(n));
      }
      const Twice y = f(in.data());
      V rows(n * n);
      for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index k = 0; k < n; ++k)
          if (y.derivatives().size() && y.derivatives()[i].derivatives().size())
            rows[i * n + k] = y.derivatives()[i].derivatives()[k];
      return rows;
    };
    sweep(name + " (second)", gradient, hessian, points);
  }
}

int main() {
  const auto line = grid(1, {-1e8, -400, -30, -1.5, -0.99, -0.3, -1e-9, 0, 1e-300, 1e-9, 1e-3, 0.4,
                             0.999, 2.5, 40, 400, 1e8});
  const auto plane = grid(2, {-1e5, -2, -0.6, 0, 1e-7, 0.6, 1, 2, 30.5});
#define UNARY(f)                                  \
  autodiff<>(                                     \
      #f,                                         \
      [](const auto* x) {                         \
        using std::f;                             \
        using Eigen::numext::f;                   \
        std::decay_t<decltype(x[0])> y = f(x[0]); \
        return y;                                 \
      },                                          \
      line);
  // clang-format off
  UNARY(sqrt) UNARY(cos) UNARY(sin) UNARY(exp) UNARY(log) UNARY(tan) UNARY(asin) UNARY(acos)
  UNARY(tanh) UNARY(sinh)
      // clang-format on
      UNARY(cosh) autodiff<false>(
          "abs",
          [](const auto* x) {
            using std::abs;
            std::decay_t<decltype(x[0])> y = abs(x[0]);
            return y;
          },
          line);
  autodiff(
      "abs2",
      [](const auto* x) {
        using Eigen::numext::abs2;
        std::decay_t<decltype(x[0])> y = abs2(x[0]);
        return y;
      },
      line);
  for (double p : {-2., -0.5, 0., 0.5, 1., 2., 3., 2.5})
    autodiff<false>(
        check::joined("pow(x, ", p, ")"),
        [p](const auto* x) {
          using std::pow;
          std::decay_t<decltype(x[0])> y = pow(x[0], p);
          return y;
        },
        line);
  autodiff<false>(
      "atan2",
      [](const auto* x) {
        using std::atan2;
        std::decay_t<decltype(x[0])> y = atan2(x[0], x[1]);
        return y;
      },
      plane);
#define BINARY(name, ...)                             \
  autodiff(                                           \
      name,                                           \
      [](const auto* x) {                             \
        using std::min;                               \
        using std::max;                               \
        using std::sin;                               \
        std::decay_t<decltype(x[0])> y = __VA_ARGS__; \
        return y;                                     \
      },                                              \
      plane);
  // clang-format off
  BINARY("min", (min)(x[0], x[1])) BINARY("max", (max)(x[0], x[1]))
  BINARY("mixed", 3. * x[0] - x[1] / 2. + 2. / x[0] - (x[0] - 1.) * (2. - x[1]))
  BINARY("quotient", x[0] / x[1]) BINARY("expression", sin(x[0] * x[1]) / (x[1] * x[1] + 1.))
      // clang-format on
      autodiff(
          "compound",
          [](const auto* x) {
            auto y = x[0];
            y += x[1];
            y *= x[0];
            y -= x[1] * x[1];
            y /= (x[0] * x[0] + 2.);
            y += 2.;
            y *= 3.;
            y /= 4.;
            y -= 1.;
            return y;
          },
          plane);
  autodiff<false>(
      "norm, determinant",
      [](const auto* x) {
        using T = std::decay_t<decltype(x[0])>;
        Eigen::Matrix<T, 2, 2> a;
        a << x[0], x[1], x[1] + 1., x[0] * 2.;
        T y = a.determinant() * a.norm();
        return y;
      },
      plane);
  autodiff<false>(
      "inverse",
      [](const auto* x) {
        using T = std::decay_t<decltype(x[0])>;
        Eigen::Matrix<T, 3, 3> a;
        a << x[0], x[1], (x[0] * 0. + 1.), x[1] + 1., x[0] * 2., (x[0] * 0. + 0.5),
            (x[0] * 0. + 1.), (x[0] * 0. + 2.), (x[0] * 0. + 3.);
        Eigen::Matrix<T, 3, 3> b = a.inverse();
        T y = b(0, 1) + b(2, 2) * 2.;
        return y;
      },
      plane);
  autodiff<false>(
      "lu",
      [](const auto* x) {
        using T = std::decay_t<decltype(x[0])>;
        Eigen::Matrix<T, 3, 3> a;
        a << x[0], x[1], (x[0] * 0. + 1.), x[1] + 1., x[0] * 2., (x[0] * 0. + 0.5),
            (x[0] * 0. + 1.), (x[0] * 0. + 2.), (x[0] * 0. + 3.);
        Eigen::Matrix<T, 3, 1> b((x[0] * 0. + 1.), x[0], x[1]);
        b = a.partialPivLu().solve(b).eval();
        T y = b[0] + b[2] * 2.;
        return y;
      },
      plane);

  // f and its derivative by the last argument, both from Eigen.
  const auto pair = [](const std::string& name, auto f, auto df, const std::vector<V>& points) {
    sweep(
        name, [f](const V& x) { return V{f(x)}; }, [df](const V& x) { return V{df(x)}; }, points);
  };
  namespace s = Eigen::numext;
  const V positive{1e-8, 1e-3, 0.1, 0.5, 1, 1.5, 2, 3.3, 7, 10, 30, 100, 1e3, 1e6};
  pair(
      "digamma", [](const V& x) { return s::lgamma(x[0]); },
      [](const V& x) { return s::digamma(x[0]); }, grid(1, positive));
  pair(
      "digamma, x < 0", [](const V& x) { return s::lgamma(x[0]); },
      [](const V& x) { return s::digamma(x[0]); },
      grid(1, {-0.5, -1.5, -1e-3, -2.7, -10.2, -99.99, -0.999}));
  pair(
      "trigamma", [](const V& x) { return s::digamma(x[0]); },
      [](const V& x) { return s::polygamma(1., x[0]); }, grid(1, positive));
  for (double n : {1., 2., 3., 7.})
    pair(
        "polygamma", [n](const V& x) { return s::polygamma(n, x[0]); },
        [n](const V& x) { return s::polygamma(n + 1, x[0]); }, grid(1, positive));
  for (double n : {1.5, 2., 3., 7.2})
    pair(
        "zeta by q", [n](const V& x) { return s::zeta(n, x[0]); },
        [n](const V& x) { return -n * s::zeta(n + 1, x[0]); }, grid(1, positive));
  for (double x : positive) {
    pair(
        check::joined("igamma_der_a, x = ", x), [x](const V& a) { return s::igamma(a[0], x); },
        [x](const V& a) { return s::igamma_der_a(a[0], x); }, grid(1, positive));
    pair(
        check::joined("igamma by x, x = ", x), [x](const V& a) { return s::igamma(x, a[0]); },
        [x](const V& a) { return std::exp((x - 1) * std::log(a[0]) - a[0] - std::lgamma(x)); },
        grid(1, positive));
  }
  pair(
      "erf", [](const V& x) { return s::erf(x[0]); },
      [](const V& x) { return 2 / std::sqrt(M_PI) * std::exp(-x[0] * x[0]); }, line);
  pair(
      "erfc", [](const V& x) { return s::erfc(x[0]); },
      [](const V& x) { return -2 / std::sqrt(M_PI) * std::exp(-x[0] * x[0]); }, line);
  pair(
      "ndtri", [](const V& x) { return s::ndtri(x[0]); },
      [](const V& x) {
        const double y = s::ndtri(x[0]);
        return std::sqrt(2 * M_PI) * std::exp(y * y / 2);
      },
      grid(1, {1e-300, 1e-12, 1e-3, 0.1, 0.135, 0.2, 0.5, 0.7, 0.999}));
  pair(
      "i0", [](const V& x) { return s::bessel_i0(x[0]); },
      [](const V& x) { return s::bessel_i1(x[0]); }, line);
  pair(
      "j0", [](const V& x) { return s::bessel_j0(x[0]); },
      [](const V& x) { return -s::bessel_j1(x[0]); }, line);
  pair(
      "y0", [](const V& x) { return s::bessel_y0(x[0]); },
      [](const V& x) { return -s::bessel_y1(x[0]); }, grid(1, positive));
  pair(
      "k0", [](const V& x) { return s::bessel_k0(x[0]); },
      [](const V& x) { return -s::bessel_k1(x[0]); }, grid(1, positive));
}
