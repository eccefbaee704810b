// gpt demo: a minute of training on this project's own text, and what came of it.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "gradus/base/error.h"
#include "gradus/examples/support/words.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"
#include "plan.h"
#include "report.h"
#include "run.h"
#include "trial.h"

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

int demo(const std::string& tree, double minutes) {
  constexpr std::int64_t kEvaluations = 4, kMostSteps = 2000;
  check_minutes(minutes);
  const RunPaths paths{{"build/demo"}};
  DirectoryLock lock(paths.directory);
  for (const std::string& file : paths.all()) io::remove_file(file);
  TrainFlags flags;
  flags.files = texts_below(tree);
  flags.config = "cpu";
  flags.learning_rate = 3e-3;  // a slow machine has but a few hundred steps
  Corpus corpus = read_corpus(flags.files, "", {});
  std::printf("Learning this project's own text: %zu files, %s characters, %s at most.\n",
              flags.files.size(), io::grouped(corpus.size()).c_str(),
              duration(60 * minutes).c_str());
  std::fflush(stdout);
  Settings settings = settings_for(flags, corpus);
  settings.time = {.seconds = 60 * minutes, .most_steps = kMostSteps};
  fit_to_time(settings, try_out(settings, corpus), kEvaluations);
  const std::unique_ptr<Run> run = Run::start(std::move(lock), paths, settings, std::move(corpus));
  const TrainEnd end = run->train();
  const int code = report(*run, end, paths);
  if (end != TrainEnd::finished) return code;
  std::printf("\nWhat it writes now, after \"// \":\n\n");
  sample({.directory = paths.directory, .prompt = "// ", .tokens = 400, .follow = true});
  std::printf(
      "\nNext:\n"
      "  build/release/gpt train YOUR_TEXT.txt                           # learn your own text\n"
      "  ./step.sh 01 --at tanh                                          # see one go, in gdb\n"
      "  cp -r examples/own_model mine                                   # start your own model\n");
  return 0;
}

}  // namespace gradus::examples
