// A step's products by shape; each is timed on its own, with our threads and with the library's.
#include "floor.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "gradus/base/blas.h"
#include "gradus/base/platform.h"
#include "gradus/ops/create.h"

namespace gradus::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  double times;  // a step
  double flop() const { return 2.0 * static_cast<double>(m * n * k); }
};

std::vector<Product> products_of(const nn::GPTPreset& preset) {
  const std::int64_t N = preset.batch * preset.options.context, C = preset.options.width;
  std::vector<Product> out;
  const auto linear = [&](std::int64_t from, std::int64_t to, double times) {
    out.push_back({N, to, from, false, true, times});   // y = x Wᵀ
    out.push_back({N, from, to, false, false, times});  // dx = dy W
    out.push_back({to, from, N, true, false, times});   // dW = dyᵀ x
  };
  const double L = static_cast<double>(preset.options.layers);
  linear(C, 3 * C, L), linear(C, C, L), linear(C, 4 * C, L), linear(4 * C, C, L);
  linear(C, preset.options.vocab, 1);
  return out;
}

using Gemm = void (*)(bool, bool, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                      std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);

/// The median of at least 5 runs and 20 ms.
double median_ms(const Product& p, Gemm gemm, const Tensor& a, const Tensor& b, Tensor& c) {
  std::vector<double> times;
  const std::int64_t lda = p.transpose_a ? p.m : p.k, ldb = p.transpose_b ? p.k : p.n;
  const double end = now_ms() + 20;
  while (times.size() < 5 || now_ms() < end) {
    const double start = now_ms();
    gemm(p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1, a.data<float>(), lda, b.data<float>(), ldb,
         0, c.mutable_data<float>(), p.n);
    times.push_back(now_ms() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Lets the BLAS library use its own threads while it lives, where it can be told.
struct LibraryThreads {
  using Set = void (*)(int);
  Set set = reinterpret_cast<Set>(platform::find_symbol("openblas_set_num_threads"));
  LibraryThreads() {
    if (set) set(num_threads());
  }
  ~LibraryThreads() {
    if (set) set(1);
  }
};

double best_ms(const Product& p) {
  const Tensor a = rand({p.m, p.k}, Dtype::f32), b = rand({p.k, p.n}, Dtype::f32);
  Tensor c = Tensor::empty({p.m, p.n}, Dtype::f32);
  const double slabs = median_ms(p, blas::gemm<float>, a, b, c);
  const LibraryThreads own;
  return std::min(slabs, median_ms(p, blas::gemm_serial<float>, a, b, c));
}

double attention_flop(const nn::GPTPreset& preset) {
  const double T = static_cast<double>(preset.options.context),
               C = static_cast<double>(preset.options.width);
  return 6 * T * (T + 1) * C * static_cast<double>(preset.batch * preset.options.layers);
}

}  // namespace

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double step_flop(const nn::GPTPreset& preset) {
  double flop = attention_flop(preset);
  for (const Product& p : products_of(preset)) flop += p.flop() * p.times;
  return flop;
}

double floor_ms(const nn::GPTPreset& preset) {
  double ms = 0, flop = 0;
  for (const Product& p : products_of(preset)) {
    ms += best_ms(p) * p.times;
    flop += p.flop() * p.times;
  }
  return ms * (1 + attention_flop(preset) / flop);
}

}  // namespace gradus::bench
