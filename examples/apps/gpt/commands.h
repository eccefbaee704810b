// The commands of gpt, each with what its flags say. They return the exit code. Settings of the run
// that a command uses are put into `flags`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flags.h"
#include "gradus/nn/models/decode.h"

namespace gradus::examples {

int train(GptFlags& flags);

struct SampleFlags : Options {
  std::string prompt;
  nn::GenerateOptions options = {.tokens = 500};
  std::int64_t seed = 1;
  bool follow = false;
  void add_to(CLI::App& app);
};
int sample(GptFlags& flags, const std::string& directory, const SampleFlags& how);

struct AttendFlags : Options {
  std::string prompt, out;
  std::optional<std::int64_t> layer, head;
  void add_to(CLI::App& app);
};
/// Writes what the model's heads look at in the prompt: a page with all, or a picture of one.
int attend(GptFlags& flags, const std::string& directory, const AttendFlags& how);

/// To standard output, at once or when it is worth while. FileError where that cannot be.
void write_out(const std::string& text, bool at_once);

int evaluate(GptFlags& flags, const std::string& directory, const std::string& file);

/// What is in a run's directory, for people.
int info(GptFlags& flags, const std::string& directory);

struct DemoFlags : Options {
  std::string text = "examples/data/prose.txt";
  double minutes = 0.8;
  void add_to(CLI::App& app);
};
/// Trains on the text for so many minutes at most, and shows what came of it.
int demo(GptFlags& flags, const DemoFlags& how);

}  // namespace gradus::examples
