// gpt: trains a small GPT on text, samples from it, evaluates it. `gpt --help` tells the rest.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/support/program.h"

namespace gradus::examples {
namespace {

void describe_sample(CLI::App& app, SampleFlags& flags) {
  app.add_option("--prompt", flags.prompt, "text to go on from");
  app.add_option("--tokens", flags.options.tokens, "how many to draw")->capture_default_str();
  app.add_option("--temperature", flags.options.sampling.temperature, "0: always the likeliest")
      ->capture_default_str();
  app.add_option("--top-k", flags.options.sampling.top_k, "only the k likeliest; 0: all")
      ->capture_default_str();
  app.add_option("--top-p", flags.options.sampling.top_p,
                 "only the likeliest that make up this much; 1: all")
      ->capture_default_str();
  app.add_option("--min-p", flags.options.sampling.min_p,
                 "only those at least this likely beside the likeliest")
      ->capture_default_str();
  app.add_option("--repetition-penalty", flags.options.sampling.repetition_penalty,
                 "above 1: what is there already becomes less likely")
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of the draws")->capture_default_str();
  app.add_flag("--follow", flags.follow, "show each character as soon as it is drawn");
}

void describe_attend(CLI::App& app, AttendFlags& flags) {
  app.add_option("--prompt", flags.prompt, "text to look at")->required();
  app.add_option("--out", flags.out, "FILE.html: all heads; FILE.svg: one (DIR/attention.html)")
      ->type_name("FILE");
  app.add_option("--layer", flags.layer, "of the picture, from 0 (0)");
  app.add_option("--head", flags.head, "of the picture, from 0 (0)");
}

/// Of commands whose run is an argument, while train has it as --out.
void refuse_out(CLI::App& app, const char* command) {
  const std::string form = std::string("the run is an argument: gpt ") + command + " ";
  app.get_subcommand(command)
      ->add_option_function<std::string>(
          "--out", [=](const std::string& run) { throw CLI::ValidationError(form + run); })
      ->group("");
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Trains a small GPT on your text.\n  gpt train book.txt    gpt sample runs/book --prompt "
      "\"Once\"");
  app.require_subcommand(1);
  GptFlags flags(*app.add_subcommand("train", "learn a text"));
  SampleFlags sampled;
  describe_sample(add_command_on_run(app, "sample", "write text in the manner of what was learnt",
                                     sampled.directory),
                  sampled);
  AttendFlags attended;
  describe_attend(
      add_command_on_run(app, "attend", "draw which token looks at which", attended.directory),
      attended);
  std::string directory, file, tree = ".";
  add_command_on_run(app, "eval", "mean loss on a file", directory)
      .add_option("file", file, "text")
      ->required()
      ->type_name("FILE");
  add_command_on_run(app, "info", "what is in the directory of a run", directory);
  for (const char* command : {"sample", "eval", "info"}) refuse_out(app, command);
  CLI::App& demonstration =
      *app.add_subcommand("demo", "a minute of training on this project's own text");
  demonstration.add_option("tree", tree, "directory of the sources")
      ->type_name("DIR")
      ->capture_default_str();
  double minutes = 0.8;
  demonstration.add_option("--minutes", minutes, "at most, of training")->capture_default_str();
  return program(app, "gpt", argc, argv, [&] {
    if (app.got_subcommand("train")) return train(flags);
    if (app.got_subcommand("sample")) return sample(flags, sampled);
    if (app.got_subcommand("attend")) return attend(flags, attended);
    if (app.got_subcommand("eval")) return evaluate(flags, directory, file);
    if (app.got_subcommand("info")) return info(flags, directory);
    return demo(flags, tree, minutes);
  });
}
