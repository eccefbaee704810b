// Each command returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "gradus/examples/apps/support/run_flags.h"

namespace gradus::examples {

struct RecommendFlags : ModelFlags {
  std::int64_t users = 6000;

  RecommendFlags();
  void add_to(CLI::App& app);
  Need need() const override;
};

int train(RecommendFlags& flags);
/// Prints the five best next items for a history, which ends with the latest item.
int recommend(RecommendFlags& flags, const std::string& directory,
              const std::vector<std::string>& items);
int evaluate(RecommendFlags& flags, const std::string& directory);

}  // namespace gradus::examples
