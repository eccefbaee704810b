#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/train/optim/optim.h"

namespace gradus::examples {

/// Returns AdamW or Muon. With Muon, AdamW updates embeddings, heads and norms at a tenth of --lr,
/// and matrices have the first group's weight decay.
std::unique_ptr<optim::Optimizer> make_optimizer(const ModelFlags& flags,
                                                 std::vector<optim::Group> groups,
                                                 std::array<double, 2> betas = {0.9, 0.98});

}  // namespace gradus::examples
