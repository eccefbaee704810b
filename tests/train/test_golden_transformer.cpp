// Compares attention layers, blocks and the Transformer with those of PyTorch
// (tests/golden/make_transformer.py).
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/io/safetensors.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/golden.h"

namespace gradus::testing::test_golden_transformer {
namespace {

using Inputs = std::vector<Tensor>;
using Tensors = std::map<std::string, Tensor>;

const Tensors& golden() {
  static const Tensors all =
      io::load_safetensors(GRADUS_SOURCE_DIR "/tests/golden/transformer/layers.safetensors")
          .tensors;
  return all;
}

/// Sums have a few hundred terms, in at most twelve residual blocks, and norms may divide by 0.1.
/// 1e-10 allows 5e5 rounding errors of f64.
constexpr double kAllowed = 1e-10;

void check_case(const std::string& name, nn::Module& module, std::size_t count,
                const std::function<Tensor(const Inputs&)>& call) {
  INFO(name);
  Tensors weights;
  for (const auto& [key, value] : golden())
    if (key.starts_with(name + "/p.")) weights[key.substr(name.size() + 3)] = value;
  module.to(Dtype::f64);
  module.load_state_dict(weights);
  Inputs inputs;
  for (std::size_t i = 0; i < count; ++i)
    inputs.push_back(golden().at(name + "/x" + std::to_string(i)).clone().requires_grad_());
  const Tensor y = call(inputs);
  CHECK(apart(y, golden().at(name + "/y")) < kAllowed);
  sum(y * golden().at(name + "/dy")).backward();
  for (std::size_t i = 0; i < count; ++i) {
    INFO("dx" << i);
    CHECK(apart(inputs[i].grad(), golden().at(name + "/dx" + std::to_string(i))) < kAllowed);
  }
  for (const nn::NamedTensor& each : module.parameters()) {
    INFO(each.name);
    CHECK(apart(each.tensor.grad(), golden().at(name + "/d." + each.name)) < kAllowed);
  }
}

const Mask kPadding = padding_mask({5, 3});

nn::BlockOptions block(bool pre) {
  return {.width = 6,
          .heads = 3,
          .hidden = 5,
          .activation = pre ? nn::Activation::gelu : nn::Activation::relu,
          .norm = pre ? nn::NormPlacement::pre : nn::NormPlacement::post};
}

}  // namespace

TEST_CASE("multi-head attention equals PyTorch's for self- and cross-attention") {
  nn::MultiHeadAttention self({.width = 6, .heads = 3});
  check_case("self", self, 1,
             [&](const Inputs& x) { return self(x[0], causal_mask() & kPadding); });
  nn::CrossAttention cross({.width = 6, .heads = 3, .memory_width = 5, .value_width = 7});
  check_case("cross", cross, 3, [&](const Inputs& x) { return cross(x[0], x[1], x[2], kPadding); });
}

TEST_CASE("blocks and the Transformer equal PyTorch's, for pre-norm and post-norm") {
  for (const bool pre : {true, false}) {
    const std::string when = pre ? "_pre" : "_post";
    nn::EncoderBlock encoder(block(pre));
    check_case("encoder" + when, encoder, 1,
               [&](const Inputs& x) { return encoder(x[0], kPadding); });
    nn::DecoderBlock decoder(block(pre));
    check_case("decoder" + when, decoder, 2,
               [&](const Inputs& x) { return decoder(x[0], x[1], causal_mask(), kPadding); });
    nn::Transformer whole({.block = block(pre), .encoder_layers = 2, .decoder_layers = 2});
    check_case("transformer" + when, whole, 2,
               [&](const Inputs& x) { return whole(x[0], x[1], kPadding); });
  }
}

}  // namespace gradus::testing::test_golden_transformer
