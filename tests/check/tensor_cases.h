// Random right gradients of tensors: of any operation, shape and scale.
#pragma once

#include "gradus/check/gradients.h"

namespace gradus::faulty_tensor_ops {

/// Checks the seed's case under all conditions; every third one in f32 too.
check::Report check_random_case(std::uint64_t seed);

}  // namespace gradus::faulty_tensor_ops
