// Ceres' cost functions as they are: sized ones with Jacobians by hand, and automatic ones.
#include <iostream>

#include <ceres/autodiff_cost_function.h>
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

int main() {
  Rosenbrock wrong;
  wrong.factor = -10;
  const ceres::AutoDiffCostFunction<Functor, 1, 2> automatic(new Functor);
  const check::Report good[] = {check::ceres("Rosenbrock", Rosenbrock(), {{-1.2}, {1.0}}),
                                check::ceres("automatic", automatic, {{0.3, 2.0}})};
  const check::Report bad = check::ceres("Rosenbrock, half", wrong, {{-1.2}, {1.0}});
  std::cout << good[0] << good[1] << bad;
  return good[0] && good[1] ? (bad ? 0 : 1) : 2;
}
