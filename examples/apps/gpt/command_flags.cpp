// Flags of all commands but `train`. Separate, since CLI11 takes seconds to compile.
#include <CLI/CLI.hpp>

#include "pretrained.h"

namespace gradus::examples {

void SampleFlags::add_to(CLI::App& app) {
  nn::SamplingOptions& drawn = options.sampling;
  option(app, "--prompt", &prompt, "text to go on from");
  option(app, "--tokens", &options.tokens, "how many to draw");
  option(app, "--temperature", &drawn.temperature, "0: always the likeliest");
  option(app, "--top-k", &drawn.top_k, "only the k likeliest; 0: all (0)");
  option(app, "--top-p", &drawn.top_p, "only the likeliest that make up this much; 1: all");
  option(app, "--min-p", &drawn.min_p,
         "only those at least this part as likely as the likeliest (0)");
  option(app, "--repetition-penalty", &drawn.repetition_penalty,
         "above 1: what is there already becomes less likely");
  option(app, "--seed", &seed, "of the draws");
  option(app, "--follow", &follow, "show each character as soon as it is drawn");
}

void AttendFlags::add_to(CLI::App& app) {
  option(app, "--prompt", &prompt, "text to look at").required();
  option(app, "--out", &out, "FILE.html: all heads; FILE.svg: one (DIR/attention.html)")
      .type_name("FILE");
  app.add_option("--layer", layer, "of the picture, from 0 (0)");
  app.add_option("--head", head, "of the picture, from 0 (0)");
}

void DemoFlags::add_to(CLI::App& app) {
  option(app, "file", &text, "text to learn").type_name("FILE");
  option(app, "--minutes", &minutes, "at most, of training");
}

void LogitsFlags::add_to(CLI::App& app) {
  option(app, "--ids", &ids, "token ids: 1,5,9").required();
}

void ExportFlags::add_to(CLI::App& app) {
  app.add_option("to", directory, "directory that is made")->required()->type_name("DIR");
  option(app, "--adapters", &adapters, "write the adapters of --lora alone");
}

void ChatFlags::add_to(CLI::App& app) {
  options.sampling.temperature = 0.2;  // recommended by the model's authors
  options.sampling.top_p = 0.9;
  SampleFlags::add_to(app);
  option(app, "--system", &system, "how the model is to behave (as its template says)");
  app.get_option("--prompt")
      ->description("say this and end; else each line of the input is a turn");
}

}  // namespace gradus::examples
