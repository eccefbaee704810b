#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradus/examples/support/run.h"
#include "gradus/io/text.h"

namespace gradus::examples {
namespace {

void print_losses(const Run& run) {
  const Entropies known = entropies(run.corpus());
  std::printf("\nheld-out loss %.4f nats a %s (best, at step %lld)\n", run.trainer().best(),
              run.corpus().tokenizer->name().c_str(),
              static_cast<long long>(run.trainer().best_step()));
  std::printf(
      "for comparison: %.4f knowing only how frequent each is (unigram), %.4f with the one before "
      "(bigram)\n",
      known.unigram, known.bigram);
}

/// One line, where the last weights are no better than a table of pairs: what to change.
void advise(const Run& run) {
  const Trainer& trainer = run.trainer();
  const double last = trainer.last(), rate = run.settings().learning_rate;
  if (last < entropies(run.corpus()).bigram) return;
  const double guessing = std::log(static_cast<double>(run.settings().model.vocab));
  const std::string what =
      last > 1.05 * std::min(trainer.best(), guessing)
          ? text("the loss rose; try --lr ", rate / 4,
                 " or more steps, which lengthen the warm-up; --dropout where it learns by heart")
          : text("try more steps (", io::grouped(4 * trainer.step()),
                 ") or another learning rate than --lr ", rate);
  std::fprintf(stderr, "gpt: ended above the bigram line, at %.4f: %s\n", last, what.c_str());
}

}  // namespace

int report(const Run& run, TrainEnd end, const RunPaths& paths) {
  if (end == TrainEnd::finished) {
    print_losses(run);
    std::fflush(stdout);
    advise(run);
  }
  return end_of_run(end, "gpt", paths);
}

}  // namespace gradus::examples
