// Tests packed models.
#include <string>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/nn/init.h"
#include "gradus/nn/models/families.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_packing {
namespace {

nn::GPT model() {
  nn::GPT made({.vocab = 23, .context = 7, .layers = 2, .block = {.width = 10, .heads = 2}});
  made.eval();
  return made;
}

}  // namespace

TEST_CASE("a packed GPT equals one with rounded weights and needs less memory") {
  const NoGrad off;
  for (const Precision precision : {Precision::bf16, Precision::f16, Precision::int8}) {
    const nn::GPT original = model();
    nn::GPT packed = original.clone(), rounded = original.clone();
    nn::pack(packed, precision);
    for (const nn::NamedTensor& each : rounded.parameters())
      if (each.tensor.rank() == 2) Tensor(each.tensor).copy_(unpack(pack(each.tensor, precision)));
    const Tensor ids = randint(0, 23, {2, 7});
    const std::vector<double> got = naive::numbers(packed(ids)),
                              wanted = naive::numbers(rounded(ids));
    // Reordering a sum of at most 40 terms changes it by about 2⁻²⁴. Two blocks of the model have
    // such sums, and their norms magnify the changes.
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-5);
    const auto& token = dynamic_cast<const nn::PackedWeight&>(*packed.token.provider);
    CHECK(token.matrix.bytes() < 4 * rounded.token.weight.numel());
  }
}

TEST_CASE("a packed linear without inputs returns the bias, and without outputs nothing") {
  const NoGrad off;
  const Tensor bias = tensor({1.5, -2.0}, Dtype::f32);
  const auto none = [](const Shape& shape) { return zeros(shape, Dtype::f32); };
  const Tensor y = linear(none({3, 0}), pack(none({2, 0}), Precision::int8), bias);
  CHECK(naive::numbers(y) == std::vector<double>{1.5, -2, 1.5, -2, 1.5, -2});
  CHECK(linear(none({3, 5}), pack(none({0, 5}), Precision::bf16)).shape() == Shape{3, 0});
  CHECK(linear(none({0, 5}), pack(none({2, 5}), Precision::f16), bias).shape() == Shape{0, 2});
}

TEST_CASE("packed weights reject inputs that do not fit") {
  const NoGrad off;
  const PackedMatrix weight = pack(ones({2, 3}, Dtype::f32), Precision::bf16);
  const auto error_of = [&](const Tensor& x, const Tensor& bias = {}) {
    return message_of<Error>([&] { std::ignore = linear(x, weight, bias); });
  };
  CHECK(has(error_of(ones({4, 5}, Dtype::f32)),
            "[4, 5] must end in the input size of the packed weight, 3"));
  CHECK(has(error_of(ones({4, 3}, Dtype::f64)), "f32 input and bias, got f64"));
  CHECK(has(error_of(ones({4, 3}, Dtype::f32), ones({3}, Dtype::f32)), "bias is [3] but"));
  CHECK(has(error_of({}), "is undefined"));
  CHECK_REFUSES(Error, std::ignore = pack(ones({2}, Dtype::f32), Precision::f16),
                "must be [out, in]");
  CHECK_REFUSES(Error, std::ignore = pack(ones({2, 2}, Dtype::f64), Precision::f16), "f32");
}

TEST_CASE("a packed embedding adds the bias of its projection") {
  const NoGrad off;
  nn::Embedding packed(4, 3);
  nn::pack(packed, Precision::bf16);
  const Tensor x = randn({2, 3}), bias = tensor({1, -2, 4, 8});
  const Tensor plain = packed.project(x), all = packed.project(x, bias);
  CHECK((plain + bias).to_vector<float>() == all.to_vector<float>());
}

TEST_CASE("a packed layer rejects gradients, copies and repeated packing") {
  nn::GPT packed = model();
  nn::pack(packed, Precision::bf16);
  const Tensor ids = zeros({1, 3}, Dtype::i64);
  CHECK_REFUSES(GraphError, std::ignore = packed(ids), "gradients");
  CHECK_REFUSES(GraphError, std::ignore = packed.token.clone(), "Embedding");
  CHECK_REFUSES(GraphError, nn::pack(packed, Precision::int8), "already");
  const NoGrad off;
  CHECK_REFUSES(IndexError, std::ignore = packed(full({1, 2}, 23, Dtype::i64)), "23");
  nn::GPT large = model();
  large.blocks[1].attention.out_proj.weight.detach()[0].fill_(1e6);
  CHECK_REFUSES(ValueError, nn::pack(large, Precision::f16), "blocks.1.attention.out_proj.weight",
                "[0, 0]", "1e+06");
  // The rejected call packed nothing.
  CHECK(large.state_dict().size() == model().state_dict().size());
}

TEST_CASE("packing a layer keeps its adapter, and adding adapters skips packed layers") {
  const NoGrad off;
  nn::Linear layer(6, 4);
  nn::add_adapters(layer, "*", {.rank = 2, .alpha = 6});
  auto& adapter = dynamic_cast<nn::LoRAAdapter&>(*layer.provider);
  nn::init::normal_(adapter.b, 0, 0.5);
  const PackedMatrix weight = pack(layer.weight, Precision::bf16);
  nn::pack(layer, Precision::bf16);
  const Tensor x = randn({3, 6});
  const Tensor wanted =
      linear(x, weight, layer.bias) + linear(linear(x, adapter.a), adapter.b) * adapter.scale;
  CHECK(layer(x).to_vector<float>() == wanted.to_vector<float>());
  CHECK_REFUSES(GraphError, nn::pack(layer, Precision::int8), "already");
  CHECK_REFUSES(GraphError, std::ignore = nn::adapter_state(layer), "weight of Linear is packed");
  CHECK_REFUSES(ValueError, nn::add_adapters(layer, "*"), "no linear layer");
  nn::merge_adapters(layer);  // must skip packed weights
  CHECK(layer(x).to_vector<float>() == wanted.to_vector<float>());
}

TEST_CASE("state_dict, load_state_dict and mapped_state reject a packed model") {
  nn::GPT packed = model(), other = model();
  const nn::StateDict state = other.state_dict();
  nn::pack(packed.blocks[1], Precision::int8);
  const auto error_of = [](auto&& f) { return message_of<GraphError>(f); };
  const char* why = "blocks.1.attention.qkv_proj.weight of GPT is packed";
  CHECK(has(error_of([&] { std::ignore = packed.state_dict(); }), why));
  CHECK(has(error_of([&] { packed.load_state_dict(state); }), why));
  CHECK(has(error_of([&] { std::ignore = nn::mapped_state(packed, nn::gpt2_names()); }), why));
}

}  // namespace gradus::testing::test_packing
