#include "report.h"

#include <cstdio>

#include "gradus/examples/support/run.h"

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

}  // namespace

int report(const Run& run, TrainEnd end, const RunPaths& paths) {
  if (end == TrainEnd::finished) print_losses(run);
  return end_of_run(end, "gpt", paths);
}

}  // namespace gradus::examples
