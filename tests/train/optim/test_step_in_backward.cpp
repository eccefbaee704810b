#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_step_in_backward {
namespace {

struct Chain {
  explicit Chain(int count, std::int64_t width) {
    for (int i = 0; i < count; ++i) {
      layers.emplace_back(width, width, nn::LinearOptions{.bias = false});
      parameters.push_back({"w" + std::to_string(i), layers.back().weight});
    }
  }
  Tensor loss(const Tensor& x) const {
    Tensor y = x;
    for (const nn::Linear& layer : layers) y = layer(y);
    return sum(square(y));
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const nn::NamedTensor& each : parameters) all.push_back(each.tensor.to_vector<float>());
    return all;
  }
  std::vector<nn::Linear> layers;
  std::vector<nn::NamedTensor> parameters;
};

}  // namespace

TEST_CASE("step_in_backward never stores the gradients of many parameters") {
  constexpr int kLayers = 12;
  constexpr std::int64_t kWidth = 256, kBytes = kWidth * kWidth * 4;
  const Chain chain(kLayers, kWidth);
  optim::SGD optimizer(chain.parameters, {.lr = 1e-6});
  optimizer.step_in_backward();
  const Tensor loss = chain.loss(ones({1, kWidth}));
  const std::int64_t before = memory::usage().live_bytes;
  memory::reset_peak();
  loss.backward();
  CHECK(memory::usage().peak_bytes - before < 4 * kBytes);  // one gradient of 12, and temporaries
}

TEST_CASE("a destroyed optimizer leaves nothing on its parameters") {
  const Chain chain(2, 4);
  const auto before = chain.values();
  for (int i = 0; i < 3; ++i) {
    optim::SGD gone(chain.parameters, {.lr = 1});
    gone.step_in_backward();
  }
  chain.loss(ones({1, 4})).backward();
  CHECK(chain.values() == before);
  CHECK(chain.parameters[0].tensor.grad().defined());
}

TEST_CASE("step_in_backward does not change frozen parameters until they are unfrozen") {
  const Chain chain(2, 4);
  Tensor first = chain.parameters[0].tensor;
  first.requires_grad_(false);
  optim::SGD optimizer(chain.parameters, {.lr = 0.1});
  const auto before = chain.values();
  optimizer.step_in_backward();
  chain.loss(ones({1, 4})).backward();
  CHECK(chain.values()[0] == before[0]);
  CHECK(chain.values()[1] != before[1]);
  first.requires_grad_();
  optimizer.step_in_backward();
  chain.loss(ones({1, 4})).backward();
  CHECK(chain.values()[0] != before[0]);
}

TEST_CASE("each parameter is updated fully or not at all when backward runs out of memory") {
  const Tensor x = ones({3, 40});
  const auto run = [&](bool muon, std::int64_t room) {
    seed(5);
    const Chain chain(4, 40);
    std::unique_ptr<optim::Optimizer> optimizer;
    if (muon)
      optimizer = std::make_unique<optim::Muon>(optim::Group{chain.parameters}, optim::Group{});
    else
      optimizer = std::make_unique<optim::AdamW>(chain.parameters);
    optimizer->step_in_backward();
    const Tensor loss = chain.loss(x);
    const auto before = chain.values();
    if (room > 0) memory::set_limit(memory::usage().live_bytes + room);
    bool failed = false;
    try {
      loss.backward();
    } catch (const MemoryError&) {
      failed = true;
    }
    memory::set_limit(0);
    std::vector<bool> moments_moved;  // per parameter: true if its moments are nonzero
    for (const nn::NamedTensor& each : chain.parameters) {
      bool all = true, any = false;
      for (const auto& [name, tensor] : optimizer->state_dict())
        if (name.ends_with("." + each.name)) {
          const bool moved = sum(square(tensor)).item() > 0;
          all = all && moved;
          any = any || moved;
        }
      CHECK(all == any);
      moments_moved.push_back(all);
    }
    return std::tuple(failed, before, chain.values(), moments_moved);
  };
  for (const bool muon : {false, true}) {
    const auto complete = std::get<2>(run(muon, 0));
    int failures = 0;
    for (std::int64_t room = 1; room < 100000; room += 700) {
      const auto [failed, before, after, moments_moved] = run(muon, room);
      failures += failed;
      for (std::size_t i = 0; i < after.size(); ++i)
        CHECK(after[i] == (moments_moved[i] ? complete[i] : before[i]));
      if (!failed) break;
    }
    CHECK(failures > 3);
  }
}

TEST_CASE("a step that runs out of memory changes nothing") {
  const Chain chain(3, 40);
  optim::Muon muon(optim::Group{chain.parameters}, optim::Group{});
  optim::AdamW adam(chain.parameters);
  chain.loss(ones({3, 40})).backward();
  for (optim::Optimizer* optimizer :
       {static_cast<optim::Optimizer*>(&muon), static_cast<optim::Optimizer*>(&adam)}) {
    const auto before = chain.values();
    const auto state_of = [&] {
      std::vector<std::vector<float>> all;
      for (const auto& [name, tensor] : optimizer->state_dict())
        if (name != "step") all.push_back(tensor.to_vector<float>());
      return all;
    };
    const auto state = state_of();
    for (std::int64_t room = 0; room < 1000000; room += 3000) {
      memory::set_limit(memory::usage().live_bytes + room);
      bool failed = false;
      try {
        optimizer->step();
      } catch (const MemoryError&) {
        failed = true;
      }
      memory::set_limit(0);
      if (!failed) break;
      CHECK(chain.values() == before);
      CHECK(state_of() == state);
      CHECK(optimizer->steps() == 0);
    }
    CHECK(optimizer->steps() == 1);
    CHECK(chain.values() != before);
  }
}

}  // namespace gradus::testing::test_step_in_backward
