// Random correct gradients of tensors.
#pragma once

#include "gradus/check/gradients.h"

namespace gradus::faulty_tensor_ops {

/// Every third case also runs in f32.
check::Report check_random_case(std::uint64_t seed);

}  // namespace gradus::faulty_tensor_ops
