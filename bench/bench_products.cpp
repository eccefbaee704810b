// Times matmuls of every shape in a step, by backend and vector width:
//   ./bench.sh products [--config cpu] [--type f64] [--rounds N]
//
// Prints Gflop/s on one thread and on all threads, each the best of interleaved rounds. Then prints
// the mean speedup of the built-in kernels. An OPENBLAS_CORETYPE such as Haswell selects the
// library's kernels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "floor.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/ops/create.h"
#include "program.h"

namespace gradus::bench {
namespace {

using gemm::Choice;
using gemm::Matrix;

struct Flags {
  std::vector<std::string> configs{"toy", "cpu", "baby12", "gpt2", "long"};
  std::string type = "f32";
  int rounds = 7;
};

/// Returns shapes that occur in attention and decoding.
std::vector<Product> others() {
  return {{64, 256, 32, false, false, 1}, {64, 256, 64, false, false, 1},
          {64, 64, 256, false, false, 1}, {256, 64, 64, true, false, 1},
          {4, 768, 768, false, true, 1},  {1, 768, 768, false, true, 1},
          {1, 768, 768, false, false, 1}, {768, 1, 768, false, false, 1},
          {768, 768, 1, false, false, 1}, {1024, 1024, 1024, false, false, 1}};
}

std::vector<Choice> choices() {
  std::vector<Choice> out;
  for (const simd::Level level : {simd::Level::baseline, simd::Level::avx2, simd::Level::avx512})
    if (level <= simd::widest())
      out.push_back({gemm::Backend::builtin, level, std::string(simd::name(level))});
  if (gemm::linked_library() != gemm::Library::none)
    out.push_back({gemm::Backend::library, simd::level(), "library"});
  return out;
}

template <class T>
struct Operands {
  Tensor a, b, c;
  explicit Operands(const Product& p)
      : a(rand({p.m, p.k}, dtype_of<T>)),
        b(rand({p.k, p.n}, dtype_of<T>)),
        c(Tensor::empty({p.m, p.n}, dtype_of<T>)) {}

  void multiply(const Choice& choice, const Product& p) {
    const auto view = [](const Tensor& x, std::int64_t rows, std::int64_t columns, bool turned) {
      if (turned) return Matrix<const T>(x.data<T>(), columns, rows).transpose();
      return Matrix<const T>(x.data<T>(), rows, columns);
    };
    gemm::multiply_by(choice, Matrix<T>(c.mutable_data<T>(), p.m, p.n),
                      view(a, p.m, p.k, p.transpose_a), view(b, p.k, p.n, p.transpose_b));
  }
};

template <class T>
std::vector<double> rates(const Product& p, const std::vector<Choice>& all, int rounds) {
  Operands<T> operands(p);
  std::vector<double> best(all.size());
  const int runs = std::clamp(static_cast<int>(2e8 / p.flop()), 1, 200);
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      operands.multiply(all[i], p);  // warm-up
      const double start = now_ms();
      for (int run = 0; run < runs; ++run) operands.multiply(all[i], p);
      best[i] = std::max(best[i], p.flop() * runs / (now_ms() - start) / 1e6);
    }
  return best;
}

struct Means {
  std::vector<double> logs;
  int shapes = 0;

  void add(const std::vector<double>& gflops) {
    logs.resize(gflops.size());
    ++shapes;
    for (std::size_t i = 0; i < gflops.size(); ++i) logs[i] += std::log(gflops[i] / gflops.back());
  }
  double of(std::size_t i) const { return std::exp(logs[i] / shapes); }
};

template <class T>
void time_all(const std::vector<Product>& shapes, const Flags& flags) {
  const std::vector<Choice> all = choices();
  const int most = num_threads();
  for (const int threads : {1, most}) {
    set_num_threads(threads);
    Means means;
    for (const Product& p : shapes) {
      const std::vector<double> gflops = rates<T>(p, all, flags.rounds);
      means.add(gflops);
      std::printf(
          "{\"m\": %lld, \"n\": %lld, \"k\": %lld, \"form\": \"%c%c\", \"type\": \"%s\", "
          "\"threads\": %d, \"gflops\": {",
          static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k),
          p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', flags.type.c_str(), threads);
      for (std::size_t i = 0; i < all.size(); ++i)
        std::printf("%s\"%s\": %.1f", i == 0 ? "" : ", ", all[i].reason.c_str(), gflops[i]);
      std::puts("}}");
    }
    for (std::size_t i = 0; i + 1 < all.size() && all.back().reason == "library"; ++i)
      std::printf(
          "{\"type\": \"%s\", \"threads\": %d, \"shapes\": %d, \"own\": \"%s\", "
          "\"times_as_fast_as_library\": %.3f, \"library\": \"%s\"}\n",
          flags.type.c_str(), threads, means.shapes, all[i].reason.c_str(), means.of(i),
          gemm::describe_library().c_str());
  }
}

void run(const Flags& flags) {
  std::vector<Product> shapes;
  for (const std::string& config : flags.configs)
    for (const Product& p : products_of(nn::gpt_preset(config))) shapes.push_back(p);
  for (const Product& p : others()) shapes.push_back(p);
  std::printf("{\"products\": \"%s\", \"simd\": \"%s\"}\n", gemm::describe().c_str(),
              std::string(simd::name(simd::level())).c_str());
  if (flags.type == "f64")
    time_all<double>(shapes, flags);
  else
    time_all<float>(shapes, flags);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::bench::Flags flags;
  CLI::App app("Times matrix multiplication by each backend; prints JSON");
  app.add_option("--config", flags.configs,
                 "model sizes whose linear layers are timed: toy, cpu, baby12, baby64, gpt2, long");
  app.add_option("--type", flags.type)->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  return gradus::bench::program(app, "bench_products", argc, argv,
                                [&] { gradus::bench::run(flags); });
}
