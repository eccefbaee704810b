// Runs a kernel or a training step for tools/perf-gate. `perf_gate NAME` runs it twice, the second
// time inside measured(). Without NAME, prints the names. Includes only the public header, to
// compile against other commits.

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gradus/gradus.h"

using namespace gradus;

namespace {

using Run = std::function<void()>;

template <class F>
Run both_ways(const Shape& shape, F f) {
  Tensor x = randn(shape, Dtype::f32).requires_grad_();
  const Tensor upstream = ones(f(x).shape(), Dtype::f32);
  return [=]() mutable {
    f(x).backward(upstream);
    x.set_grad({});
  };
}

Run training_step(const std::string& preset, double dropout) {
  const nn::GPTPreset& p = nn::gpt_preset(preset);
  nn::GPTOptions options = p.options;
  options.block.dropout = dropout;
  const auto model = std::make_shared<nn::GPT>(options);
  const auto optimizer = std::make_shared<optim::AdamW>(model->parameters());
  const Tensor x = randint(0, options.vocab, {p.batch, options.context});
  return [=] {
    model->loss(x, x).backward();
    optimizer->step({.clip_norm = 1.0});
    optimizer->zero_grad();
  };
}

/// Cases with the shapes of the cpu preset: 768 rows of 128, 4 heads, a context of 64.
std::map<std::string, std::function<Run()>> cases() {
  const std::int64_t N = 768, C = 128;
  return {{"matmul",
           [=] {
             const Tensor w = randn({C, 4 * C}, Dtype::f32);
             return both_ways({N, C}, [=](const Tensor& x) { return matmul(x, w); });
           }},
          {"linear",
           [=] {
             const Tensor w = randn({3 * C, C}, Dtype::f32).requires_grad_(), b = zeros({3 * C});
             return both_ways({N, C}, [=](const Tensor& x) { return linear(x, w, b); });
           }},
          {"attention",
           [=] {
             return both_ways({12, 64, 3 * C}, [](const Tensor& x) {
               return packed_self_attention(x, 4, causal_mask());
             });
           }},
          {"softmax",
           [=] {
             return both_ways({N, C}, [](const Tensor& x) { return softmax(x); });
           }},
          {"layer_norm",
           [=] {
             const Tensor w = ones({C}), b = zeros({C});
             return both_ways({N, C}, [=](const Tensor& x) { return layer_norm(x, w, b); });
           }},
          {"gelu",
           [=] {
             return both_ways({N, 4 * C}, [](const Tensor& x) { return gelu(x, Gelu::tanh); });
           }},
          {"dropout",
           [=] {
             return both_ways({N, C}, [](const Tensor& x) { return dropout(x, 0.2); });
           }},
          {"cross_entropy",
           [=] {
             const Tensor targets = randint(0, 65, {N});
             return both_ways({N, 65}, [=](const Tensor& x) { return cross_entropy(x, targets); });
           }},
          {"embedding",
           [=] {
             const Tensor ids = randint(0, 65, {N});
             return both_ways({65, C}, [=](const Tensor& w) { return embedding(w, ids); });
           }},
          {"broadcast add",
           [=] {
             const Tensor b = randn({C}, Dtype::f32).requires_grad_();
             return both_ways({N, C}, [=](const Tensor& x) { return x + b; });
           }},
          {"step toy", [] { return training_step("toy", 0); }},
          {"step cpu", [] { return training_step("cpu", 0); }},
          {"step cpu, dropout", [] { return training_step("cpu", 0.2); }}};
}

}  // namespace

extern "C" __attribute__((noinline)) void measured(const Run& run) { run(); }

int main(int argc, char** argv) {
  set_num_threads(1);
  seed(1);
  const auto all = cases();
  if (argc < 2) {
    for (const auto& [name, make] : all) std::puts(name.c_str());
    return 0;
  }
  const Run run = all.at(argv[1])();
  run();  // allocates memory and fills tables
  measured(run);
}
