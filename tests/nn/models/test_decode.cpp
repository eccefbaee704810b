// Tests decoding functions and decoder states.
#include <algorithm>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/translator.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_decode {
namespace {

using naive::numbers;
using nn::Tokens;

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
  void select(const std::vector<std::int64_t>& sequences) override {
    CHECK_FALSE(sequences.empty());
  }
};

MadeUp counting() {
  return MadeUp([](int call) {
    std::vector<double> row(8, -9);
    row[static_cast<std::size_t>(call)] = 9;
    return row;
  });
}

}  // namespace

TEST_CASE("generation stops calling the model once all sequences have ended") {
  MadeUp model = counting();
  const RandomStream random{1, 0, 0};
  const nn::GenerateOptions options{.tokens = 6, .end = 2, .sampling = {.temperature = 0}};
  const auto added = nn::generate(model, {{5}, {6}}, options, random,
                                  [](std::int64_t, std::int64_t) { return true; });
  CHECK(added == std::vector<Tokens>{{0, 1, 2}, {0, 1, 2}});
  CHECK(model.calls == 3);
}

TEST_CASE("generation ends when the callback returns false") {
  MadeUp model = counting();
  int callback_calls = 0;
  const auto added = nn::generate(model, {{1}}, {.tokens = 9, .sampling = {.temperature = 0}}, {},
                                  [&](std::int64_t, std::int64_t) { return ++callback_calls < 3; });
  CHECK(added == std::vector<Tokens>{{0, 1, 2}});
}

TEST_CASE("beam search stops calling the model once all its texts have ended") {
  MadeUp model([](int) { return std::vector<double>{0}; });  // only the end token
  const auto found = nn::beam_search(model, {0}, {.beams = 2, .tokens = 5, .end = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0});
  CHECK(model.calls == 1);
  CHECK(model.empty == 0);
}

TEST_CASE("a model with a vocabulary of one token decodes batches of unequal lengths") {
  const nn::GPT model({.vocab = 1, .context = 4, .layers = 1, .block = {.width = 4, .heads = 1}});
  nn::GPTDecoderState state(model);
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0}, {0}}).shape() == Shape{2, 1});  // starts from an empty state
}

TEST_CASE("a decoder state with rotary or ALiBi positions keeps exactly one window") {
  const NoGrad off;
  for (const nn::HeadPosition position : {nn::HeadPosition::rotary, nn::HeadPosition::alibi}) {
    nn::GPTOptions options = tiny();
    options.block.head.position = position, options.window = 3, options.context = 4;
    nn::GPT model(options);
    enlarge(model);
    options.context = 40;
    nn::GPT unlimited(options);  // its context exceeds the text
    unlimited.to(Dtype::f64);
    unlimited.load_state_dict(model.state_dict());
    unlimited.eval();
    nn::GPTDecoderState state(model);
    const Tensor ids = ids_of(1, 12);
    const auto tokens = ids.to_vector<std::int64_t>();
    for (std::int64_t n = 0; n < 12; ++n) {
      const Tensor got = state.next({{tokens[std::size_t(n)]}});
      check_equal(got, select(unlimited(slice(ids, 1, 0, n + 1)), 1, n));
    }
  }
}

TEST_CASE("a decoder state with rotary positions but no window restarts after its context") {
  const NoGrad off;
  nn::GPTOptions options = tiny();
  options.block.head.position = nn::HeadPosition::rotary, options.context = 4;
  nn::GPT model(options);
  enlarge(model);
  nn::GPTDecoderState state(model);
  const Tensor ids = ids_of(1, 6);
  const auto tokens = ids.to_vector<std::int64_t>();
  for (std::int64_t n = 0; n < 6; ++n) {
    const Tensor got = state.next({{tokens[std::size_t(n)]}});
    const Tensor seen = slice(ids, 1, std::max<std::int64_t>(0, n - 3), n + 1);
    check_equal(got, select(model(seen), 1, -1));
  }
}

namespace {

nn::GPT tiny_gpt(nn::GPTOptions options = tiny()) {
  nn::GPT gpt(options);
  enlarge(gpt);
  return gpt;
}

}  // namespace

TEST_CASE("a GPT that rejects tokens leaves its cache unchanged") {
  const NoGrad off;
  const nn::GPT gpt = tiny_gpt();
  nn::KVCache cache({.capacity = 40}), untouched({.capacity = 40});
  for (nn::KVCache* each : {&cache, &untouched}) static_cast<void>(gpt(ids_of(1, 3), each));
  CHECK_THROWS_AS(gpt(ids_of(1, 22), &cache), ShapeError);  // 25 tokens exceed the context of 24
  CHECK(cache.size() == 3);
  CHECK_THROWS_AS(gpt(full({1, 1}, 99, Dtype::i64), &cache), IndexError);
  CHECK_THROWS_AS(gpt(ids_of(2, 1), &cache), ShapeError);  // differs from the cache's batch size
  CHECK(cache.length() == 3);
  check_equal(gpt(ids_of(1, 2, 5), &cache), gpt(ids_of(1, 2, 5), &untouched));
}

TEST_CASE("padding does not count toward the context of a GPT") {
  const NoGrad off;
  const nn::GPT gpt = tiny_gpt();
  nn::KVCache cache({.capacity = 60});
  static_cast<void>(gpt(ids_of(2, 20), &cache, Ids{20, 4}));
  static_cast<void>(gpt(ids_of(2, 20), &cache, Ids{4, 20}));
  CHECK(cache.length() == 24);
  CHECK_THROWS_AS(gpt(ids_of(2, 1), &cache, Ids{0, 1}), ShapeError);
}

TEST_CASE("a GPT decoder state is unchanged after a call that throws") {
  nn::GPTOptions rotary = tiny();
  rotary.block.head.position = nn::HeadPosition::rotary;
  rotary.window = 4;
  for (const nn::GPTOptions& options : {tiny(), rotary}) {
    const nn::GPT gpt = tiny_gpt(options);
    nn::GPTDecoderState state(gpt), untouched(gpt);
    CHECK_THROWS_AS(state.next({{99}, {1}}), IndexError);
    for (nn::GPTDecoderState* each : {&state, &untouched})
      static_cast<void>(each->next({{1, 2, 3}, {4}}));
    CHECK_THROWS_AS(state.next({{5}, {99}}), IndexError);
    check_equal(state.next({{5}, {6}}), untouched.next({{5}, {6}}));
    CHECK_THROWS_AS(state.next({{99}, {99}}), IndexError);
    for (nn::GPTDecoderState* each : {&state, &untouched}) each->select({1, 0});
    check_equal(state.next({{7}, {8}}), untouched.next({{7}, {8}}));
  }
}

TEST_CASE("a GPT decoder state is unchanged after a step that runs out of memory") {
  const nn::GPT gpt = tiny_gpt();
  nn::GPTDecoderState state(gpt), untouched(gpt);
  for (nn::GPTDecoderState* each : {&state, &untouched}) static_cast<void>(each->next({{1, 2, 3}}));
  int failures = 0;
  for (std::int64_t room = 0; room < 100000; room += 1000) {
    memory::set_limit(memory::usage().live_bytes + room);
    try {
      static_cast<void>(state.next({{5}}));
      memory::set_limit(0);
      break;
    } catch (const MemoryError&) {
      ++failures;
    }
    memory::set_limit(0);
  }
  CHECK(failures > 1);
  static_cast<void>(untouched.next({{5}}));
  check_equal(state.next({{6}}), untouched.next({{6}}));
}

TEST_CASE("a translator decoder state is unchanged after a call with an unknown token") {
  nn::Translator model(
      {.source_vocab = 13, .target_vocab = 13, .context = 8, .block = {.width = 16, .heads = 2}});
  enlarge(model);
  const Tensor source = ids_of(1, 4);
  nn::TranslatorDecoderState state(model, source, {}), untouched(model, source, {});
  for (nn::TranslatorDecoderState* each : {&state, &untouched})
    static_cast<void>(each->next({{1, 2}}));
  CHECK_THROWS_AS(state.next({{13}}), IndexError);
  check_equal(state.next({{3}}), untouched.next({{3}}));
}

}  // namespace gradus::testing::test_decode
