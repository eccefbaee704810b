// In a separate file because CLI11 takes seconds to compile.
#include <CLI/CLI.hpp>

#include "pretrained.h"

namespace gradus::examples {

void SampleFlags::add_to(CLI::App& app) {
  nn::SamplingOptions& drawn = options.sampling;
  option(app, "--prompt", &prompt, "text to continue");
  option(app, "--tokens", &options.tokens, "tokens to generate");
  option(app, "--temperature", &drawn.temperature,
         "sampling temperature; 0: always the most likely token");
  option(app, "--top-k", &drawn.top_k, "sample from the k most likely tokens (default: all)");
  option(app, "--top-p", &drawn.top_p,
         "sample from the most likely tokens with this total probability; 1: all");
  option(app, "--min-p", &drawn.min_p,
         "lowest probability relative to the most likely token (default: 0)");
  option(app, "--repetition-penalty", &drawn.repetition_penalty,
         "above 1: makes tokens that already occur in the text less likely");
  option(app, "--seed", &seed, "random seed of the sampling");
  option(app, "--follow", &follow, "print each character as soon as it is generated");
}

void AttendFlags::add_to(CLI::App& app) {
  option(app, "--prompt", &prompt, "text whose attention is drawn").required();
  option(app, "--out", &out,
         "output: FILE.html for all heads, FILE.svg for one (default: DIR/attention.html)")
      .type_name("FILE");
  app.add_option("--layer", layer, "layer to draw, from 0 (default: 0)");
  app.add_option("--head", head, "head to draw, from 0 (default: 0)");
}

void DemoFlags::add_to(CLI::App& app) {
  option(app, "file", &text, "text file to train on").type_name("FILE");
  option(app, "--minutes", &minutes, "time limit of training in minutes");
}

void LogitsFlags::add_to(CLI::App& app) {
  option(app, "--ids", &ids, "token ids, such as 1,5,9").required();
}

void ExportFlags::add_to(CLI::App& app) {
  app.add_option("to", directory, "directory to create")->required()->type_name("DIR");
  option(app, "--adapters", &adapters, "write only the LoRA adapters");
}

void ChatFlags::add_to(CLI::App& app) {
  options.sampling.temperature = 0.2;  // recommended by the model's authors
  options.sampling.top_p = 0.9;
  SampleFlags::add_to(app);
  option(app, "--system", &system,
         "system message with instructions (default: the chat template's)");
  app.get_option("--prompt")
      ->description("message to answer before exiting; otherwise, each input line is a message");
}

}  // namespace gradus::examples
