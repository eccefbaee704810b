// Samples of the translator and the recommender.
#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/nn/models/translator.h"
#include "gradus/tests/nn/naive_layers.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
constexpr std::int64_t C = 3;  // width, for one head

/// √C · table[ids] + sinusoidal positions: [B, T] → [B, T, C]
template <class T>
List<T> embedded(const std::vector<std::int64_t>& ids, std::int64_t length, const List<T>& table) {
  List<T> x;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i)
    for (std::int64_t c = 0; c < C; ++c) {
      const double angle =
          static_cast<double>(i % length) / std::pow(10000.0, static_cast<double>(c / 2 * 2) / C);
      x.push_back(table[at(ids[at(i)] * C + c)] * std::sqrt(static_cast<double>(C)) +
                  (c % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return x;
}

void add_translator(Samples& all) {
  constexpr std::int64_t B = 2, S = 3, T = 2;
  all.push_back(layer(
      "attention", "Translator, a source with padding",
      {ids({4, 0, 2, 1, 3, 0}, {B, S}), ids({1, 3, 1, 2}, {B, T})},
      [] {
        return nn::Translator({.source_vocab = 5,
                               .target_vocab = 4,
                               .context = 7,
                               .encoder_layers = 1,
                               .decoder_layers = 1,
                               .block = {.width = C, .heads = 1}});
      },
      [](const nn::Translator& m, const Inputs& in) {
        return m(in[0], in[1], nn::Tokens{3, 2});
      },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        const auto there = [](std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) {
          return j < 3 - b;
        };
        const List<N> source = embedded(in[0].integers, S, p[0]);
        const List<N> target = embedded(in[1].integers, T, p[1]);
        const List<N> memory = naive::layer_norm(
            naive::block({B, 1, S, S, C, C, there}, source, p, 2, false, naive::Bend::relu), C,
            p[14], p[15]);
        const List<N> y =
            naive::decoder_block({B, 1, T, T, C, C, naive::causal}, {B, 1, T, S, C, C, there},
                                 target, memory, p, 16, false, naive::Bend::relu);
        return naive::affine(naive::layer_norm(y, C, p[38], p[39]), C, p[1], {});
      }));
}

/// One target is ignored by the loss.
void add_recommender(Samples& all) {
  constexpr std::int64_t B = 2, T = 4, V = 6;
  all.push_back(layer(
      "cross_entropy", "Recommender's loss, a padded history",
      {ids({3, 1, 5, 2, 0, 0, 4, 3}, {B, T}), ids({1, 5, 0, 4, 0, 0, 3, 2}, {B, T})},
      [] {
        return examples::Recommender(
            {.items = V - 1, .context = T + 1, .layers = 1, .heads = 1, .width = C});
      },
      [](const examples::Recommender& m, const Inputs& in) { return m.loss(in[0], in[1]); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        const std::vector<std::int64_t>&items = in[0].integers, &next = in[1].integers;
        List<N> x;
        for (std::int64_t i = 0; i < B * T; ++i)
          for (std::int64_t c = 0; c < C; ++c) {
            const std::int64_t place = i < T ? i : std::max<std::int64_t>(i - T - 2, 0);
            x.push_back(p[0][at(items[at(i)] * C + c)] * std::sqrt(static_cast<double>(C)) +
                        p[1][at(place * C + c)]);
          }
        const auto sees = [](std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) {
          return j <= i && (b == 0 || j >= 2);
        };
        const List<N> y = naive::layer_norm(
            naive::block({B, 1, T, T, C, C, sees}, x, p, 2, false, naive::Bend::relu), C, p[14],
            p[15]);
        const List<N> scores = naive::affine(y, C, p[0], {});
        N loss = 0;
        double counted = 0;
        for (std::int64_t i = 0; i < B * T; ++i) {
          if (next[at(i)] == 0) continue;
          N sum = 0;
          for (std::int64_t v = 1; v < V; ++v) sum += math::exp(scores[at(i * V + v)]);
          loss += math::log(sum) - scores[at(i * V + next[at(i)])];
          ++counted;
        }
        return List<N>{loss / counted};
      }));
}

}  // namespace

Samples sequence_model_samples() {
  Samples all;
  add_translator(all);
  add_recommender(all);
  return all;
}

}  // namespace gradus::testing
