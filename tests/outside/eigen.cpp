#include <iostream>

#include <gradus/check/adapters/eigen.h>

namespace check = gradus::check;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Residuals {
  using InputType = VectorXd;
  using ValueType = VectorXd;
  using JacobianType = MatrixXd;
  bool transposed = false;
  int values() const { return 2; }
  int operator()(const VectorXd& x, VectorXd& y) const {
    y << x[0] * x[1], std::exp(x[1]);
    return 0;
  }
  int df(const VectorXd& x, MatrixXd& j) const {
    j << x[1], x[0], 0, std::exp(x[1]);
    if (transposed) j.transposeInPlace();
    return 0;
  }
};

template <class T>
T smooth(const Eigen::Matrix<T, Eigen::Dynamic, 1>& x) {
  return x[0] * x[0] * x[1] + exp(x[1]);
}

/// The cast drops a derivative.
template <class T>
T through_a_cast(const Eigen::Matrix<T, Eigen::Dynamic, 1>& x) {
  if constexpr (std::is_same_v<T, double>)
    return x[0] * std::sin(x[1]);
  else
    return x[0] * std::sin(x[1].value());
}

int main() {
  const VectorXd x = VectorXd::LinSpaced(2, 0.5, 1.7);
  const MatrixXd a = MatrixXd::Random(3, 2);
  const check::Report good[] = {
      check::eigen("residuals", Residuals(), x),
      check::eigen_autodiff(
          "smooth", [](const auto& at) { return smooth(at.eval()); }, x),
      check::raw(
          "a x", [&](const VectorXd& v) -> VectorXd { return a * v; },
          [&](const VectorXd&, const VectorXd& dy) -> VectorXd { return a.transpose() * dy; }, x)};
  const check::Report bad[] = {
      check::eigen("residuals, transposed", Residuals{true}, x),
      check::eigen_autodiff(
          "cast", [](const auto& at) { return through_a_cast(at.eval()); }, x)};
  for (const auto& report : good) std::cout << report;
  for (const auto& report : bad) std::cout << report;
  if (!good[0] || !good[1] || !good[2]) return 2;
  return bad[0] || bad[1] ? 0 : 1;
}
