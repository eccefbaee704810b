// gpt: trains, samples and evaluates small GPTs. See `gpt --help`.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/apps/support/program.h"
#include "pretrained.h"

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Trains a small GPT on your text.\n  gpt train book.txt    gpt sample runs/book --prompt "
      "\"Once\"");
  app.require_subcommand(1);
  GptFlags flags(*app.add_subcommand("train", "train on a text"));
  SampleFlags sampled;
  AttendFlags attended;
  DemoFlags shown;
  LogitsFlags counted;
  ExportFlags written;
  ChatFlags talk;
  VerifyFlags repeated;
  std::string run, file;
  sampled.add_to(add_command_on_run(app, "sample", "generate text from a trained model", run));
  attended.add_to(add_command_on_run(app, "attend", "draw attention weights", run));
  add_command_on_run(app, "eval", "mean loss on a file", run)
      .add_option("file", file, "text file")
      ->required()
      ->type_name("FILE");
  counted.add_to(add_command_on_run(app, "logits", "print the logits after each token id", run));
  written.add_to(add_command_on_run(app, "export", "export a run in the Hugging Face format", run));
  talk.add_to(add_command_on_run(app, "chat", "chat with a pretrained model", run));
  repeated.add_to(add_command_on_run(
      app, "verify", "repeat a run of --bits portable and compare its weights", run));
  add_command_on_run(app, "info", "describe a run or a pretrained model", run);
  for (const std::string name : {"sample", "chat", "eval", "logits"})
    flags.add_weights_to(*app.get_subcommand(name), name == "sample" || name == "chat");
  shown.add_to(*app.add_subcommand("demo", "train on this project's own prose for a minute"));
  return program(app, "gpt", argc, argv, [&] {
    if (app.got_subcommand("train")) return train(flags);
    if (app.got_subcommand("sample")) return sample(flags, run, sampled);
    if (app.got_subcommand("attend")) return attend(flags, run, attended);
    if (app.got_subcommand("eval")) return evaluate(flags, run, file);
    if (app.got_subcommand("info")) return info(flags, run);
    if (app.got_subcommand("verify")) return verify(flags, run, repeated);
    if (app.got_subcommand("logits")) return logits(flags, run, counted);
    if (app.got_subcommand("export")) return export_model(flags, run, written);
    if (app.got_subcommand("chat")) return chat(flags, run, talk);
    return demo(flags, shown);
  });
}
