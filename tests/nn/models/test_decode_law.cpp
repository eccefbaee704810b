// Compares sampling and beam search with naive definitions.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/decode.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_decode_law {
namespace {

using nn::SamplingOptions;
using nn::Tokens;
using List = std::vector<double>;

/// Returns token probabilities after penalty, temperature, top-k, top-p and min-p. Of equal scores,
/// the smallest id comes first.
List distribution(List scores, const SamplingOptions& o, const Tokens& seen) {
  for (const std::int64_t id : std::set<std::int64_t>(seen.begin(), seen.end())) {
    double& score = scores[static_cast<std::size_t>(id)];
    score *= score > 0 ? 1 / o.repetition_penalty : o.repetition_penalty;
  }
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto weight = [&](std::size_t place) {
    const double below = scores[order[0]] - scores[order[place]];
    return o.temperature == 0 ? double(place == 0) : std::exp(-below / o.temperature);
  };
  std::size_t stay = o.top_k > 0 ? std::min(order.size(), std::size_t(o.top_k)) : order.size();
  double among = 0, sum = 0;
  for (std::size_t i = 0; i < stay; ++i) among += weight(i);
  std::size_t fewest = 0;
  while (fewest < stay && sum < o.top_p * among) sum += weight(fewest++);
  stay = std::max<std::size_t>(1, o.top_p < 1 ? fewest : stay);
  while (stay > 1 && weight(stay - 1) < o.min_p * weight(0)) --stay;
  List p(scores.size());
  sum = 0;
  for (std::size_t i = 0; i < stay; ++i) sum += weight(i);
  for (std::size_t i = 0; i < stay; ++i) p[order[i]] = weight(i) / sum;
  return p;
}

/// Returns how often each token is drawn, as a fraction of `n` evenly spaced random values.
List drawn(const List& scores, const SamplingOptions& options, const Tokens& seen, int n) {
  List share(scores.size());
  for (int i = 0; i < n; ++i) {
    const std::int64_t id =
        nn::sample_token(tensor(scores, {std::ssize(scores)}), options, (i + 0.5) / n, seen);
    share[static_cast<std::size_t>(id)] += 1.0 / n;
  }
  return share;
}

TEST_CASE("a token is drawn from the distribution that remains after all limits") {
  constexpr int kDraws = 64;
  const std::vector<List> all = {{0, 0, 0, 0}, {1.5, -0.5, 1.5, 0, -2}, {-1, -1.1, -3}, {2}};
  for (const List& scores : all)
    for (const double temperature : {0.0, 0.5, 1.0, 3.0})
      for (const std::int64_t top_k : {0, 1, 2, 3, 9})
        for (const double top_p : {1e-9, 0.25, 0.5, 0.75, 0.9, 1.0})
          for (const double min_p : {0.0, 0.2, 1.0})
            for (const double penalty : {1.0, 1.7, 0.6}) {
              const SamplingOptions o{temperature, top_k, top_p, min_p, penalty};
              const Tokens seen = {std::ssize(scores) - 1, 0, 0};
              CAPTURE(scores, temperature, top_k, top_p, min_p, penalty);
              const List p = distribution(scores, o, seen), got = drawn(scores, o, seen, kDraws);
              // An interval of length p contains n p ± 1 of n evenly spaced values.
              for (std::size_t i = 0; i < p.size(); ++i)
                if (!(std::abs(got[i] - p[i]) <= 1.0 / kDraws && (got[i] == 0 || p[i] > 0)))
                  CHECK(got == p);
            }
}

/// Pseudo-random scores that depend on the entire text.
List scores_after(const Tokens& text, std::int64_t V) {
  std::uint64_t hash = 17;
  for (const std::int64_t id : text) hash = (hash ^ std::uint64_t(id + 1)) * 0x9E3779B97F4A7C15u;
  List scores;
  for (std::int64_t i = 0; i < V; ++i) {
    hash = (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9u + 1;
    scores.push_back(double(hash >> 11) * 0x1p-53 * 4 - 2);
  }
  return scores;
}

struct Scripted final : nn::DecoderState {
  explicit Scripted(std::int64_t vocab) : V(vocab) {}
  Tensor next(const std::vector<Tokens>& tokens) override {
    texts.resize(tokens.size());
    List all;
    for (std::size_t b = 0; b < tokens.size(); ++b) {
      texts[b].insert(texts[b].end(), tokens[b].begin(), tokens[b].end());
      const List one = scores_after(texts[b], V);
      all.insert(all.end(), one.begin(), one.end());
    }
    return tensor(all, {std::ssize(tokens), V});
  }
  void select(const std::vector<std::int64_t>& sequences) override {
    std::vector<Tokens> chosen;
    for (const std::int64_t i : sequences) chosen.push_back(texts[std::size_t(i)]);
    texts = chosen;
  }
  std::int64_t V;
  std::vector<Tokens> texts;
};

/// Returns the first token, in order of decreasing probability, whose cumulative probability
/// exceeds u.
std::int64_t at(const List& scores, const List& p, double u) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return p[a] != p[b] ? p[a] > p[b] : scores[a] > scores[b];
  });
  for (const std::size_t i : order)
    if ((u -= p[i]) < 0) return std::int64_t(i);
  return std::int64_t(order[0]);
}

TEST_CASE("batched sampling equals sampling each sequence separately") {
  constexpr std::int64_t V = 6, kEnd = 5;
  const std::vector<Tokens> prompts = {{1, 2, 3}, {4}, {2, 2}};
  const RandomStream random{9, 4, 0};
  for (const SamplingOptions& o :
       {SamplingOptions{1, 0, 1, 0, 1}, SamplingOptions{0.7, 4, 0.9, 0, 3},
        SamplingOptions{2, 0, 1, 0.3, 0.5}, SamplingOptions{0, 0, 1, 0, 5}})
    for (const std::int64_t end : {std::int64_t{-1}, kEnd})
      for (std::size_t B = 1; B <= 3; ++B) {
        Scripted model(V);
        const std::vector<Tokens> side(prompts.begin(), prompts.begin() + std::ptrdiff_t(B));
        std::vector<Tokens> received(B);
        const std::vector<Tokens> added =
            nn::generate(model, side, {.tokens = 12, .end = end, .sampling = o}, random,
                         [&](std::int64_t b, std::int64_t id) {
                           return received[std::size_t(b)].push_back(id), true;
                         });
        CHECK(added == received);
        for (std::size_t b = 0; b < B; ++b) {
          CAPTURE(o.repetition_penalty, end, B, b);
          Tokens text = prompts[b], expected;
          for (std::uint64_t n = 0; n < 12 && (expected.empty() || expected.back() != end); ++n) {
            const List scores = scores_after(text, V), p = distribution(scores, o, text);
            expected.push_back(at(scores, p, random.uniform(static_cast<std::int64_t>(n * B + b))));
            text.push_back(expected.back());
          }
          CHECK(added[b] == expected);
        }
      }
}

double log_p(const List& scores, std::int64_t id) {
  double sum = 0;
  for (const double each : scores) sum += std::exp(each);
  return scores[std::size_t(id)] - std::log(sum);
}

/// As in Wu et al., considers the 2 · beams most likely continuations, starting with the best. A
/// continuation that ends is a finished beam. The others are kept, until there are `beams` of them.
std::vector<nn::Beam> plain_beams(std::int64_t V, const Tokens& prompt, const nn::BeamOptions& o) {
  struct Open {
    Tokens text;
    double log_p;
  };
  const auto score = [&](const Open& x) {
    return x.log_p / std::pow((5 + double(x.text.size())) / 6, o.length_penalty);
  };
  const auto likelier = [](const Open& a, const Open& b) { return a.log_p > b.log_p; };
  std::vector<Open> open = {{{}, 0}};
  std::vector<nn::Beam> finished;
  for (std::int64_t n = 0; n < o.tokens; ++n) {
    std::vector<Open> ways, longer;
    for (const Open& x : open) {
      Tokens complete = prompt;
      complete.insert(complete.end(), x.text.begin(), x.text.end());
      for (std::int64_t id = 0; id < V; ++id) {
        ways.push_back({x.text, x.log_p + log_p(scores_after(complete, V), id)});
        ways.back().text.push_back(id);
      }
    }
    std::stable_sort(ways.begin(), ways.end(), likelier);
    if (std::ssize(ways) > 2 * o.beams) ways.resize(std::size_t(2 * o.beams));
    for (const Open& x : ways) {
      if (std::ssize(longer) == o.beams) break;
      if (x.text.back() == o.end)
        finished.push_back({x.text, score(x)});
      else
        longer.push_back(x);
    }
    open = longer;
  }
  for (const Open& x : open) finished.push_back({x.text, score(x)});
  std::stable_sort(finished.begin(), finished.end(),
                   [](const nn::Beam& a, const nn::Beam& b) { return a.score > b.score; });
  if (std::ssize(finished) > o.beams) finished.resize(std::size_t(o.beams));
  return finished;
}

TEST_CASE("beam search stops early only if no better text can follow") {
  for (const std::int64_t V : {2, 3, 5})
    for (const std::int64_t beams : {1, 2, 3, 6})
      for (const std::int64_t tokens : {0, 1, 2, 5, 8})
        for (const double penalty : {0.0, 0.6, 1.5, 4.0})
          for (std::int64_t first = 0; first < 8; ++first) {
            const nn::BeamOptions o{beams, tokens, V - 1, penalty};
            const Tokens prompt = {first, 1};
            CAPTURE(V, beams, tokens, penalty, first);
            Scripted model(V);
            const std::vector<nn::Beam> got = nn::beam_search(model, prompt, o),
                                        want = plain_beams(V, prompt, o);
            REQUIRE(got.size() == want.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
              if (got[i].tokens != want[i].tokens) CHECK(got[i].tokens == want[i].tokens);
              // The scores sum 8 logarithms of order 1.
              if (!(std::abs(got[i].score - want[i].score) < 1e-13))
                CHECK(got[i].score == want[i].score);
            }
          }
}

TEST_CASE("reordering a decoder state reorders its cache, even beyond the context") {
  const NoGrad off;
  for (const std::int64_t window : {0, 3, 8}) {
    const bool learned = window < 8;
    nn::GPTOptions options = tiny();
    options.context = 8, options.layers = 1, options.window = window;
    if (!learned) options.block.head.position = nn::HeadPosition::rotary;
    nn::GPT model(options);
    enlarge(model);
    nn::GPTDecoderState steps(model);
    std::vector<Tokens> texts = {{1, 2, 3}, {4}, {5, 6}}, latest = texts;
    const RandomStream random{5, 0, 0};
    for (std::int64_t n = 0; n < 24; ++n) {
      CAPTURE(window, n);
      const Tensor logits = steps.next(latest);
      for (std::size_t b = 0; b < texts.size() && learned; ++b) {
        const auto most = std::min<std::ptrdiff_t>(std::ssize(texts[b]), 8);
        const Tensor alone =
            model(tensor(Tokens(texts[b].end() - most, texts[b].end()), {1, most}));
        check_equal(select(logits, 0, std::int64_t(b)), select(select(alone, 0, 0), 0, -1));
      }
      for (std::size_t b = 0; b < texts.size() && !learned; ++b) {
        nn::GPTDecoderState fresh(model);
        check_equal(select(logits, 0, std::int64_t(b)), select(fresh.next({texts[b]}), 0, 0));
      }
      std::vector<std::int64_t> chosen;
      for (std::int64_t b = 0; b < 3; ++b) chosen.push_back(random.below(6 * n + b, 3));
      steps.select(chosen);
      const std::vector<Tokens> before = texts;
      for (std::size_t b = 0; b < 3; ++b) {
        texts[b] = before[std::size_t(chosen[b])];
        latest[b] = {random.below(6 * n + 3 + std::int64_t(b), 13)};
        texts[b].push_back(latest[b][0]);
      }
    }
  }
}

}  // namespace
}  // namespace gradus::testing::test_decode_law
