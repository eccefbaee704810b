// The layers one by one: against plain loops, in training and evaluation, and with bad input.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::Numbers;
using naive::numbers;

/// Differences in roundings of f32, of the largest value: a few for each operation of a layer.
double roundings(const Tensor& x, const Numbers& right) {
  const Numbers got = numbers(x);
  REQUIRE(got.size() == right.size());
  double worst = 0, scale = 1e-300;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - right[i]));
    scale = std::max(scale, std::abs(right[i]));
  }
  return worst / scale / 0x1p-24;
}

/// (x − mean) / √(variance + 1e-5) of each column of x [N, C], and the columns' statistics.
struct Columns {
  Numbers normal, mean, variance;  // variance with n − 1, as the running one
};
Columns normalised_columns(const Numbers& x, std::int64_t C) {
  const std::int64_t N = std::ssize(x) / C;
  Columns out{x, Numbers(at(C)), Numbers(at(C))};
  for (std::int64_t c = 0; c < C; ++c) {
    double mean = 0, squares = 0;
    for (std::int64_t n = 0; n < N; ++n) mean += x[at(n * C + c)] / static_cast<double>(N);
    for (std::int64_t n = 0; n < N; ++n) squares += std::pow(x[at(n * C + c)] - mean, 2);
    for (std::int64_t n = 0; n < N; ++n)
      out.normal[at(n * C + c)] =
          (x[at(n * C + c)] - mean) / std::sqrt(squares / static_cast<double>(N) + 1e-5);
    out.mean[at(c)] = mean, out.variance[at(c)] = squares / static_cast<double>(N - 1);
  }
  return out;
}

}  // namespace

TEST_CASE("Linear equals a plain affine map, with and without bias") {
  const nn::Linear layer(5, 3);
  CHECK(layer.weight.shape() == Shape{3, 5});
  const Tensor x = randn({2, 7, 5});
  const Tensor y = layer(x);
  CHECK(y.shape() == Shape{2, 7, 3});
  CHECK(roundings(y, naive::affine(numbers(x), 5, numbers(layer.weight), numbers(layer.bias))) <
        16);
  for (const double w : numbers(layer.weight)) CHECK(std::abs(w) <= 1 / std::sqrt(5.0));
  CHECK(!nn::Linear(5, 3, {.bias = false}).bias.defined());
  CHECK(nn::Linear(5, 3, {.bias = false}).clone()(x).shape() == Shape{2, 7, 3});

  CHECK_REFUSES(ValueError, nn::Linear(0, 3), "0", "3");
  CHECK_THROWS_AS(nn::Linear(3, -1), ValueError);
  CHECK_REFUSES(ShapeError, layer(ones({2, 4})), "[2, 4]");
  CHECK_THROWS_AS(nn::Linear()(x), ValueError);  // a place for one, with nothing in it
}

TEST_CASE("Embedding returns rows of its weight and accumulates their gradients") {
  const nn::Embedding layer(7, 3);
  const Tensor ids = indices({6, 0, 6});
  const Tensor y = layer(ids);
  CHECK(y.shape() == Shape{3, 3});
  const Numbers w = numbers(layer.weight), got = numbers(y);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(got[c] == w[18 + c]);
    CHECK(got[3 + c] == w[c]);
    CHECK(got[6 + c] == w[18 + c]);
  }
  sum(y).backward();
  const Numbers dw = numbers(layer.weight.grad());
  for (std::size_t i = 0; i < dw.size(); ++i) CHECK(dw[i] == (i < 3 ? 1 : i < 18 ? 0 : 2));

  const std::string range = message_of<IndexError>([&] { layer(indices({2, 7})); });
  CHECK(has(range, "7"));
  CHECK(has(range, "(in Embedding)"));
  CHECK_THROWS_AS(layer(indices({-1})), IndexError);
  CHECK_THROWS_AS(layer(ones({2})), DtypeError);
  CHECK_REFUSES(ValueError, nn::Embedding(0, 3), "0");
}

TEST_CASE("the padding row of an embedding is 0 and gets no gradient") {
  const nn::Embedding layer(4, 2, {.padding_idx = 2});
  const Numbers w = numbers(layer.weight);
  CHECK((w[4] == 0 && w[5] == 0));
  CHECK((w[0] != 0 && w[6] != 0));
  sum(layer(indices({2, 1, 2}))).backward();
  CHECK(numbers(layer.weight.grad()) == Numbers{0, 0, 1, 1, 0, 0, 0, 0});
  CHECK(layer.clone().options.padding_idx == 2);
  CHECK_REFUSES(ValueError, nn::Embedding(4, 2, {.padding_idx = 4}), "0", "4");
  CHECK_REFUSES(ValueError, nn::Embedding(4, 2, {.padding_idx = -1}), "-1");
}

TEST_CASE("LayerNorm and RMSNorm equal plain loops") {
  const Tensor x = randn({3, 5, 7});
  const nn::LayerNorm layer(7);
  CHECK(roundings(layer(x), naive::layer_norm(numbers(x), 7, Numbers(7, 1.0), Numbers(7, 0.0))) <
        32);
  const nn::LayerNorm plain(7, {.eps = 0.5, .affine = false});
  CHECK(plain.parameters().empty());
  CHECK(roundings(plain(x),
                  naive::layer_norm(numbers(x), 7, Numbers(7, 1.0), Numbers(7, 0.0), 0.5)) < 32);
  CHECK(plain.clone()(x).to_vector<float>() == plain(x).to_vector<float>());

  const nn::RMSNorm rms(7);
  const Numbers y = numbers(rms(x));
  for (std::size_t r = 0; r < 15; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < 7; ++c) squares += y[r * 7 + c] * y[r * 7 + c];
    // y² sums to 7 s / (s + eps), with s the mean square of the row: 1e-5 / s less than 7.
    CHECK(std::abs(squares - 7) < 7e-3);
  }
  for (const char* layer_name : {"LayerNorm", "RMSNorm"}) {
    const bool is_layer_norm = layer_name[0] == 'L';
    const std::string message = message_of<ShapeError>([&] {
      if (is_layer_norm)
        plain(ones({2, 6}));
      else
        rms(ones({2, 6}));
    });
    CHECK(has(message, layer_name));
    CHECK(has(message, "[2, 6]"));
    CHECK(has(message, "width 7"));
  }
  CHECK_THROWS_AS(nn::LayerNorm(0), ValueError);
  CHECK_THROWS_AS(nn::RMSNorm(4, {.eps = -1}), ValueError);
  CHECK_THROWS_AS(plain(Tensor()), ValueError);
}

TEST_CASE("BatchNorm1d uses batch statistics in training and running ones in evaluation") {
  nn::BatchNorm1d layer(3, {.momentum = 0.25});
  const Tensor x = randn({7, 3});
  const Columns right = normalised_columns(numbers(x), 3);
  CHECK(roundings(layer(x), right.normal) < 64);
  Numbers mean, variance;
  for (std::size_t c = 0; c < 3; ++c) {
    mean.push_back(0.25 * right.mean[c]);
    variance.push_back(0.75 + 0.25 * right.variance[c]);
  }
  CHECK(roundings(layer.running_mean, mean) < 16);
  CHECK(roundings(layer.running_var, variance) < 16);

  layer.eval();
  const Numbers before = numbers(layer.running_mean), xs = numbers(x);
  Numbers y;
  for (std::size_t i = 0; i < xs.size(); ++i)
    y.push_back((xs[i] - mean[i % 3]) / std::sqrt(variance[i % 3] + 1e-5));
  CHECK(roundings(layer(x), y) < 64);
  CHECK(numbers(layer.running_mean) == before);
  CHECK(layer.buffers().size() == 2);
  CHECK(layer.buffers()[1].name == "running_var");
  const nn::BatchNorm1d copy = layer.clone();
  CHECK(numbers(copy.running_mean) == before);
  CHECK(copy.running_mean.storage() != layer.running_mean.storage());
}

TEST_CASE("BatchNorm1d refuses inputs and options that do not fit") {
  nn::BatchNorm1d layer(3);
  CHECK(layer(randn({2, 3, 5})).shape() == Shape{2, 3, 5});
  CHECK_REFUSES(Error, layer(ones({4, 2})), "[4, 2]");
  CHECK_THROWS_AS(layer(ones({1, 3})), Error);  // one value a channel has no variance
  CHECK_THROWS_AS(nn::BatchNorm1d(3, {.momentum = 2}), ValueError);
  CHECK_THROWS_AS(nn::BatchNorm1d(0), ValueError);
}

TEST_CASE("Dropout acts in training and follows the seed") {
  nn::Dropout layer(0.25);
  const Tensor x = ones({10000});
  seed(5);
  const Numbers a = numbers(layer(x));
  seed(5);
  const Numbers b = numbers(layer(x)), c = numbers(layer(x));
  CHECK(a == b);
  CHECK(a != c);
  CHECK(std::set<double>(a.begin(), a.end()).size() == 2);  // 0 and 1 / 0.75
  double kept = 0;
  for (const double each : a) kept += each != 0;
  CHECK(std::abs(kept - 7500) < 6 * std::sqrt(10000 * 0.25 * 0.75));  // six deviations
  layer.eval();
  CHECK(layer(x).storage() == x.storage());
  CHECK(layer.clone().p == 0.25);
  CHECK(!layer.clone().training());
  CHECK_REFUSES(ValueError, nn::Dropout(1), "0", "1");
  CHECK_THROWS_AS(nn::Dropout(-0.1), ValueError);
}

TEST_CASE("an unknown activation is refused") {
  CHECK_REFUSES(ValueError, nn::activate(ones({2}), nn::Activation(99)), "99");
}

TEST_CASE("FeedForward equals its composition for every activation") {
  const nn::FeedForward layer({.width = 3});
  CHECK(layer.up.weight.shape() == Shape{12, 3});
  const Tensor x = randn({2, 5, 3});
  const auto affine = [](const Numbers& in, std::int64_t width, const nn::Linear& l) {
    return naive::affine(in, width, numbers(l.weight), numbers(l.bias));
  };
  const Numbers right = affine(naive::gelu(affine(numbers(x), 3, layer.up)), 12, layer.down);
  CHECK(roundings(layer(x), right) < 32);
  const nn::FeedForward relu(
      {.width = 3, .hidden = 5, .activation = nn::Activation::relu, .bias = false});
  Numbers hidden = naive::affine(numbers(x), 3, numbers(relu.up.weight), {});
  for (double& each : hidden) each = std::max(each, 0.0);
  CHECK(roundings(relu(x), naive::affine(hidden, 5, numbers(relu.down.weight), {})) < 32);
  CHECK_THROWS_AS(nn::FeedForward({.width = 0}), ValueError);
  CHECK_THROWS_AS(nn::FeedForward({.width = 2, .hidden = -1}), ValueError);
  CHECK_THROWS_AS(nn::activate(x, static_cast<nn::Activation>(77)), ValueError);
}

}  // namespace gradus::testing
