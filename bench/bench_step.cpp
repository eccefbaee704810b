// Times a training step of a GPT: ./bench.sh step --config cpu
//
// A step is forward, cross-entropy, backward, clipping to norm 1 and AdamW, as in
// bench/pytorch_step.py. floor_ms is the time of the step's matmuls with cached matrices, by the
// fastest use of the threads, plus exactly causal attention at the mean rate. floor_in_order_ms
// runs the matmuls in the order of a step, with separate matrices per layer.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/gemm/backend.h"
#include "peak.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

struct Flags {
  std::string config = "cpu";
  double dropout = 0;
  int rounds = 7, steps = 0, threads = 0;
  bool serve = false, no_floor = false;
};

std::size_t megabytes(std::size_t bytes) { return bytes >> 20; }

/// Measures the floor again, but at most three times for large steps, whose measurement takes half
/// a minute.
void measure_floor_again(Trainer& trainer, std::vector<Floor>& floors) {
  if (floors.size() >= 3 && floors.back().ms > 100) return;
  floors.push_back(measure_floor(trainer.preset()));
}

/// Serves interleave.py: reads N and prints the milliseconds of N steps. Measures the floor before
/// each answer.
std::vector<Floor> serve(Trainer& trainer, bool no_floor) {
  std::vector<Floor> floors;
  for (int count = 0; std::cin >> count && count > 0;) {
    for (const double ms : trainer.time_steps(count)) std::printf("%.4f ", ms);
    if (!no_floor) measure_floor_again(trainer, floors);
    std::puts("");
    std::fflush(stdout);
  }
  if (floors.empty()) floors.push_back({0, 0});
  return floors;
}

void time_rounds(Trainer& trainer, const Flags& flags, std::vector<double>& times,
                 std::vector<Floor>& floors) {
  const double about = std::max(trainer.time_steps(1).front(), 0.5);
  const int steps =
      flags.steps > 0 ? flags.steps : std::clamp(static_cast<int>(800 / about), 1, 200);
  for (int round = 0; round < flags.rounds; ++round) {
    for (const double ms : trainer.time_steps(steps)) times.push_back(ms);
    if (flags.no_floor)
      floors.push_back({0, 0});
    else
      measure_floor_again(trainer, floors);
  }
}

void run(const Flags& flags) {
  if (flags.threads > 0) set_num_threads(flags.threads);
  seed(1);
  Trainer trainer(flags.config, flags.dropout);
  const double loss0 = trainer.step();
  trainer.time_steps(2);
  const std::size_t peak = platform::peak_resident_bytes();
  std::vector<double> times{1};
  std::vector<Floor> floors;
  if (flags.serve) {
    std::puts("ready");
    std::fflush(stdout);
    floors = serve(trainer, flags.no_floor);  // the caller prints the times
  } else {
    times.clear();
    time_rounds(trainer, flags, times, floors);
  }
  std::vector<double> repeated, in_order;
  for (const Floor& floor : floors)
    repeated.push_back(floor.ms), in_order.push_back(floor.in_order_ms);
  const double typical = median(times), gflops = step_flop(trainer.preset()) / typical / 1e6;
  const double peak_gflops = measure_peak_gflops();
  std::printf(
      "{\"engine\": \"gradus\", \"products\": \"%s\", \"config\": \"%s\", \"dropout\": %g, "
      "\"threads\": %d, "
      "\"median_ms\": %.3f, \"min_ms\": %.3f, \"gflops\": %.1f, \"floor_ms\": %.3f, "
      "\"floor_in_order_ms\": %.3f, \"peak_gflops\": %.1f, \"share_of_peak\": %.3f, "
      "\"peak_rss_mb\": %zu, \"base_rss_mb\": %zu, \"loss0\": %.4f}\n",
      gemm::describe().c_str(), flags.config.c_str(), flags.dropout, num_threads(), typical,
      *std::min_element(times.begin(), times.end()), gflops, median(repeated), median(in_order),
      peak_gflops, gflops / peak_gflops, megabytes(peak), megabytes(trainer.base_bytes()), loss0);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times training steps; prints JSON");
  app.add_option("--config", flags.config, "model size: toy, cpu, baby12, baby64, gpt2 or long")
      ->capture_default_str();
  app.add_option("--dropout", flags.dropout)->check(CLI::Range(0.0, 0.99))->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "steps per round (0 = about one second)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", flags.threads, "worker threads (0 = one per core)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--no-floor", flags.no_floor, "only time steps, not their lower bound");
  app.add_flag("--serve", flags.serve, "time steps on request of interleave.py");
  return gradus::bench::program(app, "bench_step", argc, argv, [&] { gradus::bench::run(flags); });
}
