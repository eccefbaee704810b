// How many parameters a model will have, told before it is made. Counts are doubles: no product of
// sizes overflows them, and below 2⁵³ they are exact.
#pragma once

#include <utility>
#include <vector>

#include "gradus/nn/block.h"

namespace gradus::nn {

double linear_count(double in, double out);  // weight and bias
double norm_count(double width, NormKind kind = NormKind::layer);
double block_count(const BlockOptions& options);
double decoder_block_count(const BlockOptions& options);

/// For the initialiser of a model's first member, so that nothing is made before. ValueError: a
/// size is not between 1 and 2³¹ − 1. MemoryError: the machine, or this process's limit, has no
/// room for so many parameters of the default dtype.
void check_sizes(const char* model, const std::vector<std::pair<const char*, std::int64_t>>& sizes,
                 double count);

}  // namespace gradus::nn
