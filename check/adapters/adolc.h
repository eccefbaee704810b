// Checks an ADOL-C tape. A tape fixes the branches taken while recording, and the values that were
// not adouble.
#pragma once

#include <adolc/drivers/drivers.h>

#include "gradus/check/raw/check.h"

namespace gradus::check {

/// Compares the derivative of the tape with finite differences of f in double.
template <class F>
auto adolc(Named name, F f, short tape, const std::vector<double>& x) {
  const auto vjp = [tape](const std::vector<double>& at, const std::vector<double>& dy) {
    std::vector<double> in = at, weights = dy, dx(at.size());
    const int done = vec_jac(tape, static_cast<int>(dy.size()), static_cast<int>(at.size()), 0,
                             in.data(), weights.data(), dx.data());
    if (done < 0)
      throw std::runtime_error(
          joined("vec_jac returns ", done, ": the branch differs from that of the tape"));
    return dx;
  };
  return raw(
      std::move(name), [f](const std::vector<double>& at) { return std::vector<double>(f(at)); },
      vjp, x);
}

}  // namespace gradus::check
