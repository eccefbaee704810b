// B batch, T tokens, C width, V vocabulary.
#include "gradus/nn/models/bert.h"

#include "gradus/nn/init.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/cross_entropy.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

const std::int64_t kIgnored = CrossEntropyOptions().ignore_index;

/// Initializes matrices from normal(0, 0.02), truncated at two deviations, and biases with 0.
void initialise(Module& module) {
  for (const NamedTensor& each : module.parameters()) {
    Tensor parameter = each.tensor;
    if (parameter.rank() == 2) init::truncated_normal_(parameter, 0, 0.02, -0.04, 0.04);
    if (each.name.ends_with("bias")) init::zeros_(parameter);
  }
}

std::int64_t embedding_width(const BERTOptions& o) {
  return o.embedding_width.value_or(o.block.width);
}

BERTOptions completed(BERTOptions options) {
  options.block = with_defaults(options.block, Activation::gelu, NormPlacement::post);
  return options;
}

}  // namespace

BERT::BERT(const BERTOptions& given)
    : options(completed(given)),
      token(given.vocab, embedding_width(given), {given.padding_idx}),
      position(given.context, embedding_width(given)),
      segment(given.segments, embedding_width(given)),
      norm(embedding_width(given), {given.block.norm_eps}),
      encoder({.block = options.block,
               .layers = given.layers,
               .final_norm = options.block.norm == NormPlacement::pre,
               .shared = given.shared}) {
  const std::int64_t C = options.block.width;
  if (options.embedding_width) mapping = Linear(*options.embedding_width, C);
  if (options.pooler) pooler = Linear(C, C);
  initialise(*this);
}

Tensor BERT::forward(const Tensor& ids, const std::vector<std::int64_t>& lengths,
                     const Tensor& segments) const {
  require<ShapeError>(ids.rank() == 2, "BERT: token ids must be [batch, length], got ",
                      ids.defined() ? to_string(ids.shape()) : "undefined");
  const std::int64_t T = ids.size(1);
  require<ShapeError>(T <= options.context, "BERT: ", T, " tokens exceed the model's context of ",
                      options.context);
  const Tensor kinds = segments.defined() ? segments : zeros({1, T}, Dtype::i64);
  const Tensor x = token(ids) + position(arange(T)) + segment(kinds);  // [B, T, E]
  const Tensor normed = dropout(norm(x), options.block.dropout, training());
  const Tensor embedded = options.embedding_width ? mapping(normed) : normed;
  return encoder(embedded, lengths.empty() ? Mask() : padding_mask(lengths));  // [B, T, C]
}

Tensor BERT::pool(const Tensor& x) const {
  require(options.pooler, "BERT: the model has no pooler. Set BERTOptions::pooler.");
  return tanh(pooler(select(x, 1, 0)));  // [B, T, C] → [B, C]
}

MaskedLM::MaskedLM(const BERTOptions& options)
    : bert(options),
      dense(options.block.width, embedding_width(options)),
      norm(embedding_width(options), {options.block.norm_eps}) {
  bias = parameter(zeros({options.vocab}));
  initialise(dense);
}

Tensor MaskedLM::forward(const Tensor& ids, const std::vector<std::int64_t>& lengths) const {
  return words(bert(ids, lengths));  // [B, T, V]
}

Tensor MaskedLM::loss(const Tensor& ids, const Tensor& targets,
                      const std::vector<std::int64_t>& lengths) const {
  const Tensor flat = flatten(targets), counts = not_equal(flat, kIgnored);  // [B·T]
  const Tensor x = flatten(bert(ids, lengths), 0, 1)[counts];                // [M, C]
  return cross_entropy(words(x), flat[counts]);
}

/// Maps vectors [..., C] to logits [..., V].
Tensor MaskedLM::words(const Tensor& x) const {
  const Tensor guess = norm(activate(dense(x), *bert.options.block.activation));  // [..., E]
  return bert.token.project(guess, bias);                                         // [..., V]
}

TextClassifier::TextClassifier(const BERTOptions& options, std::int64_t classes)
    : bert(options),
      pooler(options.block.width, options.block.width),
      head(options.block.width, classes) {
  initialise(pooler);
  initialise(head);
}

Tensor TextClassifier::forward(const Tensor& ids, const std::vector<std::int64_t>& lengths) const {
  const Tensor first = select(bert(ids, lengths), 1, 0);  // [B, C]
  return head(tanh(pooler(first)));                       // [B, classes]
}

MaskedTokens mask_tokens(const Tensor& ids, const MaskTokensOptions& options,
                         const RandomStream& random) {
  require(0 <= options.first_id && options.first_id < options.vocab,
          "mask_tokens: first_id must be in [0, ", options.vocab, "), got ", options.first_id);
  require(0 <= options.rate && options.rate <= 1, "mask_tokens: the rate must be in [0, 1], got ",
          options.rate);
  std::vector<std::int64_t> seen = ids.to_vector<std::int64_t>(), wanted(seen.size(), kIgnored);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto at = static_cast<std::int64_t>(3 * i);  // three random numbers per token
    if (seen[i] < options.first_id || random.uniform(at) >= options.rate) continue;
    wanted[i] = seen[i];
    const double fate = random.uniform(at + 1), pick = random.uniform(at + 2);
    const auto kinds = static_cast<double>(options.vocab - options.first_id);
    if (fate < 0.8)
      seen[i] = options.mask_id;
    else if (fate < 0.9)
      seen[i] = options.first_id + static_cast<std::int64_t>(pick * kinds);
  }
  return {tensor(seen, ids.shape()), tensor(wanted, ids.shape())};
}

}  // namespace gradus::nn
