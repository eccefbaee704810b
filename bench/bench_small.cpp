// Times ops on one value: ./bench.sh small
//
// Runs a chain of `length` ops, forward and backward, on one thread. Prints the time per op. The
// target is at most 0.5 µs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

struct Chain {
  const char* name;
  std::function<Tensor(const Tensor& y, const Tensor& x)> link;  // y: end of chain, x: leaf
};

double microseconds(const Chain& chain, const Tensor& x, int length) {
  const auto start = std::chrono::steady_clock::now();
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = chain.link(y, x);
  y.backward();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  Tensor(x).set_grad({});
  return took.count() / length;
}

void run(int length, int rounds) {
  set_num_threads(1);
  const std::vector<Chain> chains = {
      {"add a leaf", [](const Tensor& y, const Tensor& x) { return y + x; }},
      {"add a constant", [](const Tensor& y, const Tensor&) { return y + 1e-3; }},
      {"multiply by a constant", [](const Tensor& y, const Tensor&) { return y * 0.999; }},
      {"multiply by a leaf", [](const Tensor& y, const Tensor& x) { return y * x; }},
      {"square", [](const Tensor& y, const Tensor&) { return square(y); }},
      {"tanh", [](const Tensor& y, const Tensor&) { return tanh(y); }},
      {"relu", [](const Tensor& y, const Tensor&) { return relu(y); }},
  };
  const Tensor x = tensor({0.99}).requires_grad_();
  for (const Chain& chain : chains) {
    std::vector<double> each;
    for (int round = 0; round < rounds + 3; ++round) {
      const double us = microseconds(chain, x, length);
      if (round >= 3) each.push_back(us);  // after a warm-up
    }
    std::printf(
        "{\"bench\": \"small\", \"op\": \"%s\", \"length\": %d, \"median_us\": %.3f, "
        "\"min_us\": %.3f}\n",
        chain.name, length, median(each), *std::min_element(each.begin(), each.end()));
  }
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  int length = 1000, rounds = 200;
  CLI::App app("Times operations on scalars, forward and backward; prints JSON");
  app.add_option("--length", length, "number of operations in a chain")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  return gradus::bench::program(app, "bench_small", argc, argv,
                                [&] { gradus::bench::run(length, rounds); });
}
