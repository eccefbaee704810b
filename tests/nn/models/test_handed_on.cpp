// Each option of a model reaches every layer; all options differ from their defaults.
#include <cmath>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/translator.h"
#include "gradus/nn/models/vit.h"
#include "gradus/nn/transformer.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_handed_on {
namespace {

using nn::BlockOptions;

/// All that a block can be told, and nothing that it would be without.
const BlockOptions kAll{.width = 8,
                        .heads = 4,
                        .hidden = 5,
                        .dropout = 0.25,
                        .bias = false,
                        .activation = nn::Activation::relu,
                        .norm = nn::NormPlacement::post,
                        .norm_kind = nn::NormKind::rms,
                        .kv_heads = 2,
                        .position = nn::HeadPosition::rotary,
                        .norm_eps = 0.125,
                        .rotary = {.base = 100, .interleaved = true},
                        .head_width = 6,
                        .qkv_bias = true,
                        .out_bias = true,
                        .qk_norm = 0.5};

/// The same for what has fewer options: by itself in all others.
BlockOptions some(std::int64_t heads, nn::NormPlacement norm, nn::Activation activation) {
  return {.width = 8,
          .heads = heads,
          .hidden = 5,
          .dropout = 0.25,
          .activation = activation,
          .norm = norm,
          .norm_eps = 0.125};
}

void check(const nn::MultiHeadAttention& layer, const BlockOptions& wanted) {
  const nn::MultiHeadAttentionOptions& o = layer.options;
  CHECK((o.width == wanted.width && o.heads == wanted.heads && o.kv_heads == wanted.kv_heads));
  CHECK((o.dropout == wanted.dropout && o.position == wanted.position));
  CHECK((o.rotary.base == wanted.rotary.base && o.rotary.interleaved == wanted.rotary.interleaved));
  CHECK((o.head_width == wanted.head_width && o.qk_norm == wanted.qk_norm));
  CHECK(layer.qkv_proj.bias.defined() == wanted.qkv_bias.value_or(wanted.bias));
  CHECK(layer.out_proj.bias.defined() == wanted.out_bias.value_or(wanted.bias));
  if (wanted.qk_norm) {
    CHECK((layer.q_norm.options.eps == *wanted.qk_norm));
    CHECK((layer.k_norm.options.eps == *wanted.qk_norm));
  }
}

void check(const nn::CrossAttention& layer, const BlockOptions& wanted) {
  const nn::CrossAttentionOptions& o = layer.options;
  CHECK((o.width == wanted.width && o.heads == wanted.heads && o.kv_heads == wanted.kv_heads));
  CHECK((o.bias == wanted.bias && o.dropout == wanted.dropout));
}

void check(const nn::FeedForward& layer, const BlockOptions& wanted) {
  CHECK((layer.options.width == wanted.width && layer.options.hidden == wanted.hidden));
  CHECK((layer.options.activation == wanted.activation && layer.options.bias == wanted.bias));
}

void check(const nn::Norm& layer, const BlockOptions& wanted) {
  CHECK((layer.width == wanted.width && layer.kind == wanted.norm_kind));
  CHECK(layer.options.eps == wanted.norm_eps);
}

/// Every layer of a model whose blocks are told this.
void check_model(const char* name, nn::Module& model, const BlockOptions& wanted) {
  int layers = 0;
  for (const auto& [path, module] : model.named_modules()) {
    INFO(name << ": " << path);
    const auto is = [&]<class Layer>(Layer* layer) {
      if (layer) check(*layer, wanted), ++layers;
    };
    is(dynamic_cast<nn::MultiHeadAttention*>(module));
    is(dynamic_cast<nn::CrossAttention*>(module));
    is(dynamic_cast<nn::FeedForward*>(module));
    is(dynamic_cast<nn::Norm*>(module));
    if (const auto* block = dynamic_cast<nn::Block*>(module))
      CHECK((block->options.norm == wanted.norm && block->dropout.p == wanted.dropout));
    if (const auto* block = dynamic_cast<nn::DecoderBlock*>(module))
      CHECK((block->options.norm == wanted.norm && block->dropout.p == wanted.dropout));
    if (const auto* norm = dynamic_cast<nn::LayerNorm*>(module))
      CHECK(norm->options.eps == wanted.norm_eps);
  }
  CHECK(layers > 3);
}

nn::GPTOptions gpt_of(const BlockOptions& o) {
  return {.vocab = 7,
          .context = 3,
          .layers = 2,
          .heads = o.heads,
          .width = o.width,
          .dropout = o.dropout,
          .norm = o.norm,
          .norm_kind = o.norm_kind,
          .activation = o.activation,
          .kv_heads = o.kv_heads,
          .position = o.position,
          .hidden = o.hidden,
          .norm_eps = o.norm_eps,
          .rotary = o.rotary,
          .head_width = o.head_width,
          .bias = o.bias,
          .qkv_bias = o.qkv_bias,
          .out_bias = o.out_bias,
          .qk_norm = o.qk_norm};
}

}  // namespace

TEST_CASE("every layer of a GPT has the options of the model") {
  nn::GPT all(gpt_of(kAll));
  check_model("gpt", all, kAll);
  BlockOptions other = kAll;
  other.bias = true, other.qkv_bias = false, other.out_bias = {}, other.qk_norm = {};
  nn::GPT others(gpt_of(other));
  check_model("gpt with other biases", others, other);
  CHECK(nn::GPT::count(gpt_of(other)) == static_cast<double>(others.parameter_count()));
}

TEST_CASE("every layer of a stack has the options of the stack, its final norm too") {
  const nn::StackOptions stack{.block = kAll, .layers = 2};
  nn::Encoder encoder(stack);
  check_model("encoder", encoder, kAll);
  nn::Decoder decoder(stack);
  check_model("decoder", decoder, kAll);
  nn::Transformer both({.block = kAll, .encoder_layers = 1, .decoder_layers = 2});
  check_model("transformer", both, kAll);
  CHECK((both.encoder.blocks.size() == 1 && both.decoder.blocks.size() == 2));
}

TEST_CASE("every layer of text and image encoders has the options of the model") {
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    const BlockOptions wanted = some(2, norm, nn::Activation::silu);
    const nn::BERTOptions options{.vocab = 7,
                                  .context = 3,
                                  .layers = 2,
                                  .heads = 2,
                                  .width = 8,
                                  .dropout = 0.25,
                                  .norm = norm,
                                  .hidden = 5,
                                  .activation = nn::Activation::silu,
                                  .norm_eps = 0.125,
                                  .embedding_width = 3,
                                  .padding_idx = 2};
    nn::MaskedLM masked(options);
    check_model("bert", masked, wanted);
    CHECK(masked.bert.token.options.padding_idx == 2);
    CHECK((masked.bert.encoder.options.layers == 2 && !masked.bert.encoder.options.shared));
    CHECK(masked.bert.encoder.options.final_norm == (norm == nn::NormPlacement::pre));
    nn::TextClassifier classifier(options, 3);
    check_model("classifier", classifier, wanted);
  }
  nn::VisionTransformer images({.size = 4,
                                .patch = 2,
                                .classes = 3,
                                .layers = 2,
                                .heads = 2,
                                .width = 8,
                                .dropout = 0.25,
                                .hidden = 5,
                                .activation = nn::Activation::relu,
                                .norm_eps = 0.125});
  check_model("vit", images, some(2, nn::NormPlacement::pre, nn::Activation::relu));
}

TEST_CASE("every layer of a translator has the options of the model") {
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    nn::Translator model({.source_vocab = 5,
                          .target_vocab = 6,
                          .context = 3,
                          .encoder_layers = 1,
                          .decoder_layers = 3,
                          .heads = 2,
                          .width = 8,
                          .dropout = 0.25,
                          .norm = norm});
    BlockOptions wanted = some(2, norm, nn::Activation::relu);
    wanted.hidden = {}, wanted.norm_eps = 1e-5;  // a translator has no say in these
    check_model("translator", model, wanted);
    const nn::Transformer& inner = model.transformer;
    CHECK((inner.encoder.blocks.size() == 1 && inner.decoder.blocks.size() == 3));
  }
}

TEST_CASE("the cache of a decoder state has the requested precision") {
  seed(3);
  const nn::GPT model({.vocab = 7, .context = 3, .layers = 1, .heads = 2, .width = 8});
  const auto logits = [&](Precision precision) {
    nn::GPTDecoderState state(model, precision);
    return state.next({{1, 4, 2}}).to_vector<float>();
  };
  const std::vector<float> whole = logits(Precision::f32), rounded = logits(Precision::bf16);
  CHECK(rounded != whole);
  for (std::size_t i = 0; i < whole.size(); ++i)
    CHECK(std::abs(rounded[i] - whole[i]) < 0.01);  // 2⁻⁹ of values below 1
}

}  // namespace gradus::testing::test_handed_on
