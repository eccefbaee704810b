#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/safetensors.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/golden.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/optim/schedule.h"

namespace gradus::testing::test_golden_optim {
namespace {

std::string golden(const std::string& file) {
  return std::string(GRADUS_SOURCE_DIR "/tests/golden/ops/") + file;
}

std::vector<nn::NamedTensor> parameters_from(const std::map<std::string, Tensor>& data) {
  return {{"p0", nn::parameter(data.at("start0").clone())},
          {"p1", nn::parameter(data.at("start1").clone())}};
}

using Made = std::unique_ptr<optim::Optimizer>;
using Maker = std::function<Made(std::vector<nn::NamedTensor>)>;

std::map<std::string, Maker> optimizers() {
  const auto sgd = [](const optim::SGDOptions& options) {
    return [=](auto p) -> Made { return std::make_unique<optim::SGD>(std::move(p), options); };
  };
  const auto adamw = [](const optim::AdamWOptions& options) {
    return [=](auto p) -> Made { return std::make_unique<optim::AdamW>(std::move(p), options); };
  };
  const auto adam = [](const optim::AdamOptions& options) {
    return [=](auto p) -> Made { return std::make_unique<optim::Adam>(std::move(p), options); };
  };
  return {
      {"sgd", sgd({.lr = 0.1})},
      {"sgd_momentum", sgd({.lr = 0.1, .momentum = 0.9})},
      {"sgd_nesterov", sgd({.lr = 0.1, .momentum = 0.9, .nesterov = true})},
      {"sgd_decay", sgd({.lr = 0.1, .momentum = 0.5, .weight_decay = 0.2})},
      {"adam", adam({.lr = 0.05, .betas = {0.8, 0.97}, .eps = 1e-6})},
      {"adam_decay", adam({.lr = 0.05, .weight_decay = 0.3})},
      {"adamw", adamw({.lr = 0.05, .weight_decay = 0.3})},
      {"adamw_clipped", adamw({.lr = 0.05, .weight_decay = 0.01})},
      {"sgd_clipped", sgd({.lr = 0.1, .momentum = 0.9})},
  };
}

}  // namespace

// Each of ten steps has about ten rounding errors, which are divided by square roots of about 1.
// Their total is below 1e-12.
TEST_CASE("ten steps of each optimizer equal PyTorch's") {
  const std::map<std::string, Tensor> data =
      io::load_safetensors(golden("optimizers.safetensors")).tensors;
  for (const auto& [name, make] : optimizers()) {
    INFO(name);
    const bool clipped = data.count(name + ".norms") > 0;
    const std::vector<nn::NamedTensor> parameters = parameters_from(data);
    const Made optimizer = make(parameters);
    for (std::int64_t step = 0; step < 10; ++step) {
      CAPTURE(step);
      optimizer->zero_grad();
      for (int k = 0; k < 2; ++k) {
        const Tensor& gradients = data.at("gradient" + std::to_string(k));
        parameters[static_cast<std::size_t>(k)].tensor.backward(select(gradients, 0, step));
      }
      const double norm = optimizer->step({.clip_norm = clipped ? 2.0 : 0.0});
      if (clipped) CHECK(std::abs(norm - select(data.at(name + ".norms"), 0, step).item()) < 1e-12);
      for (int k = 0; k < 2; ++k) {
        const Tensor& after = data.at(name + ".after" + std::to_string(k));
        CHECK(apart(parameters[static_cast<std::size_t>(k)].tensor.detach(),
                    select(after, 0, step)) < 1e-12);
      }
    }
  }
}

// Each step runs five Newton-Schulz iterations, with slopes of up to 3.4. The total error is below
// 1e-11.
TEST_CASE("ten steps of Muon, with AdamW for the rest, equal PyTorch's") {
  const std::map<std::string, Tensor> data =
      io::load_safetensors(golden("optimizers.safetensors")).tensors;
  const std::map<std::string, optim::MuonOptions> made = {
      {"muon", {.lr = 0.1, .adam = {.lr = 0.05}}},
      {"muon_plain", {.lr = 0.1, .nesterov = false, .weight_decay = 0.3, .adam = {.lr = 0.05}}},
      {"muon_tall", {.lr = 0.1, .momentum = 0.8, .adam = {.lr = 0.05}}}};
  for (const auto& [name, options] : made) {
    INFO(name);
    const bool tall = name == "muon_tall";
    std::vector<nn::NamedTensor> p = parameters_from(data);
    if (tall) p[0].tensor = nn::parameter(transpose(data.at("start0"), 0, 1).clone());
    optim::Muon optimizer({{p[0]}}, {{p[1]}}, options);
    for (std::int64_t step = 0; step < 10; ++step) {
      const Tensor gradient = select(data.at("gradient0"), 0, step);
      p[0].tensor.set_grad(tall ? transpose(gradient, 0, 1) : gradient);
      p[1].tensor.set_grad(select(data.at("gradient1"), 0, step));
      optimizer.step();
      for (std::size_t k = 0; k < 2; ++k)
        CHECK(apart(p[k].tensor.detach(),
                    select(data.at(name + ".after" + std::to_string(k)), 0, step)) < 1e-11);
    }
  }
}

TEST_CASE("gradients clipped by value and an average of the weights equal PyTorch's") {
  const std::map<std::string, Tensor> data =
      io::load_safetensors(golden("optimizers.safetensors")).tensors;
  const std::vector<nn::NamedTensor> p = {parameters_from(data)[0]};
  optim::SGD optimizer(p, {.lr = 0.1});
  optim::EMA average(p, 0.8);
  Tensor weight = p[0].tensor;
  for (std::int64_t step = 0; step < 10; ++step) {
    weight.set_grad(select(data.at("gradient0"), 0, step));
    optim::clip_grad_value(p, 0.5);
    optimizer.step();
    average.update();
    const optim::EMA::Scope averaged(average);
    CHECK(apart(weight.detach(), select(data.at("average.after0"), 0, step)) < 1e-12);
  }
}

TEST_CASE("schedules equal PyTorch's") {
  std::ifstream file(golden("schedules.json"));
  const nlohmann::json expected = nlohmann::json::parse(file);
  const std::map<std::string, optim::Schedule> schedules = {
      {"warmup_linear", optim::warmup_linear(5, 20, 0.1)},
      {"warmup_cosine", optim::warmup_cosine(5, 20, 0.1)}};
  CHECK(expected.size() == schedules.size());
  for (const auto& [name, schedule] : schedules) {
    INFO(name);
    CHECK(expected[name].size() >= 21);
    for (std::size_t step = 0; step < expected[name].size(); ++step)
      CHECK(std::abs(schedule(static_cast<std::int64_t>(step)) -
                     expected[name][step].get<double>()) < 1e-12);
  }
}

}  // namespace gradus::testing::test_golden_optim
