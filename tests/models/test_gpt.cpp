// GPT: shapes, the tied head, the initial loss, training, and refused arguments.
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using naive::Numbers;
using naive::numbers;

nn::GPTOptions small() { return {.vocab = 11, .context = 8, .layers = 2, .heads = 2, .width = 16}; }

/// 0, 3, 6, 9, 1, …: each next token follows from the one before.
Tensor counting(std::int64_t B, std::int64_t T, std::int64_t first = 0) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < B * T; ++i) out.push_back((i / T + (i % T + first) * 3) % 11);
  return tensor(out, {B, T});
}

}  // namespace

TEST_CASE("GPT returns logits of every token and has the documented parameters") {
  const nn::GPT gpt(small());
  CHECK(gpt(counting(3, 5)).shape() == Shape{3, 5, 11});
  CHECK(gpt(counting(1, 8)).shape() == Shape{1, 8, 11});
  CHECK(gpt(counting(2, 1)).shape() == Shape{2, 1, 11});
  CHECK(gpt(counting(0, 5)).shape() == Shape{0, 5, 11});
  CHECK(gpt.loss(counting(3, 5), counting(3, 5, 1)).rank() == 0);
  // token, position, norm; two norms, attention and feed-forward a block
  CHECK(gpt.parameter_count() ==
        11 * 16 + 8 * 16 + 32 + 2 * (64 + 4 * 16 * 16 + 4 * 16 + 8 * 16 * 16 + 5 * 16));
}

TEST_CASE("GPT starts with small weights and a loss of ln V") {
  seed(1);
  const nn::GPT gpt({.vocab = 65, .context = 16, .layers = 4, .heads = 4, .width = 64});
  const Tensor ids = randint(0, 65, {8, 16}), targets = randint(0, 65, {8, 16});
  // Logits are sums of 64 products of a normed value and a weight: deviation 0.02 √64 = 0.16, which
  // adds 0.16² / 2 to ln V, and 128 targets leave the mean uncertain by 0.16 / √128 a deviation.
  CHECK(std::abs(gpt.loss(ids, targets).item() - std::log(65)) < 0.1);
  const auto deviation = [](const Tensor& x) {
    double squares = 0;
    for (const double each : numbers(x)) squares += each * each;
    return std::sqrt(squares / static_cast<double>(x.numel()));
  };
  CHECK(std::abs(deviation(gpt.token.weight) - 0.02) < 0.002);
  CHECK(std::abs(deviation(gpt.blocks[3].attention.qkv_proj.weight) - 0.02) < 0.002);
  CHECK(std::abs(deviation(gpt.blocks[0].feed_forward.down.weight) - 0.02 / std::sqrt(8)) < 0.0008);
  CHECK(deviation(gpt.blocks[2].attention.out_proj.bias) == 0);
}

TEST_CASE("the output head shares the token embedding") {
  nn::GPT gpt(small());
  const Tensor ids = tensor(std::vector<std::int64_t>{1, 2}, {1, 2});
  gpt.loss(ids, ids).backward();
  // Row 7 is looked up nowhere: its gradient comes from the head alone.
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
    CHECK((after[i] == before[i]) == (i % 11 != 7));  // only the logits of token 7 are others
}

TEST_CASE("the gradient reaches every parameter, for pre-norm and post-norm") {
  for (const nn::NormPlacement norm : {nn::NormPlacement::pre, nn::NormPlacement::post}) {
    nn::GPTOptions options = small();
    options.norm = norm;
    nn::GPT gpt(options);
    gpt.loss(counting(3, 8), counting(3, 8, 1)).backward();
    for (const nn::NamedTensor& each : gpt.parameters()) {
      INFO(each.name);
      REQUIRE(each.tensor.grad().defined());
      double largest = 0;
      for (const double g : numbers(each.tensor.grad())) largest = std::max(largest, std::abs(g));
      CHECK(largest > 0);
      CHECK(std::isfinite(largest));
    }
  }
}

TEST_CASE("an embedding factor equals a larger table") {
  nn::GPTOptions options = small();
  options.tied = false;  // the table is then seen through the factor alone
  nn::GPT plain(options);
  options.embedding_factor = 2;
  nn::GPT scaled(options);
  plain.to(Dtype::f64), scaled.to(Dtype::f64);
  plain.load_state_dict(scaled.state_dict());
  Tensor table = plain.token.weight.detach();
  table.copy_(table * 2);
  const Tensor ids = counting(2, 5), next = counting(2, 5, 1);
  CHECK(numbers(scaled(ids).detach()) == numbers(plain(ids).detach()));  // doubling rounds nothing
  plain.loss(ids, next).backward();
  scaled.loss(ids, next).backward();
  CHECK(numbers(scaled.token.weight.grad()) == numbers(plain.token.weight.grad() * 2));
}

TEST_CASE("thirty steps of gradient descent lower the loss") {
  seed(2);
  nn::GPT gpt(small());
  const Tensor ids = counting(4, 8), targets = counting(4, 8, 1);
  const double before = gpt.loss(ids, targets).item();
  for (int step = 0; step < 30; ++step) {
    gpt.zero_grad();
    gpt.loss(ids, targets).backward();
    for (nn::NamedTensor& each : gpt.parameters()) {
      const float* g = each.tensor.grad().contiguous().data<float>();
      float* w = each.tensor.mutable_data<float>();
      for (std::int64_t i = 0; i < each.tensor.numel(); ++i) w[i] -= 0.5f * g[i];
    }
  }
  const double after = gpt.loss(ids, targets).item();
  INFO("from " << before << " to " << after);
  CHECK(after < 0.75 * before);
}

TEST_CASE("logits do not depend on later tokens, in training and under the formula") {
  nn::GPTOptions options = small();
  options.dropout = 0.2;
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
  options.dropout = 0.5;
  nn::GPT gpt(options);
  const Tensor ids = counting(2, 8);
  CHECK(numbers(gpt(ids)) != numbers(gpt(ids)));
  gpt.eval();
  const Numbers a = numbers(gpt(ids));
  CHECK(a == numbers(gpt(ids)));
  const FormulaScope formula;
  const Numbers b = numbers(gpt(ids));
  // Logits of size 0.1 behind two blocks: some twenty operations of a few roundings each.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-5);
}

TEST_CASE("a clone of a GPT computes the same and trains independently") {
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

TEST_CASE("one model can serve two threads at once") {
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

TEST_CASE("GPT refuses tokens and options that do not fit") {
  const nn::GPT gpt(small());
  const std::string length = message_of<ShapeError>([&] { gpt(counting(1, 9)); });
  CHECK(has(length, "9 tokens"));
  CHECK(has(length, "context is 8"));
  CHECK_REFUSES(ShapeError, gpt(indices({1, 2})), "[2]");
  CHECK_REFUSES(ShapeError, gpt(Tensor()), "undefined");
  CHECK_THROWS_AS(gpt(ones({1, 2})), DtypeError);
  const std::string id = message_of<IndexError>([&] {
    gpt(tensor(std::vector<std::int64_t>{1, 11}, {1, 2}));
  });
  CHECK(has(id, "11"));
  CHECK(has(id, "GPT token"));
  CHECK_THROWS_AS(gpt.loss(counting(1, 4), counting(1, 5)), ShapeError);
  nn::GPTOptions options = small();
  options.layers = 0;
  CHECK_REFUSES(ValueError, nn::GPT(options), "0");
  options = small();
  options.heads = 3;
  CHECK_REFUSES(ValueError, nn::GPT(options), "3");
  options = small();
  options.context = 0;
  CHECK_THROWS_AS(nn::GPT(options), ValueError);
  options = small();
  options.dropout = 1;
  CHECK_THROWS_AS(nn::GPT(options), ValueError);
}

TEST_CASE("presets are found by name") {
  for (const nn::GPTPreset& preset : nn::gpt_presets()) {
    CHECK(&nn::gpt_preset(preset.name) == &preset);
    CHECK(preset.options.width % preset.options.heads == 0);
    CHECK(preset.batch > 0);
  }
  CHECK(nn::gpt_preset("cpu").options.width == 128);
  const std::string unknown = message_of<ValueError>([] { nn::gpt_preset("huge"); });
  CHECK(has(unknown, "\"huge\""));
  CHECK(has(unknown, "toy, cpu"));
  const nn::GPT toy(nn::gpt_preset("toy").options);
  CHECK(toy.blocks.size() == 2);
}

}  // namespace gradus::testing
