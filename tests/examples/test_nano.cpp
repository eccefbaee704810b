#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_nano {
namespace nano {  // main.cpp includes only the standard headers above
#include "gradus/examples/nano/main.cpp"
}  // namespace nano
namespace {

using Field = double* nano::Tensor::*;

Tensor matrix(const nano::Tensor& x, Field field) {
  const double* first = x.*field;
  const auto rows = static_cast<std::int64_t>(x.shape[0]);
  const auto columns = static_cast<std::int64_t>(x.shape[1]);
  return tensor(std::vector<double>(first, first + x.size), {rows, columns});
}

/// Returns values or gradients by the library's names, with nano's [in, out] matrices transposed.
std::map<std::string, Tensor> by_name(const nano::GPT& model, Field field) {
  const auto turned = [&](const nano::Tensor& x) { return transpose(matrix(x, field), 0, 1); };
  std::map<std::string, Tensor> all = {{"token.weight", matrix(model.token, field)},
                                       {"position.weight", matrix(model.position, field)}};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const nano::Block& block = model.blocks[i];
    const std::string name = str_cat("blocks.", i, ".");
    all[name + "attention.qkv_proj.weight"] =
        cat({turned(block.q), turned(block.k), turned(block.v)}, 0);
    all[name + "attention.out_proj.weight"] = turned(block.out);
    all[name + "feed_forward.up.weight"] = turned(block.up);
    all[name + "feed_forward.down.weight"] = turned(block.down);
  }
  return all;
}

TEST_CASE("nano's loss and gradients equal the library's to the last digits") {
  const nano::Options sizes{.vocab = 11, .context = 7, .layers = 2, .heads = 3, .width = 12};
  nano::GPT small(sizes);
  for (const nano::Tensor& x : small.parameters)  // large values make each part affect the result
    for (std::size_t i = 0; i < x.size; ++i) x.value[i] *= 20;
  nn::GPT model({.vocab = 11,
                 .context = 7,
                 .layers = 2,
                 .block = {.width = 12,
                           .heads = 3,
                           .bias = false,
                           .activation = nn::Activation::relu,
                           .norm_kind = nn::NormKind::rms}});
  model.to(Dtype::f64);
  std::map<std::string, Tensor> weights = by_name(small, &nano::Tensor::value);
  for (const nn::NamedTensor& each : model.parameters()) {
    const NoGrad not_recorded;
    if (weights.count(each.name) == 1) Tensor(each.tensor).copy_(weights[each.name]);
  }

  const nano::Ids x = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};  // two texts of seven tokens
  const nano::Ids y = {1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 10};
  const nano::Tensor small_loss = nano::cross_entropy(small(x, 7), y);
  nano::backward(small_loss);
  const auto ids = [](const nano::Ids& from) {
    return tensor(std::vector<std::int64_t>(from.begin(), from.end()), {2, 7});
  };
  const Tensor loss = model.loss(ids(x), ids(y));
  loss.backward();

  // The bound covers rounding in sums of a hundred terms and twenty successive ops.
  const double tolerance = 1e-13;
  CHECK(std::abs(loss.item() / small_loss.value[0] - 1) < tolerance);
  std::map<std::string, Tensor> gradients = by_name(small, &nano::Tensor::grad);
  std::size_t compared = 0;
  for (const nn::NamedTensor& each : model.parameters()) {
    if (gradients.count(each.name) == 0) continue;  // nano's norms have no weights
    INFO(each.name);
    const Tensor g = each.tensor.grad();
    const double largest = max(abs(g)).item();
    CHECK(largest > 1e-4);
    CHECK(max(abs(g - gradients[each.name])).item() < tolerance * largest);
    ++compared;
  }
  CHECK(compared == gradients.size());
}

TEST_CASE("nano without a readable text ends with exit code 2") {
  char program[] = "nano", missing[] = "/no/such/file", text[] = GRADUS_SOURCE_DIR "/LICENSE",
       none[] = "0";
  char* alone[] = {program, nullptr};
  char* unreadable[] = {program, missing, nullptr};
  char* no_steps[] = {program, text, none, nullptr};
  CHECK(nano::main(1, alone) == 2);
  CHECK(nano::main(2, unreadable) == 2);
  CHECK(nano::main(3, no_steps) == 2);
}

}  // namespace
}  // namespace gradus::testing::test_nano
