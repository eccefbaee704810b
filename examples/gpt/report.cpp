// The curve is drawn from metrics.jsonl, so that it has all steps of a run that was resumed.
#include "report.h"

#include <cmath>
#include <cstdio>
#include <iomanip>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/io/chart.h"
#include "gradus/train/metrics.h"

namespace gradus::examples {
namespace {

void print_losses(const Run& run) {
  const Entropies known = entropies(run.corpus());
  std::printf("\nheld-out loss %.4f nats a %s (best, at step %lld)\n", run.best(),
              run.corpus().tokenizer->name().c_str(), static_cast<long long>(run.best_step()));
  std::printf(
      "for comparison: %.4f knowing only how frequent each is (unigram), %.4f with the one before "
      "(bigram)\n",
      known.unigram, known.bigram);
}

/// Training loss of each step, held-out loss of each evaluation, and the best of these.
void draw_losses(const Run& run, const RunPaths& paths) {
  io::Chart chart;
  chart.title = paths.directory;
  chart.x_label = "step";
  chart.y_label = "loss, nats a " + run.corpus().tokenizer->name();
  chart.curves = {{"training", read_metric(paths.metrics(), "loss")},
                  {"held out", read_metric(paths.metrics(), "held_out_loss"), true}};
  if (chart.curves[0].points.empty()) return;  // not one step was made
  if (std::isfinite(run.best()))
    chart.mark = {
        static_cast<double>(run.best_step()), run.best(),
        text("best ", std::fixed, std::setprecision(4), run.best(), " at step ", run.best_step())};
  const std::string picture = io::svg(chart);
  platform::write_file_atomically(paths.curve(), picture.data(), picture.size());
  std::printf("loss curve: %s\n", paths.curve().c_str());
}

}  // namespace

int report(const Run& run, RunEnd end, const RunPaths& paths) {
  if (end == RunEnd::finished) print_losses(run);
  draw_losses(run, paths);
  if (end == RunEnd::finished) return 0;
  std::fprintf(stderr, "gpt: stopped and saved; go on with: gpt train --out %s --resume\n",
               paths.directory.c_str());
  return 128 + interrupt_signal;
}

}  // namespace gradus::examples
