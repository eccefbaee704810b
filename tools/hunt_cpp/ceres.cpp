// Jets, rotations, losses, manifolds, parameterizations, and interpolation of Ceres.
#define GLOG_NO_ABBREVIATED_SEVERITIES
#include "hunt.h"

#include <ceres/ceres.h>
#include <ceres/cubic_interpolation.h>
#include <ceres/local_parameterization.h>
#include <ceres/rotation.h>

using namespace ceres;
using namespace hunt;

/// Differentiates a function of n values, written for arrays of any number type, with Jets.
template <int n, int m, bool twice = false, class F>
void jets(const std::string& name, F f, const std::vector<V>& points) {
  const auto jacobian = [f](const V& x) {
    std::array<Jet<double, n>, n> in;
    std::array<Jet<double, n>, m> out;
    for (int i = 0; i < n; ++i) in[i] = Jet<double, n>(x[i], i);
    f(in.data(), out.data());
    V rows;
    for (const auto& y : out) rows.insert(rows.end(), y.v.data(), y.v.data() + n);
    return rows;
  };
  const auto value = [f](const V& x) {
    V y(m);
    f(x.data(), y.data());
    return y;
  };
  sweep(name, value, jacobian, points);
  if constexpr (!twice)
    return;
  else {
    // The second derivative, of the first by Jets of Jets.
    using J = Jet<Jet<double, n>, n>;
    const auto second = [f](const V& x) {
      std::array<J, n> in;
      std::array<J, m> out;
      for (int i = 0; i < n; ++i) in[i] = J(Jet<double, n>(x[i], i), i);
      f(in.data(), out.data());
      V rows;
      for (const auto& y : out)
        for (int i = 0; i < n; ++i) rows.insert(rows.end(), y.v[i].v.data(), y.v[i].v.data() + n);
      return rows;
    };
    sweep(name + " (second)", jacobian, second, points);
  }
}

template <bool twice = true, class F>
void unary(const std::string& name, F f) {
  jets<1, 1, twice>(
      name, [f](const auto* x, auto* y) { y[0] = f(x[0]); },
      grid(1, {-1e8, -30, -1.5, -1, -0.3, -1e-9, 0, 1e-300, 1e-9, 1e-3, 0.4, 1, 2.5, 40, 1e8}));
}
template <bool twice = true, class F>
void binary(const std::string& name, F f) {
  jets<2, 1, twice>(
      name, [f](const auto* x, auto* y) { y[0] = f(x[0], x[1]); },
      grid(2, {-1e5, -2, -0.6, 0, 1e-7, 0.6, 1, 2, 30.5}));
}

void manifold(const std::string& name, const Manifold& m, const std::vector<V>& points) {
  const std::size_t n = m.AmbientSize(), t = m.TangentSize();
  for (const V& x : points) {
    const auto plus = [&](const V& d) {
      V y(n);
      m.Plus(x.data(), d.data(), y.data());
      return y;
    };
    const auto minus = [&](const V& y) {
      V d(t);
      m.Minus(y.data(), x.data(), d.data());
      return d;
    };
    const auto plus_jacobian = [&](const V&) {
      V j(n * t);
      m.PlusJacobian(x.data(), j.data());
      return j;
    };
    const auto minus_jacobian = [&](const V&) {
      V j(n * t);
      m.MinusJacobian(x.data(), j.data());
      return j;
    };
    auto p = check::raw(name, plus, check::jacobian(plus_jacobian), V(t));
    p.options.neighborhood = false;
    print(name + " PlusJacobian", x, p);
    auto q = check::raw(name, minus, check::jacobian(minus_jacobian), x);
    q.options.neighborhood = false;
    print(name + " MinusJacobian", x, q);
  }
}

void loss(const std::string& name, const LossFunction& l) {
  const auto part = [&l](int k) {
    return [&l, k](const V& s) {
      V rho(3);
      l.Evaluate(s[0], rho.data());
      return V{rho[k]};
    };
  };
  const auto points = grid(1, {0, 1e-12, 1e-3, 0.3, 0.81, 1, 1.3, 2.25, 4, 9, 100, 1e8});
  sweep(name + " rho'", part(0), part(1), points);
  sweep(name + " rho''", part(1), part(2), points);
}

int main() {
#define UNARY(f)                \
  unary(#f, [](const auto& x) { \
    using std::f;               \
    return f(x);                \
  });
  // clang-format off
  UNARY(abs) UNARY(log) UNARY(log10) UNARY(log1p) UNARY(exp) UNARY(expm1) UNARY(sqrt) UNARY(cos)
  UNARY(acos) UNARY(sin) UNARY(asin) UNARY(tan) UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(tanh)
  UNARY(floor) UNARY(ceil) UNARY(cbrt) UNARY(exp2) UNARY(log2) UNARY(erf) UNARY(erfc) UNARY(norm)
      // clang-format on
      unary("BesselJ0", [](const auto& x) { return BesselJ0(x); });
  unary("BesselJ1", [](const auto& x) { return BesselJ1(x); });
  for (int n : {0, 1, 2, 5})
    jets<1, 1>(
        "BesselJn", [n](const auto* x, auto* y) { y[0] = BesselJn(n, x[0]); },
        grid(1, {0, 1e-9, 0.4, 1, 2.5, 40}));
  for (double p : {-2., -0.5, 0., 0.5, 1., 2., 3., 2.5})
    unary(check::joined("pow(x, ", p, ")"), [p](const auto& x) {
      using std::pow;
      return pow(x, p);
    });
  for (double b : {0., 0.5, 1., 3.})
    unary<false>(check::joined("pow(", b, ", x)"), [b](const auto& x) {
      using std::pow;
      using T = std::decay_t<decltype(x)>;
      if constexpr (std::is_same_v<T, double>)
        return pow(b, x);
      else
        return pow(T(b).a, x);
    });
#define BINARY(f)                               \
  binary(#f, [](const auto& x, const auto& y) { \
    using std::f;                               \
    return f(x, y);                             \
  });
  // clang-format off
  BINARY(pow) BINARY(atan2) BINARY(hypot) BINARY(fmax) BINARY(fmin) BINARY(copysign)
  BINARY(midpoint)
      // clang-format on
      binary<false>("fdim", [](const auto& x, const auto& y) {
        using std::fdim;
        return fdim(x, y);
      });
  binary("x / y", [](const auto& x, const auto& y) { return x / y; });
  binary<false>("3 / y",
                [](const auto& x, const auto& y) { return 3. / y + x * 2. - 1. / (x * x); });
  jets<3, 1>(
      "hypot3",
      [](const auto* x, auto* y) {
        using std::hypot;
        y[0] = hypot(x[0], x[1], x[2]);
      },
      grid(3, {-2, 0, 1e-7, 3}));
  jets<3, 1>(
      "fma",
      [](const auto* x, auto* y) {
        using std::fma;
        y[0] = fma(x[0], x[1], x[2]);
      },
      grid(3, {-2, 0, 1e-7, 3}));
  jets<3, 1>(
      "lerp",
      [](const auto* x, auto* y) {
        using std::lerp;
        y[0] = lerp(x[0], x[1], x[2]);
      },
      grid(3, {-2, 0, 1e-7, 1, 3}));

  const double pi = 3.141592653589793;
  const std::vector<V> axes{
      {0, 0, 0},         {1e-160, 0, 0},       {1e-17, 2e-17, 0}, {1e-9, -1e-9, 2e-9},
      {1e-4, 0, 1e-4},   {0.3, -0.2, 0.5},     {1, 2, -1},        {pi, 0, 0},
      {0, pi - 1e-9, 0}, {1e-5, 0, pi - 1e-7}, {2, 2, 2},         {4, 1, -3}};
  jets<3, 4>(
      "AngleAxisToQuaternion", [](const auto* x, auto* y) { AngleAxisToQuaternion(x, y); }, axes);
  jets<3, 9>(
      "AngleAxisToRotationMatrix", [](const auto* x, auto* y) { AngleAxisToRotationMatrix(x, y); },
      axes);
  jets<3, 9>(
      "EulerAnglesToRotationMatrix",
      [](const auto* x, auto* y) { EulerAnglesToRotationMatrix(x, 3, y); }, axes);
  jets<3, 3>(
      "AngleAxis -> R -> AngleAxis",
      [](const auto* x, auto* y) {
        std::decay_t<decltype(*y)> r[9];
        AngleAxisToRotationMatrix(x, r);
        RotationMatrixToAngleAxis(r, y);
      },
      axes);
  jets<3, 4>(
      "AngleAxis -> R -> Quaternion",
      [](const auto* x, auto* y) {
        std::decay_t<decltype(*y)> r[9];
        AngleAxisToRotationMatrix(x, r);
        RotationMatrixToQuaternion(r, y);
      },
      axes);
  std::vector<V> both;
  for (const V& a : axes) both.push_back({a[0], a[1], a[2], 0.5, -2, 1});
  jets<6, 3>(
      "AngleAxisRotatePoint", [](const auto* x, auto* y) { AngleAxisRotatePoint(x, x + 3, y); },
      both);
  const std::vector<V> quaternions{
      {1, 0, 0, 0},         {-1, 0, 0, 0},         {1, 1e-9, 0, 0},        {1, 1e-160, 0, 0},
      {0.5, 0.5, 0.5, 0.5}, {0.5, -0.5, 0.5, 0.5}, {-0.5, 0.5, -0.5, 0.5}, {0, 1, 0, 0},
      {0, 0, 0.6, 0.8},     {1e-9, 0.6, 0.8, 0},   {2, 1, -3, 1},          {-0.1, 0.7, 0.7, 0.1}};
  jets<4, 3>(
      "QuaternionToAngleAxis", [](const auto* x, auto* y) { QuaternionToAngleAxis(x, y); },
      quaternions);
  jets<4, 9>(
      "QuaternionToRotation", [](const auto* x, auto* y) { QuaternionToRotation(x, y); },
      quaternions);
  jets<4, 9>(
      "QuaternionToScaledRotation",
      [](const auto* x, auto* y) { QuaternionToScaledRotation(x, y); }, quaternions);
  std::vector<V> points;
  for (V q : quaternions) {
    q.insert(q.end(), {0.5, -2, 1});
    points.push_back(q);
  }
  jets<7, 3>(
      "UnitQuaternionRotatePoint",
      [](const auto* x, auto* y) { UnitQuaternionRotatePoint(x, x + 4, y); }, points);
  jets<7, 3>(
      "QuaternionRotatePoint", [](const auto* x, auto* y) { QuaternionRotatePoint(x, x + 4, y); },
      points);

  for (double a : {0.5, 1., 2.}) {
    loss("HuberLoss", HuberLoss(a));
    loss("SoftLOneLoss", SoftLOneLoss(a));
    loss("CauchyLoss", CauchyLoss(a));
    loss("ArctanLoss", ArctanLoss(a));
    loss("TukeyLoss", TukeyLoss(a));
    for (double b : {0.3, 1., 3.}) loss("TolerantLoss", TolerantLoss(a, b));
    loss("ScaledLoss", ScaledLoss(new CauchyLoss(a), 3, TAKE_OWNERSHIP));
    loss("ComposedLoss",
         ComposedLoss(new CauchyLoss(a), TAKE_OWNERSHIP, new TukeyLoss(a), TAKE_OWNERSHIP));
    loss("ComposedLoss2",
         ComposedLoss(new HuberLoss(a), TAKE_OWNERSHIP, new SoftLOneLoss(a), TAKE_OWNERSHIP));
  }
  loss("TrivialLoss", TrivialLoss());

  const std::vector<V> unit{{1, 0, 0, 0},           {-1, 0, 0, 0},        {0.5, 0.5, 0.5, 0.5},
                            {0, 0, 0.6, 0.8},       {0, 0, 0, 1},         {0, 0, 0, -1},
                            {0.5, -0.5, 0.5, -0.5}, {0.1, 0.7, -0.7, 0.1}};
  manifold("QuaternionManifold", QuaternionManifold(), {unit[0], unit[2], unit[3], unit[6]});
  manifold("EigenQuaternionManifold", EigenQuaternionManifold(),
           {unit[0], unit[2], unit[3], unit[6]});
  auto spheres = unit;
  for (V v : unit) {
    for (double& x : v) x *= 2.5;
    spheres.push_back(v);
  }
  manifold("SphereManifold<4>", SphereManifold<4>(), spheres);
  manifold("SphereManifold<DYNAMIC>", SphereManifold<DYNAMIC>(2),
           {{1, 0}, {0, 1}, {0, -1}, {0.6, -0.8}, {3, 4}});
  manifold("SphereManifold<7>", SphereManifold<7>(),
           {{1, 2, 3, 4, 5, 6, 7}, {0, 0, 0, 0, 0, 0, 2}, {0, 0, 0, 0, 0, 0, -2}});
  manifold("LineManifold<2>", LineManifold<2>(),
           {{1, 2, 0.6, 0.8}, {1, 2, 3, 4}, {1, 2, 0, -1}, {0, 0, 0, 1}});
  manifold("LineManifold<3>", LineManifold<3>(),
           {{1, 2, 3, 0.6, 0, 0.8}, {1, 2, 3, 3, 4, 1}, {0, 0, 0, 0, 0, -1}});
  manifold("EuclideanManifold", EuclideanManifold<3>(), {{1, 2, 3}});
  manifold("SubsetManifold", SubsetManifold(5, {1, 3}), {{1, 2, 3, 4, 5}});
  manifold("ProductManifold",
           ProductManifold<QuaternionManifold, EuclideanManifold<3>, SphereManifold<3>>(),
           {{0.5, 0.5, 0.5, 0.5, 1, 2, 3, 4, 5, 6}});

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const auto local = [](const std::string& name, const LocalParameterization& p,
                        const std::vector<V>& at) {
    for (const V& x : at) {
      const std::size_t n = p.GlobalSize(), t = p.LocalSize();
      const auto plus = [&](const V& d) {
        V y(n);
        p.Plus(x.data(), d.data(), y.data());
        return y;
      };
      const auto jacobian = [&](const V&) {
        V j(n * t);
        p.ComputeJacobian(x.data(), j.data());
        return j;
      };
      auto p = check::raw(name, plus, check::jacobian(jacobian), V(t));
      p.options.neighborhood = false;
      print(name, x, p);
    }
  };
  local("QuaternionParameterization", QuaternionParameterization(), unit);
  local("EigenQuaternionParameterization", EigenQuaternionParameterization(), unit);
  local("HomogeneousVectorParameterization", HomogeneousVectorParameterization(4), spheres);
  local("LineParameterization", LineParameterization<3>(),
        {{1, 2, 3, 0.6, 0, 0.8}, {1, 2, 3, 3, 4, 1}, {0, 0, 0, 0, 0, -1}});
  local("SubsetParameterization", SubsetParameterization(5, {1, 3}), {{1, 2, 3, 4, 5}});

  const double data[]{1, 5, -2, 7, 3, 0, 4, 4, 9, -1, 2, 6, 8, 8, 8, -3, 5, 1, 0, 0, 2, 7, 3, 4};
  Grid1D<double, 2> g1(data, 0, 12);
  CubicInterpolator<Grid1D<double, 2>> c1(g1);
  jets<1, 2>(
      "CubicInterpolator",
      [&](const auto* x, auto* y) {
        using T = std::decay_t<decltype(*y)>;
        if constexpr (std::is_same_v<T, double>)
          c1.Evaluate(x[0], y);
        else if constexpr (std::is_same_v<T, Jet<double, 1>>)
          c1.Evaluate(x[0], y);
        else
          y[0] = y[1] = x[0];
      },
      grid(1, {-3, -0.5, 0, 0.3, 1, 4.7, 10.5, 10.99, 11, 11.5, 14}));
  Grid2D<double, 1> g2(data, 0, 4, 0, 6);
  BiCubicInterpolator<Grid2D<double, 1>> c2(g2);
  jets<2, 1>(
      "BiCubicInterpolator",
      [&](const auto* x, auto* y) {
        using T = std::decay_t<decltype(*y)>;
        if constexpr (std::is_same_v<T, double>)
          c2.Evaluate(x[0], x[1], y);
        else if constexpr (std::is_same_v<T, Jet<double, 2>>)
          c2.Evaluate(x[0], x[1], y);
        else
          y[0] = x[0];
      },
      grid(2, {-1.5, -0.2, 0, 0.3, 1, 2.7, 3, 4.4, 6}));
}
