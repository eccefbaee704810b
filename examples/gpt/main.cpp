// gpt: trains a small GPT on text, samples from it, evaluates it. `gpt --help` tells the rest.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/support/program.h"

namespace gradus::examples {
namespace {

void describe_model(CLI::App& app, TrainFlags& flags) {
  app.add_option("--context", flags.context, "tokens a sequence");
  app.add_option("--layers", flags.layers, "blocks");
  app.add_option("--heads", flags.heads, "attention heads; must divide --width");
  app.add_option("--width", flags.width, "of the residual stream");
  app.add_option("--dropout", flags.dropout, "in [0, 1) (0)");
  app.add_option("--positions", flags.positions, "learned, rotary, alibi or relative (learned)")
      ->type_name("KIND");
  app.add_option("--kv-heads", flags.kv_heads,
                 "heads of keys and values; must divide --heads (as many)");
  app.add_option("--window", flags.window, "tokens that a token sees, itself included; 0: all (0)");
  app.add_option("--norm", flags.norm, "layer or rms (layer)")->type_name("KIND");
  app.add_option("--activation", flags.activation, "gelu, gelu_erf, relu, silu or swiglu (gelu)")
      ->type_name("KIND");
  app.add_flag("--checkpoint", flags.checkpoint,
               "keep one block's numbers at a time and compute them again: less memory, more time");
}

void describe_train(CLI::App& app, TrainFlags& flags) {
  app.add_option("files", flags.files, "text to learn, one or more files")->type_name("FILE");
  app.add_option("--out", flags.out, "directory of the run (runs/NAME, after the first file)")
      ->type_name("DIR");
  app.add_option("--val", flags.validation, "text that is held out (the last tenth of FILE)")
      ->type_name("FILE");
  app.add_option("--tokenizer", flags.tokenizer,
                 "auto, char, byte, word or bpe (auto: characters up to 512 kinds, else bytes)")
      ->type_name("KIND");
  app.add_option("--vocab", flags.vocab, "kinds of tokens, of word (4096) and bpe (1024) at most");
  app.add_option("--config", flags.config,
                 "sizes with a name: toy, cpu, baby12, baby64, gpt2, long (by the text's size)")
      ->type_name("NAME");
  app.add_option("--steps", flags.steps, "how many (2000)");
  app.add_option("--minutes", flags.minutes,
                 "as many steps as fit into this time, fitted again on the way");
  app.add_option("--batch", flags.batch, "sequences a step");
  describe_model(app, flags);
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
  app.add_option("--top-p", flags.top_p, "only the likeliest that make up this much; 1: all")
      ->capture_default_str();
  app.add_option("--min-p", flags.min_p, "only those at least this likely beside the likeliest")
      ->capture_default_str();
  app.add_option("--repetition-penalty", flags.repetition_penalty,
                 "above 1: what is there already becomes less likely")
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of the draws")->capture_default_str();
  app.add_flag("--follow", flags.follow, "show each character as soon as it is drawn");
}

void describe_attend(CLI::App& app, AttendFlags& flags) {
  app.add_option("run", flags.directory, "directory of a run")->required()->type_name("DIR");
  app.add_option("--prompt", flags.prompt, "text to look at")->required();
  app.add_option("--out", flags.out,
                 "FILE.html: all heads; FILE.svg, FILE.png: one (DIR/attention.html)")
      ->type_name("FILE");
  app.add_option("--layer", flags.layer, "of the picture, from 0 (0)");
  app.add_option("--head", flags.head, "of the picture, from 0 (0)");
}

struct Arguments {
  TrainFlags train;
  SampleFlags sample;
  AttendFlags attend;
  std::string eval_directory, eval_file, info_directory, tree = ".";
  double demo_minutes = 0.8;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  describe_train(*app.add_subcommand("train", "learn a text"), arguments.train);
  describe_sample(*app.add_subcommand("sample", "write text in the manner of what was learnt"),
                  arguments.sample);
  describe_attend(*app.add_subcommand("attend", "draw which token looks at which"),
                  arguments.attend);
  CLI::App& eval = *app.add_subcommand("eval", "mean loss on a file");
  eval.add_option("run", arguments.eval_directory, "directory of a run")
      ->required()
      ->type_name("DIR");
  eval.add_option("file", arguments.eval_file, "text")->required()->type_name("FILE");
  app.add_subcommand("info", "what is in the directory of a run")
      ->add_option("run", arguments.info_directory, "directory of a run")
      ->required()
      ->type_name("DIR");
  CLI::App& demo = *app.add_subcommand("demo", "a minute of training on this project's own text");
  demo.add_option("tree", arguments.tree, "directory of the sources")
      ->type_name("DIR")
      ->capture_default_str();
  demo.add_option("--minutes", arguments.demo_minutes, "at most, of training")
      ->capture_default_str();
}

int run(const std::string& command, const Arguments& arguments) {
  if (command == "train") return train(arguments.train);
  if (command == "sample") return sample(arguments.sample);
  if (command == "attend") return attend(arguments.attend);
  if (command == "eval") return evaluate(arguments.eval_directory, arguments.eval_file);
  if (command == "info") return info(arguments.info_directory);
  return demo(arguments.tree, arguments.demo_minutes);
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  CLI::App app(
      "Trains a small GPT on your text.\n  gpt train book.txt    gpt sample runs/book --prompt "
      "\"Once\"");
  gradus::examples::Arguments arguments;
  gradus::examples::describe(app, arguments);
  return gradus::examples::program(app, "gpt", argc, argv, [&] {
    return gradus::examples::run(app.get_subcommands().front()->get_name(), arguments);
  });
}
