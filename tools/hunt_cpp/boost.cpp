// Boost.Math: autodiff, functions named ..._prime and ..._derivative, and interpolators. And GSL's
// splines.
#include "hunt.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_spline.h>
#include <gsl/gsl_spline2d.h>
#include <boost/math/differentiation/autodiff.hpp>
#include <boost/math/interpolators/barycentric_rational.hpp>
#include <boost/math/interpolators/cardinal_cubic_b_spline.hpp>
#include <boost/math/interpolators/cardinal_quintic_b_spline.hpp>
#include <boost/math/interpolators/cubic_hermite.hpp>
#include <boost/math/interpolators/makima.hpp>
#include <boost/math/interpolators/pchip.hpp>
#include <boost/math/interpolators/quintic_hermite.hpp>
#include <boost/math/interpolators/septic_hermite.hpp>
#include <boost/math/interpolators/whittaker_shannon.hpp>
#include <boost/math/special_functions.hpp>
#include <boost/math/special_functions/gegenbauer.hpp>
#include <boost/math/special_functions/jacobi.hpp>

using namespace hunt;
namespace m = boost::math;
using boost::math::differentiation::make_fvar;

template <class F, class D>
void pair(const std::string& name, F f, D d, const V& points) {
  for (const double x : points)
    sweep(
        name, [&](const V& x) { return V{f(x[0])}; }, [&](const V& x) { return V{d(x[0])}; },
        {{x}});
}

template <class F>
void autodiff(const std::string& name, F f, const V& points) {
  pair(
      name, [f](double x) { return static_cast<double>(f(x)); },
      [f](double x) { return static_cast<double>(f(make_fvar<double, 1>(x)).derivative(1)); },
      points);
  pair(
      name + " (second)",
      [f](double x) { return static_cast<double>(f(make_fvar<double, 1>(x)).derivative(1)); },
      [f](double x) { return static_cast<double>(f(make_fvar<double, 2>(x)).derivative(2)); },
      points);
  pair(
      name + " (third)",
      [f](double x) { return static_cast<double>(f(make_fvar<double, 2>(x)).derivative(2)); },
      [f](double x) { return static_cast<double>(f(make_fvar<double, 3>(x)).derivative(3)); },
      points);
}

int main() {
  const V line{-30, -2.5, -1, -0.6, -1e-3, 0, 1e-9, 1e-3, 0.3, 0.76, 1, 1.5, 2, 3.3, 10.2, 45},
      positive{1e-9, 1e-3, 0.3, 0.76, 1, 1.5, 2, 3.3, 10.2, 45};
#define AUTO(f)           \
  autodiff(               \
      "autodiff " #f,     \
      [](const auto& x) { \
        using std::f;     \
        return f(x);      \
      },                  \
      line);
#define AUTOD(f)          \
  autodiff(               \
      "autodiff " #f,     \
      [](const auto& x) { \
        using m::f;       \
        return f(x);      \
      },                  \
      line);
  // clang-format off
  AUTO(exp) AUTO(log) AUTO(sin) AUTO(cos) AUTO(tan) AUTO(asin) AUTO(acos) AUTO(atan) AUTO(sinh)
  AUTO(cosh) AUTO(tanh) AUTO(asinh) AUTO(acosh) AUTO(atanh) AUTO(sqrt) AUTO(fabs) AUTO(erf)
  AUTO(erfc) AUTO(lgamma) AUTO(tgamma) AUTO(floor) AUTO(ceil) AUTOD(digamma)
      // clang-format on
      AUTOD(lambert_w0) for (double p : {-2., 0.5, 1., 2., 3., 2.5}) {
    autodiff(
        check::joined("autodiff pow(x, ", p, ")"),
        [p](const auto& x) {
          using std::pow;
          return pow(x, p);
        },
        line);
    autodiff(
        check::joined("autodiff pow(", p, ", x)"),
        [p](const auto& x) {
          using std::pow;
          return pow(p, x);
        },
        line);
    autodiff(
        check::joined("autodiff atan2(x, ", p, ")"),
        [p](const auto& x) {
          using std::atan2;
          return atan2(x, p);
        },
        line);
    autodiff(
        check::joined("autodiff atan2(", p, ", x)"),
        [p](const auto& x) {
          using std::atan2;
          return atan2(p, x);
        },
        line);
    autodiff(
        check::joined("autodiff fmod(x, ", p, ")"),
        [p](const auto& x) {
          using std::fmod;
          return fmod(x, std::decay_t<decltype(x)>(p));
        },
        line);
    autodiff(
        check::joined("autodiff ldexp, 1/x, ", p),
        [p](const auto& x) {
          using std::ldexp;
          return ldexp(x, 3) + p / (x + 2.0) - x * p;
        },
        line);
  }
  autodiff(
      "autodiff pow(x, x)",
      [](const auto& x) {
        using std::pow;
        return pow(x, x);
      },
      line);

  pair(
      "airy_ai_prime", [](double x) { return m::airy_ai(x); },
      [](double x) { return m::airy_ai_prime(x); }, line);
  pair(
      "airy_bi_prime", [](double x) { return m::airy_bi(x); },
      [](double x) { return m::airy_bi_prime(x); }, line);
  for (double v : {0., 0.5, 1., 2., 2.7, 10.}) {
    pair(
        check::joined("cyl_bessel_j_prime, ", v), [v](double x) { return m::cyl_bessel_j(v, x); },
        [v](double x) { return m::cyl_bessel_j_prime(v, x); }, positive);
    pair(
        check::joined("cyl_neumann_prime, ", v), [v](double x) { return m::cyl_neumann(v, x); },
        [v](double x) { return m::cyl_neumann_prime(v, x); }, positive);
    pair(
        check::joined("cyl_bessel_i_prime, ", v), [v](double x) { return m::cyl_bessel_i(v, x); },
        [v](double x) { return m::cyl_bessel_i_prime(v, x); }, positive);
    pair(
        check::joined("cyl_bessel_k_prime, ", v), [v](double x) { return m::cyl_bessel_k(v, x); },
        [v](double x) { return m::cyl_bessel_k_prime(v, x); }, positive);
    if (v == std::floor(v)) {
      const unsigned n = static_cast<unsigned>(v);
      pair(
          check::joined("sph_bessel_prime, ", n), [n](double x) { return m::sph_bessel(n, x); },
          [n](double x) { return m::sph_bessel_prime(n, x); }, positive);
      pair(
          check::joined("sph_neumann_prime, ", n), [n](double x) { return m::sph_neumann(n, x); },
          [n](double x) { return m::sph_neumann_prime(n, x); }, positive);
      pair(
          check::joined("legendre_p_prime, ", n),
          [n](double x) { return m::legendre_p(static_cast<int>(n), x); },
          [n](double x) { return m::legendre_p_prime(static_cast<int>(n), x); },
          {-1, -0.3, 0, 1e-9, 0.7, 1});
      pair(
          check::joined("chebyshev_t_prime, ", n), [n](double x) { return m::chebyshev_t(n, x); },
          [n](double x) { return m::chebyshev_t_prime(n, x); }, line);
    }
    for (double b : {0.3, 1., 2., 7.}) {
      const double a = v + 0.2;
      pair(
          "gamma_p_derivative", [a](double x) { return m::gamma_p(a, x); },
          [a](double x) { return m::gamma_p_derivative(a, x); }, positive);
      pair(
          "ibeta_derivative", [a, b](double x) { return m::ibeta(a, b, x); },
          [a, b](double x) { return m::ibeta_derivative(a, b, x); },
          {1e-9, 0.1, 0.5, 0.7, 1 - 1e-9});
      pair(
          "jacobi_derivative", [a, b](double x) { return m::jacobi<double>(4, a, b, x); },
          [a, b](double x) { return m::jacobi_derivative<double>(4, a, b, x, 1); }, line);
      pair(
          "gegenbauer_derivative", [a](double x) { return m::gegenbauer<double>(5, a, x); },
          [a](double x) { return m::gegenbauer_derivative<double>(5, a, x, 1); }, line);
    }
  }
  pair(
      "digamma", [](double x) { return m::lgamma(x); }, [](double x) { return m::digamma(x); },
      positive);
  pair(
      "trigamma", [](double x) { return m::digamma(x); }, [](double x) { return m::trigamma(x); },
      line);
  for (int n : {1, 2, 5})
    pair(
        "polygamma", [n](double x) { return m::polygamma(n, x); },
        [n](double x) { return m::polygamma(n + 1, x); }, {-3.3, -0.5, 0.01, 0.5, 1, 3, 20, 300});
  pair(
      "lambert_w0_prime", [](double x) { return m::lambert_w0(x); },
      [](double x) { return m::lambert_w0_prime(x); }, {-0.36, -0.1, 0, 1e-9, 0.5, 3, 1e5});
  pair(
      "lambert_wm1_prime", [](double x) { return m::lambert_wm1(x); },
      [](double x) { return m::lambert_wm1_prime(x); }, {-0.36, -0.1, -1e-3, -1e-9});

  const V x{0, 0.7, 1, 2.5, 3, 4.5, 6, 7, 8.2, 9}, y{1, 3, -2, 0, 0, 5, 4, 4, -1, 2},
      dy{0.1, 2, -1, 0, 3, -1, 1, 0.5, 0, 1}, ddy{1, 0, -2, 1, 0, 1, 3, 0, 1, 2},
      dddy{0, 1, 0, 2, 1, -1, 0, 1, 1, 3};
  const V at{0.01, 0.35, 0.7, 1, 2, 3.1, 5.9, 6, 6.5, 8.99};
#define INTERPOLATOR(name, ...)                                                          \
  {                                                                                      \
    const auto s = __VA_ARGS__;                                                          \
    pair(                                                                                \
        name, [&](double t) { return s(t); }, [&](double t) { return s.prime(t); }, at); \
  }
  INTERPOLATOR("barycentric_rational", m::barycentric_rational<double>(V(x), V(y)))
  INTERPOLATOR("cubic_hermite", m::interpolators::cubic_hermite<V>(V(x), V(y), V(dy)))
  INTERPOLATOR("makima", m::interpolators::makima<V>(V(x), V(y)))
  INTERPOLATOR("pchip", m::interpolators::pchip<V>(V(x), V(y)))
  INTERPOLATOR("quintic_hermite", m::interpolators::quintic_hermite<V>(V(x), V(y), V(dy), V(ddy)))
  INTERPOLATOR("septic_hermite",
               m::interpolators::septic_hermite<V>(V(x), V(y), V(dy), V(ddy), V(dddy)))
  INTERPOLATOR("cardinal_cubic_hermite",
               m::interpolators::cardinal_cubic_hermite<V>(V(y), V(dy), 0., 1.))
  INTERPOLATOR("cardinal_quintic_hermite",
               m::interpolators::cardinal_quintic_hermite<V>(V(y), V(dy), V(ddy), 0., 1.3))
  INTERPOLATOR("cardinal_septic_hermite",
               m::interpolators::cardinal_septic_hermite<V>(V(y), V(dy), V(ddy), V(dddy), 0., 1.3))
  INTERPOLATOR("cardinal_cubic_b_spline",
               m::interpolators::cardinal_cubic_b_spline<double>(y.data(), y.size(), 0., 1.1))
  INTERPOLATOR("whittaker_shannon", m::interpolators::whittaker_shannon<V>(V(y), 0.1, 1.3))
  INTERPOLATOR("cardinal_quintic_b_spline",
               m::interpolators::cardinal_quintic_b_spline<double>(y, 0., 1.1, {0.5, 1.}, {1., 2.}))

  gsl_set_error_handler_off();
  for (const gsl_interp_type* type :
       {gsl_interp_linear, gsl_interp_polynomial, gsl_interp_cspline, gsl_interp_cspline_periodic,
        gsl_interp_akima, gsl_interp_akima_periodic, gsl_interp_steffen}) {
    gsl_spline* s = gsl_spline_alloc(type, x.size());
    gsl_spline_init(s, x.data(), y.data(), x.size());
    const std::string name = std::string("gsl ") + gsl_spline_name(s);
    pair(
        name + " deriv", [&](double t) { return gsl_spline_eval(s, t, nullptr); },
        [&](double t) { return gsl_spline_eval_deriv(s, t, nullptr); }, at);
    pair(
        name + " deriv2", [&](double t) { return gsl_spline_eval_deriv(s, t, nullptr); },
        [&](double t) { return gsl_spline_eval_deriv2(s, t, nullptr); }, at);
    pair(
        name + " integ", [&](double t) { return gsl_spline_eval_integ(s, 0, t, nullptr); },
        [&](double t) { return gsl_spline_eval(s, t, nullptr); }, at);
  }
  for (const gsl_interp2d_type* type : {gsl_interp2d_bilinear, gsl_interp2d_bicubic}) {
    V z(x.size() * y.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = std::sin(i * 1.3);
    gsl_spline2d* s = gsl_spline2d_alloc(type, x.size(), x.size());
    gsl_spline2d_init(s, x.data(), x.data(), z.data(), x.size(), x.size());
    const auto e = [s](auto f) {
      return [s, f](const V& t) { return f(s, t[0], t[1], nullptr, nullptr); };
    };
    const std::string name = std::string("gsl ") + gsl_spline2d_name(s);
    const auto points = grid(2, at);
    sweep(
        name, [=](const V& t) { return V{e(gsl_spline2d_eval)(t)}; },
        [=](const V& t) {
          return V{e(gsl_spline2d_eval_deriv_x)(t), e(gsl_spline2d_eval_deriv_y)(t)};
        },
        points);
    sweep(
        name + " x", [=](const V& t) { return V{e(gsl_spline2d_eval_deriv_x)(t)}; },
        [=](const V& t) {
          return V{e(gsl_spline2d_eval_deriv_xx)(t), e(gsl_spline2d_eval_deriv_xy)(t)};
        },
        points);
    sweep(
        name + " y", [=](const V& t) { return V{e(gsl_spline2d_eval_deriv_y)(t)}; },
        [=](const V& t) {
          return V{e(gsl_spline2d_eval_deriv_xy)(t), e(gsl_spline2d_eval_deriv_yy)(t)};
        },
        points);
  }
}
