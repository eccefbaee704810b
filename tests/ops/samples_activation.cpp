#include <functional>
#include <numbers>

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

struct Activation {
  std::string op;
  std::function<Tensor(const Tensor&)> f;
  Generic<OfOne> of_number;
  std::string note = {};
  std::string function = {};
};

template <class T>
T sigmoid_of(const T& x) {
  return 1 / (1 + math::exp(-x));
}

template <class T>
T gelu_erf_of(const T& x) {
  return x / 2 * (1 + math::erf(x / std::numbers::sqrt2));
}

std::vector<Activation> activations() {
  return {
      {"relu", relu, [](auto x) { return math::max(x, decltype(x)(0.0)); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.3); },
       [](auto x) { return x > 0 ? x : 0.3 * x; }},
      {"elu", [](const Tensor& x) { return elu(x, 1.7); },
       [](auto x) { return x > 0 ? x : 1.7 * math::expm1(x); }},
      {"softplus", softplus, [](auto x) { return math::log(1 + math::exp(x)); }},
      {"softplus", [](const Tensor& x) { return softplus(8.0 * x); },
       [](auto x) { return math::log(1 + math::exp(8 * x)); }, "far from 0"},
      {"silu", silu, [](auto x) { return x * sigmoid_of(x); }},
      {"silu", [](const Tensor& x) { return silu(6.0 * x); },
       [](auto x) { return 3 * x * (1 + math::tanh(3 * x)); }, "far from 0"},
      {"gelu", [](const Tensor& x) { return gelu(x, Gelu::tanh); },
       [](auto x) { return naive::gelu_of(x); }},
      {"gelu", [](const Tensor& x) { return gelu(3.0 * x, Gelu::tanh); },
       [](auto x) { return naive::gelu_of(3 * x); }, "far from 0"},
      {"gelu_erf", [](const Tensor& x) { return gelu(x, Gelu::erf); },
       [](auto x) { return gelu_erf_of(x); }, "", "gelu"},
      {"gelu_erf", [](const Tensor& x) { return gelu(3.0 * x, Gelu::erf); },
       [](auto x) { return gelu_erf_of(3 * x); }, "far from 0", "gelu"},
      {"gelu", [](const Tensor& x) { return square(gelu(gelu(x, Gelu::tanh), Gelu::tanh)); },
       [](auto x) {
         const auto y = naive::gelu_of(naive::gelu_of(x));
         return y * y;
       },
       "twice, with the inner output recomputed"},
  };
}

void add_layouts(Samples& out, const Activation& activation) {
  const std::string note = activation.note.empty() ? "" : activation.note + ", ";
  const Generic<OfOne>& g = activation.of_number;
  for (const Shape& shape : {Shape{3, 7}, Shape{}, Shape{1}, Shape{0, 5}})
    out.push_back({.op = activation.op,
                   .what = note + "shape " + to_string(shape),
                   .inputs = {values(shape, 0)},
                   .f = [f = activation.f](const Inputs& x) { return f(x[0]); },
                   .reference =
                       [g]<class T>(const Arguments<T>& x) {
                         List<T> y = x[0].values;
                         for (T& v : y) v = g(v);
                         return y;
                       },
                   .function = activation.function});
  out.push_back({.op = activation.op,
                 .what = note + "every second column of a slice",
                 .inputs = {values({3, 8}, 1)},
                 .f = [f = activation.f](const Inputs& x) { return f(slice(x[0], 1, 1, 8, 2)); },
                 .reference =
                     [g]<class T>(const Arguments<T>& x) {
                       List<T> y;
                       for (std::size_t row = 0; row < 3; ++row)
                         for (std::size_t column = 1; column < 8; column += 2)
                           y.push_back(g(x[0].values[row * 8 + column]));
                       return y;
                     },
                 .function = activation.function});
}

/// x [outer, 2n, inner]
Sample glu_along(std::string what, const Shape& shape, int axis, std::size_t n, std::size_t inner) {
  return {.op = "multiply",
          .what = "glu " + std::move(what),
          .inputs = {values(shape, 2)},
          .f = [axis](const Inputs& x) { return glu(x[0], axis); },
          .reference =
              [n, inner]<class T>(const Arguments<T>& x) {
                const List<T> v = x[0].values;
                List<T> out;
                for (std::size_t o = 0; o * 2 * n * inner < v.size(); ++o)
                  for (std::size_t i = 0; i < n * inner; ++i) {
                    const std::size_t at = o * 2 * n * inner + i;
                    out.push_back(v[at] * sigmoid_of(v[at + n * inner]));
                  }
                return out;
              },
          .function = "glu"};
}

Sample swiglu_of(const Shape& shape) {
  return {.op = "swiglu",
          .what = "shape " + to_string(shape),
          .inputs = {values(shape, 3), values(shape, 4)},
          .f = [](const Inputs& x) { return swiglu(x[0], x[1]); },
          .reference =
              []<class T>(const Arguments<T>& x) {
                const List<T> g = x[0].values, v = x[1].values;
                List<T> out;
                for (std::size_t i = 0; i < g.size(); ++i)
                  out.push_back(g[i] * sigmoid_of(g[i]) * v[i]);
                return out;
              }};
}

/// Splits a packed projection of shape [3, 2·4] into halves.
Sample swiglu_packed() {
  return {.op = "swiglu",
          .what = "halves of one tensor, the gate transposed in memory",
          .inputs = {values({4, 3}, 5), values({3, 8}, 6)},
          .f = [](const Inputs& x) { return swiglu(transpose(x[0]), slice(x[1], 1, 4, 8)); },
          .reference =
              []<class T>(const Arguments<T>& x) {
                const List<T> g = x[0].values, v = x[1].values;
                List<T> out;
                for (std::size_t i = 0; i < 3; ++i)
                  for (std::size_t j = 0; j < 4; ++j) {
                    const T gate = g[j * 3 + i];
                    out.push_back(gate * sigmoid_of(gate) * v[i * 8 + 4 + j]);
                  }
                return out;
              }};
}

/// The input has other users, so no gradient may overwrite it.
Sample shared_input() {
  return {.op = "swiglu",
          .what = "gate and input are one tensor, which the sum also uses",
          .inputs = {values({2, 5}, 7)},
          .f =
              [](const Inputs& x) {
                const Tensor twice = 2.0 * x[0];
                return swiglu(twice, twice) + square(twice);
              },
          .reference =
              []<class T>(const Arguments<T>& x) {
                List<T> out = x[0].values;
                for (T& v : out) v = 4 * v * v * (sigmoid_of(2 * v) + 1);
                return out;
              }};
}

}  // namespace

Samples activation_samples() {
  Samples out;
  for (const Activation& each : activations()) add_layouts(out, each);
  out.push_back(glu_along("the last axis", {3, 4}, -1, 2, 1));
  out.push_back(glu_along("the first axis", {6, 5}, 0, 3, 5));
  out.push_back(glu_along("a middle axis", {2, 2, 3}, 1, 1, 3));
  for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{0}}) out.push_back(swiglu_of(shape));
  out.push_back(swiglu_packed());
  out.push_back(shared_input());
  return out;
}

}  // namespace gradus::testing
