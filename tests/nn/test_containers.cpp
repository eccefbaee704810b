// Tests Sequential, ModuleList, Residual and positions.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/nn/attention.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_containers {
namespace {

using naive::at;
using naive::Numbers;
using naive::numbers;

struct Fixed : nn::Layer<Fixed> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x; }
};

struct Special : nn::Linear {
  using nn::Linear::Linear;
};

struct Scaled : nn::Layer<Scaled> {
  struct Options {
    double factor = 1;
  };
  explicit Scaled(const Options& given) : options(given) {}
  nn::Members members() override { return {{"bias", bias}}; }
  Tensor forward(const Tensor& x) const { return x * options.factor + bias; }

  Options options;
  Tensor bias = nn::parameter(randn({2}));
};

// Containers take layers by value: a reference would share weights.
static_assert(std::is_constructible_v<nn::Sequential, nn::Linear>);
static_assert(!std::is_constructible_v<nn::Sequential, nn::Linear&>);
static_assert(!std::is_constructible_v<nn::Sequential, nn::Embedding, int>);

}  // namespace

TEST_CASE("Sequential calls layers, functions and activations in order") {
  const nn::Sequential net(
      nn::Linear(2, 16), gradus::tanh, nn::Linear(16, 5), nn::Activation::gelu_tanh,
      [](const Tensor& x) { return x * 2.0; }, nn::Linear(5, 3, {.bias = false}));
  CHECK(net.size() == 6);
  const Tensor x = randn({7, 2});
  const std::vector<nn::NamedTensor> p = net.parameters();
  std::string names;
  for (const nn::NamedTensor& each : p) names += each.name + " ";
  CHECK(names == "0.weight 0.bias 2.weight 2.bias 5.weight ");
  const Tensor h =
      linear(gradus::tanh(linear(x, p[0].tensor, p[1].tensor)), p[2].tensor, p[3].tensor);
  CHECK(numbers(net(x)) == numbers(linear(gelu(h, Gelu::tanh) * 2.0, p[4].tensor)));
}

TEST_CASE("Sequential can grow, move, nest and be cloned") {
  nn::Sequential net;
  const Tensor x = randn({3, 2});
  CHECK(net(x).storage() == x.storage());
  net.add(nn::Linear(2, 4));
  net.add(relu);
  nn::Linear last(4, 2);
  net.add(std::move(last));
  const nn::Sequential moved = std::move(net);
  const nn::Sequential copy = moved.clone();
  CHECK(numbers(moved(x)) == numbers(copy(x)));
  CHECK(moved.parameters()[0].tensor.storage() != copy.parameters()[0].tensor.storage());
  nn::Sequential nested(nn::Sequential(nn::Linear(2, 2), relu), nn::Dropout(0.5));
  CHECK(nested.parameters()[0].name == "0.0.weight");
  CHECK(nested.clone().parameters().size() == 2);
  CHECK_REFUSES(ValueError, nn::Sequential(Fixed()).clone(), "Fixed");
  CHECK_REFUSES(ValueError, Fixed().clone(), "Fixed", "same_architecture");
  CHECK_REFUSES(GraphError, nn::Sequential(Special(2, 2)).clone(), "Special", "Linear");
}

TEST_CASE("a layer with a constructor from its options is cloned without same_architecture") {
  const Tensor x = randn({3, 2});
  const Scaled layer(Scaled::Options{.factor = 3});
  const nn::Residual around(Scaled(Scaled::Options{.factor = 5}));
  const nn::Sequential net(Scaled(Scaled::Options{.factor = 7}), relu);
  CHECK(numbers(layer.clone()(x)) == numbers(layer(x)));
  CHECK(numbers(around.clone()(x)) == numbers(around(x)));
  CHECK(numbers(net.clone()(x)) == numbers(net(x)));
}

TEST_CASE("ModuleList finds modules of any type by name and index") {
  nn::ModuleList list;
  const nn::Linear& tag = list.add("tag", nn::Linear(4, 9));
  list.add(nn::MultiHeadAttention({.width = 4, .heads = 2}));
  list.add("norm", nn::LayerNorm(4));
  CHECK(list.size() == 3);
  CHECK(&list.at<nn::Linear>("tag") == &tag);
  CHECK(&list.at<nn::Linear>(0) == &tag);
  CHECK(list.at<nn::MultiHeadAttention>("1")(ones({1, 3, 4})).shape() == Shape{1, 3, 4});
  CHECK(list.parameters()[0].name == "tag.weight");
  CHECK(list.parameters().back().name == "norm.bias");
  const nn::ModuleList moved = std::move(list);
  CHECK(&moved.at<nn::Linear>("tag") == &tag);
  const nn::ModuleList copy = moved.clone();
  CHECK(numbers(copy.at<nn::Linear>("tag").weight) == numbers(tag.weight));
  CHECK(copy.at<nn::Linear>("tag").weight.storage() != tag.weight.storage());
}

TEST_CASE("Residual adds its input and forwards other arguments") {
  const nn::Residual around(nn::Linear(3, 3));
  const Tensor x = randn({2, 5, 3});
  CHECK(numbers(around(x)) == numbers(x + around.inner(x)));
  CHECK(around.parameters()[0].name == "inner.weight");
  CHECK(numbers(around.clone()(x)) == numbers(around(x)));
  const nn::Residual attention(nn::MultiHeadAttention({.width = 3, .heads = 1}));
  CHECK(numbers(attention(x, causal_mask())) == numbers(x + attention.inner(x, causal_mask())));
  CHECK_THROWS_AS(nn::Residual(nn::Linear(3, 1))(x), ShapeError);  // the sum would broadcast
}

}  // namespace gradus::testing::test_containers
