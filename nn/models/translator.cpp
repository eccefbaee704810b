// B batch, S source length, T target length, C width, V target vocabulary.
#include "gradus/nn/models/translator.h"
#include "gradus/engine/grad_mode.h"

#include <cmath>

#include "gradus/nn/init.h"
#include "gradus/nn/models/padded_batch.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

Mask padding(const std::vector<std::int64_t>& lengths) {
  return lengths.empty() ? Mask() : padding_mask(lengths);
}

}  // namespace

Translator::Translator(const TranslatorOptions& given)
    : options(given),
      source_token(given.source_vocab, given.block.width),
      target_token(given.target_vocab, given.block.width),
      transformer({.block = with_defaults(given.block, Activation::relu),
                   .encoder_layers = given.encoder_layers,
                   .decoder_layers = given.decoder_layers}),
      positions(sinusoidal_positions(given.context, given.block.width, Dtype::f64)) {
  const double deviation = 1 / std::sqrt(static_cast<double>(options.block.width));
  init::normal_(source_token.weight, 0, deviation);
  init::normal_(target_token.weight, 0, deviation);
  for (const NamedTensor& each : transformer.parameters()) {
    Tensor weight = each.tensor;
    if (weight.rank() == 2) init::xavier_uniform_(weight);
  }
  if (!options.shared) return;
  require(options.source_vocab == options.target_vocab,
          "Translator: a shared embedding needs equal vocabularies, got ", options.source_vocab,
          " source and ", options.target_vocab, " target tokens");
  tie(source_token.weight, target_token.weight);
}

/// Computes token · √C + position: [B, T] → [B, T, C].
Tensor Translator::embed(const Embedding& token, const Tensor& ids, const KVCache* cache) const {
  require<ShapeError>(ids.rank() == 2, "Translator: ids must be [batch, length], got ",
                      ids.defined() ? to_string(ids.shape()) : "undefined");
  const std::int64_t T = ids.size(1), end = cache ? cache->length() : T;
  require<ShapeError>(end <= options.context, "Translator: ", end,
                      " tokens exceed the model's context of ", options.context);
  const double scale = std::sqrt(static_cast<double>(options.block.width));
  const Tensor vectors = token(ids) * scale;  // [B, T, C]
  Tensor places = slice(positions, 0, 0, T);  // [T, C]
  if (cache) {
    const KVCache::FlatPositions at = cache->flat_positions();
    const std::int64_t B = at.examples == 0 ? 1 : at.examples;
    places = embedding(positions, tensor(at.queries, {B, T}));  // [B or 1, T, C]
  }
  const Tensor x = vectors + places.to(vectors.dtype());  // [B, T, C]
  return dropout(x, options.block.dropout, training());
}

Tensor Translator::encode(const Tensor& source, const std::vector<std::int64_t>& lengths) const {
  return transformer.encoder(embed(source_token, source, nullptr), padding(lengths));
}

Tensor Translator::decode(const Tensor& target, const Tensor& memory,
                          const std::vector<std::int64_t>& lengths, KVCache* cache) const {
  const Tensor x = embed(target_token, target, cache);  // [B, T, C]
  const Tensor y = transformer.decoder(x, memory, causal_mask(), padding(lengths), cache);
  return target_token.project(y);  // [B, T, V]
}

Tensor Translator::forward(const Tensor& source, const Tensor& target,
                           const std::vector<std::int64_t>& lengths) const {
  return decode(target, encode(source, lengths), lengths);
}

TranslatorDecoderState::TranslatorDecoderState(const Translator& model, const Tensor& source,
                                               std::vector<std::int64_t> source_lengths)
    : model_(model), lengths_(std::move(source_lengths)), cache_({model.options.context}) {
  const NoGrad off;
  memory_ = model.encode(source, lengths_);
}

Tensor TranslatorDecoderState::next(const std::vector<Tokens>& tokens) {
  require<ShapeError>(std::ssize(tokens) == memory_.size(0), "TranslatorDecoderState: got ",
                      tokens.size(), " targets for ", memory_.size(0), " sources");
  const NoGrad off;
  const PaddedBatch step = pad_sequences(tokens, 0, PaddingSide::left);
  const std::int64_t V = model_.options.target_vocab;
  for (const Tokens& each : tokens)  // check before the cache advances
    for (const std::int64_t id : each)
      require<IndexError>(0 <= id && id < V, "TranslatorDecoderState: token ", id,
                          " is not in the vocabulary of ", V);
  cache_.advance(step.ids.size(0), step.ids.size(1), step.lengths);
  const Tensor logits = model_.decode(step.ids, memory_, lengths_, &cache_);  // [B, T, V]
  return gradus::select(logits, 1, -1);                                       // [B, V]
}

void TranslatorDecoderState::select(const std::vector<std::int64_t>& sequences) {
  cache_.select(sequences);
  memory_ = index_select(memory_, 0, tensor(sequences));
  std::vector<std::int64_t> lengths;
  for (const std::int64_t i : sequences)
    if (!lengths_.empty()) lengths.push_back(lengths_[static_cast<std::size_t>(i)]);
  lengths_ = std::move(lengths);
}

}  // namespace gradus::nn
