// Random functions of tensors with correct gradients.
#pragma once

#include "gradus/check/gradients.h"

namespace gradus::faulty_tensor_ops {

/// Checks a random case. Every third case also runs in f32.
check::Report check_random_case(std::uint64_t seed);

}  // namespace gradus::faulty_tensor_ops
