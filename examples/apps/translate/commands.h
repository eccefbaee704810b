// Each command returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "gradus/examples/apps/support/run_flags.h"

namespace gradus::examples {

struct TranslateFlags : ModelFlags {
  std::string task = "dates";
  std::int64_t examples = 100000;

  TranslateFlags();
  void add_to(CLI::App& app);
  void check(const Judge& judge) const override;
  Need need() const override;
};

int train(TranslateFlags& flags);
int translate(TranslateFlags& flags, const std::string& directory,
              const std::vector<std::string>& texts, std::int64_t beams);
/// Prints the accuracy on held-out texts, and some errors.
int evaluate(TranslateFlags& flags, const std::string& directory);

}  // namespace gradus::examples
