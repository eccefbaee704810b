#pragma once

#include <vector>

#include "gradus/ops/create.h"
#include "gradus/ops/members.h"

namespace gradus::testing {

using Numbers = std::vector<double>;

/// Returns the elements in row-major order, for any dtype and strides.
inline Numbers numbers(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

}  // namespace gradus::testing
