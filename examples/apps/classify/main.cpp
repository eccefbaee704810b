// classify: a small BERT that learns to fill in masked words of this project's files, then to
// classify a few lines by the type of their file.
//
//   classify train                                       both, into runs/classify
//   classify text runs/classify FILE                     the type of a file or text
//   classify fill runs/classify "return [MASK];"         the missing word
//   classify train --pretrain 0 --out runs/unprepared    only the second phase
#include <CLI/CLI.hpp>
#include <cmath>

#include "commands.h"
#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/program.h"

namespace gradus::examples {

void ClassifyFlags::add_to(CLI::App& app) {
  ModelFlags::add_to(app);
  setting(app, "--tree", &tree, "directory of the sources and documents");
  setting(app, "--pretrain", &pretrain, "steps of pre-training on masked words; 0: none");
  setting(app, "--length", &length, "words per snippet");
  setting(app, "--vocabulary", &vocabulary,
          "size of the vocabulary, which has the most frequent words");
}

Need ClassifyFlags::need() const {  // excludes word vectors: --vocabulary is a maximum
  return transformer(static_cast<double>(length), static_cast<double>(length), 0);
}

nn::BERTOptions ClassifyFlags::bert(std::int64_t vocabulary_size) const {
  return {
      .vocab = vocabulary_size,
      .context = length,
      .layers = layers,
      .block = {.width = width, .heads = heads, .dropout = dropout, .norm = nn::NormPlacement::pre},
      .segments = 1};
}

}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Learns to classify files by a few of their lines.\n"
      "  classify train    classify text runs/classify README.md");
  app.require_subcommand(1);
  ClassifyFlags flags;
  std::string directory, text;
  flags.add_to(*app.add_subcommand(
      "train", "train to fill in masked words, then to classify files by type"));
  const auto add = [&](const char* name, const char* help, const char* what) {
    add_command_on_run(app, name, help, directory)
        .add_option("text", text, what)
        ->required()
        ->type_name("TEXT");
  };
  add("text", "classify a text", "a file, or the text itself");
  add("fill", "fill in the masked words of a text", "text with [MASK] for each missing word");
  return program(app, "classify", argc, argv, [&] {
    if (app.got_subcommand("train")) return learn(flags);
    return app.got_subcommand("text") ? name_kind(flags, directory, text)
                                      : fill(flags, directory, text);
  });
}
