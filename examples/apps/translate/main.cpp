// translate: a Transformer (nn/models/translator.h) that learns from generated pairs of texts.
//
//   translate train --task dates        dates in 1,684 formats, to ISO 8601, by characters
//   translate train --task sentences    simple English to a language with the verb last, by words
//   translate run runs/translate "May 3, '98" "3-V-1998" --beams 3
//   translate eval runs/translate             held-out accuracy and a baseline
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/apps/support/program.h"

namespace gradus::examples {

TranslateFlags::TranslateFlags() : ModelFlags("translate") {
  steps = 3000;
  batch = 64;
  learning_rate = 3e-3;
  eval_every = 250;
  new_optimizer = "adamw";  // Muon learns the sentences by heart
}

void TranslateFlags::add_to(CLI::App& app) {
  ModelFlags::add_to(app);
  setting(app, "--task", &task, "task to learn: dates or sentences");
  setting(app, "--examples", &examples, "training pairs");
}

namespace {

struct Arguments {
  TranslateFlags flags;
  std::string directory;
  std::vector<std::string> texts;
  std::int64_t beams = 1;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  arguments.flags.add_to(*app.add_subcommand("train", "train on a task"));
  CLI::App& run = add_command_on_run(app, "run", "translate texts", arguments.directory);
  add_command_on_run(app, "eval", "accuracy on held-out examples", arguments.directory);
  run.add_option("texts", arguments.texts, "one or more texts, in quotes")
      ->required()
      ->type_name("TEXT");
  run.add_option("--beams", arguments.beams,
                 "width of the beam search, and number of translations printed")
      ->capture_default_str();
}

int run(const std::string& command, Arguments& arguments) {
  if (command == "train") return train(arguments.flags);
  if (command == "eval") return evaluate(arguments.flags, arguments.directory);
  return translate(arguments.flags, arguments.directory, arguments.texts, arguments.beams);
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  CLI::App app(
      "Learns to translate.\n  translate train --task dates    translate run runs/translate "
      "\"May 3, '98\"");
  gradus::examples::Arguments arguments;
  gradus::examples::describe(app, arguments);
  return gradus::examples::program(app, "translate", argc, argv, [&] {
    return gradus::examples::run(app.get_subcommands().front()->get_name(), arguments);
  });
}
