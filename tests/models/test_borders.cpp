// What models and decoding refuse, and what they just accept: each condition is broken alone. The
// answers are in tests/golden/said/.
#include <limits>

#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/bert.h"
#include "gradus/models/decode.h"
#include "gradus/models/gpt.h"
#include "gradus/models/padded_batch.h"
#include "gradus/models/translator.h"
#include "gradus/models/vit.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/outcomes.h"

namespace gradus::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("borders of models of text") {
  const NoGrad off;
  const Tensor none, ids = reshape(arange(3), {1, 3}), flat = arange(3);
  const std::vector<std::int64_t> lengths = {2};
  const nn::GPTOptions small{.vocab = 4, .context = 3, .width = 2};
  const nn::GPT gpt(small), four({.vocab = 4, .context = 4, .width = 2});
  const nn::BERT bert({.vocab = 4, .context = 3, .width = 2}),
      pooled({.vocab = 4, .context = 2, .width = 2, .pooler = true});
  const Tensor two = reshape(arange(2), {1, 2});
  const auto windowed = [&](std::int64_t window) {
    nn::GPTOptions options = small;
    options.window = window;
    return options;
  };
  using GPT = nn::GPT;
  using BERT = nn::BERT;
  check_outcomes("models",
                 {GRADUS_CALL(GPT({.vocab = 4, .context = 3, .layers = 0, .width = 2})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = 3, .layers = -1, .width = 2})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = 0, .width = 2})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = -1, .width = 2})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = 1, .width = 2, .window = -1})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = 1, .width = 2, .window = 0})),
                  GRADUS_CALL(GPT({.vocab = 4, .context = 1, .width = 2, .window = 1})),
                  GRADUS_CALL(GPT({.vocab = 0, .context = 1, .width = 2})),
                  GRADUS_CALL(gpt(none)),
                  GRADUS_CALL(gpt(flat)),
                  GRADUS_CALL(gpt(ids)),
                  GRADUS_CALL(four(ids)),
                  GRADUS_CALL(gpt(reshape(arange(4), {1, 4}))),
                  GRADUS_CALL(gpt(ids, nullptr, lengths)),
                  GRADUS_CALL(bert(none)),
                  GRADUS_CALL(bert(flat)),
                  GRADUS_CALL(bert(ids)),
                  GRADUS_CALL(bert(ids, lengths)),
                  GRADUS_CALL(bert(reshape(arange(4), {1, 4}))),
                  GRADUS_CALL(bert.pool(bert(ids))),
                  GRADUS_CALL(pooled.pool(pooled(two))),
                  GRADUS_CALL(BERT({.vocab = 4, .context = 3, .width = 2, .padding_idx = 4})),
                  GRADUS_CALL(BERT({.vocab = 4, .context = 3, .width = 2, .padding_idx = 3})),
                  GRADUS_VALUE(GPT(windowed(0)).mask().describe()),
                  GRADUS_VALUE(GPT(windowed(1)).mask().describe()),
                  GRADUS_VALUE(GPT(windowed(2)).mask().describe()),
                  GRADUS_VALUE(gpt.head.weight.defined()),
                  GRADUS_CALL(nn::gpt_preset("none")),
                  GRADUS_CALL(nn::gpt_preset("")),
                  GRADUS_CALL(nn::gpt_preset("long"))});
  std::string presets;
  for (const nn::GPTPreset& each : nn::gpt_presets())
    presets += str_cat(each.name, ": vocab ", each.options.vocab, " context ", each.options.context,
                       " layers ", each.options.layers, " heads ", each.options.heads, " width ",
                       each.options.width, " batch ", each.batch, "\n");
  check_said("presets", presets);
}

TEST_CASE("borders of masked tokens, translators and images") {
  const NoGrad off;
  using ViT = nn::VisionTransformer;
  const RandomStream random{1, 0, 0};
  const Tensor none, ids = reshape(arange(3), {1, 3});
  const nn::Translator small(
      {.source_vocab = 4, .target_vocab = 4, .context = 3, .heads = 1, .width = 2});
  const ViT vit({.size = 4, .patch = 2, .channels = 2, .classes = 1, .width = 2});
  nn::TranslatorDecoderState state(small, ids);
  const auto masked = [&](double rate, std::int64_t first, std::int64_t vocab) {
    return nn::mask_tokens(ids, {.vocab = vocab, .mask_id = 0, .first_id = first, .rate = rate},
                           random);
  };
  check_outcomes(
      "images", {GRADUS_CALL(masked(0.5, -1, 4)),
                 GRADUS_CALL(masked(0.5, 4, 4)),
                 GRADUS_CALL(masked(0.5, 0, 4)),
                 GRADUS_CALL(masked(0.5, 3, 4)),
                 GRADUS_CALL(masked(-0.1, 0, 4)),
                 GRADUS_CALL(masked(0, 0, 4)),
                 GRADUS_CALL(masked(1, 0, 4)),
                 GRADUS_CALL(masked(1.1, 0, 4)),
                 GRADUS_CALL(masked(kNaN, 0, 4)),
                 GRADUS_CALL(ViT({.size = 0, .patch = 1, .classes = 1, .width = 2})),
                 GRADUS_CALL(ViT({.size = 4, .patch = 0, .classes = 1, .width = 2})),
                 GRADUS_CALL(ViT({.size = 4, .patch = -2, .classes = 1, .width = 2})),
                 GRADUS_CALL(ViT({.size = 4, .patch = 3, .classes = 1, .width = 2})),
                 GRADUS_CALL(ViT({.size = 4, .patch = 4, .channels = 0, .classes = 1, .width = 2})),
                 GRADUS_CALL(ViT({.size = 4, .patch = 4, .classes = 0, .width = 2})),
                 GRADUS_CALL(ViT({.size = 1, .patch = 1, .channels = 1, .classes = 1, .width = 2})),
                 GRADUS_CALL(vit(none)),
                 GRADUS_CALL(vit(ones({2, 4, 4}))),
                 GRADUS_CALL(vit(ones({1, 1, 4, 4}))),
                 GRADUS_CALL(vit(ones({1, 2, 2, 4}))),
                 GRADUS_CALL(vit(ones({1, 2, 4, 2}))),
                 GRADUS_CALL(vit(ones({1, 2, 4, 4}))),
                 GRADUS_CALL(nn::patches_of(none, 2)),
                 GRADUS_CALL(nn::patches_of(ones({2, 4, 4}), 2)),
                 GRADUS_CALL(nn::patches_of(ones({1, 2, 4, 4}), 0)),
                 GRADUS_CALL(nn::patches_of(ones({1, 2, 4, 4}), -2)),
                 GRADUS_CALL(nn::patches_of(ones({1, 2, 3, 4}), 2)),
                 GRADUS_CALL(nn::patches_of(ones({1, 2, 4, 3}), 2)),
                 GRADUS_CALL(nn::patches_of(ones({1, 2, 2, 4}), 2)),
                 GRADUS_CALL(nn::Translator(
                     {.source_vocab = 3, .target_vocab = 4, .context = 1, .shared = true})),
                 GRADUS_CALL(nn::Translator(
                     {.source_vocab = 4, .target_vocab = 4, .context = 1, .shared = true})),
                 GRADUS_CALL(small.encode(none)),
                 GRADUS_CALL(small.encode(arange(3))),
                 GRADUS_CALL(small.encode(ids)),
                 GRADUS_CALL(small.encode(reshape(arange(4), {1, 4}))),
                 GRADUS_CALL(state.next({{1}, {1}})),
                 GRADUS_CALL(state.next({{1}})),
                 GRADUS_CALL(pad_sequences({}, 0)),
                 GRADUS_CALL(pad_sequences({{1}, {}}, 0)),
                 GRADUS_CALL(pad_sequences({{1}}, 0))});
}

TEST_CASE("borders of sampling and decoding") {
  const NoGrad off;
  const Tensor x = tensor({1.0, 2.0, 0.5}, Dtype::f64);
  const nn::GPT gpt({.vocab = 4, .context = 3, .width = 2});
  const RandomStream random{1, 0, 0};
  const auto drawn = [&](const nn::SamplingOptions& options, double uniform = 0.5) {
    return nn::sample_token(x, options, uniform, {0, 1});
  };
  const auto of = [&](const Tensor& logits, const nn::Tokens& seen = {}, double uniform = 0.5) {
    return nn::sample_token(logits, {.repetition_penalty = 2}, uniform, seen);
  };
  const auto found = [&](const nn::Tokens& prompt, const nn::BeamOptions& options) {
    nn::GPTDecoderState state(gpt);
    return nn::beam_search(state, prompt, options).size();
  };
  const auto added = [&](const std::vector<nn::Tokens>& prompts, std::int64_t tokens) {
    nn::GPTDecoderState state(gpt);
    return nn::generate(state, prompts, {.tokens = tokens}, random,
                        [](std::int64_t, std::int64_t) { return true; })
        .size();
  };
  nn::GPTDecoderState state(gpt);
  check_outcomes(
      "decoding",
      {GRADUS_VALUE(drawn({.temperature = -0.1})), GRADUS_VALUE(drawn({.temperature = 0})),
       GRADUS_VALUE(drawn({.temperature = kNaN})), GRADUS_VALUE(drawn({.temperature = kInf})),
       GRADUS_VALUE(drawn({.temperature = 1e-3})), GRADUS_VALUE(drawn({.top_k = -1})),
       GRADUS_VALUE(drawn({.top_k = 0}, 0.99)), GRADUS_VALUE(drawn({.top_k = 1}, 0.99)),
       GRADUS_VALUE(drawn({.top_p = 0})), GRADUS_VALUE(drawn({.top_p = 1e-9}, 0.99)),
       GRADUS_VALUE(drawn({.top_p = 1}, 0.99)), GRADUS_VALUE(drawn({.top_p = 1.1})),
       GRADUS_VALUE(drawn({.top_p = kNaN})), GRADUS_VALUE(drawn({.min_p = -0.1})),
       GRADUS_VALUE(drawn({.min_p = 0}, 0.99)), GRADUS_VALUE(drawn({.min_p = 1}, 0.99)),
       GRADUS_VALUE(drawn({.min_p = 1.1})), GRADUS_VALUE(drawn({.min_p = kNaN})),
       GRADUS_VALUE(drawn({.repetition_penalty = 0})),
       GRADUS_VALUE(drawn({.repetition_penalty = -1})),
       GRADUS_VALUE(drawn({.repetition_penalty = kInf})),
       GRADUS_VALUE(drawn({.repetition_penalty = kNaN})),
       GRADUS_VALUE(drawn({.repetition_penalty = 1e-3})),
       // All of the weights are used up: what is left is rounding, and the last token's.
       GRADUS_VALUE(drawn({.temperature = 1}, 1)), GRADUS_VALUE(drawn({.top_k = 2}, 1)),
       // The first of two alike is drawn below a half, the other from there on.
       GRADUS_VALUE(of(ones({2}), {}, 0.4999)), GRADUS_VALUE(of(ones({2}), {}, 0.5)),
       GRADUS_VALUE(of(ones({1, 3}))), GRADUS_VALUE(of(ones({}))), GRADUS_VALUE(of(ones({0}))),
       GRADUS_VALUE(of(tensor({1.0, kNaN}))), GRADUS_VALUE(of(tensor({-kInf, 0.0}))),
       GRADUS_VALUE(of(x, {-1})), GRADUS_VALUE(of(x, {3})), GRADUS_VALUE(of(x, {2})),
       GRADUS_VALUE(found({}, {})), GRADUS_VALUE(found({1}, {.beams = 0})),
       GRADUS_VALUE(found({1}, {.beams = -1})),
       GRADUS_VALUE(found({1}, {.beams = 1, .tokens = -1})),
       GRADUS_VALUE(found({1}, {.beams = 1, .tokens = 0})),
       GRADUS_VALUE(found({1}, {.beams = 2, .tokens = 1})), GRADUS_VALUE(added({}, 1)),
       GRADUS_VALUE(added({{1}, {}}, 1)), GRADUS_VALUE(added({{1}, {2}}, 0)),
       GRADUS_CALL(state.next({})), GRADUS_CALL(state.next({{}})),
       GRADUS_CALL(state.next({{1}, {2}})), GRADUS_CALL(state.next({{1}}))});
}

}  // namespace gradus::testing
