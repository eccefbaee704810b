// Models of other people in gpt: a directory in the Hugging Face layout or a GGUF file may stand
// wherever the directory of a run does.
#pragma once

#include <memory>
#include <string>

#include "commands.h"
#include "gradus/io/tokenizer.h"

namespace gradus::examples {

/// Its tokenizer.json, or what the GGUF file has of it. FileError.
std::unique_ptr<io::Tokenizer> tokenizer_of(const std::string& model);

/// A run's: its tokenizer.json, or the GGUF file's that it began from, which has no such text.
std::unique_ptr<io::Tokenizer> tokenizer_of_run(const GptFlags& flags);

struct TrainedModel;
/// `flags` get its sizes.
TrainedModel load_pretrained(GptFlags& flags, const std::string& model);
int info_of_pretrained(const std::string& model);

struct LogitsFlags : Options {
  std::string ids;  // "1,5,9"
  void add_to(CLI::App& app);
};
/// Prints the logits of each position as one JSON array a line. No tokenizer is needed.
int logits(GptFlags& flags, const std::string& model, const LogitsFlags& how);

struct ExportFlags : Options {
  std::string directory;
  bool adapters = false;
  void add_to(CLI::App& app);
};
/// Writes config.json, model.safetensors and tokenizer.json, adapters merged; or adapters alone.
int export_model(GptFlags& flags, const std::string& run, const ExportFlags& how);

struct ChatFlags : SampleFlags {
  std::string system;
  void add_to(CLI::App& app);
};
/// Talks, line by line, as the model's chat template says.
int chat(GptFlags& flags, const std::string& model, const ChatFlags& how);

}  // namespace gradus::examples
