// Times attention by length: ./bench.sh attention --length 1024 8192
//
// Prints one JSON object per kind and length, or a table with --table: medians over interleaved
// rounds, and medians of the ratios to the first kind. peak_mb is the additional memory of forward
// and backward. floor_ms is the time of two forward and five backward matmuls over the visible
// pairs, at the rate of cached matmuls.
//
// `small` has 12 examples, 4 heads and 64 positions of width 32, is causal, and uses one thread.

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/gemm/multiply.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/linear_attention.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

struct Flags {
  std::vector<std::string> kinds{"dense", "window", "blocks", "linear", "performer", "linformer"};
  std::vector<std::int64_t> lengths{256, 512, 1024, 2048, 4096, 8192};
  std::int64_t examples = 1, heads = 4, key_heads = 0, width = 64, window = 256, block = 64;
  double dropout = 0;
  int rounds = 7, threads = 0;
  bool serve = false, table = false;
};

struct Kind {
  /// Maps [B, H, T, D] to [B, H, T, D].
  std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)> attend;
  double pairs;  // visible pairs per head, or pairs of equal cost
};

Kind masked(const Mask& mask, std::int64_t T, double dropout) {
  const std::unique_ptr<bool[]> row(new bool[static_cast<std::size_t>(T)]);
  double pairs = 0;
  for (std::int64_t i = 0; i < T; ++i) {
    mask.row({0, 0, i, 0}, T, row.get());
    pairs += static_cast<double>(std::count(row.get(), row.get() + T, true));
  }
  return {[mask, dropout](const Tensor& q, const Tensor& k, const Tensor& v) {
            return scaled_dot_product_attention(q, k, v, mask, {.dropout = dropout});
          },
          pairs};
}

constexpr std::int64_t kFeatures = 128;  // features of a performer, or positions of a linformer

/// Linear attention. `pairs` counts the sums over keys for each query and, if causal, the pairs
/// within chunks of 64.
Kind linear(const Flags& flags, std::int64_t T, bool causal) {
  return {[causal](const Tensor& q, const Tensor& k, const Tensor& v) {
            return linear_attention(q, k, v, {.causal = causal});
          },
          static_cast<double>(T * ((causal ? 64 : 0) + flags.width))};
}

Kind performer(const Flags& flags, std::int64_t T) {
  const Tensor projection = orthogonal_projection(kFeatures, flags.width, generator().next());
  return {[projection](const Tensor& q, const Tensor& k, const Tensor& v) {
            return performer_attention(q, k, v, projection, {.causal = true});
          },
          static_cast<double>(T * (64 + kFeatures))};
}

/// Attention of Wang et al. 2020, without the projections of tokens.
Kind linformer(std::int64_t T) {
  const Tensor map = randn({kFeatures, T}) / static_cast<double>(T);
  return {[map](const Tensor& q, const Tensor& k, const Tensor& v) {
            return scaled_dot_product_attention(q, matmul(map, k), matmul(map, v));
          },
          static_cast<double>(2 * T * kFeatures)};
}

Kind kind_of(const std::string& name, std::int64_t T, const Flags& flags) {
  const auto fused = [&](const Mask& mask) { return masked(mask, T, flags.dropout); };
  const std::map<std::string, std::function<Kind()>> with_dropout = {
      {"everything", [&] { return fused({}); }},
      {"dense", [&] { return fused(causal_mask()); }},
      {"small", [&] { return fused(causal_mask()); }},
      {"window", [&] { return fused(window_mask(flags.window - 1)); }},
      {"blocks", [&] {
         return fused(block_sparse_mask({.length = T, .block = flags.block}) & causal_mask());
       }}};
  std::map<std::string, std::function<Kind()>> table = {
      {"linear", [&] { return linear(flags, T, true); }},
      {"linear_everything", [&] { return linear(flags, T, false); }},
      {"performer", [&] { return performer(flags, T); }},
      {"linformer", [&] { return linformer(T); }}};
  require(flags.dropout == 0 || !table.contains(name), "--dropout: ", name,
          " has no attention weights. Leave --dropout out.");
  table.insert(with_dropout.begin(), with_dropout.end());
  const auto found = table.find(name);
  require(found != table.end(), "unknown kind \"", name, "\". Kinds: ", [&] {
    std::string names;
    for (const auto& [each, make] : table) names += (names.empty() ? "" : ", ") + each;
    return names;
  }());
  return found->second();
}

struct Measured {
  double forward_ms, backward_ms;
  std::int64_t peak_bytes;
};

class Case {
 public:
  Case(const std::string& name, std::int64_t T, const Flags& flags)
      : name_(name), kind_(kind_of(name, T, flags)) {
    const std::int64_t Hk = flags.key_heads > 0 ? flags.key_heads : flags.heads;
    const Shape queries{flags.examples, T, flags.heads, flags.width};
    q_ = randn(queries).requires_grad_(), dout_ = randn(queries);
    k_ = randn({flags.examples, T, Hk, flags.width}).requires_grad_();
    v_ = randn({flags.examples, T, Hk, flags.width}).requires_grad_();
    flop_ = 14.0 * static_cast<double>(flags.examples * flags.heads * flags.width) * kind_.pairs;
  }

  Measured measure() {
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    const double start = now_ms();
    const Tensor y = kind_.attend(transpose(q_, 1, 2), transpose(k_, 1, 2), transpose(v_, 1, 2));
    const double middle = now_ms();
    y.backward(transpose(dout_, 1, 2));
    const double end = now_ms();
    const std::int64_t peak = memory::usage().peak_bytes - before;
    for (Tensor* x : {&q_, &k_, &v_}) x->set_grad({});
    return {middle - start, end - middle, peak};
  }

  const std::string& name() const { return name_; }
  double flop() const { return flop_; }

 private:
  std::string name_;
  Kind kind_;
  Tensor q_, k_, v_, dout_;  // [B, T, H, D]
  double flop_;
};

/// Returns the Gflop/s of scores [64, 512] = q kᵀ on all threads.
double product_rate(std::int64_t width) {
  const std::int64_t T = 64, S = 512, threads = num_threads(), count = 200;
  const Tensor q = randn({threads, T, width}), k = randn({threads, width, S});
  Tensor s = Tensor::empty({threads, T, S}, Dtype::f32);
  const double start = now_ms();
  float* scores = s.mutable_data<float>();
  parallel_for(threads, 1, [&](std::int64_t i, std::int64_t) {
    for (std::int64_t n = 0; n < count; ++n)
      gemm::multiply(gemm::Matrix<float>(scores + i * T * S, T, S),
                     {q.data<float>() + i * T * width, T, width},
                     {k.data<float>() + i * width * S, width, S});
  });
  return 2.0 * static_cast<double>(threads * count * T * S * width) / (now_ms() - start) / 1e6;
}

struct Row {
  std::string kind;
  std::int64_t length;
  double forward_ms, backward_ms, floor_ms, of_first, peak_mb;
};

std::vector<Row> rows_of_length(std::int64_t T, const Flags& flags) {
  std::vector<Case> cases;
  for (const std::string& name : flags.kinds) cases.emplace_back(name, T, flags);
  std::vector<std::vector<double>> forward(cases.size()), backward(cases.size()),
      ratio(cases.size());
  std::vector<double> rates;
  std::vector<std::int64_t> peak(cases.size());
  for (int round = -1; round < flags.rounds; ++round) {
    rates.push_back(product_rate(flags.width));
    double first = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Measured m = cases[i].measure();
      peak[i] = m.peak_bytes;
      if (i == 0) first = m.forward_ms + m.backward_ms;
      if (round < 0) continue;  // warm-up
      forward[i].push_back(m.forward_ms), backward[i].push_back(m.backward_ms);
      ratio[i].push_back((m.forward_ms + m.backward_ms) / first);
    }
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < cases.size(); ++i)
    rows.push_back({cases[i].name(), T, median(forward[i]), median(backward[i]),
                    cases[i].flop() / median(rates) / 1e6, median(ratio[i]),
                    static_cast<double>(peak[i]) / 1048576});
  return rows;
}

void print_json(const Row& row, const std::string& first) {
  std::printf(
      "{\"kind\": \"%s\", \"length\": %lld, \"threads\": %d, \"forward_ms\": %.3f, "
      "\"backward_ms\": %.3f, \"floor_ms\": %.3f, \"of_%s\": %.4f, \"peak_mb\": %.3f}\n",
      row.kind.c_str(), static_cast<long long>(row.length), num_threads(), row.forward_ms,
      row.backward_ms, row.floor_ms, first.c_str(), row.of_first, row.peak_mb);
  std::fflush(stdout);
}

void print_table(const std::vector<Row>& rows, const Flags& flags) {
  std::string head = "| T |", rule = "|---|";
  for (const std::int64_t T : flags.lengths) head += " " + std::to_string(T) + " |", rule += "---|";
  std::printf("%s\n%s\n", head.c_str(), rule.c_str());
  for (std::size_t i = 0; i < flags.kinds.size(); ++i) {
    std::printf("| %s |", flags.kinds[i].c_str());
    for (std::size_t k = i; k < rows.size(); k += flags.kinds.size())
      std::printf(" %.3g ms, %.3g MB |", rows[k].forward_ms + rows[k].backward_ms, rows[k].peak_mb);
    std::puts("");
  }
}

/// Serves interleave_attention.py: reads "KIND LENGTH COUNT" and prints the milliseconds of COUNT
/// runs.
void serve(const Flags& flags) {
  std::puts("ready");
  std::fflush(stdout);
  std::map<std::string, Case> made;
  std::string name;
  std::int64_t T = 0;
  for (int count = 0; std::cin >> name >> T >> count;) {
    Case& one = made.try_emplace(name + std::to_string(T), name, T, flags).first->second;
    for (int i = 0; i < count; ++i) {
      const Measured m = one.measure();
      std::printf("%.4f ", m.forward_ms + m.backward_ms);
    }
    std::puts("");
    std::fflush(stdout);
  }
}

void run(Flags flags) {
  if (flags.kinds == std::vector<std::string>{"small"})
    flags.examples = 12, flags.heads = 4, flags.width = 32, flags.lengths = {64}, flags.threads = 1;
  if (flags.threads > 0) set_num_threads(flags.threads);
  seed(1);
  if (flags.serve) return serve(flags);
  std::vector<Row> rows;
  for (const std::int64_t T : flags.lengths)
    for (const Row& row : rows_of_length(T, flags)) {
      rows.push_back(row);
      if (!flags.table) print_json(row, flags.kinds.front());
    }
  if (flags.table) print_table(rows, flags);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times attention for several sequence lengths; prints JSON");
  const auto positive = CLI::PositiveNumber;
  app.add_option("--kind", flags.kinds,
                 "kinds of attention: dense (causal), window, blocks, linear, performer, "
                 "linformer, everything, "
                 "linear_everything, or small")
      ->capture_default_str();
  app.add_option("--length", flags.lengths)->check(positive)->capture_default_str();
  app.add_option("--examples", flags.examples)->check(positive)->capture_default_str();
  app.add_option("--heads", flags.heads)->check(positive)->capture_default_str();
  app.add_option("--key-heads", flags.key_heads, "key heads (0 = number of heads)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--width", flags.width, "width of a head")->check(positive)->capture_default_str();
  app.add_option("--window", flags.window, "keys visible to a query")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--block", flags.block)->check(positive)->capture_default_str();
  app.add_option("--dropout", flags.dropout, "dropout on the attention weights, in [0, 1)")
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(positive)->capture_default_str();
  app.add_option("--threads", flags.threads, "worker threads (0 = one per core)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--table", flags.table,
               "print a table of milliseconds and megabytes, one line per kind");
  app.add_flag("--serve", flags.serve, "time on request: read lines \"KIND LENGTH COUNT\"");
  return gradus::bench::program(app, "bench_attention", argc, argv,
                                [&] { gradus::bench::run(flags); });
}
