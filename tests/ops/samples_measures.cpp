#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention_metrics.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::numbers;

/// Σ −p log p for each row of n probabilities, none of which is 0.
template <class T>
List<T> entropies(const List<T>& p, std::size_t n) {
  List<T> y;
  for (std::size_t first = 0; first < p.size(); first += n) {
    T total = 0;
    for (std::size_t i = first; i < first + n; ++i)
      if (!(p[i] == 0)) total -= p[i] * math::log(p[i]);
    y.push_back(total);
  }
  return y;
}

void add_entropies(Samples& all) {
  const auto f = [](const Inputs& in) { return attention_entropy(in[0]); };
  all.push_back(
      {.op = "log",
       .what = "rows of unequal values",
       .inputs = {positive({2, 3, 5, 7})},
       .f = f,
       .reference = []<class T>(const Arguments<T>& in) { return entropies(numbers(in[0]), 7); },
       .function = "attention_entropy"});
  all.push_back(
      {.op = "log",
       .what = "0 log 0 is 0, with derivative 0",
       .inputs = {tensor({{0, 1, 0}, {0.25, 0, 0.75}, {0, 0, 0}}, Dtype::f64)},
       .f = f,
       .reference = []<class T>(const Arguments<T>& in) { return entropies(numbers(in[0]), 3); },
       .differences = false,
       .function = "attention_entropy"});
}

void add_spans(Samples& all) {
  const std::vector<std::int64_t> queries = {4, 9, 0}, keys = {0, 3, 4, 5, 9};
  all.push_back(
      {.op = "multiply",
       .what = "distances shared by all examples and heads",
       .inputs = {values({1, 2, 3, 5})},
       .f = [=](const Inputs& in) { return mean_attention_distance(in[0], queries, keys); },
       .reference =
           [=]<class T>(const Arguments<T>& in) {
             List<T> y;
             for (std::int64_t row = 0; row < 6; ++row) {
               T total = 0;
               for (std::int64_t j = 0; j < 5; ++j)
                 total += in[0].values[at(row * 5 + j)] *
                          double(std::abs(queries[at(row % 3)] - keys[at(j)]));
               y.push_back(total);
             }
             return y;
           },
       .function = "mean_attention_distance"});
}

void add_checkpoints(Samples& all) {
  const auto product = []<class T>(const Arguments<T>& in) {
    List<T> y = naive::matmul(numbers(in[0]), {3, 5}, numbers(in[1]), {5, 2});
    for (T& v : y) v = math::tanh(v);
    return y;
  };
  const auto f = [](const Tensor& a, const Tensor& b) { return tanh(matmul(a, b)); };
  all.push_back({.op = "checkpoint",
                 .what = "two inputs",
                 .inputs = {values({3, 5}), values({5, 2}, 1)},
                 .f = [=](const Inputs& in) { return checkpoint(f, in[0], in[1]); },
                 .reference = product,
                 .function = "checkpoint"});
  all.push_back({.op = "checkpoint",
                 .what = "a checkpoint inside another",
                 .inputs = {values({3, 5}), values({5, 2}, 1)},
                 .f =
                     [=](const Inputs& in) {
                       return checkpoint(
                           [=](const std::vector<Tensor>& x) { return checkpoint(f, x[0], x[1]); },
                           in);
                     },
                 .reference = product,
                 .function = "checkpoint"});
  all.push_back({.op = "checkpoint",
                 .what = "three inputs",
                 .inputs = {values({3, 2}), values({2}, 1), values({3, 1}, 2)},
                 .f =
                     [](const Inputs& in) {
                       return checkpoint([](const Tensor& a, const Tensor& b,
                                            const Tensor& c) { return a * b * c; },
                                         in[0], in[1], in[2]);
                     },
                 .reference =
                     []<class T>(const Arguments<T>& in) {
                       List<T> y = numbers(in[0]);
                       for (std::size_t i = 0; i < 6; ++i)
                         y[i] *= in[1].values[i % 2] * in[2].values[i / 2];
                       return y;
                     },
                 .function = "checkpoint"});
  all.push_back({.op = "checkpoint",
                 .what = "an unused input, indices and a scalar",
                 .inputs = {values({3, 1}), values({2}, 1), indices({1, 0, 1})},
                 .f =
                     [](const Inputs& in) {
                       return checkpoint([](const std::vector<Tensor>& x) { return x[0] * x[0]; },
                                         in);
                     },
                 .reference =
                     []<class T>(const Arguments<T>& in) {
                       List<T> y = numbers(in[0]);
                       for (T& v : y) v *= v;
                       return y;
                     },
                 .function = "checkpoint"});
}

}  // namespace

Samples measure_samples() {
  Samples all;
  add_entropies(all);
  add_spans(all);
  add_checkpoints(all);
  return all;
}

}  // namespace gradus::testing
