// The commands of gpt, each with what its flags say. They return the exit code. Settings of the run
// that a command uses are put into `flags`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flags.h"
#include "gradus/models/decode.h"

namespace gradus::examples {

int train(GptFlags& flags);

struct SampleFlags {
  std::string directory, prompt;
  nn::GenerateOptions options = {.tokens = 500};
  std::int64_t seed = 1;
  bool follow = false;
};
int sample(GptFlags& flags, const SampleFlags& how);

struct AttendFlags {
  std::string directory, prompt;
  std::optional<std::string> out;
  std::optional<std::int64_t> layer, head;
};
/// Writes what the model's heads look at in the prompt: a page with all, or a picture of one.
int attend(GptFlags& flags, const AttendFlags& how);

int evaluate(GptFlags& flags, const std::string& directory, const std::string& file);

/// What is in a run's directory, for people.
int info(GptFlags& flags, const std::string& directory);

/// Trains for so many minutes at most on the sources and documents below `tree`, and shows what
/// came of it.
int demo(GptFlags& flags, const std::string& tree, double minutes);

}  // namespace gradus::examples
