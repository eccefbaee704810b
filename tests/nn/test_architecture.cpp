// What layers are made of: names, shapes, and which are parameters and which buffers, for the
// options that change it; and that same_architecture() is made of the same.
#include "gradus/nn/attention.h"
#include "gradus/nn/conv.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/lora.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/scoring.h"
#include "gradus/nn/sequential.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/architecture.h"

namespace gradus::testing {

using nn::HeadPosition;

TEST_CASE("what small layers are made of") {
  std::string text;
  text += made_of("linear", nn::Linear(2, 3));
  text += made_of("linear without bias", nn::Linear(2, 3, {.bias = false}));
  nn::Linear adapted(2, 3);
  nn::add_adapters(adapted, "*", {.rank = 1});
  text += "-- linear with an adapter\n" + tree(adapted);
  text += made_of("embedding", nn::Embedding(4, 3, {2}));
  text += made_of("layer norm", nn::LayerNorm(3));
  text += made_of("plain layer norm", nn::LayerNorm(3, {.affine = false}));
  text += made_of("rms norm", nn::RMSNorm(3));
  text += made_of("norm", nn::Norm(3));
  text += made_of("norm, rms", nn::Norm(3, nn::NormKind::rms));
  text += made_of("plain norm", nn::Norm(3, nn::NormKind::layer, {.affine = false}));
  text += made_of("batch norm", nn::BatchNorm1d(3));
  text += made_of("plain batch norm", nn::BatchNorm1d(3, {.affine = false}));
  text += made_of("convolution", nn::Conv1d(4, 6, 3, {.groups = 2}));
  text += made_of("convolution without bias", nn::Conv1d(4, 6, 3, {.bias = false}));
  text += made_of("dropout", nn::Dropout(0.5));
  text += made_of("feed forward", nn::FeedForward({.width = 3}));
  text +=
      made_of("swiglu net",
              nn::FeedForward(
                  {.width = 3, .hidden = 5, .activation = nn::Activation::swiglu, .bias = false}));
  text += made_of("swiglu", nn::SwiGLU(2, 5));
  text += made_of("swiglu without biases", nn::SwiGLU(2, 5, {.bias = false}));
  text += made_of("sines", nn::SinusoidalPosition(5, 4));
  text += made_of("learned position", nn::LearnedPosition(5, 4));
  text += made_of("relative bias", nn::RelativeBias(3, {.count = 8, .max_distance = 16}));
  text += made_of("dot score", nn::DotScore(false));
  text += made_of("additive score", nn::AdditiveScore(2, 3, 5));
  text += made_of("bilinear score", nn::BilinearScore(2, 3));
  text += made_of("pooling", nn::AttentionPooling(3));
  text += made_of("residual", nn::Residual(nn::Linear(3, 3)));
  nn::ModuleList list;
  list.add("first", nn::Linear(2, 3));
  list.add("other", nn::LayerNorm(3));
  text += made_of("list", list);
  check_said("made_of_layers", text);
  CHECK(nn::SinusoidalPosition(5, 4).same_architecture().table.shape() == Shape{5, 4});
  CHECK(nn::RelativeBias(3, {.count = 8, .max_distance = 16}).same_architecture().options.count ==
        8);
  CHECK_FALSE(nn::DotScore(false).same_architecture().scaled);
}

TEST_CASE("what attention layers and blocks are made of") {
  using Multi = nn::MultiHeadAttention;
  using Cross = nn::CrossAttention;
  std::string text;
  text += made_of("heads", Multi({.width = 6, .heads = 3}));
  text += made_of("grouped heads", Multi({.width = 8, .heads = 4, .kv_heads = 2, .bias = false}));
  text += made_of("narrow heads", Multi({.width = 6,
                                         .heads = 2,
                                         .position = HeadPosition::rotary,
                                         .head_width = 4,
                                         .out_bias = false,
                                         .qk_norm = 1e-6}));
  text += made_of("relative heads",
                  Multi({.width = 6, .heads = 3, .position = HeadPosition::relative}));
  text += made_of("cross", Cross({.width = 6, .heads = 3, .memory_width = 4, .value_width = 5}));
  text += made_of("relative cross", Cross({.width = 8,
                                           .heads = 4,
                                           .kv_heads = 2,
                                           .bias = false,
                                           .position = HeadPosition::relative,
                                           .relative = {.count = 8, .max_distance = 16}}));
  text += made_of("self", nn::SelfAttention(4, {.key_width = 3, .value_width = 5, .bias = false}));
  text += made_of("linear attention", nn::LinearAttention({.width = 6, .heads = 3}));
  text += made_of("performer", nn::LinearAttention({.width = 6,
                                                    .heads = 3,
                                                    .kind = nn::LinearAttentionKind::performer,
                                                    .features = 5,
                                                    .bias = false}));
  text += made_of("linformer",
                  nn::LinformerAttention({.width = 6, .heads = 3, .length = 5, .reduced = 2}));
  const nn::BlockOptions block{.width = 4, .heads = 2, .hidden = 5};
  text += made_of("block", nn::Block(block));
  text += made_of("decoder block", nn::DecoderBlock(block));
  text += made_of("decoder block, few keys", nn::DecoderBlock({.width = 4,
                                                               .heads = 2,
                                                               .hidden = 3,
                                                               .bias = false,
                                                               .activation = nn::Activation::swiglu,
                                                               .norm_kind = nn::NormKind::rms,
                                                               .kv_heads = 1}));
  text += made_of("encoder", nn::Encoder({.block = block, .layers = 2}));
  text += made_of("shared encoder",
                  nn::Encoder({.block = block, .layers = 2, .final_norm = false, .shared = true}));
  text += made_of("decoder", nn::Decoder({.block = block, .layers = 2, .final_norm = false}));
  text += made_of("transformer",
                  nn::Transformer({.block = block, .encoder_layers = 1, .decoder_layers = 2}));
  text +=
      made_of("transformer without last norms",
              nn::Transformer(
                  {.block = block, .encoder_layers = 1, .decoder_layers = 1, .final_norm = false}));
  check_said("made_of_attention", text);
}

}  // namespace gradus::testing
