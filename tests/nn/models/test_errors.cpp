// Tests invalid arguments, and the nearest valid ones.
#include <limits>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/decode.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/padded_batch.h"
#include "gradus/nn/models/translator.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_errors {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("text models accept exactly the documented arguments") {
  const NoGrad off;
  const Tensor none, ids = reshape(arange(3), {1, 3}), flat = arange(3);
  const std::vector<std::int64_t> lengths = {2};
  const nn::GPTOptions small{.vocab = 4, .context = 3, .block = {.width = 2}};
  const nn::GPT gpt(small), four({.vocab = 4, .context = 4, .block = {.width = 2}});
  const nn::BERT bert({.vocab = 4, .context = 3, .block = {.width = 2}}),
      pooled({.vocab = 4, .context = 2, .block = {.width = 2}, .pooler = true});
  const Tensor two = reshape(arange(2), {1, 2});
  const auto windowed = [&](std::int64_t window) {
    nn::GPTOptions options = small;
    options.window = window;
    return options;
  };
  using GPT = nn::GPT;
  using BERT = nn::BERT;
  CHECK_REFUSES(ValueError, GPT({.vocab = 4, .context = 3, .layers = 0, .block = {.width = 2}}),
                "GPT", "0");
  CHECK_REFUSES(ValueError, GPT({.vocab = 4, .context = 0, .block = {.width = 2}}), "GPT", "0");
  CHECK_REFUSES(ValueError, GPT({.vocab = 4, .context = 1, .block = {.width = 2}, .window = -1}),
                "GPT", "-1");
  CHECK_NOTHROW(GPT({.vocab = 4, .context = 1, .block = {.width = 2}, .window = 0}));
  CHECK_NOTHROW(GPT({.vocab = 4, .context = 1, .block = {.width = 2}, .window = 1}));
  CHECK_REFUSES(ValueError, GPT({.vocab = 0, .context = 1, .block = {.width = 2}}), "Embedding",
                "0");
  CHECK_REFUSES(ShapeError, gpt(none), "GPT", "undefined");
  CHECK_REFUSES(ShapeError, gpt(flat), "GPT", "[3]");
  CHECK_REFUSES(DtypeError, gpt(ones({1, 2})), "f32");
  CHECK_REFUSES(IndexError, gpt(full({1, 2}, 4, Dtype::i64)), "4", "GPT token");
  CHECK_THROWS_AS(gpt.loss(ids, reshape(arange(2), {1, 2})), ShapeError);
  CHECK_NOTHROW(gpt(ids));
  CHECK_NOTHROW(four(ids));
  CHECK_REFUSES(ValueError, gpt(ids, nullptr, lengths), "GPT", "lengths");
  CHECK_NOTHROW(bert(ids));
  CHECK_NOTHROW(bert(ids, lengths));
  CHECK_REFUSES(ValueError, bert.pool(bert(ids)), "BERT", "BERTOptions");
  CHECK_NOTHROW(pooled.pool(pooled(two)));
  CHECK_REFUSES(ValueError,
                BERT({.vocab = 4, .context = 3, .block = {.width = 2}, .padding_idx = 4}),
                "Embedding", "4");
  CHECK_NOTHROW(BERT({.vocab = 4, .context = 3, .block = {.width = 2}, .padding_idx = 3}));
  CHECK(GPT(windowed(0)).mask().describe() == "causal");
  CHECK(GPT(windowed(1)).mask().describe() == "(causal & window 0)");
  CHECK(GPT(windowed(2)).mask().describe() == "(causal & window 1)");
  CHECK_REFUSES(ValueError, nn::gpt_preset(""), "preset");
  CHECK_NOTHROW(nn::gpt_preset("long"));
}

TEST_CASE("token masking, translators and image models accept exactly the documented arguments") {
  const NoGrad off;
  using ViT = nn::VisionTransformer;
  const RandomStream random{1, 0, 0};
  const Tensor none, ids = reshape(arange(3), {1, 3});
  const nn::Translator small(
      {.source_vocab = 4, .target_vocab = 4, .context = 3, .block = {.width = 2, .heads = 1}});
  const ViT vit({.size = 4, .patch = 2, .channels = 2, .classes = 1, .block = {.width = 2}});
  nn::TranslatorDecoderState state(small, ids);
  const auto masked = [&](double rate, std::int64_t first, std::int64_t vocab) {
    return nn::mask_tokens(ids, {.vocab = vocab, .mask_id = 0, .first_id = first, .rate = rate},
                           random);
  };
  CHECK_REFUSES(ValueError, masked(0.5, -1, 4), "mask_tokens", "-1");
  CHECK_REFUSES(ValueError, masked(0.5, 4, 4), "mask_tokens", "4");
  CHECK_NOTHROW(masked(0.5, 0, 4));
  CHECK_NOTHROW(masked(0.5, 3, 4));
  CHECK_REFUSES(ValueError, masked(-0.1, 0, 4), "mask_tokens", "-0.1");
  CHECK_NOTHROW(masked(0, 0, 4));
  CHECK_NOTHROW(masked(1, 0, 4));
  CHECK_REFUSES(ValueError, masked(1.1, 0, 4), "mask_tokens", "1.1");
  CHECK_REFUSES(ValueError, masked(kNaN, 0, 4), "mask_tokens", "nan");
  CHECK_REFUSES(ValueError, ViT({.size = 0, .patch = 1, .classes = 1, .block = {.width = 2}}),
                "VisionTransformer", "1");
  CHECK_REFUSES(ValueError, ViT({.size = 4, .patch = 0, .classes = 1, .block = {.width = 2}}),
                "VisionTransformer", "0");
  CHECK_REFUSES(ValueError, ViT({.size = 4, .patch = -2, .classes = 1, .block = {.width = 2}}),
                "VisionTransformer", "-2");
  CHECK_REFUSES(ValueError,
                ViT({.size = 4, .patch = 4, .channels = 0, .classes = 1, .block = {.width = 2}}),
                "VisionTransformer", "0");
  CHECK_NOTHROW(ViT({.size = 1, .patch = 1, .channels = 1, .classes = 1, .block = {.width = 2}}));
  CHECK_NOTHROW(vit(ones({1, 2, 4, 4})));
  CHECK_REFUSES(ShapeError, nn::patchify(none, 2), "patchify", "undefined");
  CHECK_REFUSES(ShapeError, nn::patchify(ones({2, 4, 4}), 2), "patchify", "2");
  CHECK_REFUSES(ShapeError, nn::patchify(ones({1, 2, 4, 4}), 0), "patchify", "0");
  CHECK_REFUSES(ShapeError, nn::patchify(ones({1, 2, 4, 4}), -2), "patchify", "-2");
  CHECK_REFUSES(ShapeError, nn::patchify(ones({1, 2, 3, 4}), 2), "patchify", "2");
  CHECK_REFUSES(ShapeError, nn::patchify(ones({1, 2, 4, 3}), 2), "patchify", "2");
  CHECK_NOTHROW(nn::patchify(ones({1, 2, 2, 4}), 2));
  CHECK_REFUSES(ValueError,
                nn::Translator({.source_vocab = 3,
                                .target_vocab = 4,
                                .context = 1,
                                .block = {.width = 2},
                                .shared = true}),
                "Translator", "3");
  CHECK_NOTHROW(nn::Translator(
      {.source_vocab = 4, .target_vocab = 4, .context = 1, .block = {.width = 2}, .shared = true}));
  CHECK_REFUSES(ShapeError, small.encode(none), "Translator", "undefined");
  CHECK_NOTHROW(small.encode(ids));
  CHECK_REFUSES(ShapeError, state.next({{1}, {1}}), "TranslatorDecoderState", "2");
  CHECK_NOTHROW(state.next({{1}}));
  CHECK_REFUSES(ValueError, pad_sequences({}, 0), "pad_sequences", "sequences");
  CHECK_REFUSES(ValueError, pad_sequences({{1}, {}}, 0), "pad_sequences", "1");
  CHECK_NOTHROW(pad_sequences({{1}}, 0));
}

TEST_CASE("sampling and decoding accept exactly the documented arguments") {
  const NoGrad off;
  const Tensor x = tensor({1.0, 2.0, 0.5}, Dtype::f64);
  const nn::GPT gpt({.vocab = 4, .context = 3, .block = {.width = 2}});
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
  CHECK_REFUSES(ValueError, drawn({.temperature = -0.1}), "sample_token", "-0.1");
  CHECK(drawn({.temperature = 0}) == 1);
  CHECK_REFUSES(ValueError, drawn({.temperature = kNaN}), "sample_token", "nan");
  CHECK_REFUSES(ValueError, drawn({.temperature = kInf}), "sample_token", "inf");
  CHECK(drawn({.temperature = 1e-3}) == 1);
  CHECK_REFUSES(ValueError, drawn({.top_k = -1}), "sample_token", "-1");
  CHECK(drawn({.top_k = 0}, 0.99) == 2);
  CHECK(drawn({.top_k = 1}, 0.99) == 1);
  CHECK_REFUSES(ValueError, drawn({.top_p = 0}), "sample_token", "0");
  CHECK(drawn({.top_p = 1e-9}, 0.99) == 1);
  CHECK(drawn({.top_p = 1}, 0.99) == 2);
  CHECK_REFUSES(ValueError, drawn({.top_p = 1.1}), "sample_token", "1.1");
  CHECK_REFUSES(ValueError, drawn({.top_p = kNaN}), "sample_token", "nan");
  CHECK_REFUSES(ValueError, drawn({.min_p = -0.1}), "sample_token", "-0.1");
  CHECK(drawn({.min_p = 0}, 0.99) == 2);
  CHECK(drawn({.min_p = 1}, 0.99) == 1);
  CHECK_REFUSES(ValueError, drawn({.min_p = 1.1}), "sample_token", "1.1");
  CHECK_REFUSES(ValueError, drawn({.min_p = kNaN}), "sample_token", "nan");
  CHECK_REFUSES(ValueError, drawn({.repetition_penalty = 0}), "sample_token", "0");
  CHECK_REFUSES(ValueError, drawn({.repetition_penalty = -1}), "sample_token", "-1");
  CHECK_REFUSES(ValueError, drawn({.repetition_penalty = kInf}), "sample_token", "inf");
  CHECK_REFUSES(ValueError, drawn({.repetition_penalty = kNaN}), "sample_token", "nan");
  CHECK(drawn({.repetition_penalty = 1e-3}) == 1);
  CHECK(drawn({.temperature = 1}, 1) == 2);
  CHECK(drawn({.top_k = 2}, 1) == 0);
  CHECK(of(ones({2}), {}, 0.4999) == 0);
  CHECK(of(ones({2}), {}, 0.5) == 1);
  CHECK_REFUSES(ShapeError, of(ones({1, 3})), "sample_token", "[V]");
  CHECK_REFUSES(ShapeError, of(ones({})), "sample_token", "[V]");
  CHECK_REFUSES(ShapeError, of(ones({0})), "sample_token", "[V]");
  CHECK_REFUSES(ValueError, of(tensor({1.0, kNaN})), "sample_token", "diverged");
  CHECK(of(tensor({-kInf, 0.0})) == 1);
  CHECK_REFUSES(IndexError, of(x, {-1}), "sample_token", "-1");
  CHECK_REFUSES(IndexError, of(x, {3}), "sample_token", "3");
  CHECK(of(x, {2}) == 1);
  CHECK_REFUSES(ValueError, found({}, {}), "beam_search", "prompt");
  CHECK_REFUSES(ValueError, found({1}, {.beams = 0}), "beam_search", "0");
  CHECK_REFUSES(ValueError, found({1}, {.beams = -1}), "beam_search", "-1");
  CHECK_REFUSES(ValueError, found({1}, {.beams = 1, .tokens = -1}), "beam_search", "-1");
  CHECK(found({1}, {.beams = 1, .tokens = 0}) == 1);
  CHECK(found({1}, {.beams = 2, .tokens = 1}) == 2);
  CHECK_REFUSES(ValueError, added({}, 1), "generate", "prompt");
  CHECK_REFUSES(ValueError, added({{1}, {}}, 1), "generate", "prompt");
  CHECK(added({{1}, {2}}, 0) == 2);
  CHECK_REFUSES(ValueError, state.next({}), "GPTDecoderState", "prompt");
  CHECK_REFUSES(ValueError, state.next({{}}), "GPTDecoderState", "prompt");
  CHECK_NOTHROW(state.next({{1}, {2}}));
  CHECK_REFUSES(ShapeError, state.next({{1}}), "GPTDecoderState", "1");
}

}  // namespace gradus::testing::test_errors
