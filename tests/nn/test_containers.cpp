// Sequential, ModuleList, Residual and positions.
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::Numbers;
using naive::numbers;

/// Has no same_architecture().
struct Fixed : nn::Layer<Fixed> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x; }
};

// A layer is given away, not lent: a reference would share its weights.
static_assert(std::is_constructible_v<nn::Sequential, nn::Linear>);
static_assert(!std::is_constructible_v<nn::Sequential, nn::Linear&>);
static_assert(!std::is_constructible_v<nn::Sequential, nn::Embedding, int>);

}  // namespace

TEST_CASE("Sequential calls layers, functions and activations in order") {
  const nn::Sequential net(
      nn::Linear(2, 16), gradus::tanh, nn::Linear(16, 5), nn::Activation::gelu_tanh,
      [](const Tensor& x) { return x * 2.0; }, nn::Linear(5, 3, {.bias = false}));
  CHECK(net.size() == 6);
  std::vector<std::string> names;
  for (const nn::NamedTensor& each : net.parameters()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias", "5.weight"});
  const Tensor x = randn({7, 2});
  const std::vector<nn::NamedTensor> p = net.parameters();
  Numbers y = naive::affine(numbers(x), 2, numbers(p[0].tensor), numbers(p[1].tensor));
  for (double& each : y) each = std::tanh(each);
  y = naive::gelu(naive::affine(y, 16, numbers(p[2].tensor), numbers(p[3].tensor)));
  for (double& each : y) each *= 2;
  y = naive::affine(y, 5, numbers(p[4].tensor), {});
  const Numbers got = numbers(net(x));
  REQUIRE(got.size() == y.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(std::abs(got[i] - y[i]) < 1e-5);  // ~ 100 roundings
  sum(net(x)).backward();
  for (const nn::NamedTensor& each : net.parameters()) CHECK(each.tensor.grad().defined());
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
}

TEST_CASE("ModuleList finds modules of any type by name and number") {
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

TEST_CASE("ModuleList errors list the available modules") {
  nn::ModuleList list;
  list.add("tag", nn::Linear(4, 9));
  const std::string missing = message_of<ValueError>([&] { list.at<nn::Linear>("tags"); });
  CHECK(has(missing, "\"tags\""));
  CHECK(has(missing, "there are tag"));
  const std::string kind = message_of<ValueError>([&] { list.at<nn::LayerNorm>("tag"); });
  CHECK(has(kind, "a Linear"));
  CHECK(has(kind, "LayerNorm"));
  CHECK_REFUSES(IndexError, list.at<nn::Linear>(1), "1");
  CHECK(
      has(message_of<ValueError>([&] { list.add("tag", nn::LayerNorm(2)); }), "taken by a Linear"));
  CHECK_THROWS_AS(list.add("a.b", nn::LayerNorm(2)), ValueError);
  CHECK_THROWS_AS(list.add("", nn::LayerNorm(2)), ValueError);
  CHECK(list.size() == 1);
}

TEST_CASE("Residual adds its input and passes other arguments on") {
  const nn::Residual around(nn::Linear(3, 3));
  const Tensor x = randn({2, 5, 3});
  CHECK(numbers(around(x)) == numbers(x + around.inner(x)));
  CHECK(around.parameters()[0].name == "inner.weight");
  CHECK(numbers(around.clone()(x)) == numbers(around(x)));
  const nn::Residual attention(nn::MultiHeadAttention({.width = 3, .heads = 1}));
  CHECK(numbers(attention(x, causal_mask())) == numbers(x + attention.inner(x, causal_mask())));
  const std::string message = message_of<ShapeError>([&] { nn::Residual(nn::Linear(3, 4))(x); });
  CHECK(has(message, "Linear"));
  CHECK(has(message, "[2, 5, 3]"));
  CHECK(has(message, "[2, 5, 4]"));
  CHECK_THROWS_AS(nn::Residual(nn::Linear(3, 1))(x), ShapeError);  // it would broadcast
}

TEST_CASE("sinusoidal positions follow the paper") {
  const Tensor table = nn::sinusoidal_positions(6, 5, Dtype::f64);
  const Numbers got = numbers(table);
  for (std::int64_t position = 0; position < 6; ++position)
    for (std::int64_t i = 0; i < 3; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(10000.0, -2.0 * static_cast<double>(i) / 5);
      // Two ways to the same angle differ by a few roundings of it, and the sine by no more.
      CHECK(std::abs(got[at(position * 5 + 2 * i)] - std::sin(angle)) < 1e-15 * (1 + angle));
      if (i < 2)
        CHECK(std::abs(got[at(position * 5 + 2 * i + 1)] - std::cos(angle)) < 1e-15 * (1 + angle));
    }
  CHECK(nn::sinusoidal_positions(0, 4).shape() == Shape{0, 4});
  CHECK(nn::sinusoidal_positions(2, 4).dtype() == Dtype::f32);
  CHECK_THROWS_AS(nn::sinusoidal_positions(-1, 4), ValueError);
  CHECK_THROWS_AS(nn::sinusoidal_positions(2, 4, Dtype::i64), DtypeError);
}

TEST_CASE("position layers add the rows that begin at `first`") {
  const nn::SinusoidalPosition fixed(8, 4);
  const nn::LearnedPosition learned(8, 4);
  const Tensor x = randn({2, 3, 4}, Dtype::f64);
  const Numbers xs = numbers(x), table = numbers(nn::sinusoidal_positions(8, 4, Dtype::f64));
  const Numbers got = numbers(fixed(x, 5));
  for (std::int64_t i = 0; i < 24; ++i) CHECK(got[at(i)] == xs[at(i)] + table[at(5 * 4 + i % 12)]);
  CHECK(fixed(x.to(Dtype::f32)).dtype() == Dtype::f32);
  CHECK(fixed.parameters().empty());

  sum(learned(x.to(Dtype::f32), 4)).backward();
  const Numbers dw = numbers(learned.weight.grad());
  for (std::int64_t i = 0; i < 32; ++i) CHECK(dw[at(i)] == (i / 4 >= 4 && i / 4 < 7 ? 2 : 0));
  CHECK(numbers(learned.clone().weight) == numbers(learned.weight));

  const std::string beyond = message_of<ShapeError>([&] { fixed(x, 6); });
  CHECK(has(beyond, "SinusoidalPosition"));
  CHECK(has(beyond, "6 to 8"));
  CHECK(has(beyond, "length of 8"));
  CHECK_REFUSES(ShapeError, learned(ones({2, 3, 5})), "[2, 3, 5]");
  CHECK_THROWS_AS(learned(ones({3, 4})), ShapeError);
  CHECK_THROWS_AS(fixed(x, -1), ValueError);
  CHECK_THROWS_AS(nn::LearnedPosition(0, 4), ValueError);
  CHECK_THROWS_AS(nn::SinusoidalPosition(4, 0), ValueError);
}

}  // namespace gradus::testing
