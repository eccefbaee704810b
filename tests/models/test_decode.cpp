// Decoding: what each limit leaves, greedy, batches, beams against all texts there are.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/models/decode.h"
#include "gradus/nn/init.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
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

TEST_CASE("each limit leaves the tokens that it should") {
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

TEST_CASE("a repetition penalty pushes both signs down") {
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

TEST_CASE("what sample_token refuses") {
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

TEST_CASE("sequences side by side go on as each would alone") {
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

TEST_CASE("generation ends at the end token, or when it is told to") {
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

TEST_CASE("a beam as wide as all texts finds the best of them") {
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

TEST_CASE("one beam is greedy, more find at least as much") {
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

TEST_CASE("what decoding refuses") {
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
