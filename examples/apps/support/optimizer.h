// The optimizer of a run, from its flags.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/train/optim/optim.h"

namespace gradus::examples {

/// AdamW at --lr. Or Muon at --lr, with AdamW at a tenth of it for embeddings, heads and norms, and
/// the first group's weight decay for matrices.
std::unique_ptr<optim::Optimizer> make_optimizer(const ModelFlags& flags,
                                                 std::vector<optim::Group> groups,
                                                 std::array<double, 2> betas = {0.9, 0.98});

}  // namespace gradus::examples
