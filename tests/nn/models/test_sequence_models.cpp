// Tests the translator and the recommender.
#include <limits>

#include "gradus/check/invariance.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/nn/models/translator.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_sequence_models {
namespace {

nn::Translator tiny_translator(bool shared = false) {
  nn::Translator model({.source_vocab = 13,
                        .target_vocab = 13,
                        .context = 16,
                        .block = {.width = 8, .heads = 2},
                        .shared = shared});
  enlarge(model);
  return model;
}

examples::Recommender tiny_recommender() {
  examples::Recommender model({.items = 12, .context = 9, .heads = 2, .width = 8});
  enlarge(model);
  return model;
}

/// Returns the scores of all items except padding, whose score is −∞.
Tensor of_items(const Tensor& scores) { return slice(scores, -1, 1, 13); }

TEST_CASE("a translator ignores padding and later tokens and mixes no examples") {
  const nn::Translator model = tiny_translator();
  const Tensor source = ids_of(3, 7), target = ids_of(3, 5, 4);
  const Ids lengths = {7, 2, 5};
  CHECK(check::padding_invariant([&](const Tensor& x, const Ids& n) { return model.encode(x, n); },
                                 source, lengths));
  CHECK(check::causal([&](const Tensor& x) { return model(source, x, lengths); }, target));
  const NoGrad off;
  const Tensor together = model(source, target, lengths);
  for (std::int64_t b = 0; b < 3; ++b) {
    const Tensor alone =
        slice(slice(source, 0, b, b + 1), 1, 0, lengths[static_cast<std::size_t>(b)]);
    check_equal(slice(together, 0, b, b + 1), model(alone, slice(target, 0, b, b + 1)));
  }
}

TEST_CASE("a translator counts the tokens of its cache toward its context") {
  const nn::Translator model = tiny_translator();
  const NoGrad off;
  nn::KVCache cache({.capacity = 99});
  cache.advance(1, 10);
  cache.advance(1, 7);
  CHECK(has(message_of<ShapeError>(
                [&] { model.decode(ids_of(1, 7), model.encode(ids_of(1, 3)), {}, &cache); }),
            "Translator: 17 tokens exceed the model's context of 16"));
}

TEST_CASE("a shared embedding is one tensor for both languages") {
  const nn::Translator shared = tiny_translator(true), own = tiny_translator();
  CHECK(shared.parameters().size() + 1 == own.parameters().size());
  CHECK(shared.parameter_count() + 13 * 8 == own.parameter_count());
}

TEST_CASE("batched translations equal single ones and beam search with one beam") {
  const nn::Translator model = tiny_translator();
  const std::vector<nn::Tokens> sources = {{3, 1, 4, 1, 5}, {9}, {2, 6}};
  const Tensor padded = tensor(Ids{3, 1, 4, 1, 5, 9, 0, 0, 0, 0, 2, 6, 0, 0, 0}, {3, 5});
  const nn::GenerateOptions greedy{.tokens = 9, .end = 2, .sampling = {.temperature = 0}};
  const auto go_on = [](std::int64_t, std::int64_t) { return true; };
  nn::TranslatorDecoderState batch(model, padded, {5, 1, 2});
  const std::vector<nn::Tokens> begin = {{1}, {1, 4, 7}, {1, 8}};
  const auto together = nn::generate(batch, begin, greedy, RandomStream(), go_on);
  CHECK(together[0] != together[1]);
  for (std::size_t b = 0; b < sources.size(); ++b) {
    const Tensor source = tensor(sources[b], {1, std::ssize(sources[b])});
    nn::TranslatorDecoderState alone(model, source), beam(model, source);
    CHECK(nn::generate(alone, {begin[b]}, greedy, RandomStream(), go_on)[0] == together[b]);
    CHECK(nn::beam_search(beam, begin[b], {.beams = 1, .tokens = 9, .end = 2})[0].tokens ==
          together[b]);
  }
}

TEST_CASE("a recommender ignores padding and later items and mixes no users") {
  const examples::Recommender model = tiny_recommender();
  const Tensor items = tensor(Ids{3, 1, 4, 11, 5, 9, 2, 6, 12, 3}, {2, 5});
  CHECK(check::causal([&](const Tensor& x) { return of_items(model(x)); }, items));
  CHECK(check::batch_invariant([&](const Tensor& x) { return of_items(model(x)); }, items));
  const NoGrad off;
  const Tensor plain = of_items(model(items));  // [2, 5, 12]
  for (std::int64_t more = 1; more <= 4; ++more) {
    INFO(more << " positions of padding before");
    const Tensor padded = cat({zeros({2, more}, Dtype::i64), items}, 1);
    check_equal(slice(of_items(model(padded)), 1, more, more + 5), plain);
  }
  // Batches the second history with a longer one.
  const Tensor mixed = tensor(Ids{7, 8, 3, 1, 4, 11, 5, 0, 0, 9, 2, 6, 12, 3}, {2, 7});
  check_equal(slice(select(of_items(model(mixed)), 0, 1), 0, 2, 7), select(plain, 0, 1));
}

TEST_CASE("a recommender never recommends padding and learns nothing from padding") {
  const examples::Recommender model = tiny_recommender();
  const Tensor items = tensor(Ids{0, 0, 4, 11, 5}, {1, 5}),
               next = tensor(Ids{0, 0, 11, 5, 7}, {1, 5});
  for (const double score : numbers(select(model(items), 2, 0)))
    CHECK(score == -std::numeric_limits<double>::infinity());
  model.loss(items, next).backward();
  const auto gradient = numbers(model.item.weight.grad());
  for (std::size_t c = 0; c < 8; ++c) CHECK(gradient[c] == 0);
  CHECK(gradient[8] != 0);
  // Three items use the first three positions, with or without padding.
  const auto moved = numbers(model.position.weight.grad());
  for (std::size_t i = 0; i < moved.size(); ++i) CHECK((moved[i] != 0) == (i < 3 * 8));
  // The loss is a mean over nonzero targets, because 0 means that the target is missing.
  const Tensor last = tensor(Ids{0, 0, 0, 0, 7}, {1, 5}),
               first = tensor(Ids{0, 0, 11, 5, 0}, {1, 5});
  const NoGrad off;
  check_equal(model.loss(items, next),
              (model.loss(items, last) + 2.0 * model.loss(items, first)) / 3.0);
}

}  // namespace
}  // namespace gradus::testing::test_sequence_models
