// The commands of gpt, each with what its flags say. They return the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradus::examples {

/// Flags that were not given are empty: the text, a preset, or the run that is resumed, decides.
struct TrainFlags {
  std::vector<std::string> files;
  std::optional<std::string> out, config, tokenizer, validation, positions, norm, activation;
  std::optional<std::int64_t> vocab, steps, batch, context, layers, heads, width, seed, eval_every;
  std::optional<std::int64_t> kv_heads, window;
  std::optional<double> dropout, learning_rate, minutes;
  bool checkpoint = false;  // of gradients
  bool resume = false;
  bool no_trial = false;
};
int train(const TrainFlags& flags);

struct SampleFlags {
  std::string directory, prompt;
  std::int64_t tokens = 500;
  double temperature = 0.8;
  std::int64_t top_k = 0, seed = 1;
  double top_p = 1, min_p = 0, repetition_penalty = 1;
  bool follow = false;
};
int sample(const SampleFlags& flags);

struct AttendFlags {
  std::string directory, prompt;
  std::optional<std::string> out;
  std::optional<std::int64_t> layer, head;
};
/// Writes what the model's heads look at in the prompt: a page with all, or a picture of one.
int attend(const AttendFlags& flags);

int evaluate(const std::string& directory, const std::string& file);

/// What is in a run's directory, for people.
int info(const std::string& directory);

/// Trains for so many minutes at most on the sources and documents below `tree`, and shows what
/// came of it.
int demo(const std::string& tree, double minutes);

}  // namespace gradus::examples
