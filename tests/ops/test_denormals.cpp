// Tests f32 inputs around 1e-40, below the smallest normal number 2⁻¹²⁶ = 1.2e-38, with and without
// flushing of denormals. Results must be finite and equal those of f64.
//
// Tolerance: each of a result's `terms` may flush to 0, and contributes to the result with a factor
// of at most `gain`. Other arithmetic rounds by at most 32 · 2⁻²⁴ of the largest result, with at
// most 8 terms of order 1 in a sum.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <memory>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry_run.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_denormals {
namespace {

/// Uses one thread, because each thread has its own control register. With `flush`, values below
/// 2⁻¹²⁶ are 0 as operands and results.
class Arithmetic {
 public:
  explicit Arithmetic([[maybe_unused]] bool flush) {
    set_num_threads(1);
#if defined(__x86_64__)
    constexpr unsigned kFlushResults = 0x8000, kFlushOperands = 0x0040;
    if (flush) _mm_setcsr(_mm_getcsr() | kFlushResults | kFlushOperands);
#endif
  }
  ~Arithmetic() {
#if defined(__x86_64__)
    _mm_setcsr(before_);
#endif
    set_num_threads(threads_);
  }
  Arithmetic(const Arithmetic&) = delete;
  Arithmetic& operator=(const Arithmetic&) = delete;

 private:
  int threads_ = num_threads();
#if defined(__x86_64__)
  unsigned before_ = _mm_getcsr();
#endif
};

std::vector<bool> flush_modes() {
#if defined(__x86_64__)
  return {false, true};
#else
  return {false};
#endif
}

Tensor tiny(const Shape& shape, int which = 0) {
  return (values(shape, which) * 1e-40).to(Dtype::f32);
}
Tensor usual(const Shape& shape, int which = 0) { return values(shape, which).to(Dtype::f32); }

struct Case {
  const char* name;
  Inputs inputs;  // f32
  std::function<Tensor(const Inputs&)> f;
  double terms, gain;
};

/// The caller must read the returned tensors after Arithmetic has ended, because reading would
/// flush them.
std::vector<Tensor> results(const Case& each, Dtype dtype, const Tensor& dy, bool flush) {
  Inputs x;
  for (const Tensor& input : each.inputs) x.push_back(input.to(dtype).detach().requires_grad_());
  const Tensor upstream = dy.to(dtype);
  const Arithmetic arithmetic(flush);
  Generator own(3);
  const GeneratorScope draws(own);
  const Tensor y = each.f(x);
  std::vector<Tensor> all = grad({y}, x, {upstream});
  all.insert(all.begin(), y.detach());
  return all;
}

void check_close(const Tensor& x, const Tensor& reference, double lost) {
  const Numbers got = numbers(x), right = numbers(reference);
  const double allowed = lost + 32 * 0x1p-24 * largest(right);
  CAPTURE(allowed);
  for (const double v : got) CHECK(std::isfinite(v));
  CHECK(distance(got, right) <= allowed);
}

}  // namespace

TEST_CASE("operations on denormal numbers are right, flushed or not") {
  const auto unary = [](const char* name, Tensor (*f)(const Tensor&)) {
    return Case{name, {tiny({5, 8})}, [f](const Inputs& x) { return f(x[0]); }, 4, 1};
  };
  const Tensor target = indices({0, 7, 3, 3, 1});
  // Normalization multiplies by 1/√eps = 317, with eps = 1e-5. Weights are below 1.7.
  const Case cases[] = {
      unary("exp", [](const Tensor& x) { return exp(x); }),
      unary("tanh", [](const Tensor& x) { return tanh(x); }),
      unary("sigmoid", [](const Tensor& x) { return sigmoid(x); }),
      unary("silu", [](const Tensor& x) { return silu(x); }),
      unary("gelu", [](const Tensor& x) { return gelu(x); }),
      {"softmax", {tiny({5, 8})}, [](const Inputs& x) { return softmax(x[0]); }, 8 + 2, 1},
      {"log_softmax", {tiny({5, 8})}, [](const Inputs& x) { return log_softmax(x[0]); }, 8 + 2, 1},
      {"layer_norm",
       {tiny({5, 8}), usual({8}, 1), usual({8}, 2)},
       [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); },
       3 * 8,
       1.7 * 317},
      {"rms_norm",
       {tiny({5, 8}), usual({8}, 1)},
       [](const Inputs& x) { return rms_norm(x[0], x[1]); },
       3 * 8,
       1.7 * 317},
      {"matmul",
       {tiny({5, 8}), usual({8, 6}, 1)},
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       8,
       1.7},
      {"matmul of tiny numbers",
       {tiny({5, 8}), tiny({8, 6}, 1)},
       [](const Inputs& x) { return matmul(x[0], x[1]); },
       8,
       1.7},
      {"linear",
       {tiny({5, 8}), usual({6, 8}, 1), tiny({6}, 2)},
       [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
       8 + 1,
       1.7},
      // With 6 keys of width 4, the gradient of a score has 4 terms, and that of a query has 6 · 4.
      {"attention",
       {tiny({2, 2, 6, 4}), tiny({2, 2, 6, 4}, 1), tiny({2, 2, 6, 4}, 2)},
       [](const Inputs& x) {
         return scaled_dot_product_attention(x[0], x[1], x[2], causal_mask());
       },
       6 * 4,
       1.7},
      {"cross_entropy",
       {tiny({5, 8})},
       [&](const Inputs& x) { return cross_entropy(x[0], target); },
       8 + 2,
       1.7},
      {"sum", {tiny({1000})}, [](const Inputs& x) { return sum(x[0]); }, 1000, 1},
      {"mean", {tiny({1000})}, [](const Inputs& x) { return mean(x[0]); }, 1000, 1},
      {"dropout", {tiny({5, 8})}, [](const Inputs& x) { return dropout(x[0], 0.5); }, 1, 2}};
  for (const Case& each : cases)
    for (const bool small_upstream : {false, true}) {
      const Tensor y = each.f(each.inputs);
      const Tensor dy = small_upstream ? tiny(y.shape(), 41) : usual(y.shape(), 41);
      const std::vector<Tensor> right = results(each, Dtype::f64, dy, false);
      for (const bool flush : flush_modes()) {
        const std::vector<Tensor> got = results(each, Dtype::f32, dy, flush);
        for (std::size_t k = 0; k < got.size(); ++k) {
          CAPTURE(each.name, small_upstream, flush, k);
          check_close(got[k], right[k], each.terms * each.gain * 0x1p-126);
        }
      }
    }
}

TEST_CASE("optimizer steps with denormal gradients and moments are right, flushed or not") {
  using Make = std::unique_ptr<optim::Optimizer> (*)(const std::vector<nn::NamedTensor>&);
  using Pointer = std::unique_ptr<optim::Optimizer>;
  using Parameters = std::vector<nn::NamedTensor>;
  const std::pair<const char*, Make> optimizers[] = {
      {"SGD",
       [](const Parameters& p) -> Pointer {
         return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
       }},
      {"Adam", [](const Parameters& p) -> Pointer { return std::make_unique<optim::Adam>(p); }},
      {"AdamW", [](const Parameters& p) -> Pointer { return std::make_unique<optim::AdamW>(p); }}};
  const Tensor starts[] = {usual({40}, 1), tiny({40}, 2)};
  // g = 1e-20 makes v = 1e-43, and g = 1e-40 makes v = 0. Adam divides by √v̂ + 1e-8. A flushed v̂
  // changes √v̂ by less than √2⁻¹²⁶ = 1e-19, and thus the update by a relative 1e-11. In the first
  // step, a flushed m̂ of 10 · 2⁻¹²⁶ is divided by 1e-8 and multiplied by the learning rate 1e-3: a
  // gain of 1e6.
  constexpr double kSteps = 3, kGain = 1e6;
  for (const auto& [name, make] : optimizers)
    for (const double size : {1e-20, 1e-40})
      for (const double clip : {0.0, 1e-30}) {
        const auto train = [&, make = make](Dtype dtype, bool flush) {
          Parameters parameters;
          for (const Tensor& start : starts)
            parameters.push_back({"p", start.to(dtype).clone().requires_grad_()});
          Tensor g = (values({40}, 3) * size).to(Dtype::f32).to(dtype);
          const Pointer optimizer = make(parameters);
          const Arithmetic arithmetic(flush);
          for (int step = 0; step < kSteps; ++step) {
            for (nn::NamedTensor& each : parameters) each.tensor.set_grad(g.clone());
            optimizer->step({.clip_norm = clip});
          }
          return parameters;
        };
        const Parameters right = train(Dtype::f64, false);
        for (const bool flush : flush_modes()) {
          const Parameters got = train(Dtype::f32, flush);
          for (std::size_t k = 0; k < got.size(); ++k) {
            CAPTURE(name, size, clip, flush, k);
            check_close(got[k].tensor.detach(), right[k].tensor.detach(),
                        kSteps * kGain * 0x1p-126);
          }
        }
      }
}

}  // namespace gradus::testing::test_denormals
