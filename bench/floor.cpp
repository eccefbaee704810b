// A step's products: by shape, each timed on its own, and all of them in the order of a step; with
// our threads and with the library's.
#include "floor.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "gradus/base/blas.h"
#include "gradus/base/parallel.h"
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

/// One call of the library a thread, each for its part of the longer side.
void slabs(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
           std::int64_t ldc) {
  const std::int64_t threads = num_threads(), longer = std::max(m, n);
  parallel_for(longer, (longer + threads - 1) / threads, [&](std::int64_t i, std::int64_t end) {
    if (m >= n)
      blas::library_gemm(ta, tb, end - i, n, k, alpha, a + i * (ta ? 1 : lda), lda, b, ldb, beta,
                         c + i * ldc, ldc);
    else
      blas::library_gemm(ta, tb, m, end - i, k, alpha, a, lda, b + i * (tb ? ldb : 1), ldb, beta,
                         c + i, ldc);
  });
}

double best_ms(const Product& p) {
  const Tensor a = rand({p.m, p.k}, Dtype::f32), b = rand({p.k, p.n}, Dtype::f32);
  Tensor c = Tensor::empty({p.m, p.n}, Dtype::f32);
  const double by_slabs = median_ms(p, slabs, a, b, c);
  const LibraryThreads own;
  return std::min(by_slabs, median_ms(p, blas::library_gemm<float>, a, b, c));
}

/// The linear layers of a step in their order, with the matrices that a step would hold.
class InOrder {
 public:
  explicit InOrder(const nn::GPTPreset& preset) : rows_(preset.batch * preset.options.context) {
    const std::int64_t C = preset.options.width;
    for (int layer = 0; layer < preset.options.layers; ++layer)
      add(C, 3 * C), add(C, C), add(C, 4 * C), add(4 * C, C);
    add(C, preset.options.vocab);
  }

  /// Milliseconds of each product, forward first, then dW and dx from the last layer to the first.
  std::vector<double> run(Gemm gemm) {
    std::vector<double> ms;
    for (Layer& l : layers_)
      ms.push_back(time(gemm, false, true, rows_, l.out, l.in, l.x, l.weight, l.y));
    Tensor dy = Tensor::empty_like(layers_.back().y).fill_(1e-3);
    for (auto l = layers_.rbegin(); l != layers_.rend(); ++l) {
      if (dy.size(1) != l->out) dy = Tensor::empty_like(l->y).fill_(1e-3);
      Tensor dx = Tensor::empty_like(l->x);
      ms.push_back(time(gemm, true, false, l->out, l->in, rows_, dy, l->x, l->dweight));
      ms.push_back(time(gemm, false, false, rows_, l->in, l->out, dy, l->weight, dx));
      dy = dx;
    }
    return ms;
  }

 private:
  struct Layer {
    std::int64_t in, out;
    Tensor x, weight, y, dweight;
  };

  void add(std::int64_t in, std::int64_t out) {
    layers_.push_back({in, out, rand({rows_, in}, Dtype::f32), rand({out, in}, Dtype::f32),
                       rand({rows_, out}, Dtype::f32), rand({out, in}, Dtype::f32)});
  }

  static double time(Gemm gemm, bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                     const Tensor& a, const Tensor& b, Tensor& c) {
    const double start = now_ms();
    gemm(ta, tb, m, n, k, 1, a.data<float>(), ta ? m : k, b.data<float>(), tb ? k : n, 0,
         c.mutable_data<float>(), n);
    return now_ms() - start;
  }

  std::int64_t rows_;
  std::vector<Layer> layers_;
};

/// The median of each product over 7 runs.
std::vector<double> medians(InOrder& products, Gemm gemm) {
  std::vector<std::vector<double>> runs;
  for (int run = 0; run < 7; ++run) runs.push_back(products.run(gemm));
  std::vector<double> out;
  for (std::size_t i = 0; i < runs[0].size(); ++i) {
    std::vector<double> one;
    for (const std::vector<double>& run : runs) one.push_back(run[i]);
    std::sort(one.begin(), one.end());
    out.push_back(one[one.size() / 2]);
  }
  return out;
}

double in_order_ms(const nn::GPTPreset& preset) {
  InOrder products(preset);
  const std::vector<double> ours = medians(products, blas::gemm<float>);
  const LibraryThreads own;
  const std::vector<double> library = medians(products, blas::library_gemm<float>);
  double sum = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) sum += std::min(ours[i], library[i]);
  return sum;
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

Floor measure_floor(const nn::GPTPreset& preset) {
  double ms = 0, flop = 0;
  for (const Product& p : products_of(preset)) {
    ms += best_ms(p) * p.times;
    flop += p.flop() * p.times;
  }
  const double with_attention = 1 + attention_flop(preset) / flop;
  return {ms * with_attention, in_order_ms(preset) * with_attention};
}

}  // namespace gradus::bench
