// B batch, T tokens, C width, V vocabulary.
#include "gradus/nn/models/gpt.h"
#include "gradus/engine/grad_mode.h"

#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/loss.h"

namespace gradus::nn {
namespace {

constexpr double kInitialDeviation = 0.02;

void initialise(Linear& layer, double deviation) {
  init::normal_(layer.weight, 0, deviation);
  if (layer.bias.defined()) init::zeros_(layer.bias);
}

}  // namespace

double GPT::parameter_count(const GPTOptions& o) {
  const auto C = static_cast<double>(o.block.width);
  const double rows = static_cast<double>(o.vocab) * (o.tied ? 1 : 2) +
                      static_cast<double>(o.learns_positions() ? o.context : 0);
  return rows * C + static_cast<double>(o.layers) * Block::parameter_count(o.block) +
         (o.block.norm_kind == NormKind::layer ? 2 * C : C);
}

GPT::GPT(const GPTOptions& given)
    : options(given),
      token(given.vocab, given.block.width),
      norm(given.block.width, given.block.norm_kind, {given.block.norm_eps}) {
  const std::int64_t C = options.block.width;
  require(options.layers > 0, "GPT: layers must be at least 1, got ", options.layers);
  require(options.context > 0 && options.window >= 0,
          "GPT: context must be positive and window not negative (0 = all), got ", options.context,
          " and ", options.window);
  init::normal_(token.weight, 0, kInitialDeviation);
  if (options.learns_positions()) {
    position = Embedding(options.context, C);
    init::normal_(position.weight, 0, kInitialDeviation);
  }
  if (!options.tied) {
    head = Linear(C, options.vocab, {.bias = false});
    init::normal_(head.weight, 0, kInitialDeviation);
  }
  const double residual_std =
      options.zero_init ? 0 : init::residual_deviation(options.layers, kInitialDeviation);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    Block& block = blocks.emplace_back(options.block);
    initialise(block.attention.qkv_proj, kInitialDeviation);
    initialise(block.attention.out_proj, residual_std);
    initialise(block.feed_forward.up, kInitialDeviation);
    initialise(block.feed_forward.down, residual_std);
  }
}

Mask GPT::mask() const {
  return options.window > 0 ? causal_mask() & window_mask(options.window - 1) : causal_mask();
}

/// Returns token embeddings plus learned positions, if the model has them: [B, T] → [B, T, C].
/// Advances the cache after all checks, so an error leaves the cache unchanged.
Tensor GPT::embed(const Tensor& ids, KVCache* cache,
                  const std::vector<std::int64_t>& lengths) const {
  const std::int64_t T = ids.size(1);
  Tensor vectors = token(ids);  // [B, T, C]
  if (options.embedding_factor != 1) vectors = vectors * options.embedding_factor;
  const bool learned = options.learns_positions();
  const std::int64_t end = cache ? cache->length_after(ids.size(0), T, lengths) : T;
  require<ShapeError>(!learned || end <= options.context, "GPT: ", end,
                      " tokens exceed the model's context of ", options.context,
                      ". Pass only the last ", options.context, ".");
  if (cache) cache->advance(ids.size(0), T, lengths);
  if (!learned) return vectors;
  if (!cache) return vectors + position(arange(T));
  const KVCache::FlatPositions at = cache->flat_positions();
  return vectors + position(tensor(at.queries, {at.examples == 0 ? 1 : at.examples, T}));
}

Tensor GPT::forward(const Tensor& ids, KVCache* cache,
                    const std::vector<std::int64_t>& lengths) const {
  require<ShapeError>(ids.rank() == 2, "GPT: token ids must be [batch, length], got ",
                      ids.defined() ? to_string(ids.shape()) : "undefined");
  require(cache || lengths.empty(), "GPT: lengths require a cache. Pass one.");
  Tensor x = embed(ids, cache, lengths);  // [B, T, C]
  x = dropout(x, options.block.dropout, training());
  const Mask visible = mask();

  const bool again = options.checkpoint && training() && GradMode::enabled();
  for (const Block& block : blocks)  // [B, T, C]
    x = again ? checkpoint([&block, visible](const Tensor& y) { return block(y, visible); }, x)
              : block(x, visible, cache);
  return options.tied ? token.project(norm(x)) : head(norm(x));  // [B, T, V]
}

Tensor GPT::loss(const Tensor& ids, const Tensor& targets) const {
  return cross_entropy((*this)(ids), targets);
}

const std::vector<GPTPreset>& gpt_presets() {
  static const std::vector<GPTPreset> presets = {
      {"toy", {.vocab = 65, .context = 32, .layers = 2, .block = {.width = 64, .heads = 2}}, 8},
      {"cpu", {.vocab = 65, .context = 64, .layers = 4, .block = {.width = 128, .heads = 4}}, 12},
      {"baby12",
       {.vocab = 65, .context = 256, .layers = 6, .block = {.width = 384, .heads = 6}},
       12},
      {"baby64",
       {.vocab = 65, .context = 256, .layers = 6, .block = {.width = 384, .heads = 6}},
       64},
      {"gpt2",
       {.vocab = 50257, .context = 64, .layers = 12, .block = {.width = 768, .heads = 12}},
       4},
      {"long",
       {.vocab = 65, .context = 1024, .layers = 4, .block = {.width = 256, .heads = 4}},
       4}};
  return presets;
}

const GPTPreset& gpt_preset(const std::string& name) {
  std::string known;
  for (const GPTPreset& preset : gpt_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  fail<ValueError>("gpt_preset: unknown preset \"", name, "\". Use one of these: ", known);
}

}  // namespace gradus::nn
