// Uses a Hugging Face directory or GGUF file in place of a run.
#pragma once

#include <memory>
#include <string>

#include "commands.h"
#include "gradus/io/tokenizer.h"

namespace gradus::examples {

/// Reads tokenizer.json, or the tokenizer in a GGUF file. Throws FileError.
std::unique_ptr<io::Tokenizer> tokenizer_of(const std::string& model);

/// Reads a run's tokenizer.json, or the tokenizer of its GGUF file.
std::unique_ptr<io::Tokenizer> tokenizer_of_run(const GptFlags& flags);

struct TrainedModel;
TrainedModel load_pretrained(GptFlags& flags, const std::string& model);
int info_of_pretrained(const std::string& model);

struct LogitsFlags : Options {
  std::string ids;  // "1,5,9"
  void add_to(CLI::App& app);
};
/// Prints the logits of each position as a JSON array.
int logits(GptFlags& flags, const std::string& model, const LogitsFlags& how);

struct ExportFlags : Options {
  std::string directory;
  bool adapters = false;
  void add_to(CLI::App& app);
};
/// Writes a Hugging Face directory with merged adapters, or only the adapters.
int export_model(GptFlags& flags, const std::string& run, const ExportFlags& how);

struct ChatFlags : SampleFlags {
  std::string system;
  void add_to(CLI::App& app);
};
int chat(GptFlags& flags, const std::string& model, const ChatFlags& how);

}  // namespace gradus::examples
