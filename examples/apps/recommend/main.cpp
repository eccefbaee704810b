// recommend: a Transformer that predicts which item a user of a generated world chooses next.
//
//   recommend train                                        trains, and compares with baselines
//   recommend for runs/recommend "Silent Harbour" "Amber Harbour" 42      recommends items
//   recommend eval runs/recommend                          prints the metrics again
#include <CLI/CLI.hpp>

#include "commands.h"
#include "gradus/examples/apps/support/program.h"

namespace gradus::examples {

RecommendFlags::RecommendFlags() : ModelFlags("recommend") {
  steps = 1600;
  batch = 64;
  learning_rate = 3e-3;
  eval_every = 200;
  heads = 2;
}

void RecommendFlags::add_to(CLI::App& app) {
  ModelFlags::add_to(app);
  setting(app, "--users", &users, "training users");
}

namespace {

struct Arguments {
  RecommendFlags flags;
  std::string directory;
  std::vector<std::string> items;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  arguments.flags.add_to(*app.add_subcommand("train", "train on the choices of users"));
  add_command_on_run(app, "for", "recommend five items to a user", arguments.directory)
      .add_option("items", arguments.items, "the user's items, latest last, by name or number")
      ->required()
      ->type_name("ITEM");
  add_command_on_run(app, "eval", "hit rate on held-out items", arguments.directory);
}

int run(const std::string& command, Arguments& arguments) {
  if (command == "train") return train(arguments.flags);
  if (command == "eval") return evaluate(arguments.flags, arguments.directory);
  return recommend(arguments.flags, arguments.directory, arguments.items);
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  CLI::App app(
      "Learns which item a user takes next.\n  recommend train    recommend for runs/recommend "
      "\"Silent Harbour\" 42");
  gradus::examples::Arguments arguments;
  gradus::examples::describe(app, arguments);
  return gradus::examples::program(app, "recommend", argc, argv, [&] {
    return gradus::examples::run(app.get_subcommands().front()->get_name(), arguments);
  });
}
