// A beginner's ten mistakes and their error messages, as docs/mistakes.md lists them.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/optim.h"

namespace gradus::testing {
namespace {

/// Forgets one of its two layers.
struct Net : nn::Layer<Net> {
  nn::Linear up{2, 8}, down{8, 3};
  nn::Members members() override { return {{"up", up}}; }
  Tensor forward(const Tensor& x) const { return down(tanh(up(x))); }  // [N, 2] → [N, 3]
};

/// `text` with every number after "node " as 7, and every place in this file as train.cpp:12.
std::string told(std::string text) {
  const auto number_from = [&](std::size_t at) { return text.find_first_not_of("0123456789", at); };
  const auto with = [&](const std::string& before, const std::string& now) {
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += now.size())
      text.replace(at, number_from(at + before.size()) - at, now);
  };
  with("node ", "node 7");
  with(std::string(__FILE__) + ":", "train.cpp:12");
  return text;
}

/// What f says, in the words of docs/mistakes.md; those must be there.
template <class E>
std::string mistake(const std::function<void()>& f) {
  const std::string message = told(message_of<E>(f));
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/mistakes.md");
  std::ostringstream page;
  page << file.rdbuf();
  INFO(message);
  CHECK(has(page.str(), "\n" + message + "\n"));
  return message;
}

Tensor bools(const std::vector<bool>& values, const Shape& shape) { return tensor(values, shape); }

}  // namespace

TEST_CASE("mistake 1: a layer that members() forgets") {
  CHECK(mistake<GraphError>([] {
          Net()(randn({4, 2}));
        }) ==
        "Net: a parameter [3, 8] used by linear in Net is not in members(), so it would never be "
        "trained nor saved: add it there, or detach() it where it is used (in Net)");
}

TEST_CASE("mistake 2: backward twice, because the forward pass is before the loop") {
  nn::Linear layer(2, 3);
  optim::SGD optimizer(layer.parameters());
  const Tensor loss = mse_loss(layer(randn({4, 2})), randn({4, 3}));
  CHECK(mistake<GraphError>([&] {
          for (int step = 0; step < 2; ++step) {
            optimizer.zero_grad();
            loss.backward();
            optimizer.step();
          }
        }) ==
        "backward: " + std::string(loss.node()->name()) +
            " (node 7) was used by an earlier backward and has released what it saved: call the "
            "first one with {.keep_graph = true}, or run the forward again");
}

TEST_CASE("mistake 3: backward from more than one element") {
  const nn::Linear layer(2, 3);
  CHECK(mistake<GraphError>([&] {
          layer(randn({4, 2})).backward();
        }) ==
        "backward: the output has shape [4, 3]; a gradient starts by itself only from one element: "
        "sum or average first, or pass the gradient of the output");
}

TEST_CASE("mistake 4: the wrong shape into a layer") {
  const nn::Linear layer(3, 4);
  CHECK(mistake<ShapeError>([&] {
          layer(randn({5, 2}));
        }) ==
        "linear: the input [5, 2] does not end in the weight's input size: [4, 3] is [out, in] and "
        "wants [..., 3]: give the layer as many inputs as the last axis has (in Linear)");
  CHECK(mistake<ShapeError>([&] {
          layer(randn({3, 5}));
        }) ==
        "linear: the input [3, 5] does not end in the weight's input size: [4, 3] is [out, in] and "
        "wants [..., 3]: did you mean transpose(x)? (in Linear)");
  CHECK_THROWS_AS(layer(tensor(1)), ShapeError);  // no axis at all
  CHECK_THROWS_AS(layer(randn({5})), ShapeError);
}

TEST_CASE("mistake 5: a token id beyond the vocabulary") {
  const nn::Embedding table(5, 4);
  CHECK(mistake<IndexError>([&] {
          table(tensor(std::vector<std::int64_t>{0, 3, 5}, {1, 3}));
        }) ==
        "embedding: id 5 at [0, 2] of [1, 3] is not in [0, 5): make the table for a larger "
        "vocabulary, or give what is unknown an id that it has (in Embedding)");
}

TEST_CASE("mistake 6: doubles of C++ for a model in float") {
  const nn::Linear layer(2, 3);
  const std::vector<double> numbers = {1, 2, 3, 4};
  CHECK(mistake<DtypeError>([&] {
          layer(tensor(numbers, {2, 2}));
        }) ==
        "linear: the input is f64 but the weight f32: convert one with to(x, dtype) (in Linear)");
  CHECK(mistake<DtypeError>([&] {
          layer(ones({2, 2})) - ones({2, 3}, Dtype::f64);
        }) ==
        "subtract: the operands are f32 [2, 3] and f64 [2, 3]: convert one with to(x, dtype)");
}

TEST_CASE("mistake 7: writing to a tensor that backward still needs") {
  const nn::Linear layer(2, 3);
  Tensor h = exp(layer(ones({4, 2})));
  CHECK(mistake<GraphError>([&] { h.fill_(0); }) ==
        "fill_: writing to a tensor [4, 3] whose gradient is wanted would not be recorded: write "
        "under NoGrad (a leaf), or to a clone()");
  Tensor batch = ones({4, 2});
  const Tensor loss = sum(layer(batch));
  batch.copy_(randn({4, 2}));  // the next one, too early
  CHECK(mistake<GraphError>([&] { loss.backward(); }) ==
        "a tensor [4, 2] that backward needs was saved at version 1 and has since been written to "
        "(now version 2) at train.cpp:12: write before the forward, or to a clone() (in backward "
        "of linear, node 7)");
}

TEST_CASE("mistake 8: a loss that reaches no parameter") {
  nn::Linear layer(2, 3);
  optim::SGD optimizer(layer.parameters());
  const Tensor x = randn({4, 2}), target = randn({4, 3});
  CHECK(mistake<GraphError>([&] {
          mse_loss(layer(x), target);
          optimizer.step();  // without backward
        }) ==
        "optimiser: no parameter has a gradient: call loss.backward() before step(), outside "
        "NoGrad, on a loss that depends on them");
  CHECK(mistake<GraphError>([&] { mse_loss(layer(x).detach(), target).backward(); }) ==
        "backward: nothing that this tensor was made from requires a gradient: call "
        "requires_grad_() on a leaf, and do not leave the graph by NoGrad or detach()");
}

TEST_CASE("mistake 9: training under NoGrad") {
  const nn::Linear layer(2, 3);
  const Tensor x = randn({4, 2}), target = randn({4, 3});
  CHECK(mistake<GraphError>([&] {
          const NoGrad left_over_from_evaluation;
          mse_loss(layer(x), target).backward();
        }) ==
        "backward: nothing that this tensor was made from requires a gradient: call "
        "requires_grad_() on a leaf, and do not leave the graph by NoGrad or detach()");
}

TEST_CASE("mistake 10: a transposed mask") {
  const Tensor q = randn({2, 1, 3, 4}), k = randn({2, 1, 5, 4});  // B 2, T 3, S 5
  const auto attend = [&](const Tensor& allowed) {
    scaled_dot_product_attention(q, k, k, dense_mask(allowed));
  };
  const auto trues = [](const Shape& shape) { return full(shape, 1, Dtype::bool_); };
  CHECK(mistake<ShapeError>([&] {
          attend(trues({5, 3}));
        }) ==
        "dense_mask: made for [batch, heads, queries, keys] = [1, 1, 5, 3], used on [2, 1, 3, 5]: "
        "rows are queries, columns are keys: transpose() it");
  CHECK(mistake<ShapeError>([&] {
          attend(trues({2, 5}));
        }) ==
        "dense_mask: made for [batch, heads, queries, keys] = [1, 1, 2, 5], used on [2, 1, 3, 5]: "
        "a row for each example is padding: use padding_mask(lengths)");
  CHECK(mistake<ShapeError>([&] {
          attend(trues({2, 1, 1, 5}));
        }) ==
        "dense_mask: made for [batch, heads, queries, keys] = [2, 1, 1, 5], used on [2, 1, 3, 5]: "
        "queries are not repeated: use padding_mask(lengths), or expand() it");
  CHECK(mistake<DtypeError>([&] {
          attend(zeros({3, 5}));
        }) ==
        "dense_mask: wants a bool tensor (true = may attend), not f32: compare, as in "
        "greater(x, 0); numbers to be added to the scores are AttentionOptions::bias");
  // What hides the future in PyTorch's nn.MultiheadAttention, where true = must not attend.
  const Tensor future = greater(triu(ones({4, 4}), 1), 0);
  CHECK(mistake<ValueError>([&] { dense_mask(future); }) ==
        "dense_mask: this lets each query attend only to keys after it, and the last to none: "
        "true = may attend: turn it round with logical_not(), or use causal_mask()");
}

TEST_CASE("a mask that may be intended is accepted") {
  const auto greater_than = [](const Tensor& x) { return greater(x, 0); };
  dense_mask(greater_than(triu(ones({4, 4}))));            // to oneself, too
  dense_mask(greater_than(triu(ones({4, 4}), 2)));         // later still
  dense_mask(greater_than(triu(ones({3, 4}), 1)));         // the last query has a key
  dense_mask(greater_than(triu(ones({1, 3, 3}), 1)));      // of one example: it may be data
  dense_mask(bools({false, true, false, false}, {2, 2}));  // too small to tell
  dense_mask(full({3, 3}, 0, Dtype::bool_));               // nobody: gives 0, as documented
  dense_mask(bools({false, true, true, false, false, true, true, false, false}, {3, 3}));
  dense_mask(logical_not(greater_than(triu(ones({4, 4}), 1))));
}

}  // namespace gradus::testing
