#include "optimizer.h"

#include "gradus/train/optim/muon.h"

namespace gradus::examples {

std::unique_ptr<optim::Optimizer> make_optimizer(const ModelFlags& flags,
                                                 std::vector<optim::Group> groups,
                                                 std::array<double, 2> betas) {
  constexpr double kOthersRate = 0.1;
  const double rate = flags.learning_rate;
  if (flags.optimizer == "adamw")
    return std::make_unique<optim::AdamW>(std::move(groups),
                                          optim::AdamWOptions{.lr = rate, .betas = betas});
  std::vector<nn::NamedTensor> all;
  for (const optim::Group& group : groups)
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  optim::MuonGroups split = optim::muon_groups(all);
  split.matrices.weight_decay = groups.front().weight_decay;
  return std::make_unique<optim::Muon>(
      std::move(split.matrices), std::move(split.others),
      optim::MuonOptions{.lr = rate, .adam = {.lr = kOthersRate * rate, .betas = betas}});
}

}  // namespace gradus::examples
