// The numbers that models start with, one by one, by their formulas; and what models are made of.
#include "gradus/models/bert.h"
#include "gradus/models/gpt.h"
#include "gradus/models/sizes.h"
#include "gradus/models/translator.h"
#include "gradus/models/vit.h"
#include "gradus/tests/nn/architecture.h"
#include "gradus/tests/nn/stream_law.h"

namespace gradus::testing {
namespace {

bool in(const std::string& name, const char* word) { return name.find(word) != std::string::npos; }

/// Every matrix by a rule, biases and norms left out.
template <class M, class Rule>
void check_matrices(const M& model, Rule rule) {
  for (const nn::NamedTensor& each : model.parameters()) {
    INFO(each.name);
    if (each.tensor.rank() == 2 && !in(each.name, "norm"))
      CHECK(rule(each.name, each.tensor));
    else if (in(each.name, "bias"))
      CHECK((in(each.name, "encoder") || in(each.name, "decoder") || in(each.name, "patch") ||
             each.tensor.to_vector<double>() ==
                 std::vector<double>(std::size_t(each.tensor.numel()), 0.0)));
  }
}

}  // namespace

TEST_CASE("a GPT's matrices are drawn from normal(0, 0.02), onto the residual stream narrower") {
  const InDoubles scope;
  seed(41);
  const nn::GPT gpt({.vocab = 5, .context = 4, .layers = 3, .heads = 2, .width = 6, .tied = false});
  check_matrices(gpt, [](const std::string& name, const Tensor& x) {
    const bool onto = in(name, "out_proj") || in(name, "down");
    return drawn_normal(x, 0, onto ? 0.02 / std::sqrt(6.0) : 0.02);
  });
}

TEST_CASE("encoders start from a normal distribution that is cut off at two deviations") {
  const InDoubles scope;
  seed(42);
  const auto cut = [](const std::string&, const Tensor& x) {
    return drawn_truncated(x, 0, 0.02, -0.04, 0.04);
  };
  // Some of the 50 numbers in a table of 4,096 that lie near the border are beyond it by little.
  const nn::BERTOptions options{.vocab = 4096, .context = 4, .heads = 2, .width = 12};
  check_matrices(nn::BERT(options), cut);
  nn::BERTOptions small = options;
  small.vocab = 7, small.embedding_width = 5, small.pooler = true;
  check_matrices(nn::MaskedLM(small), cut);
  check_matrices(nn::TextClassifier(small, 3), cut);
  const nn::VisionTransformer vit(
      {.size = 64, .patch = 1, .channels = 3, .classes = 3, .heads = 2, .width = 12});
  CHECK(drawn_truncated(vit.position, 0, 0.02, -0.04, 0.04));
  for (const Tensor& each : {vit.class_token, vit.head.weight, vit.head.bias})
    for (const double x : each.to_vector<double>()) CHECK(x == 0);
}

TEST_CASE("a translator's tables are drawn from normal(0, 1 / √width), its matrices by Xavier") {
  const InDoubles scope;
  seed(43);
  const nn::Translator translator(
      {.source_vocab = 5, .target_vocab = 4, .context = 3, .heads = 2, .width = 6});
  check_matrices(translator, [](const std::string& name, const Tensor& x) {
    const double bound = std::sqrt(6.0 / double(x.size(0) + x.size(1)));
    return in(name, "token") ? drawn_normal(x, 0, 1 / std::sqrt(6.0))
                             : drawn_uniform(x, -bound, bound);
  });
}

TEST_CASE("a translator's norms stand where its options say, on both sides") {
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    const nn::Translator model(
        {.source_vocab = 5, .target_vocab = 5, .context = 3, .heads = 2, .width = 4, .norm = norm});
    for (const nn::Block& block : model.transformer.encoder.blocks)
      CHECK(block.options.norm == norm);
    for (const nn::DecoderBlock& block : model.transformer.decoder.blocks)
      CHECK(block.options.norm == norm);
  }
}

TEST_CASE("parameters are counted with every option of a block, and beyond what an f32 holds") {
  for (int bits = 0; bits < 128; ++bits) {
    const auto on = [&](int bit) { return (bits >> bit) % 2 == 1; };
    nn::GPTOptions o{.vocab = 5, .context = 3, .layers = 2, .heads = 4, .width = 8};
    o.bias = on(0), o.tied = on(1);
    if (on(2)) o.qk_norm = 1e-6;
    if (on(3)) o.head_width = 6;
    if (on(4)) o.qkv_bias = !on(0);
    if (on(5)) o.out_bias = !on(0);
    if (on(6)) o.hidden = 7, o.kv_heads = 2, o.position = nn::HeadPosition::rotary;
    CAPTURE(bits);
    REQUIRE(nn::GPT::count(o) == static_cast<double>(nn::GPT(o).parameter_count()));
  }
  constexpr std::int64_t kOdd = (1 << 24) + 1;
  const auto count = [](nn::GPTOptions o) { return nn::GPT::count(o); };
  const double base = count({.vocab = 1, .context = 1, .width = 1});
  CHECK(count({.vocab = kOdd, .context = 1, .width = 1}) == base + kOdd - 1);
  CHECK(count({.vocab = 1, .context = kOdd, .width = 1}) == base + kOdd - 1);
  const double one = count({.vocab = 1, .context = 1, .layers = 2, .width = 1}) - base;
  CHECK(count({.vocab = 1, .context = 1, .layers = kOdd, .width = 1}) == base + one * (kOdd - 1));
  CHECK(count({.vocab = 1, .context = 1, .width = 1, .hidden = kOdd}) ==
        count({.vocab = 1, .context = 1, .width = 1, .hidden = 1}) + 3.0 * (kOdd - 1));
  CHECK(count({.vocab = 1, .context = 1, .width = 1, .head_width = kOdd}) ==
        count({.vocab = 1, .context = 1, .width = 1, .head_width = 1}) + 7.0 * (kOdd - 1));
  nn::GPTOptions wide{.vocab = 1, .context = 1, .width = kOdd, .hidden = 1, .head_width = 1};
  const double W = kOdd;
  CHECK(count(wide) == 2 * W + (3 * W + W + 3 + W) + (2 * W + 1 + W) + 4 * W + 2 * W);
  for (const double H : {W, W + 1}) {
    nn::GPTOptions many{.vocab = 1, .context = 1, .width = 1, .head_width = 1};
    many.heads = static_cast<std::int64_t>(H), many.kv_heads = 1;
    many.position = nn::HeadPosition::relative;
    CHECK(count(many) == 1 + (H + 2) * 2 + H + 1 + 32 * H + (4 + 4 + 4 + 1) + 4 + 2);
  }
}

}  // namespace gradus::testing
