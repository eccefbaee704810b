// Checks Eigen's AutoDiffScalar, and functors such as those of NumericalDiff and
// LevenbergMarquardt. check::raw accepts matrices without this header.
#pragma once

#include <Eigen/Dense>
#include <unsupported/Eigen/AutoDiff>

#include "gradus/check/raw/check.h"

namespace gradus::check {

/// Checks that df(x, J) of a functor writes the Jacobian of its operator()(x, y).
template <class Functor>
auto eigen(Named name, const Functor& functor, const typename Functor::InputType& x) {
  using X = typename Functor::InputType;
  const auto f = [&functor](const X& at) {
    typename Functor::ValueType y(functor.values());
    functor(at, y);
    return y;
  };
  const auto jacobian = [&functor](const X& at) {
    typename Functor::JacobianType j(functor.values(), at.size());
    functor.df(at, j);
    return j;
  };
  return raw(std::move(name), f, jacobian, x);
}

/// Compares AutoDiffScalar's gradient of f(x) with finite differences of f in double. f is generic
/// in its number type. If f converts values to another type (std::max, a cast, a table), it loses
/// derivatives, and the check fails.
template <class F>
auto eigen_autodiff(Named name, F f, const Eigen::VectorXd& x) {
  const auto gradient = [f](const Eigen::VectorXd& at) {
    Eigen::Matrix<Eigen::AutoDiffScalar<Eigen::VectorXd>, Eigen::Dynamic, 1> active(at.size());
    for (Eigen::Index i = 0; i < at.size(); ++i) active[i] = {at[i], at.size(), i};
    const Eigen::AutoDiffScalar<Eigen::VectorXd> y = f(active);
    return Eigen::VectorXd(y.derivatives().size() > 0 ? y.derivatives()
                                                      : Eigen::VectorXd::Zero(at.size()));
  };
  return raw(
      std::move(name), [f](const Eigen::VectorXd& at) -> double { return f(at); }, gradient, x);
}

}  // namespace gradus::check
