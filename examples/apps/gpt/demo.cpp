// gpt demo: trains for a minute and samples.
#include <cstdio>

#include "commands.h"
#include "corpus.h"
#include "cost_estimate.h"
#include "gradus/examples/apps/support/words.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"
#include "training.h"

namespace gradus::examples {

int demo(GptFlags& flags, const DemoFlags& how) {
  constexpr std::int64_t kEvaluations = 4, kMostSteps = 2000;
  how.judge_values(Judge());
  flags.out = "build/demo";
  flags.texts = {how.text};
  const Corpus corpus = read_corpus(flags);
  flags.take(corpus);
  {
    const DirectoryLock alone(flags.out);
    for (const std::string& file : flags.all_files()) io::remove_file(file);
  }
  const DirectoryLock lock = flags.begin();
  std::printf("Training on %s: %s characters, at most %s.\n", how.text.c_str(),
              io::grouped(corpus.size()).c_str(), duration(60 * how.minutes).c_str());
  std::fflush(stdout);
  flags.time = {.seconds = 60 * how.minutes, .most_steps = kMostSteps};
  fit_to_time(flags, estimate_cost(flags, corpus), kEvaluations);
  flags.write();
  const int code = run_training(flags, corpus);
  if (code != 0) return code;
  std::printf("\nA sample from the trained model:\n\n");
  SampleFlags drawn;
  drawn.prompt = "\n";
  drawn.options.tokens = 400;
  drawn.follow = true;
  sample(flags, flags.out, drawn);
  std::printf(
      "\nNext:\n"
      "  build/release/gpt train YOUR_TEXT.txt                           # train on your own text\n"
      "  ./step.sh 01 --at tanh                                          # step through a lesson "
      "in gdb\n"
      "  cp -r examples/own_model mine                                   # start your own model\n");
  return 0;
}

}  // namespace gradus::examples
