// Decoding: sampling limits, batches, beam search against all texts, decoder states.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/bert.h"
#include "gradus/models/decode.h"
#include "gradus/models/gpt.h"
#include "gradus/models/translator.h"
#include "gradus/models/vit.h"
#include "gradus/nn/init.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using naive::numbers;
using nn::Tokens;

nn::GPT model_of(std::int64_t vocab, std::int64_t context = 16) {
  seed(5);
  nn::GPT model({.vocab = vocab, .context = context, .layers = 1, .heads = 2, .width = 8});
  model.to(Dtype::f64);
  for (const nn::NamedTensor& each : model.parameters()) {
    Tensor p = each.tensor;
    if (each.name.find("norm") == std::string::npos) nn::init::normal_(p, 0, 0.7);
  }
  model.eval();
  return model;
}

/// Which tokens can be drawn, by a thousand evenly spaced numbers.
std::set<std::int64_t> drawn(const std::vector<double>& probabilities,
                             const nn::SamplingOptions& options, const Tokens& seen = {}) {
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(std::log(p));
  std::set<std::int64_t> found;
  for (int i = 0; i < 1000; ++i)
    found.insert(nn::sample_token(tensor(logits, {std::ssize(logits)}), options, i / 1000.0, seen));
  return found;
}

double log_p(const nn::GPT& model, const Tokens& prompt, const Tokens& added) {
  Tokens all = prompt;
  all.insert(all.end(), added.begin(), added.end());
  const auto n = std::ssize(all), V = model.options.vocab;
  const auto p = numbers(log_softmax(model(tensor(all, {1, n})), -1));
  double sum = 0;
  for (auto t = std::ssize(prompt); t < n; ++t)
    sum += p[static_cast<std::size_t>((t - 1) * V + all[static_cast<std::size_t>(t)])];
  return sum;
}

constexpr auto kGoOn = [](std::int64_t, std::int64_t) { return true; };

}  // namespace

TEST_CASE("each sampling limit keeps the documented tokens") {
  const std::vector<double> p = {0.1, 0.4, 0.05, 0.3, 0.15};
  using Set = std::set<std::int64_t>;
  CHECK(drawn(p, {.temperature = 1}) == Set{0, 1, 2, 3, 4});
  CHECK(drawn(p, {.temperature = 0}) == Set{1});
  CHECK(drawn(p, {.temperature = 1, .top_k = 2}) == Set{1, 3});
  CHECK(drawn(p, {.temperature = 1, .top_p = 0.69}) == Set{1, 3});
  CHECK(drawn(p, {.temperature = 1, .top_p = 0.71}) == Set{1, 3, 4});
  CHECK(drawn(p, {.temperature = 1, .top_p = 1e-9}) == Set{1});
  CHECK(drawn(p, {.temperature = 1, .top_k = 2, .top_p = 0.5}) == Set{1});  // 0.4 of 0.7
  CHECK(drawn(p, {.temperature = 1, .min_p = 0.3}) == Set{1, 3, 4});  // 0.15 ≥ 0.3 · 0.4 > 0.1
  CHECK(drawn(p, {.temperature = 1, .min_p = 1}) == Set{1});
  CHECK(drawn(p, {.temperature = 1, .top_k = 3, .top_p = 0.5, .min_p = 0.8}) == Set{1});
}

TEST_CASE("a repetition penalty lowers positive and negative logits") {
  const Tensor logits = tensor(std::vector<double>{2, -1, 1.5, -1.1}, {4});
  const auto greedy = [&](double penalty, const Tokens& seen) {
    return nn::sample_token(logits, {.temperature = 0, .repetition_penalty = penalty}, 0, seen);
  };
  CHECK(greedy(1, {0, 0}) == 0);
  CHECK(greedy(1.3, {0}) == 0);     // 1.54 > 1.5
  CHECK(greedy(1.4, {0, 0}) == 2);  // 1.43 < 1.5; twice counts once
  CHECK(greedy(4, {0, 2, 1}) == 0);
  // Alone with the negative ones: −1 · 1.2 falls below −1.1.
  const Tensor negative = tensor(std::vector<double>{-1, -1.1}, {2});
  CHECK(nn::sample_token(negative, {.temperature = 0, .repetition_penalty = 1.2}, 0, {0}) == 1);
}

TEST_CASE("sample_token refuses wrong options and logits") {
  const Tensor logits = zeros({3});
  const auto message = [&](const nn::SamplingOptions& options, const Tokens& seen = {}) {
    return message_of<Error>([&] { nn::sample_token(logits, options, 0, seen); });
  };
  CHECK(has(message({.temperature = -1}), "a temperature of -1: must be 0 or positive"));
  CHECK(has(message({.top_k = -1}), "top_k -1: must be 0 (all) or positive"));
  CHECK(has(message({.top_p = 0}), "top_p 0: must be in (0, 1]"));
  CHECK(has(message({.min_p = 1.5}), "min_p 1.5: must be in [0, 1]"));
  CHECK(has(message({.repetition_penalty = 0}), "repetition_penalty of 0: must be positive"));
  CHECK(has(message({.repetition_penalty = 2}, {3}), "token 3 was seen, but there are 3 logits"));
}

TEST_CASE("batched sequences continue as each would by itself") {
  const nn::GPT model = model_of(7, 8);  // they grow beyond the context
  const std::vector<Tokens> prompts = {{1, 2, 3}, {4}, {5, 6}};
  const nn::GenerateOptions greedy{.tokens = 12, .sampling = {.temperature = 0}};
  nn::GPTDecoderState together(model);
  const std::vector<Tokens> all = nn::generate(together, prompts, greedy, {}, kGoOn);
  for (std::size_t b = 0; b < 3; ++b) {
    INFO("sequence " << b);
    nn::GPTDecoderState alone(model);
    CHECK(nn::generate(alone, {prompts[b]}, greedy, {}, kGoOn)[0] == all[b]);
    Tokens text = prompts[b];  // and as the model says of the last 8 tokens, without a cache
    for (const std::int64_t token : all[b]) {
      const auto from_end = std::min<std::ptrdiff_t>(std::ssize(text), 8);
      const Tensor logits = model(tensor(Tokens(text.end() - from_end, text.end()), {1, from_end}));
      CHECK(nn::sample_token(select(select(logits, 0, 0), 0, -1), {.temperature = 0}, 0) == token);
      text.push_back(token);
    }
  }
}

TEST_CASE("generation ends at the end token or when the callback returns false") {
  const nn::GPT model = model_of(5);
  nn::GPTDecoderState free(model), ending(model), told(model);
  const nn::GenerateOptions options{.tokens = 9, .sampling = {.temperature = 1}};
  const RandomStream random{3, 0, 0};
  const Tokens text = nn::generate(free, {{1}}, options, random, kGoOn)[0];
  CHECK(text.size() == 9);
  nn::GenerateOptions with_end = options;
  with_end.end = text[4];
  const Tokens cut = nn::generate(ending, {{1}}, with_end, random, kGoOn)[0];
  const auto first = std::find(text.begin(), text.end(), text[4]) + 1;
  CHECK(cut == Tokens(text.begin(), first));
  int heard = 0;
  CHECK(nn::generate(told, {{1}}, options, random, [&](std::int64_t, std::int64_t) {
          return ++heard < 3;
        })[0] == Tokens(text.begin(), text.begin() + 3));
}

TEST_CASE("a beam search as wide as all texts finds the best of them") {
  const nn::GPT model = model_of(3);
  const NoGrad off;
  constexpr std::int64_t kEnd = 2;
  for (const double alpha : {0.0, 0.6, 1.5}) {
    std::map<Tokens, double> scores;  // all texts of up to 3 tokens, those that end before too
    for (std::int64_t a = 0; a < 3; ++a)
      for (std::int64_t b = 0; b < 3; ++b)
        for (std::int64_t c = 0; c < 3; ++c) {
          Tokens text = {a, b, c};
          const auto end = std::find(text.begin(), text.end(), kEnd);
          if (end != text.end()) text.erase(end + 1, text.end());
          scores[text] = log_p(model, {1, 0}, text) /
                         std::pow((5 + static_cast<double>(text.size())) / 6, alpha);
        }
    nn::GPTDecoderState steps(model);
    const std::vector<nn::Beam> beams = nn::beam_search(
        steps, {1, 0}, {.beams = 15, .tokens = 3, .end = kEnd, .length_penalty = alpha});
    REQUIRE(beams.size() == scores.size());
    double before = INFINITY;
    for (const nn::Beam& beam : beams) {
      INFO("alpha " << alpha);
      REQUIRE(scores.count(beam.tokens) == 1);
      CHECK(std::abs(scores[beam.tokens] - beam.score) < 1e-12);  // a few roundings of order 1
      CHECK(beam.score <= before);
      before = beam.score;
    }
  }
}

TEST_CASE("beam search with one beam is greedy, and more beams never find less") {
  const nn::GPT model = model_of(11);
  nn::GPTDecoderState greedy(model), one(model), four(model);
  const Tokens text =
      nn::generate(greedy, {{3, 1}}, {.tokens = 6, .sampling = {.temperature = 0}}, {}, kGoOn)[0];
  const std::vector<nn::Beam> single =
      nn::beam_search(one, {3, 1}, {.beams = 1, .tokens = 6, .length_penalty = 0});
  REQUIRE(single.size() == 1);
  CHECK(single[0].tokens == text);
  const std::vector<nn::Beam> several =
      nn::beam_search(four, {3, 1}, {.beams = 4, .tokens = 6, .length_penalty = 0});
  CHECK(several.size() == 4);
  CHECK(several[0].score >= single[0].score - 1e-12);  // side by side sums round otherwise
}

TEST_CASE("decoding refuses wrong prompts and options") {
  const nn::GPT model = model_of(5);
  nn::GPTDecoderState steps(model);
  CHECK_REFUSES(ValueError, nn::generate(steps, {}, {}, {}, kGoOn), "generate", "prompt");
  CHECK_REFUSES(ValueError, nn::generate(steps, {{1}, {}}, {}, {}, kGoOn), "generate", "prompt");
  CHECK_REFUSES(ValueError, nn::beam_search(steps, {}, {}), "beam_search", "prompt");
  CHECK_REFUSES(ValueError, nn::beam_search(steps, {1}, {.beams = 0}), "beam_search", "0");
  steps.next({{1}, {2}});
  CHECK_REFUSES(ShapeError, steps.next({{1}}), "1", "2");
}

}  // namespace gradus::testing

namespace gradus::testing::limits {
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

TEST_CASE("generation stops calling the model once all sequences have ended") {
  MadeUp model = counting();
  const RandomStream random{1, 0, 0};
  const nn::GenerateOptions options{.tokens = 6, .end = 2, .sampling = {.temperature = 0}};
  const auto added = nn::generate(model, {{5}, {6}}, options, random,
                                  [](std::int64_t, std::int64_t) { return true; });
  CHECK(added == std::vector<Tokens>{{0, 1, 2}, {0, 1, 2}});
  CHECK(model.calls == 3);
}

TEST_CASE("beam search stops calling the model once all its texts have ended") {
  MadeUp model([](int) { return std::vector<double>{0}; });  // the end is all that there is
  const auto found = nn::beam_search(model, {0}, {.beams = 2, .tokens = 5, .end = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0});
  CHECK(model.calls == 1);
  CHECK(model.empty == 0);
}

TEST_CASE("beam search returns the best texts, at most as many as requested") {
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

TEST_CASE("a model with a vocabulary of one token decodes batches of unequal lengths") {
  const nn::GPT model(tiny(1, nn::HeadPosition::none));
  nn::GPTDecoderState state(model);
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0, 0}, {0}}).shape() == Shape{2, 1});
  CHECK(state.next({{0}, {0}}).shape() == Shape{2, 1});  // begins anew
}

TEST_CASE("tokens that exceed the context restart the decoder state") {
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

TEST_CASE("a token whose random number equals the rate is not masked") {
  const RandomStream random{5, 0, 0};
  const auto masked = nn::mask_tokens(
      tensor(Tokens{9}), {.vocab = 20, .mask_id = 1, .first_id = 2, .rate = random.uniform(0)},
      random);
  CHECK(masked.targets.to_vector<std::int64_t>() == Tokens{-1});
}

TEST_CASE("each sampling limit can still draw its least likely token") {
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

}  // namespace gradus::testing::limits

namespace gradus::testing::states {

using nn::Tokens;

/// It knows one token, which ends a text; nothing can be left to go on with.
struct Ends final : nn::DecoderState {
  Tensor next(const std::vector<Tokens>& tokens) override { return zeros({std::ssize(tokens), 1}); }
  void select(const std::vector<std::int64_t>& sequences) override {
    CHECK_FALSE(sequences.empty());
  }
};

TEST_CASE("beam search selects no sequences once all texts have ended") {
  Ends model;
  const std::vector<nn::Beam> found = nn::beam_search(model, {0}, {.beams = 3, .end = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0});
  CHECK(found[0].score == 0);
}

TEST_CASE("a state with positions in its heads keeps exactly one window") {
  const NoGrad off;
  for (const nn::HeadPosition position : {nn::HeadPosition::rotary, nn::HeadPosition::alibi}) {
    nn::GPTOptions options = tiny();
    options.position = position, options.window = 3, options.context = 4;
    nn::GPT model(options);
    enlarge(model);
    options.context = 40;
    nn::GPT whole(options);  // reads the whole text each time
    whole.to(Dtype::f64);
    whole.load_state_dict(model.state_dict());
    whole.eval();
    nn::GPTDecoderState state(model);
    const Tensor ids = ids_of(1, 12);
    const auto tokens = ids.to_vector<std::int64_t>();
    for (std::int64_t n = 0; n < 12; ++n) {
      const Tensor got = state.next({{tokens[std::size_t(n)]}});
      check_equal(got, select(whole(slice(ids, 1, 0, n + 1)), 1, n));
    }
  }
}

TEST_CASE("a state with positions in its heads but no window restarts after its context") {
  const NoGrad off;
  nn::GPTOptions options = tiny();
  options.position = nn::HeadPosition::rotary, options.context = 4;
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

TEST_CASE("mask_tokens uses three numbers of a stream per token, for any vocabulary") {
  constexpr std::int64_t kVocab = (std::int64_t{1} << 24) + 9, kFirst = 8, kMask = 3;
  Ids given;
  for (std::int64_t i = 0; i < 2000; ++i) given.push_back(i % 50 == 7 ? i % kFirst : 8 + i);
  const RandomStream random{6, 3, 0};
  const nn::MaskedTokens out =
      nn::mask_tokens(tensor(given, {20, 100}),
                      {.vocab = kVocab, .mask_id = kMask, .first_id = kFirst, .rate = 0.4}, random);
  Ids ids, targets;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t old = given[std::size_t(i)];
    const bool chosen = old >= kFirst && random.uniform(3 * i) < 0.4;
    const double fate = random.uniform(3 * i + 1);
    const auto drawn =
        static_cast<std::int64_t>(random.uniform(3 * i + 2) * double(kVocab - kFirst));
    targets.push_back(chosen ? old : -1);
    ids.push_back(!chosen || fate >= 0.9 ? old : fate < 0.8 ? kMask : kFirst + drawn);
  }
  REQUIRE(targets[0] != -1);  // the first token is one of those
  CHECK(out.ids.to_vector<std::int64_t>() == ids);
  CHECK(out.targets.to_vector<std::int64_t>() == targets);
  CHECK(out.targets.shape() == Shape{20, 100});
}

TEST_CASE("BERT pools as tanh of a linear map of the first vector") {
  const NoGrad off;
  nn::BERT bert({.vocab = 13, .context = 4, .width = 6, .pooler = true});
  enlarge(bert);
  const Tensor x = bert(ids_of(2, 4));
  check_equal(bert.pool(x), tanh(bert.pooler(select(x, 1, 0))));
}

TEST_CASE("a shared embedding is that of the target") {
  nn::TranslatorOptions options{
      .source_vocab = 5, .target_vocab = 5, .context = 3, .heads = 1, .width = 4};
  seed(8);
  const nn::Translator apart(options);
  options.shared = true;
  seed(8);
  const nn::Translator shared(options);
  CHECK(numbers(shared.source_token.weight) == numbers(apart.target_token.weight));
  CHECK(numbers(shared.target_token.weight) == numbers(apart.target_token.weight));
}

}  // namespace gradus::testing::states

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

TEST_CASE("a GPT that refuses tokens leaves its cache unchanged") {
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

TEST_CASE("a GPT decoder state survives a step that runs out of memory") {
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
