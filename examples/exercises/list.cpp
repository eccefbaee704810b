// The exercises: forward, the backward to check, and the inputs.
#include <cmath>
#include <utility>

#include "gradus/engine/base/random.h"
#include "gradus/examples/exercises/exercises.h"
#include "gradus/examples/exercises/grader.h"

namespace gradus::exercises {
namespace {

Tensor random(const Shape& shape) { return randn(shape, Dtype::f64); }

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor s = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  return matmul(softmax(s), v);
}

std::vector<Exercise> first_five() {
  const Tensor with_a_zero = tensor({{-1.5, 0, 2}, {0.5, -0.25, 1}}, Dtype::f64);
  return {
      {"sum",
       [](const Tensors& in) { return sum(in[0]); },
       [](const Tensors& in, const Tensor& dy) { return sum_backward(in[0], dy); },
       {random({2, 3})},
       {.names = {"x"}}},
      {"multiply",
       [](const Tensors& in) { return in[0] * in[1]; },
       [](const Tensors& in, const Tensor& dy) { return multiply_backward(in[0], in[1], dy); },
       {random({2, 3, 5}), random({3, 1})},
       {.names = {"a", "b"}}},
      {"matmul",
       [](const Tensors& in) { return matmul(in[0], in[1]); },
       [](const Tensors& in, const Tensor& dy) { return matmul_backward(in[0], in[1], dy); },
       {random({3, 4}), random({4, 5})},
       {.names = {"a", "b"}}},
      {"relu",
       [](const Tensors& in) { return relu(in[0]); },
       [](const Tensors& in, const Tensor& dy) { return relu_backward(in[0], dy); },
       {with_a_zero},
       {.names = {"x"}, .kinks = {{.input = 0, .at = 0.0, .share = 0}}}},
      {"mean",
       [](const Tensors& in) { return mean(in[0], {1}); },
       [](const Tensors& in, const Tensor& dy) { return mean_backward(in[0], dy); },
       {random({2, 3, 5})},
       {.names = {"x"}}},
  };
}

std::vector<Exercise> last_five() {
  return {
      {"softmax",
       [](const Tensors& in) { return softmax(in[0]); },
       [](const Tensors& in, const Tensor& dy) { return softmax_backward(in[0], dy); },
       {random({3, 4})},
       {.names = {"x"}}},
      {"cross_entropy",
       [](const Tensors& in) { return cross_entropy(in[0], in[1]); },
       [](const Tensors& in, const Tensor& dy) { return cross_entropy_backward(in[0], in[1], dy); },
       {random({3, 4}), indices({2, 0, 3})},
       {.names = {"x", "target"}}},
      {"layer_norm",
       [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
       [](const Tensors& in, const Tensor& dy) {
         return layer_norm_backward(in[0], in[1], in[2], dy);
       },
       {random({3, 5}), random({5}), random({5})},
       {.names = {"x", "w", "b"}}},
      {"embedding",
       [](const Tensors& in) { return embedding(in[0], in[1]); },
       [](const Tensors& in, const Tensor& dy) { return embedding_backward(in[0], in[1], dy); },
       {random({5, 3}), indices({4, 1, 1, 0, 4, 1})},
       {.names = {"weight", "ids"}}},
      {"attention",
       [](const Tensors& in) { return attention(in[0], in[1], in[2]); },
       [](const Tensors& in, const Tensor& dy) {
         return attention_backward(in[0], in[1], in[2], dy);
       },
       {random({2, 3, 4}), random({2, 5, 4}), random({2, 5, 2})},
       {.names = {"q", "k", "v"}}},
  };
}

}  // namespace

std::vector<Exercise> exercises() {
  seed(1);
  std::vector<Exercise> all = first_five(), rest = last_five();
  for (Exercise& each : rest) all.push_back(std::move(each));
  return all;
}

}  // namespace gradus::exercises
