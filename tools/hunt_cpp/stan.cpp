// Stan's scalar functions and distributions: reverse mode, forward mode, and their combination.
#include "hunt.h"

#include <stan/math/mix/scal.hpp>

using namespace hunt;
namespace s = stan::math;

/// Checks f, written for pointers to any number type, at these points.
template <bool forward = true, class F>
void ad(const std::string& name, F f, const std::vector<V>& points) {
  const auto value = [f](const V& x) { return V{static_cast<double>(f(x.data()))}; };
  const auto reverse = [f](const V& x) {
    s::recover_memory();
    std::vector<s::var> in(x.begin(), x.end());
    s::var y = f(in.data());
    V g;
    y.grad(in, g);
    return g;
  };
  sweep(name, value, reverse, points);
  if constexpr (forward) {
    const auto tangents = [f](const V& x) {
      V g;
      for (std::size_t k = 0; k < x.size(); ++k) {
        std::vector<s::fvar<double>> in(x.begin(), x.end());
        in[k].d_ = 1;
        g.push_back(s::fvar<double>(f(in.data())).d_);
      }
      return g;
    };
    sweep(name + " (forward)", value, tangents, points);
    const auto hessian = [f](const V& x) {
      V rows;
      for (std::size_t k = 0; k < x.size(); ++k) {
        s::recover_memory();
        std::vector<s::var> leaves(x.begin(), x.end());
        std::vector<s::fvar<s::var>> in(leaves.begin(), leaves.end());
        in[k].d_ = 1;
        V g;
        s::fvar<s::var> y = f(in.data());
        y.d_.grad(leaves, g);
        rows.insert(rows.end(), g.begin(), g.end());
      }
      return rows;
    };
    sweep(name + " (second)", reverse, hessian, points);
  }
}

int main() {
  const auto line = grid(1, {-1e4, -35, -6.2, -1.5, -1,       -0.99, -0.3, -1e-9, 0, 1e-300, 1e-9,
                             1e-3, 0.2, 0.5,  0.76, 1 - 1e-9, 1,     2,    2.5,   9, 40,     1e4});
  const auto plane = grid(2, {-40, -2, -0.6, 0, 1e-7, 0.3, 0.6, 1, 2, 3, 10.5, 45});
  const auto space = grid(3, {-2, 0, 1e-7, 0.3, 0.9, 1, 3, 20});
#define FUN(n, f) \
  ad(             \
      #f, [](const auto* x) { return s::f(x[0]); }, line);
#define FUN2(f) \
  ad(           \
      #f, [](const auto* x) { return s::f(x[0], x[1]); }, plane);
#define FUN3(f) \
  ad(           \
      #f, [](const auto* x) { return s::f(x[0], x[1], x[2]); }, space);
#define ONE(f) FUN(1, f)
  // clang-format off
  ONE(Phi) ONE(Phi_approx) ONE(cbrt) ONE(digamma) ONE(erf) ONE(erfc) ONE(exp2) ONE(expm1) ONE(inv)
  ONE(inv_Phi) ONE(inv_cloglog) ONE(inv_logit) ONE(inv_sqrt) ONE(inv_square) ONE(lgamma) ONE(log1m)
  ONE(log1m_exp) ONE(log1m_inv_logit) ONE(log1p) ONE(log1p_exp) ONE(log2) ONE(log_inv_logit)
  ONE(logit) ONE(square) ONE(tgamma) ONE(trigamma) ONE(acosh) ONE(asinh) ONE(atanh)
  // clang-format on
#define STD(f)            \
  ad(                     \
      #f,                 \
      [](const auto* x) { \
        using std::f;     \
        return f(x[0]);   \
      },                  \
      line);
      // clang-format off
  STD(acos) STD(asin) STD(atan) STD(cos) STD(cosh) STD(exp) STD(fabs) STD(log) STD(log10) STD(sin)
  STD(sinh) STD(sqrt) STD(tan) STD(tanh) FUN2(lbeta) FUN2(fdim) FUN2(fmax) FUN2(fmin) FUN2(hypot)
  FUN2(log_diff_exp) FUN2(log_sum_exp) FUN2(multiply_log) FUN2(owens_t) FUN2(gamma_p) FUN2(gamma_q)
  FUN2(log_falling_factorial) FUN2(log_rising_factorial) FUN2(binomial_coefficient_log)
  FUN2(log_inv_logit_diff) FUN3(fma)
      // clang-format on
      FUN3(inc_beta) FUN3(log_mix) ad<false>(
          "beta", [](const auto* x) { return s::beta(x[0], x[1]); }, plane);
  ad(
      "atan2",
      [](const auto* x) {
        using std::atan2;
        return atan2(x[0], x[1]);
      },
      plane);
  ad(
      "pow",
      [](const auto* x) {
        using std::pow;
        return pow(x[0], x[1]);
      },
      plane);
  ad(
      "fmod",
      [](const auto* x) {
        using std::fmod;
        return fmod(x[0], x[1]);
      },
      plane);
  for (int n : {-1, 0, 1, 2, 5}) {
    const auto N = [n](const char* name) { return check::joined(name, ", n = ", n); };
    ad(
        N("bessel_first_kind"), [n](const auto* x) { return s::bessel_first_kind(n, x[0]); }, line);
    ad(
        N("modified_bessel_first_kind"),
        [n](const auto* x) { return s::modified_bessel_first_kind(n, x[0]); }, line);
    if (n >= 0)
      ad(
          N("bessel_second_kind"), [n](const auto* x) { return s::bessel_second_kind(n, x[0]); },
          line);
    if (n >= 0)
      ad(
          N("modified_bessel_second_kind"),
          [n](const auto* x) { return s::modified_bessel_second_kind(n, x[0]); }, line);
    if (n >= 0)
      ad(
          N("falling_factorial"), [n](const auto* x) { return s::falling_factorial(x[0], n); },
          line);
    if (n >= 0)
      ad(
          N("rising_factorial"), [n](const auto* x) { return s::rising_factorial(x[0], n); }, line);
    if (n > 0)
      ad(
          N("lmgamma"), [n](const auto* x) { return s::lmgamma(n, x[0]); }, line);
    ad(
        N("ldexp"), [n](const auto* x) { return s::ldexp(x[0], n); }, line);
    if (n == 0 || n == 1)
      ad(
          N("binary_log_loss"), [n](const auto* x) { return s::binary_log_loss(n, x[0]); }, line);
  }
  ad<false>(
      "log_modified_bessel_first_kind",
      [](const auto* x) { return s::log_modified_bessel_first_kind(x[0], x[1]); }, plane);

  // Distributions: the outcome, then the parameters.
  const V outcomes{-40, -5, -1, -0.3, 0, 1e-9, 0.2, 0.5, 0.9, 1, 2, 5, 30, 1e3},
      parameters{0.1, 0.5, 1, 3, 50};
  const auto with = [&](int n) {
    std::vector<V> points;
    for (const double y : outcomes)
      for (V p : grid(n, parameters)) {
        p.insert(p.begin(), y);
        points.push_back(p);
      }
    return points;
  };
#define D1(f) \
  ad<false>(  \
      #f, [](const auto* x) { return s::f(x[0], x[1]); }, with(1));
#define D2(f) \
  ad<false>(  \
      #f, [](const auto* x) { return s::f(x[0], x[1], x[2]); }, with(2));
#define D3(f) \
  ad<false>(  \
      #f, [](const auto* x) { return s::f(x[0], x[1], x[2], x[3]); }, with(3));
#define ALL(d, f) d(f##_lpdf) d(f##_lcdf) d(f##_lccdf) d(f##_cdf)
  // clang-format off
  ALL(D1, chi_square) ALL(D1, exponential) ALL(D1, inv_chi_square) ALL(D1, rayleigh) ALL(D2, beta)
  ALL(D2, cauchy) ALL(D2, double_exponential) ALL(D2, frechet) ALL(D2, gamma) ALL(D2, gumbel)
  ALL(D2, inv_gamma) ALL(D2, logistic) ALL(D2, lognormal) ALL(D2, normal)
      // clang-format on
      ALL(D2, pareto) ALL(D2, scaled_inv_chi_square) ALL(D2, uniform) ALL(D2, weibull)
          ALL(D3, exp_mod_normal) ALL(D3, pareto_type_2) ALL(D3, skew_normal) ALL(D3, student_t)
      // clang-format off
  D2(von_mises_lpdf) D2(beta_proportion_lpdf) D2(beta_proportion_lcdf)
      // clang-format on
      D2(beta_proportion_lccdf) ad<false>(
          "std_normal_lpdf", [](const auto* x) { return s::std_normal_lpdf(x[0]); }, line);
  ad<false>(
      "wiener_lpdf", [](const auto* x) { return s::wiener_lpdf(x[0], x[1], x[2], x[3], x[4]); },
      grid(5, {0.05, 0.3, 0.8, 2}));

  for (int n : {0, 1, 2, 7, 60}) {
    const V p{1e-6, 0.1, 0.5, 1, 4, 30, 300};
#define N1(f) \
  ad<false>(  \
      check::joined(#f, ", n = ", n), [n](const auto* x) { return s::f(n, x[0]); }, grid(1, p));
#define N2(f)                                                                             \
  ad<false>(                                                                              \
      check::joined(#f, ", n = ", n), [n](const auto* x) { return s::f(n, x[0], x[1]); }, \
      grid(2, p));
#define B1(f)                                                                                     \
  ad<false>(                                                                                      \
      check::joined(#f, ", n = ", n, ", N = 8"), [n](const auto* x) { return s::f(n, 8, x[0]); }, \
      grid(1, {-40, -1, 0, 1e-6, 0.3, 0.9, 1, 40}));
#define B2(f)                                    \
  ad<false>(                                     \
      check::joined(#f, ", n = ", n, ", N = 8"), \
      [n](const auto* x) { return s::f(n, 8, x[0], x[1]); }, grid(2, p));
#define NALL(d, f) d(f##_lpmf) d(f##_lcdf) d(f##_lccdf) d(f##_cdf)
    // clang-format off
  NALL(N1, bernoulli) NALL(N1, poisson) NALL(N2, neg_binomial) NALL(N2, neg_binomial_2)
  NALL(B1, binomial) NALL(B2, beta_binomial) N1(poisson_log_lpmf) N2(neg_binomial_2_log_lpmf)
  N1(bernoulli_logit_lpmf) B1(binomial_logit_lpmf)
    // clang-format on
  }
}
