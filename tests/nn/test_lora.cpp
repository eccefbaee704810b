// Tests LoRA adapters.
#include <cmath>
#include <string>

#include "gradus/nn/block.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/init.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/unary.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::test_lora {
namespace {

nn::Block block() {
  nn::Block made({.width = 6, .heads = 2});
  made.to(Dtype::f64);
  return made;
}

Tensor input() { return sin(arange(36).to(Dtype::f64)).reshape({2, 3, 6}); }

const nn::LoRAAdapter& adapter_of(const nn::Linear& layer) {
  return dynamic_cast<const nn::LoRAAdapter&>(*layer.provider);
}

void move_adapters(nn::Module& module) {
  for (const nn::NamedTensor& each : module.parameters())
    if (Tensor p = each.tensor; each.name.ends_with("lora_b")) nn::init::normal_(p, 0, 0.5);
}

}  // namespace

TEST_CASE("a new adapter changes no result, and only adapters require gradients") {
  nn::Block model = block();
  const Tensor before = model(input()).detach();
  const std::vector<std::string> names =
      nn::add_adapters(model, "*.qkv_proj,feed_forward.*", {.rank = 2, .alpha = 6});
  CHECK(names ==
        std::vector<std::string>{"attention.qkv_proj", "feed_forward.up", "feed_forward.down"});
  CHECK(adapter_of(model.attention.qkv_proj).a.shape() == Shape{2, 6});
  CHECK(adapter_of(model.attention.qkv_proj).b.shape() == Shape{18, 2});
  CHECK(adapter_of(model.attention.qkv_proj).scale.item() == 3);
  const Tensor after = model(input());
  CHECK(naive::numbers(after.detach()) == naive::numbers(before));  // a new adapter adds 0
  after.sum().backward();
  for (const nn::NamedTensor& each : model.parameters()) {
    INFO(each.name);
    const bool adapter = each.name.find(".lora_") != std::string::npos;
    CHECK(each.tensor.requires_grad() == adapter);
    CHECK(each.tensor.grad().defined() == adapter);
  }
  CHECK(nn::adapter_state(model).size() == 9);
}

TEST_CASE("adapters are initialized as in the paper: A normal with deviation 1/√in, B zero") {
  nn::Linear layer(400, 50);
  nn::add_adapters(layer, "*", {.rank = 100});
  double sum = 0, squares = 0;
  for (const double a : naive::numbers(adapter_of(layer).a.detach())) sum += a, squares += a * a;
  // The values have standard deviation 0.05. For 40,000 values, the mean has an error of 0.00025,
  // and the standard deviation has an error of 0.4 %.
  CHECK(std::abs(sum / 40'000) < 6 * 0.00025);
  CHECK(std::sqrt(squares / 40'000) == Approx(0.05).epsilon(6 * 0.004));
  for (const double b : naive::numbers(adapter_of(layer).b.detach())) CHECK(b == 0);
}

TEST_CASE("merged adapters give the same results") {
  nn::Block model = block();
  nn::add_adapters(model, "*", {.rank = 2});
  move_adapters(model);
  const Tensor apart = model(input()).detach();
  nn::Block copy = model.clone();
  CHECK(naive::numbers(copy(input()).detach()) == naive::numbers(apart));
  nn::merge_adapters(copy);
  CHECK(nn::adapter_state(copy).empty());
  CHECK(copy.parameter_count() == block().parameter_count());
  const std::vector<double> merged = naive::numbers(copy(input()).detach());
  const std::vector<double> wanted = naive::numbers(apart);
  // Reordering a sum of six terms changes it by about 1e-15. The block's two norm layers magnify
  // this a hundredfold.
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(merged[i] - wanted[i]) < 1e-12);
  for (const nn::NamedTensor& each : copy.parameters()) CHECK(each.tensor.requires_grad());
}

TEST_CASE("adapters load into another model with the same weights") {
  nn::Block model = block(), other = model.clone();
  nn::add_adapters(model, "attention.*", {.rank = 1});
  move_adapters(model);
  nn::add_adapters(other, "attention.*", {.rank = 1});
  other.load_state_dict(nn::adapter_state(model), false);
  CHECK(naive::numbers(other(input()).detach()) == naive::numbers(model(input()).detach()));
}

TEST_CASE("a clone has its own adapters, with the values and dtypes of the original") {
  nn::Block model = block();
  nn::add_adapters(model, "attention.*", {.rank = 2, .alpha = 3});
  move_adapters(model);
  const nn::Block copy = model.clone();
  CHECK(nn::adapter_state(copy).size() == 6);
  const nn::LoRAAdapter &from = adapter_of(model.attention.out_proj),
                        &to = adapter_of(copy.attention.out_proj);
  CHECK(to.a.storage() != from.a.storage());
  CHECK((to.a.requires_grad() && to.b.dtype() == Dtype::f64 && to.scale.item() == 1.5));
  CHECK(naive::numbers(to.b.detach()) == naive::numbers(from.b.detach()));
  CHECK_FALSE(copy.attention.out_proj.weight.requires_grad());
  CHECK((copy.feed_forward.up.provider == nullptr));
}

TEST_CASE("adding adapters keeps earlier adapters trainable") {
  nn::Block model = block();
  nn::add_adapters(model, "attention.*", {.rank = 1});
  nn::add_adapters(model, "feed_forward.*", {.rank = 1});
  int learning = 0;
  for (const nn::NamedTensor& each : model.parameters()) {
    INFO(each.name);
    CHECK(each.tensor.requires_grad() == (each.name.find(".lora_") != std::string::npos));
    learning += each.tensor.requires_grad() ? 1 : 0;
  }
  CHECK(learning == 8);  // each call adds A and B to two layers
}

}  // namespace gradus::testing::test_lora
