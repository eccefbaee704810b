// Measures the cost of multiple processes. Compares shards with accumulation in one process, and
// the model of docs/dev/scale.md with a simulated network.
//
//   bench_scale overhead [CONFIG]     milliseconds per step of 8 batches, interleaved
//   bench_scale network               milliseconds that a step with 250,500 parameters waits
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/distributed/threads.h"

namespace gradus {
namespace {

constexpr std::int64_t kShards = 8;

template <class F>
double seconds_of(F&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print_overhead(const std::string& config) {
  constexpr int kRounds = 40;
  const nn::GPTPreset& preset = nn::gpt_preset(config);
  nn::GPTOptions options = preset.options;
  options.vocab = 96;
  nn::GPT plain(options), sharded(options);
  optim::AdamW plain_optimizer(plain.parameters()), sharded_optimizer(sharded.parameters());
  distributed::Shards shards(sharded, sharded_optimizer, distributed::alone(), kShards);
  const Tensor x = zeros({preset.batch, options.context}, Dtype::i64);
  double best_plain = 1e9, best_sharded = 1e9;
  bool stop = false;
  for (int round = 0; round < kRounds; ++round) {
    best_plain = std::min(best_plain, seconds_of([&] {
                            plain_optimizer.zero_grad();
                            for (int k = 0; k < kShards; ++k)
                              (plain.loss(x, x) / double{kShards}).backward();
                            plain_optimizer.step({.clip_norm = 1});
                          }));
    best_sharded = std::min(best_sharded, seconds_of([&] {
                              shards.gradients(
                                  round, [&](std::int64_t) { return sharded.loss(x, x); }, stop);
                              shards.update({.clip_norm = 1}, 0);
                            }));
  }
  std::printf("%s, %lld parameters: %.3f ms accumulated, %.3f ms in shards: %+.1f %%\n",
              config.c_str(), static_cast<long long>(plain.parameter_count()), 1e3 * best_plain,
              1e3 * best_sharded, 100 * (best_sharded / best_plain - 1));
}

/// A module whose gradients cost nothing to compute.
struct Sum : nn::Layer<Sum> {
  nn::Linear only{500, 500};
  nn::Members members() override { return {{"only", only}}; }
  Tensor forward() const { return sum(only.weight) + sum(only.bias); }
};

double waited(int processes, distributed::Network network) {
  constexpr int kSteps = 5;
  double least = 1e9;
  distributed::run_threads(
      processes,
      [&](distributed::Transport& transport) {
        seed(1);
        Sum model;
        optim::SGD optimizer(model.parameters());
        distributed::Shards shards(model, optimizer, transport, processes);
        bool stop = false;
        for (int step = 1; step <= kSteps; ++step) {
          shards.gradients(
              step, [&](std::int64_t) { return model(); }, stop);
          transport.barrier();  // excludes waiting for slower ranks
          const double begin = transport.seconds_waited();
          shards.update({}, 0);
          if (transport.rank() == 0 && step > 1)
            least = std::min(least, transport.seconds_waited() - begin);
        }
      },
      network);
  return least;
}

void print_network() {
  constexpr double kBytes = 4 * 250'500.0;
  std::printf(
      "hosts  Gbit/s  latency   model   simulated (ms per step, without the message of the "
      "losses)\n");
  for (const double gigabits : {0.1, 1.0})
    for (const double latency : {50e-6, 1e-3})
      for (const int hosts : {2, 4, 8, 16}) {
        const double rate = gigabits * 1e9 / 8;
        const double sent = 2.0 * (hosts - 1) / hosts * kBytes;
        const double sums = (hosts - 1.0) / hosts * kBytes / 1024 * 2;  // 8 bytes per 1024 values
        const double model = 3 * latency + (sent + sums) / rate;
        std::printf("%5d  %6.1f  %4.2f ms  %6.2f  %6.2f\n", hosts, gigabits, 1e3 * latency,
                    1e3 * model, 1e3 * waited(hosts, {latency, rate}));
      }
}

}  // namespace
}  // namespace gradus

int main(int argc, char** argv) {
  gradus::set_num_threads(1);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "overhead")
    gradus::print_overhead(argc > 2 ? argv[2] : "cpu");
  else
    gradus::print_network();
}
