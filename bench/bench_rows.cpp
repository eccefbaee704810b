// Times the row kernels on one thread: ./bench.sh rows
//
// Prints the CPU time per element and the bandwidth of arrays that must be read or written once,
// next to the bandwidth of a copy. Arrays fit into a core's cache. GRADUS_SIMD=avx2 or baseline
// selects narrower vectors. "both" is forward and backward. Times include the engine's overhead.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/base/simd.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/softmax.h"
#include "gradus/train/optim/optim.h"
#include "program.h"

namespace gradus::bench {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 768, kElements = kRows * kColumns;

struct Kernel {
  std::string name;
  double bytes;
  std::function<void()> run;
};

double processor_ns() {
  return static_cast<double>(std::clock()) * (1e9 / static_cast<double>(CLOCKS_PER_SEC));
}

/// Returns the shortest of `rounds` measurements of about two milliseconds.
double least_ns(const std::function<void()>& run, int rounds) {
  for (int i = 0; i < 3; ++i) run();
  const double start = processor_ns();
  for (int i = 0; i < 20; ++i) run();
  const double about = std::max((processor_ns() - start) / 20, 100.0);
  const int repeats = std::max(1, static_cast<int>(2e6 / about));
  double least = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const double begin = processor_ns();
    for (int i = 0; i < repeats; ++i) run();
    least = std::min(least, (processor_ns() - begin) / repeats);
  }
  return least;
}

/// Adds the forward pass of an op, and its forward and backward pass. The backward pass reads the
/// arrays of the forward pass and dy, and writes dx.
void add(std::vector<Kernel>& kernels, const std::string& name,
         const std::function<Tensor(const Tensor&)>& op, double more = 0) {
  const Tensor x = randn({kRows, kColumns}, Dtype::f32);
  const Tensor leaf = x.clone().requires_grad_(), dy = randn({kRows, kColumns}, Dtype::f32);
  kernels.push_back({name, 8 + more, [=] { op(x); }});
  kernels.push_back({name + ", both", 20 + 2 * more, [=] {
                       const Tensor y = op(leaf);
                       y.backward(y.rank() == 0 ? Tensor() : dy);
                       Tensor(leaf).set_grad({});
                     }});
}

std::vector<Kernel> element_wise() {
  std::vector<Kernel> kernels;
  const Tensor other = randn({kRows, kColumns}, Dtype::f32);
  const RandomStream stream{1, 2, 0};
  static std::vector<std::uint32_t> words(static_cast<std::size_t>(kElements));
  kernels.push_back({"random words", 4, [=] { stream.words(0, kElements, words.data()); }});
  add(kernels, "dropout", [](const Tensor& x) { return dropout(x, 0.2); });
  add(
      kernels, "dropout_residual", [=](const Tensor& x) { return other + dropout(x, 0.2); }, 4);
  add(
      kernels, "add", [=](const Tensor& x) { return x + other; }, 4);
  add(kernels, "gelu erf", [](const Tensor& x) { return gelu(x, Gelu::erf); });
  add(kernels, "gelu tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); });
  add(kernels, "silu", [](const Tensor& x) { return silu(x); });
  return kernels;
}

std::vector<Kernel> by_rows() {
  std::vector<Kernel> kernels;
  const Tensor w = randn({kColumns}, Dtype::f32), b = randn({kColumns}, Dtype::f32);
  const Tensor weight = w.clone().requires_grad_(), bias = b.clone().requires_grad_();
  const Tensor target = randint(0, kColumns, {kRows});
  const auto train = [=](const Tensor& x) { return x.requires_grad(); };
  add(kernels, "layer_norm", [=](const Tensor& x) {
    return train(x) ? layer_norm(x, weight, bias) : layer_norm(x, w, b);
  });
  add(kernels, "rms_norm",
      [=](const Tensor& x) { return train(x) ? rms_norm(x, weight) : rms_norm(x, w); });
  add(kernels, "softmax", [](const Tensor& x) { return softmax(x, -1); });
  add(kernels, "log_softmax", [](const Tensor& x) { return log_softmax(x, -1); });
  add(
      kernels, "cross_entropy", [=](const Tensor& x) { return cross_entropy(x, target); }, -4);
  const Tensor x = randn({kRows, kColumns}, Dtype::f32);
  kernels.push_back({"sum_to a row", 4, [=] { sum_to(x, {kColumns}); }});
  kernels.push_back({"sum_to a column", 4, [=] { sum_to(x, {kRows, 1}); }});
  kernels.push_back({"max of rows", 4, [=] { max(x, {1}); }});
  return kernels;
}

/// Returns optimizer steps, which read and write a parameter and its state, and read its gradient.
std::vector<Kernel> optimizers() {
  std::vector<Kernel> kernels;
  const auto parameter = [] {
    Tensor p = randn({kRows, kColumns}, Dtype::f32).requires_grad_();
    p.set_grad(randn({kRows, kColumns}, Dtype::f32));
    return std::vector<nn::NamedTensor>{{"p", p}};
  };
  const auto adam = std::make_shared<optim::AdamW>(parameter());
  const auto sgd = std::make_shared<optim::SGD>(parameter(), optim::SGDOptions{.momentum = 0.9});
  const auto lion = std::make_shared<optim::Lion>(parameter());
  kernels.push_back({"AdamW step", 28, [=] { adam->step(); }});
  kernels.push_back({"SGD step", 20, [=] { sgd->step(); }});
  kernels.push_back({"Lion step", 20, [=] { lion->step(); }});
  return kernels;
}

void run(int rounds) {
  set_num_threads(1);
  seed(1);
  std::vector<float> from(static_cast<std::size_t>(kElements), 1), to(from.size());
  const double copy =
      least_ns([&] { std::memcpy(to.data(), from.data(), from.size() * sizeof from[0]); }, rounds);
  for (const auto& some : {element_wise(), by_rows(), optimizers()})
    for (const Kernel& kernel : some) {
      const double ns = least_ns(kernel.run, rounds) / kElements;
      std::printf(
          "{\"bench\": \"rows\", \"simd\": \"%s\", \"kernel\": \"%s\", \"ns_per_element\": %.4f, "
          "\"gb_s\": %.1f, \"copy_gb_s\": %.1f}\n",
          std::string(simd::name(simd::level())).c_str(), kernel.name.c_str(), ns,
          kernel.bytes / ns, 8 * kElements / copy);
      std::fflush(stdout);
    }
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  int rounds = 100;
  CLI::App app("Times the row kernels on one thread; prints JSON");
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  return gradus::bench::program(app, "bench_rows", argc, argv, [&] { gradus::bench::run(rounds); });
}
