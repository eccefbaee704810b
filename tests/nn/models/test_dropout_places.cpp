// Tests where models apply dropout, and the work that attention skips.
#include <functional>

#include "gradus/engine/base/random.h"
#include "gradus/engine/observer.h"
#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/nn/block.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/translator.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/members.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing::test_dropout_places {
namespace {

Numbers drawn(const std::function<Tensor()>& f) {
  seed(7);
  return numbers(f());
}

/// Allows for sums of about 24 terms of order 1 in a few successive layers.
bool close(const Numbers& a, const Numbers& b) { return near(a, b, 1e-12); }

template <class Model>
void drops(Model& model, const std::function<Tensor()>& run,
           const std::function<Tensor(double p)>& by_hand) {
  model.to(Dtype::f64);
  const Numbers in_training = drawn(run);
  expect(close(in_training, drawn([&] { return by_hand(0.4); })), "dropout in training");
  model.eval();
  const Numbers evaluated = drawn(run);
  expect(close(evaluated, drawn([&] { return by_hand(0); })), "no dropout in evaluation");
  expect(!close(evaluated, in_training), "evaluation differs from training");
}

Tensor add(const Tensor& onto, const Tensor& branch, double p) {
  return onto + dropout(branch, p, p > 0);
}

TEST_CASE("a block applies dropout to each branch") {
  seed(3);
  const Tensor x = values({2, 3, 6}), memory = values({2, 4, 6}, 1);
  const Mask mask = causal_mask();
  for (const nn::NormPlacement placement : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    const bool pre = placement == nn::NormPlacement::pre;
    const auto before = [&](const nn::Norm& norm, const Tensor& y) { return pre ? norm(y) : y; };
    const auto after = [&](const nn::Norm& norm, const Tensor& y) { return pre ? y : norm(y); };
    const nn::BlockOptions options{.width = 6, .heads = 2, .dropout = 0.4, .norm = placement};
    nn::Block block(options);
    drops(
        block, [&] { return block(x, mask); },
        [&](double p) {
          const Tensor a =
              after(block.norm1, add(x, block.attention(before(block.norm1, x), mask), p));
          return after(block.norm2, add(a, block.feed_forward(before(block.norm2, a)), p));
        });
    nn::DecoderBlock decoder(options);
    drops(
        decoder, [&] { return decoder(x, memory, mask); },
        [&](double p) {
          const Tensor a =
              after(decoder.norm1, add(x, decoder.attention(before(decoder.norm1, x), mask), p));
          const Tensor b = after(
              decoder.norm2, add(a, decoder.cross_attention(before(decoder.norm2, a), memory), p));
          return after(decoder.norm3, add(b, decoder.feed_forward(before(decoder.norm3, b)), p));
        });
  }
}

TEST_CASE("GPT applies dropout to its embedding and blocks") {
  seed(3);
  nn::GPT model(
      {.vocab = 5, .context = 4, .layers = 1, .block = {.width = 6, .heads = 1, .dropout = 0.4}});
  model.to(Dtype::f64);
  const Tensor ids = tensor(std::vector<std::int64_t>{1, 4, 2}, {1, 3});
  const auto by_hand = [&] {
    const Tensor x = dropout(model.token(ids) + model.position(arange(3)), 0.4);
    return linear(model.norm(model.blocks[0](x, causal_mask())), model.token.weight);
  };
  expect(drawn([&] { return model(ids); }) == drawn(by_hand), "dropout of the embeddings of GPT");
}

/// Counts the dropout ops that are not fused into sums or attention.
int dropouts(const std::function<void()>& f) {
  struct Counter : Observer {
    int count = 0;
    void on_op_begin(const Op& op, std::span<const Tensor* const>) override {
      count += std::string(op.name()) == "dropout";
    }
  } counter;
  const ObserverScope scope(counter);
  f();
  return counter.count;
}

TEST_CASE("models apply dropout to their inputs in training") {
  const nn::BERT bert(
      {.vocab = 7, .context = 5, .layers = 1, .block = {.width = 8, .heads = 2, .dropout = 0.5}});
  const Tensor x = ones({1, 5, 8});
  const int inside = dropouts([&] { bert.encoder(x); });
  CHECK(dropouts([&] { bert(tensor(Ids{1, 2, 3}, {1, 3})); }) == inside + 1);
  const nn::VisionTransformer vit({.size = 4,
                                   .patch = 2,
                                   .classes = 3,
                                   .layers = 1,
                                   .block = {.width = 8, .heads = 2, .dropout = 0.5}});
  CHECK(dropouts([&] { vit(ones({2, 1, 4, 4})); }) == inside + 1);
  const nn::Translator model({.source_vocab = 13,
                              .target_vocab = 13,
                              .context = 16,
                              .block = {.width = 8, .heads = 2, .dropout = 0.5}});
  CHECK(dropouts([&] { model.encode(ids_of(1, 5)); }) ==
        dropouts([&] { model.transformer.encoder(x); }) + 1);
  const examples::Recommender recommender(
      {.items = 12, .context = 9, .heads = 2, .width = 8, .dropout = 0.5});
  CHECK(dropouts([&] { recommender(ids_of(1, 5)); }) ==
        dropouts([&] { recommender.stack(x); }) + 1);
}

}  // namespace
}  // namespace gradus::testing::test_dropout_places
