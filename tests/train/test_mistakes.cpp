// Reproduces the mistakes in docs/guides/troubleshooting.md and compares the messages.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_mistakes {
namespace {

/// A net whose members() omits `down`.
struct Net : nn::Layer<Net> {
  nn::Linear up{2, 8}, down{8, 3};
  nn::Members members() override { return {{"up", up}}; }
  Tensor forward(const Tensor& x) const { return down(tanh(up(x))); }  // [N, 2] → [N, 3]
};

/// Replaces node numbers with 7 and locations with train.cpp:12.
std::string normalized(std::string text) {
  const auto number_from = [&](std::size_t at) { return text.find_first_not_of("0123456789", at); };
  const auto with = [&](const std::string& before, const std::string& now) {
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += now.size())
      text.replace(at, number_from(at + before.size()) - at, now);
  };
  with("node ", "node 7");
  with(std::string(__FILE__) + ":", "train.cpp:12");
  return text;
}

/// Requires the message to be a line of the mistake's section in docs/guides/troubleshooting.md.
template <class E>
void mistake(int number, const std::function<void()>& f) {
  const std::string message = normalized(message_of<E>(f));
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/guides/troubleshooting.md");
  std::ostringstream page;
  page << file.rdbuf();
  const std::string all = page.str(), begin = "\n**" + std::to_string(number) + ".";
  const std::size_t at = all.find(begin);
  REQUIRE(at != std::string::npos);
  INFO(message);
  CHECK(has(all.substr(at, all.find("\n**", at + 1) - at), "\n" + message + "\n"));
}

Tensor bools(const std::vector<bool>& values, const Shape& shape) { return tensor(values, shape); }

}  // namespace

TEST_CASE("mistake 1: a layer that members() forgets") {
  mistake<GraphError>(1, [] { Net()(randn({4, 2})); });
}

TEST_CASE("mistake 2: backward twice, because the forward pass is before the loop") {
  nn::Linear layer(2, 3);
  optim::SGD optimizer(layer.parameters());
  const Tensor loss = mse_loss(layer(randn({4, 2})), randn({4, 3}));
  mistake<GraphError>(2, [&] {
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
  });
}

TEST_CASE("mistake 3: backward from more than one element") {
  const nn::Linear layer(2, 3);
  mistake<GraphError>(3, [&] { layer(randn({4, 2})).backward(); });
}

TEST_CASE("mistake 4: the wrong shape into a layer") {
  const nn::Linear layer(3, 4);
  mistake<ShapeError>(4, [&] { layer(randn({5, 2})); });
  mistake<ShapeError>(4, [&] { layer(randn({3, 5})); });
  CHECK_THROWS_AS(layer(tensor(1)), ShapeError);
  CHECK_THROWS_AS(layer(randn({5})), ShapeError);
}

TEST_CASE("mistake 5: a token id beyond the vocabulary") {
  const nn::Embedding table(5, 4);
  mistake<IndexError>(5, [&] { table(tensor(std::vector<std::int64_t>{0, 3, 5}, {1, 3})); });
}

TEST_CASE("mistake 6: doubles of C++ for a model in float") {
  const nn::Linear layer(2, 3);
  const std::vector<double> numbers = {1, 2, 3, 4};
  mistake<DtypeError>(6, [&] { layer(tensor(numbers, {2, 2})); });
  mistake<DtypeError>(6, [&] { layer(ones({2, 2})) - ones({2, 3}, Dtype::f64); });
}

TEST_CASE("mistake 7: writing to a tensor that backward still needs") {
  const nn::Linear layer(2, 3);
  Tensor h = exp(layer(ones({4, 2})));
  mistake<GraphError>(7, [&] { h.fill_(0); });
  Tensor batch = ones({4, 2});
  const Tensor loss = sum(layer(batch));
  batch.copy_(randn({4, 2}));  // overwrites the batch before backward
  mistake<GraphError>(7, [&] { loss.backward(); });
}

TEST_CASE("mistake 8: a loss that reaches no parameter") {
  nn::Linear layer(2, 3);
  optim::SGD optimizer(layer.parameters());
  const Tensor x = randn({4, 2}), target = randn({4, 3});
  mistake<GraphError>(8, [&] {
    mse_loss(layer(x), target);
    optimizer.step();
  });
  mistake<GraphError>(8, [&] { mse_loss(layer(x).detach(), target).backward(); });
}

TEST_CASE("mistake 9: training under NoGrad") {
  const nn::Linear layer(2, 3);
  const Tensor x = randn({4, 2}), target = randn({4, 3});
  mistake<GraphError>(9, [&] {
    const NoGrad left_over_from_evaluation;
    mse_loss(layer(x), target).backward();
  });
}

TEST_CASE("mistake 10: a transposed mask") {
  const Tensor q = randn({2, 1, 3, 4}), k = randn({2, 1, 5, 4});  // B = 2, T = 3, S = 5
  const auto attend = [&](const Tensor& allowed) {
    scaled_dot_product_attention(q, k, k, dense_mask(allowed));
  };
  const auto trues = [](const Shape& shape) { return full(shape, 1, Dtype::bool_); };
  mistake<ShapeError>(10, [&] { attend(trues({5, 3})); });
  mistake<ShapeError>(10, [&] { attend(trues({2, 5})); });
  mistake<ShapeError>(10, [&] { attend(trues({2, 1, 1, 5})); });
  mistake<DtypeError>(10, [&] { attend(zeros({3, 5})); });
  // In the causal mask of PyTorch's nn.MultiheadAttention, true means "must not attend".
  const Tensor future = greater(triu(ones({4, 4}), 1), 0);
  mistake<ValueError>(10, [&] { dense_mask(future); });
}

TEST_CASE("a mask that may be intended is accepted") {
  const auto greater_than = [](const Tensor& x) { return greater(x, 0); };
  dense_mask(greater_than(triu(ones({4, 4}))));        // excludes the diagonal
  dense_mask(greater_than(triu(ones({4, 4}), 2)));     // allows one later key
  dense_mask(greater_than(triu(ones({3, 4}), 1)));     // the last query can attend to a key
  dense_mask(greater_than(triu(ones({1, 3, 3}), 1)));  // has a batch axis, so it may be data
  // The mask is too small to show its convention.
  dense_mask(bools({false, true, false, false}, {2, 2}));
  dense_mask(full({3, 3}, 0, Dtype::bool_));  // attention returns 0, as documented
  dense_mask(bools({false, true, true, false, false, true, true, false, false}, {3, 3}));
  dense_mask(logical_not(greater_than(triu(ones({4, 4}), 1))));
}

}  // namespace gradus::testing::test_mistakes
