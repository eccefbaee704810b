// Initial distributions of every parameter of each model.
#include <cmath>
#include <string>

#include "gradus/examples/recommend/recommender.h"
#include "gradus/models/bert.h"
#include "gradus/models/gpt.h"
#include "gradus/models/sizes.h"
#include "gradus/models/translator.h"
#include "gradus/models/vit.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/nn/stream_law.h"

namespace gradus::testing {
namespace {

enum class From { constant, uniform, normal, truncated };

/// A value, or the bound of a uniform and the deviation of a normal distribution.
struct Start {
  From from;
  double size;
};

void check_start(const std::string& name, const std::vector<double>& x, const Start& start) {
  double squares = 0, most = 0;
  for (const double each : x) squares += each * each, most = std::max(most, std::abs(each));
  const double n = double(x.size()), deviation = std::sqrt(squares / n), size = start.size;
  CAPTURE(name, deviation, most, size, int(start.from));
  if (start.from == From::constant) {
    CHECK(x == std::vector<double>(x.size(), float(size)));
    return;
  }
  // Cut off at 2 deviations a normal one keeps 0.8796 of its deviation. A deviation that n values
  // of a normal distribution give is uncertain by a part of 1 / √2n; of the others by less.
  const double part = start.from == From::uniform     ? 1 / std::sqrt(3.0)
                      : start.from == From::truncated ? 0.8796
                                                      : 1;
  CHECK(std::abs(deviation / (part * size) - 1) < 5 / std::sqrt(2 * n));
  // The largest of n: at the border, or of a normal one beyond 2.5 (all within: 4e-6 of 1000).
  if (start.from == From::uniform) CHECK((most <= size * (1 + 1e-6) && most > size * (1 - 20 / n)));
  if (n < 1000) return;
  if (start.from == From::truncated) CHECK((most <= 2 * size * (1 + 1e-6) && most > 1.8 * size));
  if (start.from == From::normal) CHECK(most > 2.5 * size);
}

bool in(const std::string& name, const char* word) { return name.find(word) != std::string::npos; }

/// Norms are 1 and 0 in all models; the others as `rule(name, parameter)` says.
template <class Rule>
void check_model(nn::Module& model, Rule rule) {
  for (const nn::NamedTensor& each : model.parameters()) {
    const bool norm = in(each.name, "norm");
    const Start start = norm ? Start{From::constant, in(each.name, "bias") ? 0.0 : 1.0}
                             : rule(each.name, each.tensor);
    check_start(each.name, numbers(each.tensor), start);
  }
}

/// What layers start with: ±1 / √in, where a bias has its weight's.
Start layer(const nn::Module& model, std::string name, const Tensor& parameter) {
  const std::size_t at = name.rfind("bias");
  Tensor weight = parameter;
  if (at != std::string::npos) name.replace(at, 4, "weight");
  for (const nn::NamedTensor& each : model.parameters())
    if (each.name == name) weight = each.tensor;
  return {From::uniform, 1 / std::sqrt(double(weight.size(1)))};
}

constexpr Start kZero{From::constant, 0};

}  // namespace

TEST_CASE("GPT parameters follow their documented initial distributions") {
  seed(21);
  for (const nn::HeadPosition position : {nn::HeadPosition::none, nn::HeadPosition::relative}) {
    nn::GPT model(
        {.vocab = 40, .context = 32, .layers = 3, .heads = 4, .width = 48, .position = position});
    check_model(model, [](const std::string& name, const Tensor&) {
      if (in(name, "bias")) return kZero;
      const bool onto_residual = in(name, "out_proj") || in(name, "down");
      return Start{From::normal, onto_residual ? 0.02 / std::sqrt(6.0) : 0.02};
    });
  }
}

TEST_CASE("encoder parameters follow their documented initial distributions") {
  seed(22);
  const nn::BERTOptions options{.vocab = 40, .context = 32, .layers = 2, .heads = 4, .width = 48};
  const auto truncated = [](const std::string& name, const Tensor&) {
    return in(name, "bias") ? kZero : Start{From::truncated, 0.02};
  };
  nn::MaskedLM words(options);
  check_model(words, truncated);
  nn::TextClassifier classes(options, 30);
  check_model(classes, truncated);
  nn::VisionTransformer vit(
      {.size = 32, .patch = 4, .classes = 5, .layers = 2, .heads = 4, .width = 48});
  check_model(vit, [&](const std::string& name, const Tensor& x) {
    if (in(name, "class_token") || in(name, "head")) return kZero;
    return in(name, "position") ? Start{From::truncated, 0.02} : layer(vit, name, x);
  });
}

TEST_CASE("translator and recommender parameters follow their documented distributions") {
  seed(23);
  nn::Translator translator({.source_vocab = 40, .target_vocab = 30, .context = 8, .width = 48});
  check_model(translator, [&](const std::string& name, const Tensor& x) {
    if (in(name, "token")) return Start{From::normal, 1 / std::sqrt(48.0)};
    if (x.rank() == 1) return layer(translator, name, x);
    return Start{From::uniform, std::sqrt(6.0 / double(x.size(0) + x.size(1)))};
  });
  examples::Recommender recommender({.items = 100, .context = 32, .width = 48});
  for (std::int64_t c = 0; c < 48; ++c)
    CHECK(recommender.item.weight.data<float>()[c] == 0);  // padding
  check_model(recommender, [&](const std::string& name, const Tensor& x) {
    const bool stands = in(name, "item") || in(name, "position");
    return stands ? Start{From::normal, 1 / std::sqrt(48.0)} : layer(recommender, name, x);
  });
}

}  // namespace gradus::testing

namespace gradus::testing::distributions {
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

TEST_CASE("GPT matrices are drawn from normal(0, 0.02), narrower onto the residual stream") {
  const InDoubles scope;
  seed(41);
  const nn::GPT gpt({.vocab = 5, .context = 4, .layers = 3, .heads = 2, .width = 6, .tied = false});
  check_matrices(gpt, [](const std::string& name, const Tensor& x) {
    const bool onto = in(name, "out_proj") || in(name, "down");
    return drawn_normal(x, 0, onto ? 0.02 / std::sqrt(6.0) : 0.02);
  });
}

TEST_CASE("encoder parameters start from a normal distribution truncated at two deviations") {
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

TEST_CASE("translator tables are drawn from normal(0, 1 / √width), and matrices by Xavier") {
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

TEST_CASE("encoder and decoder of a translator have the norm placement of its options") {
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    const nn::Translator model(
        {.source_vocab = 5, .target_vocab = 5, .context = 3, .heads = 2, .width = 4, .norm = norm});
    for (const nn::Block& block : model.transformer.encoder.blocks)
      CHECK(block.options.norm == norm);
    for (const nn::DecoderBlock& block : model.transformer.decoder.blocks)
      CHECK(block.options.norm == norm);
  }
}

TEST_CASE("GPT::count is exact for every block option, and beyond the range of f32") {
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

}  // namespace gradus::testing::distributions
