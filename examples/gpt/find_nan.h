// What to say when a step's loss or gradient is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/models/gpt.h"
#include "gradus/train/data.h"

namespace gradus::examples {

/// Repeats the forward and backward of one step, with the same batch and random state, under a
/// NanFinder: which operation made the first NaN or infinity, and of what. The model's gradients
/// are cleared; generator() is afterwards where it was.
std::string find_nan(nn::GPT& model, const Batch& batch, std::uint32_t random_position);

}  // namespace gradus::examples
