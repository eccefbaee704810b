// gpt: trains a small GPT on text, samples from it, evaluates it. `gpt --help` tells the rest.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/support/program.h"

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Trains a small GPT on your text.\n  gpt train book.txt    gpt sample runs/book --prompt "
      "\"Once\"");
  app.require_subcommand(1);
  GptFlags flags(*app.add_subcommand("train", "learn a text"));
  SampleFlags sampled;
  AttendFlags attended;
  DemoFlags shown;
  std::string run, file;
  sampled.add_to(
      add_command_on_run(app, "sample", "write text in the manner of what was learnt", run));
  attended.add_to(add_command_on_run(app, "attend", "draw which token looks at which", run));
  add_command_on_run(app, "eval", "mean loss on a file", run)
      .add_option("file", file, "text")
      ->required()
      ->type_name("FILE");
  add_command_on_run(app, "info", "what is in the directory of a run", run);
  shown.add_to(*app.add_subcommand("demo", "a minute of training on this project's own text"));
  return program(app, "gpt", argc, argv, [&] {
    if (app.got_subcommand("train")) return train(flags);
    if (app.got_subcommand("sample")) return sample(flags, run, sampled);
    if (app.got_subcommand("attend")) return attend(flags, run, attended);
    if (app.got_subcommand("eval")) return evaluate(flags, run, file);
    if (app.got_subcommand("info")) return info(flags, run);
    return demo(flags, shown);
  });
}
