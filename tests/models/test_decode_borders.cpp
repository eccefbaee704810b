// Decoding by models that are made up: what they are asked, and where it ends.
#include <cmath>

#include "gradus/base/random.h"
#include "gradus/models/bert.h"
#include "gradus/models/decode.h"
#include "gradus/models/gpt.h"
#include "gradus/models/translator.h"
#include "gradus/models/vit.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

using nn::Tokens;

/// Gives logits by the number of the call, the same to each sequence, and counts.
struct MadeUp final : nn::DecoderState {
  std::function<std::vector<double>(int call)> logits;
  int calls = 0, empty = 0;
  explicit MadeUp(std::function<std::vector<double>(int call)> f) : logits(std::move(f)) {}
  Tensor next(const std::vector<Tokens>& tokens) override {
    const std::vector<double> row = logits(calls++);
    if (tokens.empty()) ++empty;
    const Tensor one = tensor(row, {1, std::ssize(row)});
    return expand(one, {std::max<std::int64_t>(1, std::ssize(tokens)), std::ssize(row)});
  }
  void select(const std::vector<std::int64_t>&) override {}
};

/// Token n at call n.
MadeUp counting() {
  return MadeUp([](int call) {
    std::vector<double> row(8, -9);
    row[static_cast<std::size_t>(call)] = 9;
    return row;
  });
}

nn::GPTOptions tiny(std::int64_t vocab, nn::HeadPosition position, std::int64_t window = 0) {
  return {.vocab = vocab,
          .context = 4,
          .layers = 1,
          .heads = 1,
          .width = 4,
          .position = position,
          .window = window};
}

}  // namespace

TEST_CASE("nothing is asked once all sequences have ended") {
  MadeUp model = counting();
  const RandomStream random{1, 0, 0};
  const nn::GenerateOptions options{.tokens = 6, .end = 2, .sampling = {.temperature = 0}};
  const auto added = nn::generate(model, {{5}, {6}}, options, random,
                                  [](std::int64_t, std::int64_t) { return true; });
  CHECK(added == std::vector<Tokens>{{0, 1, 2}, {0, 1, 2}});
  CHECK(model.calls == 3);
}

TEST_CASE("a beam whose texts have all ended asks no more") {
  MadeUp model([](int) { return std::vector<double>{0}; });  // the end is all that there is
  const auto found = nn::beam_search(model, {0}, {.beams = 2, .tokens = 5, .end = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0});
  CHECK(model.calls == 1);
  CHECK(model.empty == 0);
}

TEST_CASE("beams are the best of all, cut to as many as were asked for") {
  for (const std::int64_t beams : {1, 2, 3, 5}) {
    MadeUp model([](int) {
      return std::vector<double>{std::log(0.5), std::log(0.25), std::log(0.125), std::log(0.125)};
    });
    const auto found =
        nn::beam_search(model, {0}, {.beams = beams, .tokens = 2, .length_penalty = 0});
    REQUIRE(std::ssize(found) == beams);
    CHECK(found[0].tokens == Tokens{0, 0});
    CHECK(found[0].score == Approx(std::log(0.25)));
    for (std::size_t i = 1; i < found.size(); ++i) CHECK(found[i - 1].score >= found[i].score);
  }
}

TEST_CASE("a model of one token is decoded, in a batch of unequal lengths") {
  const nn::GPT model(tiny(1, nn::HeadPosition::none));
  nn::GPTDecoderState state(model);
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0}, {0}}).shape() == Shape{2, 1});  // begins anew
}

TEST_CASE("several tokens that do not fit behind the others begin anew") {
  const nn::GPT model(tiny(7, nn::HeadPosition::none));
  nn::GPTDecoderState state(model), fresh(model);
  state.next({{1, 2}});
  const Tensor got = state.next({{3, 4, 5}}), wanted = fresh.next({{2, 3, 4, 5}});
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(got.to_vector<float>()[i] == Approx(wanted.to_vector<float>()[i]).epsilon(1e-5));
}

TEST_CASE("a window of one token slides past the context") {
  const nn::GPT model(tiny(7, nn::HeadPosition::rotary, 1));
  nn::GPTDecoderState state(model);
  for (std::int64_t i = 0; i < 9; ++i) {
    nn::GPTDecoderState fresh(model);
    const Tensor got = state.next({{i % 7}}), wanted = fresh.next({{i % 7}});
    for (std::size_t k = 0; k < 7; ++k)
      CHECK(got.to_vector<float>()[k] == Approx(wanted.to_vector<float>()[k]).epsilon(1e-5));
  }
}

TEST_CASE("only learned positions have a table") {
  CHECK(nn::GPT(tiny(3, nn::HeadPosition::none)).position.weight.defined());
  CHECK_FALSE(nn::GPT(tiny(3, nn::HeadPosition::rotary)).position.weight.defined());
}

TEST_CASE("a patch may be one pixel") {
  const Tensor images = reshape(arange(0, 12), {1, 2, 2, 3}).to(Dtype::f32);
  const Tensor patches = nn::patches_of(images, 1);
  CHECK(patches.shape() == Shape{1, 6, 2});
  CHECK(patches.to_vector<float>() == std::vector<float>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
}

TEST_CASE("a token whose number is the rate itself is not masked") {
  const RandomStream random{5, 0, 0};
  const auto masked = nn::mask_tokens(
      tensor(Tokens{9}), {.vocab = 20, .mask_id = 1, .first_id = 2, .rate = random.uniform(0)},
      random);
  CHECK(masked.targets.to_vector<std::int64_t>() == Tokens{-1});
}

TEST_CASE("limits on sampling: each least likely token that they leave is drawn") {
  const Tensor logits = tensor({std::log(8.0), std::log(4.0), std::log(2.0), 0.0}, Dtype::f64);
  const auto last = [&](const nn::SamplingOptions& options, const Tokens& seen = {}) {
    return nn::sample_token(logits, options, 0.999999, seen);
  };
  CHECK(last({}) == 3);
  CHECK(last({.temperature = 1, .min_p = 0.2}) == 2);
  CHECK(last({.temperature = 1, .min_p = 0.3}) == 1);
  CHECK(last({.temperature = 1, .min_p = 0.6}) == 0);
  CHECK(last({.temperature = 1, .min_p = 1}) == 0);
  CHECK(last({.temperature = 2, .min_p = 0.4}) == 2);  // weights 1, 0.71, 0.5, 0.35
  CHECK(last({.repetition_penalty = 1}, {99}) == 3);   // without a penalty nothing is looked at
  CHECK_THROWS_AS(last({.repetition_penalty = 2}, {99}), IndexError);
  CHECK(last({.temperature = 0, .repetition_penalty = 4}, {0}) == 1);
}

}  // namespace gradus::testing
