// One training step of a GPT, timed: ./bench.sh step --config cpu
//
// Prints one JSON object a line. The step is forward, cross-entropy, backward, clipping to norm 1
// and AdamW, as in bench/pytorch_step.py. floor_ms is what the matrix products alone would take:
// every linear layer's three products at their exact shapes, by the better of two ways to use the
// threads, and the arithmetic of exactly causal attention at their mean rate.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "floor.h"
#include "gradus/base/parallel.h"
#include "gradus/base/platform.h"
#include "gradus/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/nn/gpt.h"
#include "gradus/train/optim.h"

namespace gradus::bench {
namespace {

struct Flags {
  std::string config = "cpu";
  double dropout = 0;
  int rounds = 7, steps = 0, threads = 0;
  bool serve = false;
};

std::size_t megabytes(std::size_t bytes) { return bytes >> 20; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Trainer {
 public:
  explicit Trainer(const Flags& flags)
      : preset_(nn::gpt_preset(flags.config)),
        base_bytes_(platform::resident_bytes()),
        model_(options(preset_, flags)),
        optimizer_(model_.parameters(), {.learning_rate = 1e-3, .weight_decay = 1e-2}) {
    const std::int64_t V = preset_.options.vocab;
    x_ = randint(0, V, {preset_.batch, preset_.options.context});
    y_ = randint(0, V, {preset_.batch, preset_.options.context});
  }

  double step() {
    const Tensor loss = model_.loss(x_, y_);
    loss.backward();
    optimizer_.step({.clip_norm = 1.0});
    optimizer_.zero_grad();
    return loss.item();
  }

  std::vector<double> time_steps(int count) {
    std::vector<double> ms;
    for (int i = 0; i < count; ++i) {
      const double start = now_ms();
      step();
      ms.push_back(now_ms() - start);
    }
    return ms;
  }

  const nn::GPTPreset& preset() const { return preset_; }
  std::size_t base_bytes() const { return base_bytes_; }

 private:
  static nn::GPTOptions options(const nn::GPTPreset& preset, const Flags& flags) {
    nn::GPTOptions options = preset.options;
    options.dropout = flags.dropout;
    return options;
  }

  const nn::GPTPreset& preset_;
  std::size_t base_bytes_;
  nn::GPT model_;
  optim::AdamW optimizer_;
  Tensor x_, y_;
};

/// Answers "N" on standard input with the milliseconds of N steps on one line: interleave.py asks.
void serve(Trainer& trainer) {
  for (int count = 0; std::cin >> count && count > 0;) {
    for (const double ms : trainer.time_steps(count)) std::printf("%.4f ", ms);
    std::puts("");
    std::fflush(stdout);
  }
}

void run(const Flags& flags) {
  if (flags.threads > 0) set_num_threads(flags.threads);
  seed(1);
  Trainer trainer(flags);
  const double loss0 = trainer.step();
  trainer.time_steps(2);
  if (flags.serve) {
    std::puts("ready");
    std::fflush(stdout);
    serve(trainer);
  }
  std::vector<double> times = flags.serve ? std::vector<double>{0} : trainer.time_steps(1);
  const int a_round = flags.steps > 0
                          ? flags.steps
                          : std::clamp(static_cast<int>(800 / std::max(times[0], 0.5)), 1, 200);
  const std::size_t peak = platform::peak_resident_bytes();
  times.clear();
  std::vector<double> floors;
  for (int round = 0; round < (flags.serve ? 0 : flags.rounds); ++round) {
    const std::vector<double> ms = trainer.time_steps(a_round);
    times.insert(times.end(), ms.begin(), ms.end());
    floors.push_back(floor_ms(trainer.preset()));
  }
  if (flags.serve) times = floors = {floor_ms(trainer.preset())};
  const double typical = median(times);
  std::printf(
      "{\"engine\": \"gradus\", \"config\": \"%s\", \"dropout\": %g, \"threads\": %d, "
      "\"median_ms\": %.3f, "
      "\"min_ms\": %.3f, \"gflops\": %.1f, \"floor_ms\": %.3f, \"peak_rss_mb\": %zu, "
      "\"base_rss_mb\": %zu, "
      "\"loss0\": %.4f}\n",
      flags.config.c_str(), flags.dropout, num_threads(), typical,
      *std::min_element(times.begin(), times.end()), step_flop(trainer.preset()) / typical / 1e6,
      median(floors), megabytes(peak), megabytes(trainer.base_bytes()), loss0);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times training steps and prints JSON");
  app.add_option("--config", flags.config, "toy, cpu, baby12, baby64, gpt2 or long")
      ->capture_default_str();
  app.add_option("--dropout", flags.dropout)->check(CLI::Range(0.0, 0.99))->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "a round; 0: about a second's")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", flags.threads, "0: one a core")->check(CLI::NonNegativeNumber);
  app.add_flag("--serve", flags.serve, "time steps on request, for interleave.py");
  try {
    app.parse(argc, argv);
    gradus::bench::run(flags);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_step: %s\n", error.what());
    return 2;
  }
}
