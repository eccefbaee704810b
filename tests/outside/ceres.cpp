#include <iostream>

#include <ceres/autodiff_cost_function.h>
#include <ceres/rotation.h>
#include <ceres/sized_cost_function.h>
#include <gradus/check/adapters/ceres.h>

namespace check = gradus::check;

/// r = [10 (b - a²), 1 - a]
struct Rosenbrock : ceres::SizedCostFunction<2, 1, 1> {
  double factor = -20;
  bool Evaluate(double const* const* x, double* r, double** j) const override {
    const double a = x[0][0], b = x[1][0];
    r[0] = 10 * (b - a * a);
    r[1] = 1 - a;
    if (j && j[0]) {
      j[0][0] = factor * a;
      j[0][1] = -1;
    }
    if (j && j[1]) {
      j[1][0] = 10;
      j[1][1] = 0;
    }
    return true;
  }
};

struct Functor {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = exp(x[0]) * x[1] - 1.5;
    return true;
  }
};

struct Turned {
  template <class T>
  bool operator()(const T* q, const T* x, T* r) const {
    ceres::UnitQuaternionRotatePoint(q, x, r);
    return true;
  }
};

/// Transposes the Jacobian with respect to x. At the identity rotation, this has no effect.
struct WrongTurn : ceres::SizedCostFunction<3, 4, 3> {
  ceres::AutoDiffCostFunction<Turned, 3, 4, 3> right{new Turned};
  bool Evaluate(double const* const* x, double* r, double** j) const override {
    if (!right.Evaluate(x, r, j)) return false;
    for (int i = 0; j && j[1] && i < 3; ++i)
      for (int k = 0; k < i; ++k) std::swap(j[1][3 * i + k], j[1][3 * k + i]);
    return true;
  }
};

int main() {
  Rosenbrock wrong;
  wrong.factor = -10;
  const ceres::AutoDiffCostFunction<Functor, 1, 2> automatic(new Functor);
  const ceres::QuaternionManifold quaternion;
  const std::vector<std::vector<double>> pose{{0.5, -0.5, 0.1, 0.7}, {1, 2, -3}};
  const std::vector<std::vector<double>> identity{{1, 0, 0, 0}, {1, 2, -3}};
  const WrongTurn wrong_turn;
  const check::Report good[] = {
      check::ceres("Rosenbrock", Rosenbrock(), {{-1.2}, {1.0}}),
      check::ceres("automatic", automatic, {{0.3, 2.0}}),
      check::ceres("turned", wrong_turn.right, pose, {&quaternion, nullptr})};
  const check::Report bad[] = {
      check::ceres("Rosenbrock, half", wrong, {{-1.2}, {1.0}}),
      check::ceres("turned back", wrong_turn, identity, {&quaternion, nullptr})};
  bool right = true, passed = false;
  for (const check::Report& report : good) {
    std::cout << report;
    right = right && report;
  }
  for (const check::Report& report : bad) {
    std::cout << report;
    passed = passed || report.verdict != check::Verdict::fail;
  }
  return right ? (passed ? 0 : 1) : 2;
}
