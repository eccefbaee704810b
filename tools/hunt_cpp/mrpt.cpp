// The Jacobians of poses, quaternions, and Lie groups in MRPT.
#include "hunt.h"

#include <Eigen/Dense>

#include <mrpt/poses/CPose2D.h>
#include <mrpt/poses/CPose3D.h>
#include <mrpt/poses/CPose3DPDF.h>
#include <mrpt/poses/CPose3DQuat.h>
#include <mrpt/poses/CPose3DQuatPDF.h>
#include <mrpt/poses/CPosePDF.h>
#include <mrpt/poses/Lie/SE.h>
#include <mrpt/poses/Lie/SO.h>

using namespace hunt;
using namespace mrpt::poses;
using namespace mrpt::math;
using SE3 = Lie::SE<3>;
using SO3 = Lie::SO<3>;
using SE2 = Lie::SE<2>;

template <class M>
V rows(const M& m) {
  V v;
  for (int r = 0; r < m.rows(); ++r)
    for (int c = 0; c < m.cols(); ++c) v.push_back(m(r, c));
  return v;
}
/// The columns of Jacobians side by side.
template <class A, class B>
V columns(const A& a, const B& b) {
  V v;
  for (int r = 0; r < a.rows(); ++r) {
    for (int c = 0; c < a.cols(); ++c) v.push_back(a(r, c));
    for (int c = 0; c < b.cols(); ++c) v.push_back(b(r, c));
  }
  return v;
}
CPose3D pose(const V& x, std::size_t k = 0) {
  return {x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5]};
}
/// A pose with the quaternion divided by its length, as MRPT's Jacobians assume.
CPose3DQuat quat(const V& x, std::size_t k = 0) {
  CPose3DQuat q;
  const double length = std::hypot(std::hypot(x[k + 3], x[k + 4]), std::hypot(x[k + 5], x[k + 6]));
  for (int i = 0; i < 7; ++i) q[i] = i < 3 ? x[k + i] : x[k + i] / length;
  return q;
}
V ypr(const CPose3D& p) { return {p.x(), p.y(), p.z(), p.yaw(), p.pitch(), p.roll()}; }
SE3::tangent_vector step(const V& e, std::size_t k = 0) {
  SE3::tangent_vector t;
  for (int i = 0; i < 6; ++i) t[i] = e[k + i];
  return t;
}
V manifold(const CPose3D& p) {
  const auto m = SE3::asManifoldVector(p);
  return V(m.begin(), m.end());
}

/// Only at x itself: x has unit quaternions.
void exactly(const std::string& name, const Vector& f, const Vector& j,
             const std::vector<V>& points) {
  for (const V& x : points) {
    auto c = check::raw(name, f, check::jacobian(j), x);
    c.options.neighborhood = false;
    print(name, x, c);
  }
}

/// A derivative at e = 0 of a function of a step e.
void at_zero(const std::string& name, const V& where, std::size_t n, const Vector& f,
             const Vector& j) {
  if (!defined(f, V(n))) return;
  auto c = check::raw(name, f, check::jacobian(j), V(n));
  c.options.neighborhood = false;
  print(name, where, c);
}
V joined(V a, const V& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int main() {
  std::vector<V> poses;
  for (const V& r : std::vector<V>{{0, 0, 0},
                                   {1e-9, 0, 1e-9},
                                   {0.3, -0.2, 0.5},
                                   {-2, 0.7, 1.1},
                                   {3, 1.2, -2.8},
                                   {0.1, 1.57, 0.2},
                                   {1.5707963267948966, 0, 0},
                                   {3.1, 0, 0},
                                   {0, 0, 1e-5},
                                   {0, -1.5, 3}})
    poses.push_back(joined({0.7, -1.5, 2}, r));
  const V point{0.4, -0.9, 1.3};
  for (const V& p : poses) {
    const V x = joined(p, point);
    sweep(
        "CPose3D::composePoint",
        [](const V& x) {
          V g(3);
          pose(x).composePoint(x[6], x[7], x[8], g[0], g[1], g[2]);
          return g;
        },
        [](const V& x) {
          double g[3];
          CMatrixDouble33 a;
          CMatrixDouble36 b;
          pose(x).composePoint(x[6], x[7], x[8], g[0], g[1], g[2], a, b);
          return columns(b, a);
        },
        {x});
    sweep(
        "CPose3D::inverseComposePoint",
        [](const V& x) {
          V g(3);
          pose(x).inverseComposePoint(x[6], x[7], x[8], g[0], g[1], g[2]);
          return g;
        },
        [](const V& x) {
          double g[3];
          CMatrixDouble33 a;
          CMatrixDouble36 b;
          pose(x).inverseComposePoint(x[6], x[7], x[8], g[0], g[1], g[2], a, b);
          return columns(b, a);
        },
        {x});
    at_zero(
        "CPose3D::composePoint by se3", p, 6,
        [&](const V& e) {
          V g(3);
          (SE3::exp(step(e)) + pose(p)).composePoint(0.4, -0.9, 1.3, g[0], g[1], g[2]);
          return g;
        },
        [&](const V&) {
          double g[3];
          CMatrixDouble36 b;
          pose(p).composePoint(0.4, -0.9, 1.3, g[0], g[1], g[2], std::nullopt, std::nullopt, b);
          return rows(b);
        });
    at_zero(
        "CPose3D::inverseComposePoint by se3", p, 6,
        [&](const V& e) {
          V g(3);
          (pose(p) + SE3::exp(step(e))).inverseComposePoint(0.4, -0.9, 1.3, g[0], g[1], g[2]);
          return g;
        },
        [&](const V&) {
          double g[3];
          CMatrixDouble36 b;
          pose(p).inverseComposePoint(0.4, -0.9, 1.3, g[0], g[1], g[2], std::nullopt, std::nullopt,
                                      b);
          return rows(b);
        });
    at_zero(
        "SE3::jacob_dexpeD_de", p, 6,
        [&](const V& e) { return manifold(SE3::exp(step(e)) + pose(p)); },
        [&](const V&) { return rows(SE3::jacob_dexpeD_de(pose(p))); });
    at_zero(
        "SE3::jacob_dDexpe_de", p, 6,
        [&](const V& e) { return manifold(pose(p) + SE3::exp(step(e))); },
        [&](const V&) { return rows(SE3::jacob_dDexpe_de(pose(p))); });
    sweep(
        "CPose3D::getAsQuaternion",
        [](const V& r) {
          CQuaternionDouble q;
          CPose3D(0, 0, 0, r[0], r[1], r[2]).getAsQuaternion(q);
          return V(q.begin(), q.end());
        },
        [](const V& r) {
          CQuaternionDouble q;
          CMatrixDouble43 j;
          CPose3D(0, 0, 0, r[0], r[1], r[2]).getAsQuaternion(q, j);
          return rows(j);
        },
        {V(p.begin() + 3, p.end())});
    sweep(
        "CPose3D::jacobian_rodrigues_from_YPR",
        [](const V& r) {
          const auto w = SO3::log(CPose3D(0, 0, 0, r[0], r[1], r[2]).getRotationMatrix());
          return V(w.begin(), w.end());
        },
        [](const V& r) {
          return rows(CPose3D(0, 0, 0, r[0], r[1], r[2]).jacobian_rodrigues_from_YPR());
        },
        {V(p.begin() + 3, p.end())});
    for (const V& q : poses) {
      const V xu = joined(p, q);
      sweep(
          "CPose3DPDF::jacobiansPoseComposition",
          [](const V& x) { return ypr(pose(x) + pose(x, 6)); },
          [](const V& x) {
            CMatrixDouble66 a, b;
            CPose3DPDF::jacobiansPoseComposition(pose(x), pose(x, 6), a, b);
            return columns(a, b);
          },
          {xu});
      at_zero(
          "SE3::jacob_dAexpeD_de", xu, 6,
          [&](const V& e) { return manifold(pose(p) + SE3::exp(step(e)) + pose(q)); },
          [&](const V&) { return rows(SE3::jacob_dAexpeD_de(pose(p), pose(q))); });
      at_zero(
          "SE3::jacob_dDinvP1invP2_de1e2", xu, 12,
          [&](const V& e) {
            const CPose3D d(0.1, 0.2, -0.3, 0.4, 0.1, -0.2);
            const auto l = SE3::log(CPose3D() + d + (-(pose(p) + SE3::exp(step(e)))) +
                                    (pose(q) + SE3::exp(step(e, 6))));
            return V(l.begin(), l.end());
          },
          [&](const V&) {
            const CPose3D d(0.1, 0.2, -0.3, 0.4, 0.1, -0.2);
            CMatrixDouble66 a, b;
            SE3::jacob_dDinvP1invP2_de1e2(d, pose(p), pose(q), a, b);
            return columns(a, b);
          });
    }
  }
  const std::vector<V> turns{{0, 0, 0},       {1e-12, 0, 1e-12}, {1e-8, 1e-9, -1e-8},
                             {1e-5, 0, 2e-5}, {1e-3, 2e-3, 0},   {0.3, -0.2, 0.5},
                             {1, 2, -1},      {3.14, 0, 0},      {0, 3.1415926, 0},
                             {2.2, 2.2, 0.3}, {4, 1, -3}};
  const auto so3 = [](const V& r) {
    SO3::tangent_vector t;
    for (int i = 0; i < 3; ++i) t[i] = r[i];
    return t;
  };
  for (const V& r : turns) {
    sweep(
        "SO3::jacob_dexpe_de",
        [&](const V& r) {
          const CMatrixDouble33 m = SO3::exp(so3(r));
          V v;
          for (int c = 0; c < 3; ++c)
            for (int i = 0; i < 3; ++i) v.push_back(m(i, c));
          return v;
        },
        [&](const V& r) { return rows(SO3::jacob_dexpe_de(so3(r))); }, {r});
    const V t = joined({0.5, -1, 2}, r);
    sweep(
        "SE3::jacob_dexpe_de", [&](const V& e) { return manifold(SE3::exp(step(e))); },
        [&](const V& e) { return rows(SE3::jacob_dexpe_de(step(e))); }, {t});
    const CPose3D p = SE3::exp(step(t));
    at_zero(
        "SE3::jacob_dlogv_dv", t, 6,
        [&](const V& e) {
          const auto l = SE3::log(p + SE3::exp(step(e)));
          return V(l.begin(), l.end());
        },
        [&](const V&) {
          return rows(CMatrixDouble66(SE3::jacob_dlogv_dv(p).asEigen() *
                                      SE3::jacob_dDexpe_de(p).asEigen()));
        });
  }
  // Unit quaternions r, x, y, z.
  const std::vector<V> quaternions{{1, 0, 0, 0},
                                   {0.5, 0.5, 0.5, 0.5},
                                   {0.5, -0.5, 0.5, -0.5},
                                   {0, 0, 0.6, 0.8},
                                   {0.1, 0.7, -0.7, 0.1},
                                   {0.8, 0.2, -0.4, 0.4},
                                   {-0.8, 0.2, -0.4, 0.4},
                                   {0.7071067811865476, 0, 0.7071067811865476, 0},
                                   {0.70710678, 0.001, 0.70710678, 0.0001},
                                   {-0.5, 0.1, 0.1, 0.8544003745317531}};
  for (const V& q : quaternions) {
    const auto make = [](const V& x) {
      CQuaternionDouble q;
      for (int i = 0; i < 4; ++i) q[i] = x[i];
      return q;
    };
    for (double length : {1., 2.}) {
      V scaled = q;
      for (double& c : scaled) c *= length;
      sweep(
          "CQuaternion::normalizationJacobian",
          [&](const V& x) {
            auto q = make(x);
            q.normalize();
            return V(q.begin(), q.end());
          },
          [&](const V& x) {
            CMatrixDouble44 j;
            make(x).normalizationJacobian(j);
            return rows(j);
          },
          {scaled});
    }
    sweep(
        "CQuaternion::rpy_and_jacobian",
        [&](const V& x) {
          V y(3);
          make(x).rpy(y[2], y[1], y[0]);
          return y;
        },
        [&](const V& x) {
          V y(3);
          CMatrixDouble34 j;
          make(x).rpy_and_jacobian(y[2], y[1], y[0], &j, false);
          return rows(j);
        },
        {q});
    const V x = joined(joined({0.7, -1.5, 2}, q), point);
    exactly(
        "CPose3DQuat::composePoint",
        [&](const V& x) {
          V g(3);
          quat(x).composePoint(x[7], x[8], x[9], g[0], g[1], g[2]);
          return g;
        },
        [&](const V& x) {
          double g[3];
          CMatrixFixed<double, 3, 3> a;
          CMatrixFixed<double, 3, 7> b;
          quat(x).composePoint(x[7], x[8], x[9], g[0], g[1], g[2], &a, &b);
          return columns(b, a);
        },
        {x});
    exactly(
        "CPose3DQuat::inverseComposePoint",
        [&](const V& x) {
          V g(3);
          quat(x).inverseComposePoint(x[7], x[8], x[9], g[0], g[1], g[2]);
          return g;
        },
        [&](const V& x) {
          double g[3];
          CMatrixFixed<double, 3, 3> a;
          CMatrixFixed<double, 3, 7> b;
          quat(x).inverseComposePoint(x[7], x[8], x[9], g[0], g[1], g[2], &a, &b);
          return columns(b, a);
        },
        {x});
    exactly(
        "CPose3DQuat::sphericalCoordinates",
        [&](const V& x) {
          V g(3);
          quat(x).sphericalCoordinates({x[7], x[8], x[9]}, g[0], g[1], g[2]);
          return g;
        },
        [&](const V& x) {
          double g[3];
          CMatrixFixed<double, 3, 3> a;
          CMatrixFixed<double, 3, 7> b;
          quat(x).sphericalCoordinates({x[7], x[8], x[9]}, g[0], g[1], g[2], &a, &b);
          return columns(b, a);
        },
        {x});
    for (const V& u : quaternions) {
      const V xu = joined(joined({0.7, -1.5, 2}, q), joined({-0.2, 0.6, 1}, u));
      exactly(
          "CPose3DQuatPDF::jacobiansPoseComposition",
          [&](const V& x) {
            const CPose3DQuat y = quat(x) + quat(x, 7);
            V v;
            for (int i = 0; i < 7; ++i) v.push_back(y[i]);
            return v;
          },
          [&](const V& x) {
            CMatrixDouble77 a, b;
            CPose3DQuatPDF::jacobiansPoseComposition(quat(x), quat(x, 7), a, b);
            return columns(a, b);
          },
          {xu});
    }
  }
  for (double phi : {0., 0.4, 3.1, -2.}) {
    const auto p2 = [](const V& x, int k = 0) { return CPose2D(x[k], x[k + 1], x[k + 2]); };
    const auto v2 = [](const CPose2D& p) { return V{p.x(), p.y(), p.phi()}; };
    const V x{1, -2, phi, 0.5, 0.25, 0.7};
    sweep(
        "CPosePDF::jacobiansPoseComposition", [&](const V& x) { return v2(p2(x) + p2(x, 3)); },
        [&](const V& x) {
          CMatrixDouble33 a, b;
          CPosePDF::jacobiansPoseComposition(p2(x), p2(x, 3), a, b);
          return columns(a, b);
        },
        {x});
    sweep(
        "SE2::jacob_dAB", [&](const V& x) { return v2(p2(x) + p2(x, 3)); },
        [&](const V& x) {
          return columns(SE2::jacob_dAB_dA(p2(x), p2(x, 3)), SE2::jacob_dAB_dB(p2(x), p2(x, 3)));
        },
        {x});
    const auto e2 = [](const V& e, int k = 0) {
      SE2::tangent_vector t;
      for (int i = 0; i < 3; ++i) t[i] = e[k + i];
      return SE2::exp(t);
    };
    at_zero(
        "SE2::jacob_dDexpe_de", x, 3, [&](const V& e) { return v2(p2(x) + e2(e)); },
        [&](const V&) { return rows(SE2::jacob_dDexpe_de(p2(x))); });
    at_zero(
        "SE2::jacob_dDinvP1invP2_de1e2", x, 6,
        [&](const V& e) {
          const CPose2D d(0.3, 0.1, -0.6);
          return v2(d + (CPose2D() - (p2(x) + e2(e))) + (p2(x, 3) + e2(e, 3)));
        },
        [&](const V&) {
          const CPose2D d(0.3, 0.1, -0.6);
          CMatrixDouble33 a, b;
          SE2::jacob_dDinvP1invP2_de1e2(d, p2(x), p2(x, 3), a, b);
          return columns(a, b);
        });
  }
}
