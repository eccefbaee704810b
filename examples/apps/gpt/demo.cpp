// gpt demo: a minute of training on this project's own text, and what came of it.
#include <cstdio>

#include "commands.h"
#include "corpus.h"
#include "cost_estimate.h"
#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/files_below.h"
#include "gradus/examples/apps/support/words.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"
#include "training.h"

namespace gradus::examples {
namespace {

/// The sources and documents below `tree`, in the order of their names.
std::vector<std::string> texts_below(const std::string& tree) {
  const auto is_text = [](const std::string& path) {
    return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".md");
  };
  std::vector<std::string> files;
  for (const char* folder :
       {"check", "docs", "engine", "examples", "io", "nn", "ops", "trace", "train"})
    for (const std::string& file : files_below(tree + "/" + folder, is_text)) files.push_back(file);
  require<FileError>(!files.empty(), tree,
                     ": holds none of this project's sources: run it from their directory");
  return files;
}

}  // namespace

int demo(GptFlags& flags, const DemoFlags& how) {
  constexpr std::int64_t kEvaluations = 4, kMostSteps = 2000;
  how.judge_values(Judge());
  flags.out = "build/demo";
  flags.texts = texts_below(how.tree);
  flags.config = "cpu";
  flags.learning_rate = 3e-3;  // a slow machine has but a few hundred steps
  const Corpus corpus = read_corpus(flags);
  flags.take(corpus);
  {
    const DirectoryLock alone(flags.out);
    for (const std::string& file : flags.all_files()) io::remove_file(file);
  }
  const DirectoryLock lock = flags.begin();
  std::printf("Learning this project's own text: %zu files, %s characters, %s at most.\n",
              flags.texts.size(), io::grouped(corpus.size()).c_str(),
              duration(60 * how.minutes).c_str());
  std::fflush(stdout);
  flags.time = {.seconds = 60 * how.minutes, .most_steps = kMostSteps};
  fit_to_time(flags, estimate_cost(flags, corpus), kEvaluations);
  flags.write();
  const int code = run_training(flags, corpus);
  if (code != 0) return code;
  std::printf("\nWhat it writes now, after \"// \":\n\n");
  SampleFlags drawn;
  drawn.prompt = "// ";
  drawn.options.tokens = 400;
  drawn.follow = true;
  sample(flags, flags.out, drawn);
  std::printf(
      "\nNext:\n"
      "  build/release/gpt train YOUR_TEXT.txt                           # learn your own text\n"
      "  ./step.sh 01 --at tanh                                          # see one go, in gdb\n"
      "  cp -r examples/own_model mine                                   # start your own model\n");
  return 0;
}

}  // namespace gradus::examples
