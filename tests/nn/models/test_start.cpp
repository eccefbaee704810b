// Tests the initial distributions of parameters.
#include <cmath>
#include <string>

#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/models/translator.h"
#include "gradus/nn/models/vit.h"
#include "gradus/tests/nn/models/tiny_models.h"

namespace gradus::testing::test_start {
namespace {

enum class From { constant, uniform, normal, truncated };

/// `size` is the constant value, the bound, or the standard deviation, depending on `from`.
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
  // Truncation at 2 standard deviations multiplies the deviation by 0.8796. The measured deviation
  // of n normal values has a relative error of 1 / √2n. Other distributions have a smaller error.
  const double part = start.from == From::uniform     ? 1 / std::sqrt(3.0)
                      : start.from == From::truncated ? 0.8796
                                                      : 1;
  CHECK(std::abs(deviation / (part * size) - 1) < 5 / std::sqrt(2 * n));
  // The largest of n uniform values is near the bound. The largest of 1000 normal values exceeds
  // 2.5 deviations, except with probability 4e-6.
  if (start.from == From::uniform) CHECK((most <= size * (1 + 1e-6) && most > size * (1 - 20 / n)));
  if (n < 1000) return;
  if (start.from == From::truncated) CHECK((most <= 2 * size * (1 + 1e-6) && most > 1.8 * size));
  if (start.from == From::normal) CHECK(most > 2.5 * size);
}

bool in(const std::string& name, const char* word) { return name.find(word) != std::string::npos; }

template <class Rule>
void check_model(nn::Module& model, Rule rule) {
  for (const nn::NamedTensor& each : model.parameters()) {
    const bool norm = in(each.name, "norm");
    const Start start = norm ? Start{From::constant, in(each.name, "bias") ? 0.0 : 1.0}
                             : rule(each.name, each.tensor);
    check_start(each.name, numbers(each.tensor), start);
  }
}

/// Uniform values with bounds ±1 / √in, where `in` is the input size of the layer's weight. A bias
/// has the same bounds as its weight.
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
    nn::GPT model({.vocab = 40,
                   .context = 32,
                   .layers = 3,
                   .block = {.width = 48, .heads = 4, .head = {.position = position}}});
    check_model(model, [](const std::string& name, const Tensor&) {
      if (in(name, "bias")) return kZero;
      const bool residual = in(name, "out_proj") || in(name, "down");
      return Start{From::normal, residual ? 0.02 / std::sqrt(6.0) : 0.02};
    });
  }
}

TEST_CASE("encoder parameters follow their documented initial distributions") {
  seed(22);
  const nn::BERTOptions options{
      .vocab = 40, .context = 32, .layers = 2, .block = {.width = 48, .heads = 4}};
  const auto truncated = [](const std::string& name, const Tensor&) {
    return in(name, "bias") ? kZero : Start{From::truncated, 0.02};
  };
  nn::MaskedLM words(options);
  check_model(words, truncated);
  nn::TextClassifier classes(options, 30);
  check_model(classes, truncated);
  nn::VisionTransformer vit(
      {.size = 32, .patch = 4, .classes = 5, .layers = 2, .block = {.width = 48, .heads = 4}});
  check_model(vit, [&](const std::string& name, const Tensor& x) {
    if (in(name, "class_token") || in(name, "head")) return kZero;
    return in(name, "position") ? Start{From::truncated, 0.02} : layer(vit, name, x);
  });
}

TEST_CASE("translator and recommender parameters follow their documented distributions") {
  seed(23);
  nn::Translator translator(
      {.source_vocab = 40, .target_vocab = 30, .context = 8, .block = {.width = 48, .heads = 4}});
  check_model(translator, [&](const std::string& name, const Tensor& x) {
    if (in(name, "token")) return Start{From::normal, 1 / std::sqrt(48.0)};
    if (x.rank() == 1) return layer(translator, name, x);
    return Start{From::uniform, std::sqrt(6.0 / double(x.size(0) + x.size(1)))};
  });
  examples::Recommender recommender({.items = 100, .context = 32, .width = 48});
  for (std::int64_t c = 0; c < 48; ++c)
    CHECK(recommender.item.weight.data<float>()[c] == 0);  // row 0 is padding
  check_model(recommender, [&](const std::string& name, const Tensor& x) {
    const bool stands = in(name, "item") || in(name, "position");
    return stands ? Start{From::normal, 1 / std::sqrt(48.0)} : layer(recommender, name, x);
  });
}

}  // namespace gradus::testing::test_start
