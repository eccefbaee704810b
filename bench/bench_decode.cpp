// Times the next token.
//
//   ./bench.sh decode --config gpt2 --length 1024  at a position, with a cache and without
//   ./bench.sh decode --model DIR_OR_GGUF          by weight precision (decode_precisions.h)
//   ./bench.sh decode --config gpt2 --precisions   the same with random weights
//   ./bench.sh decode --model M --peer pytorch     a prompt and next tokens, next to other engines
//
// In the first form, a GPT with a context of `length` has processed all tokens but one. With a
// cache, the model processes that token; without a cache, all tokens. Prints one JSON object per
// position (a quarter of the length, half, all) with both medians and their ratio.

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "decode_precisions.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/text.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/nn/models/gpt.h"
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
  std::string model, text = "examples/data/prose.txt";
  bool precisions = false, serve = false;
  gemm::Precision weights = gemm::Precision::f32;
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
    for (int i = -5; i < kSteps; ++i) {  // warm-up steps, since another program may have run before
      nn::KVCache cache = seen;          // a copy that shares buffers
      const double each = milliseconds([&] { model(last, &cache); });
      if (i >= 0) step += each / kSteps;
    }
    const double all = milliseconds([&] { model(ids); });
    if (round == 0) continue;  // warm-up
    cached.push_back(step), whole.push_back(all);
  }
  std::printf(
      "{\"bench\": \"decode\", \"config\": \"%s\", \"position\": %lld, \"threads\": %d, "
      "\"cached_ms\": %.3f, \"whole_ms\": %.3f, \"ratio\": %.1f}\n",
      flags.config.c_str(), static_cast<long long>(length - 1), num_threads(), median(cached),
      median(whole), median(whole) / median(cached));
  std::fflush(stdout);
}

/// Returns at most 4,097 tokens of the text, encoded by the model's tokenizer.
std::vector<std::int64_t> tokens_of(const Flags& flags) {
  const bool gguf = flags.model.ends_with(".gguf");
  const auto tokenizer =
      gguf ? std::make_unique<io::PretrainedTokenizer>(io::PretrainedTokenizer::of_gguf(
                 io::TensorSource::open(flags.model).facts(), flags.model))
           : io::load_tokenizer(flags.model + "/tokenizer.json");
  std::vector<std::int64_t> tokens = tokenizer->encode(io::read_text(flags.text));
  tokens.resize(std::min<std::size_t>(tokens.size(), 4097));
  return tokens;
}

/// For each input line "prompt N TIMES" or "next N TIMES", prints the milliseconds of a prompt of N
/// tokens, or of each token after such a prompt.
void serve(const nn::GPT& model) {
  const NoGrad off;
  std::puts("ready");
  std::fflush(stdout);
  std::string task;
  for (std::int64_t tokens = 0, times = 0; std::cin >> task >> tokens >> times && tokens > 0;) {
    const Tensor ids = randint(0, model.options.vocab, {1, tokens});
    const Tensor next = slice(ids, 1, 0, 1);
    nn::KVCache cache({.capacity = tokens + times});
    if (task == "next") model(ids, &cache);
    for (std::int64_t i = 0; i < times; ++i)
      std::printf("%.3f ", milliseconds([&] {
                    std::ignore = task == "next" ? model(next, &cache) : model(ids);
                  }));
    std::puts("");
    std::fflush(stdout);
  }
}

void run(const Flags& flags) {
  if (flags.threads > 0) set_num_threads(flags.threads);
  seed(1);
  if (!flags.model.empty()) {
    nn::GPT model = io::load_gpt(flags.model);
    if (flags.serve) {
      nn::pack(model, flags.weights);
      return serve(model);
    }
    return time_precisions(model, {.name = flags.model.substr(flags.model.rfind('/') + 1),
                                   .text = tokens_of(flags),
                                   .rounds = flags.rounds});
  }
  nn::GPTOptions options = nn::gpt_preset(flags.config).options;
  if (options.vocab == 0) options.vocab = flags.vocab;
  options.context = flags.length;
  nn::GPT model(options);
  model.eval();
  if (flags.precisions)
    return time_precisions(model, {.name = flags.config, .rounds = flags.rounds});
  const NoGrad off;
  for (const std::int64_t part : {4, 2, 1}) time_position(model, flags, flags.length / part);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times the next token with and without a cache; prints JSON");
  app.add_option("--config", flags.config, "model size: toy, cpu, baby12, gpt2, …")
      ->capture_default_str();
  app.add_option("--length", flags.length, "number of tokens")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  app.add_option("--model", flags.model, "pretrained model: Hugging Face directory or GGUF file");
  app.add_option("--text", flags.text, "text for the perplexity")->capture_default_str();
  app.add_flag("--precisions", flags.precisions, "compare weight precisions");
  app.add_flag("--serve", flags.serve, "time on request of interleave_decode.py");
  const std::map<std::string, gradus::gemm::Precision> precisions = {
      {"f32", gradus::gemm::Precision::f32},
      {"bf16", gradus::gemm::Precision::bf16},
      {"int8", gradus::gemm::Precision::int8}};
  app.add_option("--weights", flags.weights, "weight precision with --serve")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", flags.threads, "worker threads (0 = one per core)")
      ->check(CLI::NonNegativeNumber);
  return gradus::bench::program(app, "bench_decode", argc, argv,
                                [&] { gradus::bench::run(flags); });
}
