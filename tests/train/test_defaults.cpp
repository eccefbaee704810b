// Compares defaults with those of PyTorch (tests/golden/make_defaults.py).
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "gradus/nn/attention.h"
#include "gradus/nn/extras/conv.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_defaults {
namespace {

nlohmann::json pytorch() {
  std::ifstream file(GRADUS_SOURCE_DIR "/tests/golden/defaults.json");
  return nlohmann::json::parse(file);
}

std::vector<double> numbers(const Tensor& x) { return x.to_vector<double>(); }

}  // namespace

TEST_CASE("defaults of optimizers and layers equal PyTorch's") {
  const optim::SGDOptions sgd;
  const optim::AdamOptions adam;
  const optim::AdamWOptions adamw;
  const nn::NormOptions norm;
  const nn::BatchNormOptions batch_norm;
  const nn::Conv1dLayerOptions conv;
  const nn::MultiHeadAttentionOptions attention;
  const nn::CrossAttentionOptions cross;
  const CrossEntropyOptions cross_entropy;
  const nlohmann::json ours = {
      {"SGD.lr", sgd.lr},
      {"SGD.momentum", sgd.momentum},
      {"SGD.weight_decay", sgd.weight_decay},
      {"SGD.nesterov", sgd.nesterov},
      {"Adam.lr", adam.lr},
      {"Adam.betas", adam.betas},
      {"Adam.eps", adam.eps},
      {"Adam.weight_decay", adam.weight_decay},
      {"AdamW.lr", adamw.lr},
      {"AdamW.betas", adamw.betas},
      {"AdamW.eps", adamw.eps},
      {"AdamW.weight_decay", adamw.weight_decay},
      {"Linear.bias", nn::LinearOptions{}.bias},
      {"LayerNorm.eps", norm.eps},
      {"LayerNorm.elementwise_affine", norm.affine},
      {"BatchNorm1d.eps", batch_norm.eps},
      {"BatchNorm1d.momentum", batch_norm.momentum},
      {"BatchNorm1d.affine", batch_norm.affine},
      {"Conv1d.stride", conv.stride},
      {"Conv1d.padding", conv.padding},
      {"Conv1d.dilation", conv.dilation},
      {"Conv1d.groups", conv.groups},
      {"Conv1d.bias", conv.bias},
      {"MultiheadAttention.dropout", attention.dropout},
      {"MultiheadAttention.bias", attention.bias && cross.bias},
      {"cross_entropy.ignore_index", cross_entropy.ignore_index},
      {"cross_entropy.label_smoothing", cross_entropy.label_smoothing},
      {"cross_entropy.reduction", cross_entropy.reduction == Reduction::mean ? "mean" : "other"},
  };
  const nlohmann::json theirs = pytorch();
  for (const auto& [name, value] : ours.items()) {
    INFO(name);
    REQUIRE(theirs.contains(name));
    CHECK(value == theirs.at(name));
  }
}

TEST_CASE("functions with default arguments equal PyTorch's") {
  const nlohmann::json theirs = pytorch();
  const Tensor x = tensor({-1.5, -0.25, 0.75, 2.5}, Dtype::f64), t = ones({4}, Dtype::f64);
  CHECK(theirs.at("gelu.approximate") == "none");
  CHECK(numbers(gelu(x)) == numbers(gelu(x, Gelu::erf)));
  const double slope = theirs.at("leaky_relu.negative_slope"), alpha = theirs.at("elu.alpha"),
               delta = theirs.at("huber_loss.delta"), eps = theirs.at("layer_norm.eps");
  CHECK(numbers(leaky_relu(x)) == numbers(leaky_relu(x, slope)));
  CHECK(numbers(elu(x)) == numbers(elu(x, alpha)));
  CHECK(numbers(layer_norm(x)) == numbers(layer_norm(x, {}, {}, eps)));
  for (const char* loss : {"mse_loss", "huber_loss", "kl_div"})
    CHECK(theirs.at(std::string(loss) + ".reduction") == "mean");
  CHECK(numbers(mse_loss(x, t)) == numbers(mse_loss(x, t, Reduction::mean)));
  CHECK(numbers(huber_loss(x, t)) == numbers(huber_loss(x, t, delta, Reduction::mean)));
  CHECK(numbers(kl_div(x, t)) == numbers(kl_div(x, t, Reduction::mean)));
}

}  // namespace gradus::testing::test_defaults
