// Times a step's matmuls, separately by shape and in the order of the step.
#include "floor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/ops/create.h"

namespace gradus::bench {
namespace {

using gemm::Backend;
using gemm::Choice;
using gemm::Matrix;

Matrix<const float> matrix(const Tensor& x, bool transpose) {
  const Matrix<const float> stored(x.data<float>(), x.size(0), x.size(1));
  return transpose ? stored.transpose() : stored;
}

Matrix<float> result(Tensor& c) { return {c.mutable_data<float>(), c.size(0), c.size(1)}; }

using Way = std::function<void(Matrix<float>, Matrix<const float>, Matrix<const float>)>;

/// Returns three ways to use the threads: the built-in kernels, the library called by Gradus's
/// threads, and the library's threads.
std::vector<Way> ways() {
  const simd::Level level = simd::level();
  const auto by = [level](Backend backend, gemm::Threads threads) {
    return [choice = Choice{backend, level, ""}, threads](auto c, auto a, auto b) {
      gemm::multiply_by(choice, c, a, b, {.threads = threads});
    };
  };
  std::vector<Way> out{by(Backend::builtin, gemm::Threads::all)};
  if (gemm::linked_library() == gemm::Library::none) return out;
  out.push_back(by(Backend::library, gemm::Threads::all));
  out.push_back([one = by(Backend::library, gemm::Threads::one)](auto c, auto a, auto b) {
    gemm::set_library_threads(num_threads());
    one(c, a, b);
    gemm::set_library_threads(1);
  });
  return out;
}

/// Waits until the library's threads sleep, because they spin on all cores after a call.
void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

double median_ms(const Way& way, const Product& p, const Tensor& a, const Tensor& b, Tensor& c) {
  std::vector<double> times;
  const double end = now_ms() + 20;
  while (times.size() < 5 || now_ms() < end) {
    const double start = now_ms();
    way(result(c), matrix(a, p.transpose_a), matrix(b, p.transpose_b));
    times.push_back(now_ms() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double best_ms(const Product& p) {
  const auto stored = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? rand({columns, rows}, Dtype::f32) : rand({rows, columns}, Dtype::f32);
  };
  const Tensor a = stored(p.m, p.k, p.transpose_a), b = stored(p.k, p.n, p.transpose_b);
  Tensor c = Tensor::empty({p.m, p.n}, Dtype::f32);
  double best = std::numeric_limits<double>::infinity();
  for (const Way& way : ways()) {
    best = std::min(best, median_ms(way, p, a, b, c));
    let_threads_sleep();
  }
  return best;
}

class InOrder {
 public:
  explicit InOrder(const nn::GPTPreset& preset) : rows_(preset.batch * preset.options.context) {
    const std::int64_t C = preset.options.block.width;
    for (int layer = 0; layer < preset.options.layers; ++layer)
      add(C, 3 * C), add(C, C), add(C, 4 * C), add(4 * C, C);
    add(C, preset.options.vocab);
  }

  /// Returns the milliseconds of the forward matmuls, then of dW and dx from the last layer to the
  /// first.
  std::vector<double> run(const Way& way) {
    std::vector<double> ms;
    for (Layer& l : layers_)
      ms.push_back(time(way, l.y, matrix(l.x, false), matrix(l.weight, true)));
    Tensor dy = Tensor::empty_like(layers_.back().y).fill_(1e-3);
    for (auto l = layers_.rbegin(); l != layers_.rend(); ++l) {
      if (dy.size(1) != l->out) dy = Tensor::empty_like(l->y).fill_(1e-3);
      Tensor dx = Tensor::empty_like(l->x);
      ms.push_back(time(way, l->dweight, matrix(dy, true), matrix(l->x, false)));
      ms.push_back(time(way, dx, matrix(dy, false), matrix(l->weight, false)));
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

  static double time(const Way& way, Tensor& c, const Matrix<const float>& a,
                     const Matrix<const float>& b) {
    const double start = now_ms();
    way(result(c), a, b);
    return now_ms() - start;
  }

  std::int64_t rows_;
  std::vector<Layer> layers_;
};

std::vector<double> medians(InOrder& products, const Way& way) {
  std::vector<std::vector<double>> runs;
  const double end = now_ms() + 1000;
  while (runs.size() < 3 || (runs.size() < 7 && now_ms() < end)) runs.push_back(products.run(way));
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
  std::vector<double> best;
  for (const Way& way : ways()) {
    const std::vector<double> ms = medians(products, way);
    if (best.empty()) best = ms;
    for (std::size_t i = 0; i < ms.size(); ++i) best[i] = std::min(best[i], ms[i]);
  }
  return std::accumulate(best.begin(), best.end(), 0.0);
}

double attention_flop(const nn::GPTPreset& preset) {
  const double T = static_cast<double>(preset.options.context),
               C = static_cast<double>(preset.options.block.width);
  return 6 * T * (T + 1) * C * static_cast<double>(preset.batch * preset.options.layers);
}

}  // namespace

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<Product> products_of(const nn::GPTPreset& preset) {
  const std::int64_t N = preset.batch * preset.options.context, C = preset.options.block.width;
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
