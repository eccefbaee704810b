// Compares gradients of loaded models with finite differences.
#include <string>

#include "gradus/check/gradients.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_families {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";

/// Returns six tokens of a text, which exceed the window of five.
Tensor part_of(const std::string& family, const char* name) {
  return io::load_safetensors(kFamilies + family + "/golden.safetensors")
      .tensors.at(name)
      .slice(0, 0, 1)
      .slice(1, 0, 6)
      .contiguous();
}

/// Uses only f64, because some gradients cancel more than f32 can resolve. Checks some elements and
/// random directions.
const check::Options kF64{
    .conditions = false, .mode = check::Mode::projections, .dtype = Dtype::f64};

}  // namespace

TEST_CASE("families: gradients of loaded GPTs equal finite differences") {
  for (const char* family : {"gpt2", "llama", "mistral", "qwen2", "qwen3"}) {
    nn::GPT model = io::load_gpt(kFamilies + family);
    const Tensor ids = part_of(family, "ids"), targets = part_of(family, "targets");
    const check::Report report = check::module(
        model, [&](const check::Tensors&) { return model.loss(ids, targets); }, {}, kF64);
    INFO(family << report);
    CHECK(report);
  }
}

TEST_CASE("families: gradients of loaded BERT and ALBERT equal finite differences") {
  for (const char* family : {"bert", "albert"}) {
    nn::MaskedLM model = io::load_masked_lm(kFamilies + family);
    model.bert.token.options.padding_idx =
        std::nullopt;  // finite differences have a gradient in the padding row
    const Tensor ids = part_of(family, "ids"), targets = part_of(family, "targets");
    const check::Report report = check::module(
        model, [&](const check::Tensors&) { return model.loss(ids, targets, {4}); }, {}, kF64);
    INFO(family << report);
    CHECK(report);
  }
}

TEST_CASE("families: gradients of a loaded ViT equal finite differences") {
  nn::VisionTransformer model = io::load_vision_transformer(kFamilies + "vit");
  const auto golden = io::load_safetensors(kFamilies + "vit/golden.safetensors").tensors;
  const check::Report report = check::module(
      model,
      [&](const check::Tensors& in) { return cross_entropy(model(in[0]), golden.at("targets")); },
      {golden.at("images")}, kF64);
  INFO(report);
  CHECK(report);
}

}  // namespace gradus::testing::test_families
