// The commands of gpt. Each command loads a run's settings and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
int attend(GptFlags& flags, const std::string& directory, const AttendFlags& how);

/// Writes to standard output, and flushes it if `at_once`. Throws FileError.
void write_out(const std::string& text, bool at_once);

int evaluate(GptFlags& flags, const std::string& directory, const std::string& file);

struct VerifyFlags : Options {
  std::vector<std::string> texts;
  std::string steps;
  void add_to(CLI::App& app);
};
/// Repeats a portable run. Returns 1 if its weights differ.
int verify(GptFlags& flags, const std::string& directory, const VerifyFlags& how);

int info(GptFlags& flags, const std::string& directory);

struct DemoFlags : Options {
  std::string text = "examples/data/prose.txt";
  double minutes = 0.8;
  void add_to(CLI::App& app);
};
int demo(GptFlags& flags, const DemoFlags& how);

}  // namespace gradus::examples
