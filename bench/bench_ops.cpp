// Times single ops, forward and backward: ./bench.sh ops [--benchmark_filter=softmax]
//
// Chains of one-element ops measure the overhead of an op.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::bench {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

void both_ways(benchmark::State& state, const Shape& shape, const Function& f) {
  Tensor x = randn(shape, Dtype::f32).requires_grad_(), upstream;
  for (auto _ : state) {
    const Tensor y = f(x);
    if (!upstream.defined()) upstream = randn(y.shape(), Dtype::f32);
    y.backward(upstream);
    x.set_grad({});
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
}

void chain(benchmark::State& state, Tensor (*link)(const Tensor&, const Tensor&)) {
  constexpr int kLinks = 1000;
  Tensor x = tensor(1.0, Dtype::f32).requires_grad_();
  const Tensor one = tensor(1.0, Dtype::f32);
  for (auto _ : state) {
    Tensor y = x;
    for (int i = 0; i < kLinks; ++i) y = link(y, one);
    y.backward();
    x.set_grad({});
  }
  state.SetItemsProcessed(state.iterations() * kLinks);
}

void add(const std::string& name, const Shape& shape, const Function& f) {
  benchmark::RegisterBenchmark((name + " " + to_string(shape)).c_str(),
                               [=](benchmark::State& state) { both_ways(state, shape, f); })
      ->UseRealTime();
}

void register_all() {
  benchmark::RegisterBenchmark("chain of 1000 additions", chain, gradus::add);
  benchmark::RegisterBenchmark("chain of 1000 multiplications", chain, gradus::multiply);
  const std::int64_t N = 12 * 256, C = 384;  // sizes of the baby12 preset
  add("gelu", {N, 4 * C}, [](const Tensor& x) { return gelu(x, Gelu::tanh); });
  add("softmax", {N, 256}, [](const Tensor& x) { return softmax(x); });
  const Tensor w = ones({C}, Dtype::f32), b = zeros({C}, Dtype::f32);
  add("layer_norm", {N, C}, [=](const Tensor& x) { return layer_norm(x, w, b); });
  add("rms_norm", {N, C}, [=](const Tensor& x) { return rms_norm(x, w); });
  add("dropout", {N, C}, [](const Tensor& x) { return dropout(x, 0.2); });
  add("sum of rows", {N, C}, [](const Tensor& x) { return sum(x, {0}); });
  const Tensor targets = randint(0, 65, {N});
  add("cross_entropy", {N, 65}, [=](const Tensor& x) { return cross_entropy(x, targets); });
  const Tensor weight = randn({3 * C, C}, Dtype::f32), bias = zeros({3 * C}, Dtype::f32);
  add("linear", {N, C}, [=](const Tensor& x) { return linear(x, weight, bias); });
  add("attention, 6 heads, causal", {12, 256, 3 * C},
      [](const Tensor& x) { return packed_self_attention(x, 6, causal_mask()); });
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::seed(1);
  gradus::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
