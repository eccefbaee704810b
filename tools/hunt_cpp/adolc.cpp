// The scalar functions of ADOL-C, a new tape at each point, up to second derivatives.
#include "hunt.h"

#include <adolc/adolc.h>

using namespace hunt;

template <class F>
void tape(const std::string& name, F f, const std::vector<V>& points) {
  const auto record = [f](const V& x) {
    trace_on(1);
    std::vector<adouble> in(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) in[i] <<= x[i];
    adouble y = f(in.data());
    double value = 0;
    y >>= value;
    trace_off();
  };
  const auto value = [f](const V& x) { return V{f(x.data())}; };
  const auto first = [record](const V& x) {
    record(x);
    V g(x.size());
    gradient(1, static_cast<int>(x.size()), x.data(), g.data());
    return g;
  };
  const auto second = [record](const V& x) {
    record(x);
    const std::size_t n = x.size();
    V h(n * n);
    std::vector<double*> rows;
    for (std::size_t i = 0; i < n; ++i) rows.push_back(&h[i * n]);
    hessian(1, static_cast<int>(n), V(x).data(), rows.data());  // the lower triangle
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < i; ++k) h[k * n + i] = h[i * n + k];
    return h;
  };
  sweep(name, value, first, points);
  std::vector<V> inside;
  for (const V& x : points)
    if (defined(value, x)) inside.push_back(x);
  sweep(name + " (second)", first, second, inside);
}

int main() {
  const auto line = grid(
      1, {-400, -30, -2.5, -1, -0.6, -1e-3, 0, 1e-9, 1e-3, 0.3, 0.76, 1, 1.5, 2, 3.3, 45, 400});
  const auto plane = grid(2, {-5, -2, -0.6, 0, 1e-7, 0.6, 1, 2, 30.5});
#define ONE(f)            \
  tape(                   \
      #f,                 \
      [](const auto* x) { \
        using std::f;     \
        return f(x[0]);   \
      },                  \
      line);
#define TWO(f)                \
  tape(                       \
      #f,                     \
      [](const auto* x) {     \
        using std::f;         \
        return f(x[0], x[1]); \
      },                      \
      plane);
  // clang-format off
  ONE(exp) ONE(log) ONE(sqrt) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(log10)
  ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) ONE(erf) ONE(fabs)
      // clang-format on
      TWO(pow) TWO(atan2) TWO(fmin) TWO(fmax) for (double p : {-2., 0., 0.5, 1., 2., 3., 2.5}) {
    tape(
        check::joined("pow(x, ", p, ")"),
        [p](const auto* x) {
          using std::pow;
          return pow(x[0], p);
        },
        line);
    tape(
        check::joined("pow(", p, ", x)"),
        [p](const auto* x) {
          using std::pow;
          return pow(p, x[0]);
        },
        line);
  }
  tape(
      "quotient", [](const auto* x) { return x[0] / x[1] + 2. / x[0] - x[1] * 3.; }, plane);
}
