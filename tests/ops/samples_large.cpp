#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/large.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using large::push;
using naive::at;

void add_each(Samples& all, const char* op, Tensor (*f)(const Tensor&), const Generic<OfOne>& g,
              std::string function = {}) {
  push(
      all, op, {values({3, 4999})}, [f](const Inputs& x) { return f(x[0]); },
      [g]<class T>(const Arguments<T>& x) {
        List<T> y = x[0].values;
        for (T& v : y) v = g(v);
        return y;
      },
      std::move(function));
}

template <class T>
T sigmoid_of(const T& x) {
  return 1 / (1 + math::exp(-x));
}

void add_functions(Samples& all) {
  add_each(all, "exp", exp, [](const auto& x) { return math::exp(x); });
  add_each(all, "tanh", tanh, [](const auto& x) { return math::tanh(x); });
  add_each(all, "sigmoid", sigmoid, [](const auto& x) { return sigmoid_of(x); });
  add_each(all, "erf", erf, [](const auto& x) { return math::erf(x); });
  add_each(all, "relu", relu, []<class T>(const T& x) { return x > 0 ? x : T(0); });
  add_each(all, "silu", silu, [](const auto& x) { return x * sigmoid_of(x); });
  add_each(all, "softplus", softplus, [](const auto& x) { return math::log(1 + math::exp(x)); });
  add_each(
      all, "gelu", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
      [](const auto& x) { return naive::gelu_of(x); });
  add_each(
      all, "gelu_erf", [](const Tensor& x) { return gelu(x, Gelu::erf); },
      [](const auto& x) { return x / 2 * (1 + math::erf(x / std::sqrt(2.0))); }, "gelu");
  add_each(
      all, "pow", [](const Tensor& x) { return pow(x, 3); },
      [](const auto& x) { return x * x * x; });
}

void add_pair(Samples& all, const char* op, Tensor (*f)(const Tensor&, const Tensor&),
              const Generic<OfTwo>& g) {
  using Shapes = std::pair<Shape, Shape>;
  for (const auto& [a, b] :
       {Shapes{{70, 1}, {90}}, Shapes{{70, 90}, {90}}, Shapes{{70, 90}, {70, 90}}}) {
    const bool column = a[1] == 1, row = b.rank() == 1;
    push(
        all, op, {values(a), values(b, 1)}, [f](const Inputs& x) { return f(x[0], x[1]); },
        [=]<class T>(const Arguments<T>& x) {
          List<T> y;
          for (std::size_t i = 0; i < 70 * 90; ++i)
            y.push_back(g(x[0].values[column ? i / 90 : i], x[1].values[row ? i % 90 : i]));
          return y;
        });
  }
}

void add_pairs(Samples& all) {
  add_pair(all, "add", add, [](const auto& a, const auto& b) { return a + b; });
  add_pair(all, "subtract", subtract, [](const auto& a, const auto& b) { return a - b; });
  add_pair(all, "multiply", multiply, [](const auto& a, const auto& b) { return a * b; });
  add_pair(all, "divide", divide, [](const auto& a, const auto& b) { return a / b; });
  add_pair(all, "maximum", maximum, [](const auto& a, const auto& b) { return math::max(a, b); });
  push(
      all, "swiglu", {values({7, 999}), values({7, 999}, 1)},
      [](const Inputs& x) { return swiglu(x[0], x[1]); },
      []<class T>(const Arguments<T>& x) {
        List<T> y = x[1].values;
        for (std::size_t i = 0; i < y.size(); ++i)
          y[i] = x[0].values[i] * sigmoid_of(x[0].values[i]) * y[i];
        return y;
      });
  push(
      all, "dropout", {values({7, 999})},
      [](const Inputs& x) {
        Generator own(7);
        const GeneratorScope scope(own);
        return dropout(x[0], 0.25);
      },
      []<class T>(const Arguments<T>& x) {
        const RandomStream stream = Generator(7).next();
        List<T> y = x[0].values;
        for (std::size_t i = 0; i < y.size(); ++i)
          y[i] *= stream.word(static_cast<std::int64_t>(i)) < 0x40000000u ? 0.0 : 1 / 0.75;
        return y;
      });
}

void add_places(Samples& all) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 1999; ++i) ids.push_back(i * i % 53);
  const auto rows = [](const auto& x) {
    auto y = x[0].values;
    y.clear();
    for (const std::int64_t id : x[1].integers)
      for (std::int64_t c = 0; c < 7; ++c) y.push_back(x[0].values[at(id * 7 + c)]);
    return y;
  };
  push(
      all, "embedding", {values({53, 7}), tensor(ids, {1999})},
      [](const Inputs& x) { return embedding(x[0], x[1]); }, rows);
  push(
      all, "index_select", {values({53, 7}), tensor(ids, {1999})},
      [](const Inputs& x) { return index_select(x[0], 0, x[1]); }, rows);
  push(
      all, "contiguous", {values({131, 67})},
      [](const Inputs& x) { return contiguous(transpose(x[0])); },
      [](const auto& x) { return naive::transpose(x[0].values, 131, 67); });
  push(
      all, "where", {values({97, 71}), values({97, 71}, 1)},
      [](const Inputs& x) { return where(x[0].detach() > 0.5, x[0], x[1]); },
      []<class T>(const Arguments<T>& x) {
        List<T> y = x[1].values;
        for (std::size_t i = 0; i < y.size(); ++i)
          if (x[0].values[i] > 0.5) y[i] = x[0].values[i];
        return y;
      });
}

}  // namespace

Samples large_samples() {
  Samples all;
  add_functions(all);
  add_pairs(all);
  add_places(all);
  return all;
}

}  // namespace gradus::testing
