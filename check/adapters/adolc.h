// ADOL-C: is a tape the derivative of the function that it was recorded from, here? A tape keeps
// the branches that were taken when it was recorded, and the numbers that were no adouble.
#pragma once

#include <adolc/drivers/drivers.h>

#include "gradus/check/raw/check.h"

namespace gradus::check {

/// f in double, the tape's number, and where to look.
template <class F>
auto adolc(std::string name, F f, short tape, const std::vector<double>& x) {
  const auto vjp = [tape](const std::vector<double>& at, const std::vector<double>& dy) {
    std::vector<double> in = at, weights = dy, dx(at.size());
    const int done = vec_jac(tape, static_cast<int>(dy.size()), static_cast<int>(at.size()), 0,
                             in.data(), weights.data(), dx.data());
    if (done < 0)
      throw std::runtime_error(joined("vec_jac gives ", done, ": another branch than the tape's"));
    return dx;
  };
  return raw(
      std::move(name), [f](const std::vector<double>& at) { return std::vector<double>(f(at)); },
      vjp, x);
}

}  // namespace gradus::check
