// Samples of BERT, ViT and the listener.
#include <cmath>
#include <utility>
#include <vector>

#include "gradus/examples/apps/listen/listener.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/vit.h"
#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/nn/naive_layers.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
constexpr std::int64_t B = 2, T = 3, C = 4, V = 5;  // examples, tokens, width, vocabulary
const std::vector<std::int64_t> kLengths = {3, 2};

nn::BERTOptions bert_options(nn::NormPlacement norm = nn::NormPlacement::post) {
  return {
      .vocab = V, .context = T + 1, .layers = 1, .block = {.width = C, .heads = 2, .norm = norm}};
}

Tensor text() { return ids({4, 0, 2, 2, 1, 0}, {B, T}); }

bool not_padding(std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) {
  return j < kLengths[at(b)];
}

/// Order of p: token, position, segment, norm (2), block (12); pre-norm models also have a final
/// norm (2).
template <class N>
List<N> bert(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& segments,
             const Parameters<N>& p, bool post) {
  List<N> x;
  for (std::int64_t t = 0; t < B * T; ++t)
    for (std::int64_t c = 0; c < C; ++c)
      x.push_back(p[0][at(tokens[at(t)] * C + c)] + p[1][at(t % T * C + c)] +
                  p[2][at(segments[at(t)] * C + c)]);
  const List<N> normed = naive::layer_norm(x, C, p[3], p[4]);
  const List<N> y =
      naive::block({B, 2, T, T, 2, 2, not_padding}, normed, p, 5, post, naive::Bend::gelu_erf);
  return post ? y : naive::layer_norm(y, C, p[17], p[18]);
}
constexpr std::size_t kBert = 17;  // number of parameters of a post-norm model
const std::vector<std::int64_t> kOneSegment(B* T, 0);

void add_bert(Samples& all) {
  all.push_back(layer(
      "packed_attention", "BERT, post-norm, padding", {text()},
      [] { return nn::BERT(bert_options()); },
      [](const nn::BERT& m, const Inputs& in) { return m(in[0], kLengths); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return bert(in[0].integers, kOneSegment, p, true);
      }));
  all.push_back(layer(
      "packed_attention", "BERT, pre-norm, two segments", {text(), ids({0, 1, 1, 0, 0, 1}, {B, T})},
      [] { return nn::BERT(bert_options(nn::NormPlacement::pre)); },
      [](const nn::BERT& m, const Inputs& in) { return m(in[0], kLengths, in[1]); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return bert(in[0].integers, in[1].integers, p, false);
      }));
}

/// The mean of log Σ exp(logits) − logits[target] over targets other than −1.
template <class N>
N mean_loss(const List<N>& logits, const std::vector<std::int64_t>& targets) {
  N loss = 0;
  double count = 0;
  for (std::int64_t t = 0; t < std::ssize(targets); ++t) {
    if (targets[at(t)] < 0) continue;
    N total = 0;
    for (std::int64_t v = 0; v < V; ++v) total += math::exp(logits[at(t * V + v)]);
    loss += math::log(total) - logits[at(t * V + targets[at(t)])];
    ++count;
  }
  return loss / count;
}

/// Logits of MaskedLM. Order of p: bert, dense (2), norm (2), bias.
template <class N>
List<N> words(const std::vector<std::int64_t>& tokens, const Parameters<N>& p) {
  const List<N> x = bert(tokens, kOneSegment, p, true);
  const List<N> guess = naive::layer_norm(
      naive::gelu_erf(naive::affine(x, C, p[kBert], p[kBert + 1])), C, p[kBert + 2], p[kBert + 3]);
  return naive::affine(guess, C, p[0], p[kBert + 4]);
}

void add_heads_of_bert(Samples& all) {
  all.push_back(layer(
      "cross_entropy", "MaskedLM's loss at three of six positions",
      {text(), ids({0, 3, -100, 1, -100, -100}, {B, T})},
      [] { return nn::MaskedLM(bert_options()); },
      [](const nn::MaskedLM& m, const Inputs& in) { return m.loss(in[0], in[1], kLengths); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return List<N>{mean_loss(words(in[0].integers, p), in[1].integers)};
      }));
  all.push_back(layer(
      "linear", "MaskedLM, all positions", {text()}, [] { return nn::MaskedLM(bert_options()); },
      [](const nn::MaskedLM& m, const Inputs& in) { return m(in[0], kLengths); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return words(in[0].integers, p);
      }));
  all.push_back(layer(
      "tanh", "TextClassifier, padding", {text()},
      [] { return nn::TextClassifier(bert_options(), 3); },
      [](const nn::TextClassifier& m, const Inputs& in) { return m(in[0], kLengths); },
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        const List<N> x = bert(in[0].integers, kOneSegment, p, true);
        List<N> first;
        for (std::int64_t b = 0; b < B; ++b)
          for (std::int64_t c = 0; c < C; ++c) first.push_back(x[at(b * T * C + c)]);
        List<N> pooled = naive::affine(first, C, p[kBert], p[kBert + 1]);
        for (N& each : pooled) each = math::tanh(each);
        return naive::affine(pooled, C, p[kBert + 2], p[kBert + 3]);
      }));
}

/// Splits images of shape [3, 2, 6, 6] into four patches each: [3, 4, 2 · 9].
template <class N>
List<N> patches(const List<N>& images) {
  List<N> y;
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t patch = 0; patch < 4; ++patch)
      for (std::int64_t channel = 0; channel < 2; ++channel)
        for (std::int64_t row = 0; row < 3; ++row)
          for (std::int64_t column = 0; column < 3; ++column)
            y.push_back(images[at(((b * 2 + channel) * 6 + patch / 2 * 3 + row) * 6 +
                                  patch % 2 * 3 + column)]);
  return y;
}

void add_vit(Samples& all) {
  all.push_back(layer(
      "packed_attention", "VisionTransformer, two channels, four patches", {values({3, 2, 6, 6})},
      [] {
        return nn::VisionTransformer({.size = 6,
                                      .patch = 3,
                                      .channels = 2,
                                      .classes = 3,
                                      .layers = 1,
                                      .block = {.width = C, .heads = 2}});
      },
      call_one,
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        // Order of p: patch (2), class token, positions, a block (12), norm (2), head (2).
        const List<N> vectors = naive::affine(patches(numbers(in[0])), 18, p[0], p[1]);
        List<N> x;
        for (std::int64_t b = 0; b < 3; ++b)
          for (std::int64_t t = 0; t < 5; ++t)
            for (std::int64_t c = 0; c < C; ++c)
              x.push_back((t == 0 ? p[2][at(c)] : vectors[at((b * 4 + t - 1) * C + c)]) +
                          p[3][at(t * C + c)]);
        const List<N> y =
            naive::layer_norm(naive::block({3, 2, 5, 5, 2, 2}, x, p, 4, false), C, p[16], p[17]);
        List<N> first;
        for (std::int64_t b = 0; b < 3; ++b)
          for (std::int64_t c = 0; c < C; ++c) first.push_back(y[at(b * 5 * C + c)]);
        return naive::affine(first, C, p[18], p[19]);
      }));
}

/// [B, rows, columns] → [B, columns, rows]
template <class N>
List<N> turned(const List<N>& x, std::int64_t examples, std::int64_t rows, std::int64_t columns) {
  List<N> y;
  for (std::int64_t b = 0; b < examples; ++b)
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r) y.push_back(x[at((b * rows + r) * columns + c)]);
  return y;
}

/// x [B, T, in], w [out, in, 3] (depthwise: [in, 1, 3]), padding 1 → [B, T', out]
template <class N>
List<N> convolution(const List<N>& x, std::int64_t frames, std::int64_t in, const List<N>& w,
                    const List<N>& bias, std::int64_t stride, bool depthwise = false) {
  List<N> y;
  for (std::int64_t b = 0; b < std::ssize(x) / (frames * in); ++b)
    for (std::int64_t t = 0; t < frames; t += stride)
      for (std::int64_t o = 0; o < std::ssize(bias); ++o) {
        N sum = bias[at(o)];
        for (std::int64_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : in); ++c)
          for (std::int64_t k = 0; k < 3; ++k)
            if (0 <= t + k - 1 && t + k - 1 < frames)
              sum += x[at((b * frames + t + k - 1) * in + c)] *
                     w[at((depthwise ? o : o * in + c) * 3 + k)];
        y.push_back(sum);
      }
  return y;
}

/// x [B, T, C]. Order of p[first …]: norm (2), convolution (2), block (12).
template <class N>
List<N> convolution_block(const naive::Attention& a, const List<N>& x, const Parameters<N>& p,
                          std::size_t first) {
  const List<N> normed = naive::layer_norm(x, C, p[first], p[first + 1]);
  const List<N> near =
      naive::gelu(convolution(normed, a.T, C, p[first + 2], p[first + 3], 1, true));
  return naive::block(a, naive::plus(x, near), p, first + 4, false);
}

/// Applies two convolutions, positions, a block, norm, the mean over the T' = 3 frames that remain
/// of T = 5, and the head.
template <class N>
List<N> listener(const List<N>& spectrograms, const Parameters<N>& p) {
  const List<N> wide = naive::gelu(convolution(turned(spectrograms, 2, 3, 5), 5, 3, p[0], p[1], 1));
  List<N> x = naive::gelu(convolution(wide, 5, C, p[2], p[3], 2));
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const double angle = static_cast<double>(i / C % 3) / (i % C < 2 ? 1 : 100);  // √10000
    x[at(i)] += i % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }
  const List<N> y =
      naive::layer_norm(convolution_block({2, 2, 3, 3, 2, 2}, x, p, 4), C, p[20], p[21]);
  List<N> mean(2 * C, N(0));
  for (std::int64_t i = 0; i < std::ssize(y); ++i)
    mean[at(i / (3 * C) * C + i % C)] += y[at(i)] / 3;
  return naive::affine(mean, C, p[22], p[23]);
}

void add_listener(Samples& all) {
  all.push_back(layer(
      "depthwise_conv1d", "ConvolutionBlock", {values({1, 3, C})},
      [] { return examples::ConvolutionBlock({.block = {.width = C, .heads = 2}, .kernel = 3}); },
      call_one,
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return convolution_block({1, 2, 3, 3, 2, 2}, numbers(in[0]), p, 0);
      }));
  all.push_back(layer(
      "depthwise_conv1d", "Listener, fewer frames than its maximum", {values({2, 3, 5})},
      [] {
        return examples::Listener({.bands = 3,
                                   .frames = 7,
                                   .classes = 3,
                                   .layers = 1,
                                   .heads = 2,
                                   .width = C,
                                   .kernel = 3});
      },
      call_one,
      []<class N>(const Arguments<N>& in, const Parameters<N>& p) {
        return listener(numbers(in[0]), p);
      }));
}

}  // namespace

Samples encoder_model_samples() {
  Samples all;
  add_bert(all);
  add_heads_of_bert(all);
  add_vit(all);
  add_listener(all);
  return all;
}

}  // namespace gradus::testing
