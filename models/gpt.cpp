// B batch, T tokens, C width, V vocabulary.
#include "gradus/models/gpt.h"

#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/matmul.h"

namespace gradus::nn {
namespace {

constexpr double kInitialDeviation = 0.02;

void initialise(Linear& layer, double deviation) {
  init::normal_(layer.weight, 0, deviation);
  init::zeros_(layer.bias);
}

}  // namespace

GPT::GPT(const GPTOptions& given)
    : options(given),
      token(given.vocab, given.width),
      position(given.context, given.width),
      norm(given.width) {
  require(options.layers > 0, "GPT: ", options.layers, " layers: needs at least 1");
  init::normal_(token.weight, 0, kInitialDeviation);
  init::normal_(position.weight, 0, kInitialDeviation);
  const double onto_residual = init::residual_deviation(options.layers, kInitialDeviation);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    Block& block = blocks.emplace_back(BlockOptions{.width = options.width,
                                                    .heads = options.heads,
                                                    .dropout = options.dropout,
                                                    .norm = options.norm});
    initialise(block.attention.qkv_proj, kInitialDeviation);
    initialise(block.attention.out_proj, onto_residual);
    initialise(block.feed_forward.up, kInitialDeviation);
    initialise(block.feed_forward.down, onto_residual);
  }
}

Tensor GPT::forward(const Tensor& ids) const {
  require<ShapeError>(ids.defined() && ids.rank() == 2,
                      "GPT: token ids must be [batch, length], not ",
                      ids.defined() ? to_string(ids.shape()) : "undefined");
  const std::int64_t T = ids.size(1);
  require<ShapeError>(T <= options.context, "GPT: ", T, " tokens, but the model's context is ",
                      options.context, ": pass the last ", options.context, " of them");
  Tensor x = token(ids) + position(arange(T));  // [B, T, C]
  x = dropout(x, options.dropout, training());
  const Mask mask = causal_mask();
  for (const Block& block : blocks) x = block(x, mask);  // [B, T, C]
  return linear(norm(x), token.weight);                  // [B, T, V]
}

Tensor GPT::loss(const Tensor& ids, const Tensor& targets) const {
  return cross_entropy((*this)(ids), targets);
}

const std::vector<GPTPreset>& gpt_presets() {
  const auto preset = [](const char* name, std::int64_t layers, std::int64_t heads,
                         std::int64_t width, std::int64_t context, std::int64_t batch,
                         std::int64_t vocab) {
    return GPTPreset{
        name,
        {.vocab = vocab, .context = context, .layers = layers, .heads = heads, .width = width},
        batch};
  };
  static const std::vector<GPTPreset> presets = {
      preset("toy", 2, 2, 64, 32, 8, 65),        preset("cpu", 4, 4, 128, 64, 12, 65),
      preset("baby12", 6, 6, 384, 256, 12, 65),  preset("baby64", 6, 6, 384, 256, 64, 65),
      preset("gpt2", 12, 12, 768, 64, 4, 50257), preset("long", 4, 4, 256, 1024, 4, 65)};
  return presets;
}

const GPTPreset& gpt_preset(const std::string& name) {
  std::string known;
  for (const GPTPreset& preset : gpt_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  fail<ValueError>("no preset is called \"", name, "\": there are ", known);
}

}  // namespace gradus::nn
