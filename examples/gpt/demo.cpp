// gpt demo: a minute of training on this project's own text, and what came of it.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "cost_estimate.h"
#include "gradus/base/error.h"
#include "gradus/examples/support/words.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"
#include "training.h"

namespace gradus::examples {
namespace {

/// The sources and documents below `tree`, in the order of their names.
std::vector<std::string> texts_below(const std::string& tree) {
  std::vector<std::string> files;
  const std::vector<std::string> rooms = {"base",  "engine", "ops",   "nn",       "check",
                                          "trace", "io",     "train", "examples", "docs"};
  for (const std::string& room : rooms) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(tree + "/" + room, error)) {
      const std::string ending = entry.path().extension().string();
      if (entry.is_regular_file() && (ending == ".h" || ending == ".cpp" || ending == ".md"))
        files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  require<FileError>(!files.empty(), tree,
                     ": holds none of this project's sources: run it from their directory");
  return files;
}

}  // namespace

int demo(GptFlags& flags, const std::string& tree, double minutes) {
  constexpr std::int64_t kEvaluations = 4, kMostSteps = 2000;
  Judge().number("minutes", minutes);
  flags.out = "build/demo";
  flags.texts = texts_below(tree);
  flags.config = "cpu";
  flags.learning_rate = 3e-3;  // a slow machine has but a few hundred steps
  const Corpus corpus = tokenized(read_texts(flags.texts, "", {}), {});
  flags.take(corpus);
  {
    const DirectoryLock alone(flags.out);
    for (const std::string& file : flags.all_files()) io::remove_file(file);
  }
  const DirectoryLock lock = flags.begin();
  std::printf("Learning this project's own text: %zu files, %s characters, %s at most.\n",
              flags.texts.size(), io::grouped(corpus.size()).c_str(),
              duration(60 * minutes).c_str());
  std::fflush(stdout);
  flags.time = {.seconds = 60 * minutes, .most_steps = kMostSteps};
  fit_to_time(flags, estimate_cost(flags, corpus), kEvaluations);
  flags.write();
  const int code = run_training(flags, corpus);
  if (code != 0) return code;
  std::printf("\nWhat it writes now, after \"// \":\n\n");
  sample(flags,
         {.directory = flags.out, .prompt = "// ", .options = {.tokens = 400}, .follow = true});
  std::printf(
      "\nNext:\n"
      "  build/release/gpt train YOUR_TEXT.txt                           # learn your own text\n"
      "  ./step.sh 01 --at tanh                                          # see one go, in gdb\n"
      "  cp -r examples/own_model mine                                   # start your own model\n");
  return 0;
}

}  // namespace gradus::examples
