// Calls that are refused: the cache and the state are as before.
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/decode.h"
#include "gradus/models/gpt.h"
#include "gradus/models/translator.h"
#include "gradus/ops/create.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/support/catch.h"

namespace gradus {
namespace {

using testing::check_equal;
using testing::enlarge;
using testing::Ids;
using testing::ids_of;
using testing::tiny;

nn::GPT tiny_gpt(nn::GPTOptions options = tiny()) {
  nn::GPT gpt(options);
  enlarge(gpt);
  return gpt;
}

}  // namespace

TEST_CASE("a GPT that refuses tokens leaves its cache as it was") {
  const NoGrad off;
  const nn::GPT gpt = tiny_gpt();
  nn::KVCache cache({.capacity = 40}), untouched({.capacity = 40});
  for (nn::KVCache* each : {&cache, &untouched}) static_cast<void>(gpt(ids_of(1, 3), each));
  CHECK_THROWS_AS(gpt(ids_of(1, 22), &cache), ShapeError);  // 25 tokens, the context is 24
  CHECK(cache.size() == 3);
  CHECK_THROWS_AS(gpt(full({1, 1}, 99, Dtype::i64), &cache), IndexError);
  CHECK_THROWS_AS(gpt(ids_of(2, 1), &cache), ShapeError);  // another batch
  CHECK(cache.length() == 3);
  check_equal(gpt(ids_of(1, 2, 5), &cache), gpt(ids_of(1, 2, 5), &untouched));
}

TEST_CASE("padding does not count against the context of a GPT") {
  const NoGrad off;
  const nn::GPT gpt = tiny_gpt();
  nn::KVCache cache({.capacity = 60});
  static_cast<void>(gpt(ids_of(2, 20), &cache, Ids{20, 4}));
  static_cast<void>(gpt(ids_of(2, 20), &cache, Ids{4, 20}));
  CHECK(cache.length() == 24);
  CHECK_THROWS_AS(gpt(ids_of(2, 1), &cache, Ids{0, 1}), ShapeError);
}

TEST_CASE("a GPT's state is as before a call that throws") {
  nn::GPTOptions rotary = tiny();
  rotary.position = nn::HeadPosition::rotary;
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

TEST_CASE("a GPT's state survives a step for which there is no memory") {
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

TEST_CASE("a translator's state is as before a call with an unknown token") {
  nn::Translator model(
      {.source_vocab = 13, .target_vocab = 13, .context = 8, .heads = 2, .width = 16});
  enlarge(model);
  const Tensor source = ids_of(1, 4);
  nn::TranslatorDecoderState state(model, source, {}), untouched(model, source, {});
  for (nn::TranslatorDecoderState* each : {&state, &untouched})
    static_cast<void>(each->next({{1, 2}}));
  CHECK_THROWS_AS(state.next({{13}}), IndexError);
  check_equal(state.next({{3}}), untouched.next({{3}}));
}

}  // namespace gradus
