// Times gradient checks: ./bench.sh check --peer pytorch
//
// Runs four cases on one thread, with all conditions ("default") and without ("bare"). Prints one
// JSON object per line. bench/pytorch_check.py runs the same cases.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/attention.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/softmax.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

using check::Report;
using check::Tensors;
using Case = std::function<Report(const check::Options&)>;

Tensor normal(const Shape& shape) { return randn(shape, Dtype::f64); }

std::map<std::string, Case> cases() {
  const Tensor x = normal({3, 5, 7}), weight = normal({7}), bias = normal({7});
  const Tensor q = normal({2, 2, 5, 3}), k = normal({2, 2, 5, 3}), v = normal({2, 2, 5, 3});
  const Tensor h = normal({2, 5, 8});
  return {
      {"softmax",
       [=](const check::Options& o) {
         return check::gradients(
             "softmax", [](const Tensors& in) { return softmax(in[0]); }, {x}, o);
       }},
      {"layer_norm",
       [=](const check::Options& o) {
         return check::gradients(
             "layer_norm", [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
             {x, weight, bias}, o);
       }},
      {"attention",
       [=](const check::Options& o) {
         return check::gradients(
             "attention",
             [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
             {q, k, v}, o);
       }},
      {"multi_head", [=](const check::Options& o) {
         seed(1);
         nn::MultiHeadAttention layer({.width = 8, .heads = 2});
         return check::module(
             layer, [&layer](const Tensors& in) { return layer(in[0]); }, {h}, o);
       }}};
}

double time_one(const Case& run, const std::string& kind) {
  check::Options options;
  options.conditions = kind != "bare";
  const auto start = std::chrono::steady_clock::now();
  const Report report = run(options);
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  require(static_cast<bool>(report), report.text());
  return ms.count();
}

/// Reads "CASE KIND COUNT" and prints the milliseconds of COUNT checks.
void serve(const std::map<std::string, Case>& all) {
  std::puts("ready");
  std::fflush(stdout);
  std::string name, kind;
  for (int count = 0; std::cin >> name >> kind >> count;) {
    for (int i = 0; i < count; ++i) std::printf("%.4f ", time_one(all.at(name), kind));
    std::puts("");
    std::fflush(stdout);
  }
}

void run(int rounds, bool served) {
  set_num_threads(1);
  seed(1);
  const std::map<std::string, Case> all = cases();
  if (served) return serve(all);
  for (const auto& [name, one] : all) {
    std::vector<double> with, without;
    for (int round = 0; round < rounds; ++round) {
      with.push_back(time_one(one, "default"));
      without.push_back(time_one(one, "bare"));
    }
    std::printf("{\"case\": \"%s\", \"threads\": 1, \"default_ms\": %.3f, \"bare_ms\": %.3f}\n",
                name.c_str(), median(with), median(without));
  }
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  int rounds = 9;
  bool served = false;
  CLI::App app("Times gradient checks; prints JSON");
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--serve", served,
               "time on request of interleave_check.py: read lines \"CASE KIND COUNT\"");
  return gradus::bench::program(app, "bench_check", argc, argv,
                                [&] { gradus::bench::run(rounds, served); });
}
