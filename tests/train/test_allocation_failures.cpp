#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/failing_memory.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_allocation_failures {
namespace {

using Numbers = std::vector<double>;
using Make = std::unique_ptr<optim::Optimizer> (*)(const std::vector<nn::NamedTensor>&);

struct Task {
  nn::Encoder encoder{{.block = {.width = 4, .heads = 2, .hidden = 5}, .layers = 1}};
  nn::Linear head{4, 3};
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Task(Make make) {
    Generator own(5);
    const GeneratorScope scope(own);
    for (nn::NamedTensor& each : parameters())
      each.tensor.detach().copy_(randn(each.tensor.shape(), each.tensor.dtype()));
    optimizer = make(parameters());
  }
  std::vector<nn::NamedTensor> parameters() const {
    std::vector<nn::NamedTensor> all = encoder.parameters();
    for (nn::NamedTensor& each : head.parameters())
      all.push_back({"head." + each.name, each.tensor});
    return all;
  }
  void step() {
    optimizer->zero_grad();
    const Tensor x = reshape(arange(24.0, 48.0, 1.0) / 24.0, {2, 3, 4});
    mean(square(head(encoder(x)))).backward();
    optimizer->step({.clip_norm = 0.5});
  }
  Numbers weights() const {
    Numbers all;
    for (const nn::NamedTensor& each : parameters())
      for (const double v : each.tensor.to(Dtype::f64).to_vector<double>()) all.push_back(v);
    return all;
  }
};

std::unique_ptr<optim::Optimizer> muon(const std::vector<nn::NamedTensor>& all) {
  optim::MuonGroups groups = optim::muon_groups(all);
  return std::make_unique<optim::Muon>(groups.matrices, groups.others);
}

void check(Make make, int first, int last) {
  Task right(make);
  right.step();
  const Numbers once = right.weights();
  right.step();
  const Numbers twice = right.weights();
  for (int k = first; k < last; ++k) {
    CAPTURE(k);
    Task task(make);
    task.step();
    const std::int64_t live = memory::usage().live_bytes;
    bool failed = false;
    {
      const FailAt fail(k);
      try {
        task.step();
      } catch (const MemoryError&) {
      }
      failed = fail.failed();
    }
    task.optimizer->zero_grad();
    if (!failed) {
      CHECK(task.weights() == twice);
      return;
    }
    REQUIRE(memory::usage().live_bytes <= live);
    REQUIRE(task.weights() == once);
    task.step();
    REQUIRE(task.weights() == twice);
  }
}

const std::pair<const char*, Make> kOptimizers[] = {
    {"SGD",
     [](const std::vector<nn::NamedTensor>& all) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::SGD>(all, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
     }},
    {"AdamW",
     [](const std::vector<nn::NamedTensor>& all) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::AdamW>(all, optim::AdamWOptions{.lr = 0.1});
     }},
    {"Lion",
     [](const std::vector<nn::NamedTensor>& all) -> std::unique_ptr<optim::Optimizer> {
       return std::make_unique<optim::Lion>(all, optim::LionOptions{.lr = 0.1});
     }},
    {"Muon", muon}};

}  // namespace

TEST_CASE("a failed allocation in a step updates no parameter, and the next step is correct",
          "[slow]") {
  for (const auto& [name, make] : kOptimizers) {
    INFO(name);
    check(make, 1, 33);
  }
}

TEST_CASE("a late failed allocation in a step updates no parameter", "[.nightly]") {
  for (const auto& [name, make] : kOptimizers) {
    INFO(name);
    check(make, 33, 5000);
  }
}

}  // namespace gradus::testing::test_allocation_failures
