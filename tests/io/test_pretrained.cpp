// Models of other people: small ones that `transformers` and PyTorch made, against what those give
// (tests/golden/make_families.py), and written back as they were.
#include <cmath>
#include <functional>
#include <string>

#include "gradus/engine/grad_mode.h"
#include "gradus/io/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/models/families.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";
using Tensors = std::map<std::string, Tensor>;

class DefaultDtype {
 public:
  explicit DefaultDtype(Dtype dtype) : before_(default_dtype()) { set_default_dtype(dtype); }
  ~DefaultDtype() { set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  Dtype before_;
};

std::vector<double> doubles(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

/// The largest difference, as a part of the largest number.
double difference(const Tensor& got, const Tensor& wanted) {
  REQUIRE(got.shape() == wanted.shape());
  const std::vector<double> a = doubles(got), b = doubles(wanted);
  double largest = 1e-3, apart = 0;  // what is nearly 0 everywhere is compared with 1e-3
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    apart = std::max(apart, std::isnan(a[i]) ? 1e9 : std::abs(a[i] - b[i]));
  }
  return apart / largest;
}

/// Golden numbers are f32, rounded from f64: 6e-8 of each. Our f64 adds nothing to that; what is
/// near 0 is measured by the largest.
constexpr double kF64 = 2e-7;
/// In f64 too `transformers` takes the norms and the angles of Llama and its relatives in f32.
constexpr double kRoundedThere = 1e-5;
/// f32: about 40 roundings of 6e-8 one after the other, of which softmax enlarges some.
constexpr double kF32 = 1e-5;

/// The gradients under the names of the golden file: a copy of the model that holds them.
template <class Model>
Tensors gradients(const Model& model, const nn::Names& names) {
  Model copy = model.clone();
  const NoGrad off;
  const std::vector<nn::NamedTensor> from = model.parameters();
  std::vector<nn::NamedTensor> to = copy.parameters();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Tensor grad = from[i].tensor.grad();
    to[i].tensor.detach().copy_(grad.defined() ? grad : zeros_like(from[i].tensor));
  }
  return nn::named_state(copy, names);
}

template <class Model>
void compare_gradients(const Model& model, const nn::Names& names, const Tensors& golden,
                       double tolerance) {
  const Tensors got = gradients(model, names);
  std::size_t wanted = 0;
  for (const auto& [name, tensor] : golden) {
    if (!name.starts_with("grad.")) continue;
    ++wanted;
    INFO(name);
    REQUIRE(got.count(name.substr(5)) == 1);
    CHECK(difference(got.at(name.substr(5)), tensor) < tolerance);
  }
  CHECK(wanted == got.size());
}

/// Output, loss and gradients in f64, the output in f32; then out and in again.
template <class Model, class Call>
void check_family(const std::string& name, const std::function<Model(const std::string&)>& load,
                  const std::function<nn::Names(const Model&)>& names, const Call& call,
                  double tolerance = kF64) {
  INFO(name);
  const Tensors golden = io::load_safetensors(kFamilies + name + "/golden.safetensors").tensors;
  {
    const DefaultDtype f64(Dtype::f64);
    const Model model = load(kFamilies + name);
    const Tensor output = call(model, golden);
    CHECK(difference(output, golden.at("output")) < tolerance);
    const Tensor loss =
        cross_entropy(output.flatten(0, output.rank() - 2), golden.at("targets").flatten());
    CHECK(std::abs(loss.item() - golden.at("loss").item()) < tolerance * std::abs(loss.item()));
    loss.backward();
    compare_gradients(model, names(model), golden, tolerance);
  }
  const Model model = load(kFamilies + name);
  const NoGrad off;
  const Tensor output = call(model, golden);
  CHECK(difference(output, golden.at("output")) < kF32);

  const Folder folder;
  io::save_pretrained(folder / "again", model);
  const Tensors before = io::load_safetensors(kFamilies + name + "/model.safetensors").tensors;
  const Tensors after = io::load_safetensors(folder / "again/model.safetensors").tensors;
  CHECK(before.size() == after.size());
  for (const auto& [tensor, numbers] : before) {
    INFO(tensor);
    REQUIRE(after.count(tensor) == 1);
    CHECK(same(after.at(tensor), numbers));
  }
  CHECK(same(call(load(folder / "again"), golden), output));
}

std::vector<std::int64_t> lengths_of(const Tensors& golden) {
  return golden.at("lengths").to_vector<std::int64_t>();
}

/// PyTorch's modules have no configuration: the module is made here, and filled by names.
template <class Model, class Call>
void check_torch(const std::string& name, Model model, const nn::Names& names, const Call& call) {
  INFO(name);
  const std::string weights = kFamilies + name + "/model.safetensors";
  const Tensors golden = io::load_safetensors(kFamilies + name + "/golden.safetensors").tensors;
  io::load_named(weights, names, model);
  const Tensors before = io::load_safetensors(weights).tensors;
  const Tensors after = nn::named_state(model, names);
  CHECK(before.size() == after.size());
  for (const auto& [tensor, numbers] : before) {
    INFO(tensor);
    REQUIRE(after.count(tensor) == 1);
    CHECK(same(after.at(tensor), numbers));
  }
  model.to(Dtype::f64);
  Tensors wide;
  for (const auto& [key, tensor] : golden) wide[key] = tensor.to(Dtype::f64);
  const Tensor output = call(model, wide);
  CHECK(difference(output, golden.at("output")) < kF64);
  const Tensor loss = (output * wide.at("factor")).sum();
  // A sum of about 200 numbers that cancel: its rounding is measured by theirs, not by its own.
  CHECK(std::abs(loss.item() - golden.at("loss").item()) < 1e-10);
  loss.backward();
  compare_gradients(model, names, golden, kF64);
}

}  // namespace

TEST_CASE("GPT-2, Llama, Mistral, Qwen2 and Qwen3 give transformers' logits and gradients") {
  for (const char* name : {"gpt2", "llama", "mistral", "qwen2", "qwen3"})
    check_family<nn::GPT>(
        name, [](const std::string& path) { return io::load_gpt(path); },
        [&](const nn::GPT& model) {
          return std::string(name) == "gpt2" ? nn::gpt2_names() : nn::llama_names(model.options);
        },
        [](const nn::GPT& model, const Tensors& golden) { return model(golden.at("ids")); },
        std::string(name) == "gpt2" ? kF64 : kRoundedThere);
}

TEST_CASE("BERT, ALBERT and a classifier give transformers' logits and gradients") {
  for (const char* name : {"bert", "albert"})
    check_family<nn::MaskedLM>(
        name, io::load_masked_lm,
        [](const nn::MaskedLM& model) { return nn::masked_lm_names(model.bert.options); },
        [](const nn::MaskedLM& model, const Tensors& golden) {
          return model(golden.at("ids"), lengths_of(golden));
        });
  check_family<nn::TextClassifier>(
      "bert_classifier", io::load_text_classifier,
      [](const nn::TextClassifier& model) { return nn::text_classifier_names(model.bert.options); },
      [](const nn::TextClassifier& model, const Tensors& golden) {
        return model(golden.at("ids"), lengths_of(golden));
      });
}

TEST_CASE("ViT gives transformers' logits and gradients") {
  check_family<nn::VisionTransformer>(
      "vit", io::load_vision_transformer,
      [](const nn::VisionTransformer& model) {
        return nn::vision_transformer_names(model.options);
      },
      [](const nn::VisionTransformer& model, const Tensors& golden) {
        return model(golden.at("images").to(default_dtype()));
      });
}

TEST_CASE("PyTorch's modules are filled by their names, and give the same") {
  const nn::BlockOptions block{.width = 21, .heads = 3, .hidden = 17};
  nn::BlockOptions gelu = block, relu = block;
  gelu.activation = nn::Activation::gelu;
  relu.activation = nn::Activation::relu;
  relu.norm = nn::NormPlacement::post;
  check_torch("torch_encoder", nn::Encoder({.block = gelu, .layers = 2}), nn::torch_encoder_names(),
              [](const nn::Encoder& m, const Tensors& in) { return m(in.at("source")); });
  check_torch("torch_transformer",
              nn::Transformer({.block = relu, .encoder_layers = 1, .decoder_layers = 2}),
              nn::torch_transformer_names(), [](const nn::Transformer& m, const Tensors& in) {
                return m(in.at("source"), in.at("target"));
              });
  check_torch("torch_attention", nn::MultiHeadAttention({.width = 21, .heads = 3}),
              nn::torch_attention_names(), [](const nn::MultiHeadAttention& m, const Tensors& in) {
                return m(in.at("source"));
              });
  const nn::CrossAttentionOptions cross{
      .width = 21, .heads = 3, .memory_width = 13, .value_width = 11};
  check_torch("torch_cross_attention", nn::CrossAttention(cross),
              nn::torch_cross_attention_names(cross),
              [](const nn::CrossAttention& m, const Tensors& in) {
                return m(in.at("target"), in.at("keys"), in.at("values"));
              });
}

}  // namespace gradus::testing
