#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_gpt {
namespace {

using naive::Numbers;
using naive::numbers;

nn::GPTOptions small() {
  return {.vocab = 11, .context = 8, .layers = 2, .block = {.width = 16, .heads = 2}};
}

/// Returns 0, 3, 6, 9, 1, …
Tensor counting(std::int64_t B, std::int64_t T, std::int64_t first = 0) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < B * T; ++i) out.push_back((i / T + (i % T + first) * 3) % 11);
  return tensor(out, {B, T});
}

}  // namespace

TEST_CASE("GPT starts with a loss of ln V") {
  seed(1);
  const nn::GPT gpt({.vocab = 65, .context = 16, .layers = 4, .block = {.width = 64, .heads = 4}});
  const Tensor ids = randint(0, 65, {8, 16}), targets = randint(0, 65, {8, 16});
  // Logits are sums of 64 products and have standard deviation 0.02 √64 = 0.16. This adds 0.16² / 2
  // to ln V. The mean over 128 targets has an error of 0.16 / √128.
  CHECK(std::abs(gpt.loss(ids, targets).item() - std::log(65)) < 0.1);
}

TEST_CASE("with zero_init, the blocks of a new GPT add nothing") {
  for (const bool zero : {true, false}) {
    nn::GPTOptions options = small();
    options.zero_init = zero;
    const nn::GPT gpt(options);
    const Tensor ids = counting(2, 5);
    const Tensor without = gpt.token.project(gpt.norm(gpt.token(ids) + gpt.position(arange(5))));
    CHECK((numbers(gpt(ids)) == numbers(without)) == zero);
  }
}

TEST_CASE("the output head shares the token embedding") {
  nn::GPT gpt(small());
  const Tensor ids = tensor(std::vector<std::int64_t>{1, 2}, {1, 2});
  gpt.loss(ids, ids).backward();
  // Token 7 does not occur in the input, so its gradient comes from the head.
  bool from_head = false;
  for (const float each : slice(gpt.token.weight.grad(), 0, 7, 8).to_vector<float>())
    from_head |= each != 0;
  CHECK(from_head);
  const Numbers before = numbers(gpt(ids));
  {
    const NoGrad off;
    Tensor row = slice(gpt.token.weight, 0, 7, 8);
    row.fill_(0);
  }
  const Numbers after = numbers(gpt(ids));
  for (std::size_t i = 0; i < after.size(); ++i)
    CHECK((after[i] == before[i]) == (i % 11 != 7));  // only token 7's logits change
}

TEST_CASE("an embedding factor equals a scaled table") {
  nn::GPTOptions options = small();
  options.tied = false;  // with untied weights, `scale` must not affect the head
  nn::GPT plain(options);
  options.embedding_factor = 2;
  nn::GPT scaled(options);
  plain.to(Dtype::f64), scaled.to(Dtype::f64);
  plain.load_state_dict(scaled.state_dict());
  Tensor table = plain.token.weight.detach();
  table.copy_(table * 2);
  const Tensor ids = counting(2, 5), next = counting(2, 5, 1);
  CHECK(numbers(scaled(ids).detach()) == numbers(plain(ids).detach()));  // doubling is exact
  plain.loss(ids, next).backward();
  scaled.loss(ids, next).backward();
  CHECK(numbers(scaled.token.weight.grad()) == numbers(plain.token.weight.grad() * 2));
}

TEST_CASE("logits do not depend on later tokens, in training and under FormulaScope") {
  nn::GPTOptions options = small();
  options.block.dropout = 0.2;
  const nn::GPT gpt(options);
  const Tensor ids = counting(1, 8);
  Tensor other = ids.clone();
  other.mutable_data<std::int64_t>()[5] = 10;
  const auto first_five = [&](const Tensor& x) {
    seed(9);
    return slice(gpt(x), 1, 0, 5).to_vector<float>();
  };
  CHECK(first_five(ids) == first_five(other));
  const FormulaScope formula;
  CHECK(first_five(ids) == first_five(other));
}

TEST_CASE("dropout is off in evaluation, where kernel and formula agree") {
  nn::GPTOptions options = small();
  options.block.dropout = 0.5;
  nn::GPT gpt(options);
  const Tensor ids = counting(2, 8);
  CHECK(numbers(gpt(ids)) != numbers(gpt(ids)));
  gpt.eval();
  const Numbers a = numbers(gpt(ids));
  CHECK(a == numbers(gpt(ids)));
  const FormulaScope formula;
  const Numbers b = numbers(gpt(ids));
  // Logits are about 0.1. Each of some twenty ops adds a few rounding errors.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-5);
}

TEST_CASE("a clone of a GPT computes the same logits and trains independently") {
  nn::GPT gpt(small());
  const nn::GPT copy = gpt.clone();
  const Tensor ids = counting(2, 5);
  CHECK(numbers(gpt(ids)) == numbers(copy(ids)));
  copy.loss(ids, ids).backward();
  CHECK(!gpt.token.weight.grad().defined());
  gpt.to(Dtype::f64);
  CHECK(gpt(ids).dtype() == Dtype::f64);
  CHECK(gpt.clone()(ids).dtype() == Dtype::f64);
}

TEST_CASE("one model can serve two threads concurrently") {
  nn::GPT gpt(small());
  gpt.eval();
  const Tensor ids = counting(2, 8);
  const Numbers right = numbers(gpt(ids));
  std::vector<char> same(2, 0);
  const auto serve = [&](std::size_t which) {
    const NoGrad off;
    bool equal = true;
    for (int i = 0; i < 20; ++i) equal = equal && numbers(gpt(ids)) == right;
    same[which] = equal;
  };
  std::thread first(serve, 0), second(serve, 1);
  first.join();
  second.join();
  CHECK((same[0] && same[1]));
}

TEST_CASE("presets are found by name") {
  for (const nn::GPTPreset& preset : nn::gpt_presets()) {
    CHECK(&nn::gpt_preset(preset.name) == &preset);
    CHECK(preset.options.block.width % preset.options.block.heads == 0);
    CHECK(preset.batch > 0);
  }
  CHECK(nn::gpt_preset("cpu").options.block.width == 128);
  CHECK_REFUSES(ValueError, nn::gpt_preset("huge"), "\"huge\"", "toy, cpu");
}

TEST_CASE("GPT::parameter_count equals the number of parameters of the model") {
  std::mt19937 random(1);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int i = 0; i < 200; ++i) {
    nn::GPTOptions o;
    nn::BlockOptions& b = o.block;
    const std::int64_t groups = 1 + below(3);
    b.heads = groups * (1 + below(3));
    if (below(3) != 0) b.kv_heads = groups;
    b.width = 2 * b.heads * (1 + below(3));
    o.vocab = 1 + below(9), o.context = 1 + below(9), o.layers = 1 + below(3);
    b.head.position = static_cast<nn::HeadPosition>(below(4));
    b.head.relative.count = 4 * (1 + below(8));
    b.activation = static_cast<nn::Activation>(below(5));
    b.norm_kind = static_cast<nn::NormKind>(below(2));
    INFO(b.width << " wide, " << b.heads << " and " << b.kv_heads.value_or(b.heads) << " heads, "
                 << o.layers << " layers, position " << static_cast<int>(b.head.position)
                 << ", activation " << static_cast<int>(*b.activation));
    b.bias = below(2) == 0, o.tied = below(2) == 0;
    if (below(3) == 0) b.head.qk_norm = 1e-6;
    if (below(3) == 0) b.head.width = 2 + 2 * below(3);
    if (below(3) == 0) b.head.qkv_bias = !b.bias;
    if (below(3) == 0) b.head.out_bias = !b.bias;
    if (below(3) == 0) b.hidden = 1 + below(9);
    nn::GPT gpt(o);
    CHECK(nn::GPT::parameter_count(o) == static_cast<double>(gpt.parameter_count()));
    nn::Block block(b);
    CHECK(nn::Block::parameter_count(b) == static_cast<double>(block.parameter_count()));
  }
  constexpr std::int64_t kOdd = (1 << 24) + 1;  // not representable in f32
  const nn::GPTOptions one{.vocab = 1, .context = 1, .block = {.width = 1}};
  nn::GPTOptions many = one;
  many.vocab = kOdd;
  CHECK(nn::GPT::parameter_count(many) == nn::GPT::parameter_count(one) + kOdd - 1);
  nn::GPTOptions huge;
  huge.vocab = huge.context = huge.layers = huge.block.width = huge.block.heads = INT64_MAX;
  CHECK(nn::GPT::parameter_count(huge) > 1e50);
}

}  // namespace gradus::testing::test_gpt
