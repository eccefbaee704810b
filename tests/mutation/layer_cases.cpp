// Scenarios of layers: dropout's places, the choice of an activation, what attention leaves undone.
#include <cmath>

#include "gradus/base/random.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/block.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/attention.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/matmul.h"
#include "gradus/tests/mutation/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::mutation {
namespace {

using testing::values;

/// f's numbers when random ones begin anew.
std::vector<float> drawn(const std::function<Tensor()>& f) {
  seed(7);
  return f().to_vector<float>();
}

/// Dropout acts on what each branch adds, and only in training.
void block_dropout() {
  seed(3);
  for (const nn::NormPlacement placement : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    nn::Block block({.width = 6, .heads = 2, .dropout = 0.4, .norm = placement});
    const Tensor x = values({2, 3, 6}).astype(Dtype::f32);
    const Mask mask = causal_mask();
    const bool pre = placement == nn::NormPlacement::pre;
    const auto by_hand = [&](double p) {
      const auto add = [&](const Tensor& onto, const Tensor& branch) {
        return onto + dropout(branch, p, p > 0);
      };
      const Tensor a = add(x, block.attention(pre ? block.norm1(x) : x, mask));
      const Tensor attended = pre ? a : block.norm1(a);
      const Tensor y = add(attended, block.feed_forward(pre ? block.norm2(attended) : attended));
      return pre ? y : block.norm2(y);
    };
    const auto close = [](const std::vector<float>& a, const std::vector<float>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(a[i] - b[i]) <= 1e-5f))
          return false;  // f32 sums of about 24 terms of order 1
      return true;
    };
    const auto in_training = drawn([&] { return block(x, mask); });
    expect(close(in_training, drawn([&] { return by_hand(0.4); })),
           "a block's dropout in training");
    block.eval();
    const auto evaluated = drawn([&] { return block(x, mask); });
    expect(close(evaluated, drawn([&] { return by_hand(0); })), "none in evaluation");
    expect(!close(evaluated, in_training), "which is something else");
  }
}

void activations() {
  seed(3);
  const Tensor x = values({2, 4}).astype(Dtype::f32);
  for (const nn::Activation activation : {nn::Activation::gelu, nn::Activation::gelu_erf,
                                          nn::Activation::relu, nn::Activation::silu}) {
    const nn::FeedForward layer({.width = 4, .hidden = 5, .activation = activation});
    const Tensor up = layer.up(x);
    const Tensor acted = activation == nn::Activation::gelu       ? gelu(up)
                         : activation == nn::Activation::gelu_erf ? gelu(up, Gelu::erf)
                         : activation == nn::Activation::relu     ? relu(up)
                                                                  : silu(up);
    expect(layer(x).to_vector<float>() == layer.down(acted).to_vector<float>(), "each activation");
  }
}

void gpt_dropout() {
  seed(3);
  nn::GPT model({.vocab = 5, .context = 4, .layers = 1, .heads = 1, .width = 6, .dropout = 0.4});
  const Tensor ids = from(std::vector<std::int64_t>{1, 4, 2}, {1, 3});
  const auto by_hand = [&] {
    const Tensor x = dropout(model.token(ids) + model.position(arange(3)), 0.4);
    return linear(model.norm(model.blocks[0](x, causal_mask())), model.token.weight);
  };
  expect(drawn([&] { return model(ids); }) == drawn(by_hand), "dropout of what GPT embeds");
}

/// Without dropout no random numbers are used up; without gradients no bias learns.
void nothing_for_nothing() {
  const Tensor x = values({1, 1, 3, 2}), bias = values({1, 1, 3, 3}).requires_grad_();
  seed(5);
  const std::uint32_t word = generator().next().word(0);
  seed(5);
  scaled_dot_product_attention(x, x, x);
  expect(generator().next().word(0) == word, "no dropout draws nothing");
  const NoGrad off;
  Seen seen;
  const ObserverScope scope(seen);
  scaled_dot_product_attention(x, x, x, {}, {.bias = bias});
  expect(seen.names.count("attention") == 1, "the kernel where a bias does not learn");
}

Cases layer_cases() {
  return {scenario("a block's dropout", block_dropout), scenario("activations", activations),
          scenario("GPT's dropout", gpt_dropout),
          scenario("nothing for nothing", nothing_for_nothing)};
}

const CaseSource source(layer_cases);

}  // namespace
}  // namespace gradus::mutation
