// gpt: trains a small GPT on text, samples from it, evaluates it. `gpt --help` tells the rest.
//
// Exit codes: 0 done; 2 wrong flags, files or values, or a full disk, with one line on what to
// mend; 130 stopped by Ctrl-C and saved.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "commands.h"
#include "gradus/base/parallel.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

void describe_train(CLI::App& app, TrainFlags& flags) {
  app.add_option("files", flags.files, "text to learn, one or more files")->type_name("FILE");
  app.add_option("--out", flags.out, "directory of the run (runs/NAME, after the first file)")
      ->type_name("DIR");
  app.add_option("--val", flags.validation, "text that is held out (the last tenth of FILE)")
      ->type_name("FILE");
  app.add_option("--tokenizer", flags.tokenizer,
                 "auto, char or byte (auto: characters up to 512 kinds, else bytes)")
      ->type_name("KIND");
  app.add_option("--config", flags.config,
                 "sizes with a name: toy, cpu, baby12, baby64, gpt2, long (by the text's size)")
      ->type_name("NAME");
  app.add_option("--steps", flags.steps, "how many (2000)");
  app.add_option("--minutes", flags.minutes, "as many steps as fit into this time");
  app.add_option("--batch", flags.batch, "sequences a step");
  app.add_option("--context", flags.context, "tokens a sequence");
  app.add_option("--layers", flags.layers, "blocks");
  app.add_option("--heads", flags.heads, "attention heads; must divide --width");
  app.add_option("--width", flags.width, "of the residual stream");
  app.add_option("--dropout", flags.dropout, "in [0, 1) (0)");
  app.add_option("--lr", flags.learning_rate, "highest learning rate (0.001)");
  app.add_option("--seed", flags.seed, "of weights, batches and dropout (1337)");
  app.add_option("--eval-every", flags.eval_every,
                 "steps between evaluations and checkpoints (250)");
  app.add_flag("--no-trial", flags.no_trial,
               "start at once, without the trial steps that tell time and memory");
  app.add_flag("--resume", flags.resume,
               "go on with the run in --out; other flags may be left out");
}

void describe_sample(CLI::App& app, SampleFlags& flags) {
  app.add_option("run", flags.directory, "directory of a run")->required()->type_name("DIR");
  app.add_option("--prompt", flags.prompt, "text to go on from");
  app.add_option("--tokens", flags.tokens, "how many to draw")->capture_default_str();
  app.add_option("--temperature", flags.temperature, "0: always the likeliest")
      ->capture_default_str();
  app.add_option("--top-k", flags.top_k, "only the k likeliest; 0: all")->capture_default_str();
  app.add_option("--seed", flags.seed, "of the draws")->capture_default_str();
  app.add_flag("--follow", flags.follow, "show each character as soon as it is drawn");
}

int run(int argc, char** argv) {
  CLI::App app(
      "Trains a small GPT on your text.\n  gpt train book.txt    gpt sample runs/book --prompt "
      "\"Once\"");
  app.require_subcommand(1);
  int threads = 0;
  bool config_asked = false;
  app.add_option("--threads", threads, "how many; 0: one a core")->check(CLI::NonNegativeNumber);
  app.add_flag("--build-info", config_asked, "say what this was built with");
  app.fallthrough();
  TrainFlags train_flags;
  SampleFlags sample_flags;
  std::string eval_directory, eval_file, info_directory, tree = ".";
  CLI::App& train_command = *app.add_subcommand("train", "learn a text");
  CLI::App& sample_command =
      *app.add_subcommand("sample", "write text in the manner of what was learnt");
  CLI::App& eval_command = *app.add_subcommand("eval", "mean loss on a file");
  CLI::App& info_command = *app.add_subcommand("info", "what is in the directory of a run");
  CLI::App& demo_command =
      *app.add_subcommand("demo", "a minute of training on this project's own text");
  describe_train(train_command, train_flags);
  describe_sample(sample_command, sample_flags);
  eval_command.add_option("run", eval_directory, "directory of a run")
      ->required()
      ->type_name("DIR");
  eval_command.add_option("file", eval_file, "text")->required()->type_name("FILE");
  info_command.add_option("run", info_directory, "directory of a run")
      ->required()
      ->type_name("DIR");
  demo_command.add_option("tree", tree, "directory of the sources")
      ->type_name("DIR")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "gpt: %s; see gpt --help\n", error.what());
    return 2;
  }
  if (threads > 0) set_num_threads(threads);
  if (config_asked) std::fputs(config().c_str(), stderr);
  catch_interrupts();
  if (train_command.parsed()) return train(train_flags);
  if (sample_command.parsed()) return sample(sample_flags);
  if (eval_command.parsed()) return evaluate(eval_directory, eval_file);
  if (info_command.parsed()) return info(info_directory);
  return demo(tree);
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  try {
    return gradus::examples::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("gpt: not enough memory: try a smaller --batch, --context or --width\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpt: %s\n", error.what());
  }
  return 2;
}
