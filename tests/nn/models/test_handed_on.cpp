// Checks that each option of a model reaches every layer.
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

const BlockOptions kAll{.width = 8,
                        .heads = 4,
                        .kv_heads = 2,
                        .hidden = 5,
                        .dropout = 0.25,
                        .bias = false,
                        .activation = nn::Activation::silu,
                        .norm = nn::NormPlacement::post,
                        .norm_kind = nn::NormKind::rms,
                        .norm_eps = 0.125,
                        .head = {.position = nn::HeadPosition::rotary,
                                 .rotary = {.base = 100, .interleaved = true},
                                 .width = 6,
                                 .qkv_bias = true,
                                 .out_bias = true,
                                 .qk_norm = 0.5}};

void check(const nn::MultiHeadAttention& layer, const BlockOptions& wanted) {
  const nn::MultiHeadAttentionOptions& o = layer.options;
  const nn::HeadOptions &head = o.head, &all = wanted.head;
  CHECK((o.width == wanted.width && o.heads == wanted.heads && o.kv_heads == wanted.kv_heads));
  CHECK((o.dropout == wanted.dropout && head.position == all.position));
  CHECK((head.rotary.base == all.rotary.base));
  CHECK((head.rotary.interleaved == all.rotary.interleaved));
  CHECK((head.width == all.width && head.qk_norm == all.qk_norm));
  CHECK(layer.qkv_proj.bias.defined() == all.qkv_bias.value_or(wanted.bias));
  CHECK(layer.out_proj.bias.defined() == all.out_bias.value_or(wanted.bias));
  if (all.qk_norm) {
    CHECK((layer.q_norm.options.eps == *all.qk_norm));
    CHECK((layer.k_norm.options.eps == *all.qk_norm));
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

}  // namespace

TEST_CASE("every layer of a GPT has the options of the model") {
  nn::GPT all({.vocab = 7, .context = 3, .layers = 2, .block = kAll});
  check_model("gpt", all, kAll);
  BlockOptions other = kAll;
  other.bias = true, other.head.qkv_bias = false, other.head.out_bias = {};
  other.head.qk_norm = {};
  nn::GPT others({.vocab = 7, .context = 3, .layers = 2, .block = other});
  check_model("gpt with other biases", others, other);
}

TEST_CASE("every layer of a stack, including its final norm, has the options of the stack") {
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
    BlockOptions wanted = kAll;
    wanted.norm = norm;
    const nn::BERTOptions options{.vocab = 7,
                                  .context = 3,
                                  .layers = 2,
                                  .block = wanted,
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
  nn::VisionTransformer images({.size = 4, .patch = 2, .classes = 3, .layers = 2, .block = kAll});
  check_model("vit", images, kAll);
}

TEST_CASE("every layer of a translator has the options of the model") {
  nn::Translator model({.source_vocab = 5,
                        .target_vocab = 6,
                        .context = 3,
                        .encoder_layers = 1,
                        .decoder_layers = 3,
                        .block = kAll});
  check_model("translator", model, kAll);
  const nn::Transformer& inner = model.transformer;
  CHECK((inner.encoder.blocks.size() == 1 && inner.decoder.blocks.size() == 3));
}

TEST_CASE("each model has a default activation and norm placement") {
  using nn::Activation, nn::NormPlacement;
  const BlockOptions small{.width = 4, .heads = 2};
  const auto check_defaults = [](const BlockOptions& o, Activation activation, NormPlacement norm) {
    CHECK((o.activation == activation && o.norm == norm));
  };
  check_defaults(nn::Block(small).options, Activation::gelu_tanh, NormPlacement::pre);
  check_defaults(nn::GPT({.vocab = 7, .context = 3, .block = small}).blocks[0].options,
                 Activation::gelu_tanh, NormPlacement::pre);
  const nn::MaskedLM masked({.vocab = 7, .context = 3, .block = small});
  check_defaults(masked.bert.encoder.blocks[0].options, Activation::gelu, NormPlacement::post);
  check_defaults(masked.bert.options.block, Activation::gelu, NormPlacement::post);
  CHECK_FALSE(masked.bert.encoder.options.final_norm);
  const nn::VisionTransformer images({.size = 4, .patch = 2, .classes = 3, .block = small});
  check_defaults(images.encoder.blocks[0].options, Activation::gelu_tanh, NormPlacement::pre);
  const nn::Translator model({.source_vocab = 5, .target_vocab = 6, .context = 3, .block = small});
  check_defaults(model.transformer.encoder.blocks[0].options, Activation::relu, NormPlacement::pre);
  check_defaults(model.transformer.decoder.blocks[0].options, Activation::relu, NormPlacement::pre);
}

TEST_CASE("the cache of a decoder state has the requested precision") {
  seed(3);
  const nn::GPT model({.vocab = 7, .context = 3, .layers = 1, .block = {.width = 8, .heads = 2}});
  const auto logits = [&](Precision precision) {
    nn::GPTDecoderState state(model, precision);
    return state.next({{1, 4, 2}}).to_vector<float>();
  };
  const std::vector<float> exact = logits(Precision::f32), rounded = logits(Precision::bf16);
  CHECK(rounded != exact);
  for (std::size_t i = 0; i < exact.size(); ++i)
    // bf16 rounds values below 1 by at most 2⁻⁹.
    CHECK(std::abs(rounded[i] - exact[i]) < 0.01);
}

}  // namespace gradus::testing::test_handed_on
