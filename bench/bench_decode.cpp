// What the next token costs at a position: ./bench.sh decode --config gpt2 --length 1024
//
// A GPT of the named sizes, its context stretched to `length`, has seen all tokens but one. With a
// cache it takes that one; without, it takes all of them again. Rounds alternate; one JSON object a
// position with both medians and their ratio, for a quarter of the length, half of it and all.

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

struct Flags {
  std::string config = "cpu";
  std::int64_t length = 1024, vocab = 65;
  int rounds = 7, threads = 0;
};

template <class F>
double milliseconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void time_position(const nn::GPT& model, const Flags& flags, std::int64_t length) {
  const Tensor ids = randint(0, model.options.vocab, {1, length});
  const Tensor last = slice(ids, 1, length - 1, length);
  nn::KVCache seen({.capacity = length});
  model(slice(ids, 1, 0, length - 1), &seen);
  std::vector<double> cached, whole;
  for (int round = 0; round < flags.rounds + 1; ++round) {
    double step = 0;
    constexpr int kSteps = 50;
    for (int i = -5; i < kSteps; ++i) {  // a few before, since what ran last was another program
      nn::KVCache cache = seen;          // a copy, which shares buffers
      const double each = milliseconds([&] { model(last, &cache); });
      if (i >= 0) step += each / kSteps;
    }
    const double all = milliseconds([&] { model(ids); });
    if (round == 0) continue;  // memory is warm by then
    cached.push_back(step), whole.push_back(all);
  }
  std::printf(
      "{\"bench\": \"decode\", \"config\": \"%s\", \"position\": %lld, \"threads\": %d, "
      "\"cached_ms\": %.3f, \"whole_ms\": %.3f, \"ratio\": %.1f}\n",
      flags.config.c_str(), static_cast<long long>(length - 1), num_threads(), median(cached),
      median(whole), median(whole) / median(cached));
  std::fflush(stdout);
}

void run(const Flags& flags) {
  if (flags.threads > 0) set_num_threads(flags.threads);
  seed(1);
  nn::GPTOptions options = nn::gpt_preset(flags.config).options;
  if (options.vocab == 0) options.vocab = flags.vocab;
  options.context = flags.length;
  nn::GPT model(options);
  model.eval();
  const NoGrad off;
  for (const std::int64_t part : {4, 2, 1}) time_position(model, flags, flags.length / part);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times the next token with and without a cache; prints JSON");
  app.add_option("--config", flags.config, "sizes: toy, cpu, baby12, gpt2, …")
      ->capture_default_str();
  app.add_option("--length", flags.length, "tokens")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", flags.threads, "0: one a core")->check(CLI::NonNegativeNumber);
  return gradus::bench::program(app, "bench_decode", argc, argv,
                                [&] { gradus::bench::run(flags); });
}
