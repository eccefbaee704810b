// What translate does, one function a command. Each returns the exit code.
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
/// The best translation of each text; with beams > 1 so many of each.
int translate(TranslateFlags& flags, const std::string& directory,
              const std::vector<std::string>& texts, std::int64_t beams);
/// How many of the texts that were held out come out right, and how those that do not.
int evaluate(TranslateFlags& flags, const std::string& directory);

}  // namespace gradus::examples
