// Checks that random calls with a cache return the same as calls without one.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/models/translator.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_cache_law {
namespace {

using nn::AttentionRecord;
using nn::Tokens;

struct Dice {
  RandomStream random;
  std::int64_t at = 0;
  std::int64_t below(std::int64_t n) { return random.below(at++, n); }
  /// Returns the indices of at most `most` of `n` examples, with repetition.
  Ids some_of(std::int64_t n, std::int64_t most) {
    Ids chosen(static_cast<std::size_t>(1 + below(most)));
    for (std::int64_t& each : chosen) each = below(n);
    return chosen;
  }
};

template <class List>
List picked(const List& from, const Ids& which) {
  List chosen;
  for (const std::int64_t i : which) chosen.push_back(from[static_cast<std::size_t>(i)]);
  return chosen;
}

enum class Padding { none, any, level };

/// Texts that grow by random tokens, and their cache.
struct Walk {
  const nn::GPT& model;
  nn::CacheOptions size;
  Dice dice;
  nn::KVCache cache{size};
  std::vector<Tokens> texts = {{}, {}, {}};

  /// Returns the number of tokens that each text receives, and finally their maximum T. `none`: all
  /// receive T tokens. `any`: random numbers of tokens. `level`: all texts become equally long.
  Ids lengths(Padding padding, std::int64_t room) {
    const auto shorter = [](const Tokens& a, const Tokens& b) { return a.size() < b.size(); };
    const auto [least, most] = std::minmax_element(texts.begin(), texts.end(), shorter);
    const std::int64_t all = std::ssize(*most) + 1;
    if (padding == Padding::level && all - std::ssize(*least) > room) padding = Padding::none;
    const std::int64_t T = padding == Padding::level
                               ? all - std::ssize(*least)
                               : 1 + dice.below(std::min<std::int64_t>(room, 5));
    Ids n;
    for (const Tokens& text : texts)
      n.push_back(padding == Padding::none    ? T
                  : padding == Padding::level ? all - std::ssize(text)
                                              : dice.below(T + 1));
    n.push_back(T);
    return n;
  }

  void take(Padding padding, bool recorded) {
    const std::int64_t room = size.sliding ? 5 : size.capacity - cache.size();
    if (room == 0) return;
    Ids ids, lengths = this->lengths(padding, room);
    const std::int64_t B = std::ssize(texts), T = lengths.back();
    lengths.pop_back();
    for (std::size_t b = 0; b < texts.size(); ++b)
      for (std::int64_t j = 0; j < T; ++j) {
        ids.push_back(dice.below(13));
        if (j >= T - lengths[b]) texts[b].push_back(ids.back());
      }
    std::optional<AttentionRecord> record;
    if (recorded) record.emplace();
    const Tensor logits =
        model(tensor(ids, {B, T}), &cache, padding == Padding::none ? Ids{} : lengths);
    std::int64_t longest = 0;
    for (std::size_t b = 0; b < texts.size(); ++b) {
      CAPTURE(b, lengths, texts[b]);
      check_text(select(logits, 0, std::int64_t(b)), lengths[b], texts[b], record, b);
      longest = std::max<std::int64_t>(longest, std::ssize(texts[b]));
    }
    CHECK(cache.length() == longest);
    CHECK(cache.batch() == B);
  }

  void check_text(const Tensor& got, std::int64_t length, const Tokens& text,
                  const std::optional<AttentionRecord>& record, std::size_t b) const {
    if (length == 0) return;
    const std::int64_t T = got.size(0), L = std::ssize(text);
    const AttentionRecord complete;
    // A cache filled by one call, with the same precision.
    nn::KVCache rounded({.capacity = L, .precision = size.precision});
    const bool whole_numbers = size.precision == Precision::f32;
    const Tensor right =
        select(model(tensor(text, {1, L}), whole_numbers ? nullptr : &rounded), 0, 0);
    check_equal(slice(got, 0, T - length, T), slice(right, 0, L - length, L));
    for (std::int64_t j = T; j-- > 0;)  // the last query is the last token of the text
      CHECK(cache.queries()[b][std::size_t(j)] == (j < T - length ? -1 : L - T + j));
    if (record)
      for (std::size_t i = 0; i < complete.entries().size(); ++i)
        check_weights(record->entries()[i].weights, complete.entries()[i].weights, b);
  }

  /// Compares example b of `got` [B, H, T, S], whose queries and keys are in cache order, with
  /// `right` [1, H, L, L], which is in sequence order.
  void check_weights(const Tensor& got, const Tensor& right, std::size_t b) const {
    const auto H = std::size_t(got.size(1)), T = std::size_t(got.size(2)),
               S = std::size_t(got.size(3)), L = std::size_t(right.size(2));
    const std::vector<double> all = numbers(got), want = numbers(right);
    double worst = 0;
    for (std::size_t h = 0; h < H; ++h)
      for (std::size_t i = 0; i < T; ++i) {
        const std::int64_t query = cache.queries()[b][i];
        std::vector<double> row(L, 0);
        double nowhere = 0;
        for (std::size_t s = 0; s < S; ++s) {
          const std::int64_t key = cache.keys()[b][s];
          (key < 0 ? nowhere : row[std::size_t(key)]) += all[((b * H + h) * T + i) * S + s];
        }
        worst = std::max(worst, nowhere);
        for (std::size_t k = 0; k < L && query >= 0; ++k)
          worst = std::max(worst, std::abs(row[k] - want[(h * L + std::size_t(query)) * L + k]));
      }
    CHECK(worst < 1e-12);
  }

  void reorder() {
    const Ids chosen = dice.some_of(std::ssize(texts), 4);
    cache.select(chosen);
    texts = picked(texts, chosen);
  }
};

/// Makes nine random calls. A copy of the walk, made after the fifth, must continue independently.
void wander(Walk& walk) {
  std::optional<Walk> copy;
  for (int n = 0; n < 9; ++n) {
    // In a sliding cache, padding in a later call would move tokens out of the window.
    const Padding padding =
        n > 0 && walk.size.sliding ? Padding::none : Padding(walk.dice.below(3));
    walk.take(padding, walk.dice.below(2) == 0);
    if (walk.dice.below(3) == 0) walk.reorder();
    if (n == 4) copy.emplace(walk), copy->dice.at = 1000;
    if (copy) copy->take(Padding::none, false);
  }
}

}  // namespace

TEST_CASE("a GPT with a cache equals one without, for any tokens, padding and reordering") {
  const NoGrad off;
  std::uint32_t stream = 0;
  for (const nn::HeadPosition position : {nn::HeadPosition::none, nn::HeadPosition::rotary,
                                          nn::HeadPosition::alibi, nn::HeadPosition::relative})
    for (const std::int64_t kv_heads : {1, 2, 4})
      for (const std::int64_t window : {0, 1, 4}) {
        nn::GPTOptions options = tiny();
        options.block.head.position = position, options.block.kv_heads = kv_heads,
        options.window = window;
        const nn::GPT model = made(options);
        // Spare capacity; −1: the cache does not slide.
        for (const std::int64_t spare : {-1, 0, 2}) {
          if (spare >= 0 && (window == 0 || position == nn::HeadPosition::none)) continue;
          const bool sliding = spare >= 0;
          for (const Precision precision :
               {Precision::f32, Precision::bf16, Precision::f16, Precision::int8}) {
            CAPTURE(int(position), kv_heads, window, spare, int(precision));
            const std::int64_t capacity = sliding ? window + spare : 24;
            Walk walk{model,
                      {.capacity = capacity, .sliding = sliding, .precision = precision},
                      {{6, stream++}}};
            wander(walk);
          }
        }
      }
}

TEST_CASE("a translator with a cache equals one without, for any lengths and reordering") {
  const NoGrad off;
  nn::Translator model(
      {.source_vocab = 13, .target_vocab = 13, .context = 16, .block = {.width = 8, .heads = 2}});
  enlarge(model);
  for (std::uint32_t stream = 0; stream < 12; ++stream) {
    Dice dice{{7, stream}};
    const bool padded = stream % 2 == 0;
    const Tensor sources = ids_of(3, 5, stream);
    Ids lengths = {5, 2, 4}, source = {0, 1, 2};
    nn::TranslatorDecoderState steps(model, sources, padded ? lengths : Ids{});
    std::vector<Tokens> texts(3);
    for (int n = 0; n < 5; ++n) {
      std::vector<Tokens> more(texts.size());
      for (std::size_t b = 0; b < texts.size(); ++b) {
        for (std::int64_t left = 1 + dice.below(3); left > 0; --left)
          more[b].push_back(dice.below(13));
        texts[b].insert(texts[b].end(), more[b].begin(), more[b].end());
      }
      const Tensor logits = steps.next(more);
      for (std::size_t b = 0; b < texts.size(); ++b) {
        CAPTURE(stream, n, b, source);
        const std::int64_t s = source[b], L = std::ssize(texts[b]);
        const Tensor own = slice(sources, 0, s, s + 1),
                     read = padded ? slice(own, 1, 0, lengths[std::size_t(s)]) : own,
                     right = model(read, tensor(texts[b], {1, L}));
        check_equal(select(logits, 0, std::int64_t(b)), select(select(right, 0, 0), 0, -1));
      }
      if (dice.below(4) == 0) continue;
      const Ids chosen = dice.some_of(std::ssize(texts), 4);
      steps.select(chosen);
      texts = picked(texts, chosen), source = picked(source, chosen);
    }
  }
}

}  // namespace gradus::testing::test_cache_law
