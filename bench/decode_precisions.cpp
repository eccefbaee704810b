#include "decode_precisions.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "floor.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/narrow.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/ops/create.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/sort.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

constexpr int kTokens = 16;  // tokens per round
constexpr std::int64_t kWindow = 512;

GRADUS_INLINE float sum_of(const float* x, std::int64_t n) {
  using Vector = gemm::VectorOf<float, 64>::Type;
  Vector sums[8] = {}, one;
  for (std::int64_t i = 0; i + 128 <= n; i += 128)
    for (int j = 0; j < 8; ++j) {
      gemm::read_vector(one, x + i + 16 * j);
      sums[j] += one;
    }
  Vector all{};
  for (const Vector& sum : sums) all += sum;
  return all[0];
}

double weight_bytes(nn::Module& module) {
  double bytes = 4 * static_cast<double>(module.parameter_count());
  const auto add = [&](const auto* layer) {
    const auto* packed =
        layer ? dynamic_cast<const nn::PackedWeight*>(layer->provider.get()) : nullptr;
    if (packed) bytes += static_cast<double>(packed->matrix.bytes());
  };
  for (const auto& [name, layer] : module.named_modules()) {
    add(dynamic_cast<const nn::Linear*>(layer));
    add(dynamic_cast<const nn::Embedding*>(layer));
  }
  return bytes;
}

struct Contender {
  Precision precision;
  nn::GPT model;
  nn::KVCache seen;
  std::vector<double> token_ms = {}, ratios = {};
  double loss = 0, agreement = 0;
  Tensor choices = {};  // the model's most likely token at each position of the text

  double round(const Tensor& next) {
    nn::KVCache cache = seen;           // shares its buffers with `seen`
    std::ignore = model(next, &cache);  // the first token copies the shared buffers
    const double start = now_ms();
    for (int i = 0; i < kTokens; ++i) std::ignore = model(next, &cache);
    return (now_ms() - start) / kTokens;
  }

  /// Returns the number of bytes read per token: weights, and cached keys and values.
  double bytes() {
    double sum = weight_bytes(model);
    const nn::GPTOptions& o = model.options;
    if (!o.tied) sum -= weight_bytes(model.token);  // the model reads only one row of the embedding
    if (model.position.weight.defined())
      sum -= 4.0 * static_cast<double>(model.position.weight.numel());
    const auto& attention = model.blocks[0].attention;
    return sum + 8.0 * static_cast<double>(o.layers * attention.kv_heads() *
                                           attention.head_width() * (seen.size() + kTokens / 2));
  }

  void read(const std::vector<std::int64_t>& text) {
    std::vector<Tensor> best;
    double count = 0;
    for (std::size_t i = 0; i + kWindow < text.size(); i += kWindow) {
      const std::span<const std::int64_t> all(text);
      const Tensor logits = model(tensor(all.subspan(i, kWindow), {1, kWindow}));
      loss += cross_entropy(logits, tensor(all.subspan(i + 1, kWindow), {1, kWindow})).item();
      best.push_back(argmax(logits, -1));
      count += 1;
    }
    loss /= count;
    choices = cat(best, 1);
  }
};

void print(Contender& each, const Contender& f32, const PrecisionBench& bench, double bandwidth) {
  const double ms = median(each.token_ms), rate = each.bytes() / ms / 1e6;
  std::printf(
      "{\"bench\": \"decode\", \"model\": \"%s\", \"weights\": \"%s\", \"threads\": %d, "
      "\"tokens_per_s\": %.1f, \"times_f32\": %.3f, \"times_f32_rounds\": [%.3f, %.3f], "
      "\"mb_per_token\": %.1f, \"gb_per_s\": %.1f, \"bandwidth_gb_per_s\": %.1f, "
      "\"share_of_bandwidth\": %.3f",
      bench.name.c_str(), gemm::name(each.precision), num_threads(), 1e3 / ms, median(each.ratios),
      *std::min_element(each.ratios.begin(), each.ratios.end()),
      *std::max_element(each.ratios.begin(), each.ratios.end()), each.bytes() / 1e6, rate,
      bandwidth, rate / bandwidth);
  if (!bench.text.empty())
    std::printf(", \"perplexity\": %.4f, \"perplexity_change\": %.5f, \"same_choice\": %.4f",
                std::exp(each.loss), std::exp(each.loss - f32.loss) - 1, each.agreement);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

double measure_bandwidth() {
  static const Tensor numbers = full({1 << 27}, 1, Dtype::f32);  // 512 MiB
  const auto* x = numbers.data<float>();
  std::atomic<float> sink{0};  // prevents removal of the sum
  double best = 0;
  for (int pass = 0; pass < 3; ++pass) {
    const double start = now_ms();  // each thread reads a contiguous part
    parallel_for(numbers.numel(), numbers.numel() / num_threads(),
                 [&](std::int64_t begin, std::int64_t end) {
                   sink = simd::run<sum_of>(x + begin, end - begin);
                 });
    best = std::max(best, 4.0 * static_cast<double>(numbers.numel()) / (now_ms() - start) / 1e6);
  }
  return best;
}

void time_precisions(const nn::GPT& model, const PrecisionBench& bench) {
  const NoGrad off;
  std::vector<Contender> all;
  // A cache identifies layers by address, so addresses must not change.
  all.reserve(4);
  const Tensor prompt = randint(0, model.options.vocab, {1, bench.seen});
  const Tensor next = slice(prompt, 1, 0, 1);
  for (const Precision precision :
       {Precision::f32, Precision::bf16, Precision::f16, Precision::int8}) {
    all.push_back({precision, model.clone(), nn::KVCache({.capacity = bench.seen + kTokens + 1})});
    all.back().model.eval();
    nn::pack(all.back().model, precision);
    std::ignore = all.back().model(prompt, &all.back().seen);
    if (!bench.text.empty()) all.back().read(bench.text);
  }
  double bandwidth = 0;
  for (int round = 0; round <= bench.rounds; ++round) {
    bandwidth = std::max(bandwidth, measure_bandwidth());
    std::vector<double> ms;
    for (Contender& each : all) ms.push_back(each.round(next));
    if (round == 0) continue;  // warm-up
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].token_ms.push_back(ms[i]);
      all[i].ratios.push_back(ms[0] / ms[i]);
    }
  }
  for (Contender& each : all) {
    if (!bench.text.empty())
      each.agreement = mean(to(each.choices == all[0].choices, Dtype::f64)).item();
    print(each, all[0], bench, bandwidth);
  }
  std::printf("{\"bench\": \"decode\", \"model\": \"%s\", \"auto\": \"%s\"}\n", bench.name.c_str(),
              gemm::name(nn::fast_precision(all[0].model)));
}

}  // namespace gradus::bench
