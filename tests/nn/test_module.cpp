// What modules promise: every fault that a user's module may have is found, and says so.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/nn/user_modules.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

// vector<Block>(6, Block(c)) would be six names for one set of weights: it does not compile.
static_assert(!std::is_copy_constructible_v<nn::Block> && !std::is_copy_assignable_v<nn::Block>);
static_assert(!std::is_copy_constructible_v<Linear> &&
              !std::is_copy_constructible_v<nn::LayerNorm>);
static_assert(!std::is_copy_constructible_v<nn::GPT> && !std::is_copy_constructible_v<nn::Dropout>);
static_assert(!std::is_copy_constructible_v<nn::Sequential>);
static_assert(!std::is_copy_constructible_v<nn::ModuleList>);
static_assert(!std::is_copy_constructible_v<nn::Residual<Linear>>);
static_assert(std::is_nothrow_move_constructible_v<nn::Block>);
static_assert(std::is_move_assignable_v<nn::Sequential>);

/// Tiny without its second layer in members().
struct Forgetful : nn::Layer<Forgetful> {
  Linear up{2, 3}, down{3, 5};
  Members members() override { return {{"up", up}}; }
  Tensor forward(const Tensor& x) const { return down(up(x)); }
};

/// The same one level further in.
struct Outer : nn::Layer<Outer> {
  std::vector<Forgetful> parts;
  Outer() { parts.resize(2); }
  Members members() override { return {{"parts", parts}}; }
  Tensor forward(const Tensor& x) const { return parts[1](x); }
};

}  // namespace

TEST_CASE("members are found by path, parameters first") {
  Tiny tiny;
  std::vector<std::string> names;
  for (const nn::NamedTensor& each : tiny.named_tensors()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"up.weight", "up.bias", "down.weight", "down.bias",
                                          "gain", "seen"});
  CHECK(tiny.parameters().size() == 5);
  CHECK(tiny.buffers().size() == 1);
  CHECK(tiny.parameter_count() == 6 + 3 + 6 + 2 + 2);
  CHECK(Linear(2, 3, {.bias = false}).parameters().size() == 1);  // what is undefined is no member
  const nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .heads = 2, .width = 4});
  const std::vector<nn::NamedTensor> all = gpt.parameters();
  CHECK(all.front().name == "token.weight");
  CHECK(all[2].name == "blocks.0.norm1.weight");
  CHECK(all.back().name == "norm.bias");
}

TEST_CASE("the first training call, which is watched, takes no more memory than the next") {
  struct Branch : nn::Layer<Branch> {
    Members members() override { return {}; }
    Tensor forward(const Tensor& x) const { return x + x * 2.0; }  // written over x · 2
  };
  const Branch branch;
  const Tensor x = rand({8, 32}).requires_grad_();
  const auto peak = [&] {
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    branch(x);
    return memory::usage().peak_bytes - before;
  };
  const std::int64_t bytes = x.numel() * 4;
  CHECK(peak() == bytes);
  CHECK(peak() == bytes);
  Observer reader;  // may look at x · 2 after the sum
  const ObserverScope scope(reader);
  CHECK(peak() == 2 * bytes);
}

TEST_CASE("a parameter that members() forgets is an error on the first training call") {
  const Forgetful forgetful;
  const std::string message = message_of<GraphError>([&] { forgetful(three_rows()); });
  CHECK(has(message, "Forgetful"));
  CHECK(has(message, "[5, 3]"));
  CHECK(has(message, "linear"));
  CHECK(has(message, "members()"));
  CHECK_THROWS_AS(forgetful(three_rows()),
                  GraphError);  // and on the second, while nobody has mended it
  const std::string deep = message_of<GraphError>([] { Outer()(three_rows()); });
  CHECK(has(deep, "Outer parts.1"));
}

TEST_CASE("only training calls are watched") {
  Forgetful forgetful;
  {
    const NoGrad off;
    CHECK(forgetful(three_rows()).shape() == Shape{3, 5});
  }
  forgetful.eval();
  CHECK(forgetful(three_rows()).shape() == Shape{3, 5});
  forgetful.train();
  CHECK_THROWS_AS(forgetful(three_rows()), GraphError);
  // Outside of any module nothing is watched: a layer is its own root.
  CHECK(forgetful.down(ones({1, 3})).shape() == Shape{1, 5});
}

TEST_CASE("what is frozen, or handed in, need not be a member") {
  Forgetful frozen;
  frozen.down.freeze();
  CHECK(frozen(three_rows()).shape() == Shape{3, 5});

  struct Borrower : nn::Layer<Borrower> {
    Linear own{2, 3};
    Members members() override { return {{"own", own}}; }
    Tensor forward(const Tensor& x, const Tensor& weight) const { return linear(own(x), weight); }
    Tensor forward(const std::vector<Tensor>& x) const { return linear(own(x[0]), x[1]); }
  };
  const Tensor weight = nn::parameter(ones({4, 3}));
  CHECK(Borrower()(three_rows(), weight).shape() == Shape{3, 4});
  CHECK(Borrower()(std::vector<Tensor>{three_rows(), weight}).shape() == Shape{3, 4});
}

TEST_CASE("a member that is no parameter is named") {
  Tiny tiny;
  tiny.gain = ones({2});
  const std::string message = message_of<GraphError>([&] { tiny.parameters(); });
  CHECK(has(message, "gain"));
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "nn::parameter"));
}

TEST_CASE("an error says in which layer it happened") {
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .heads = 2, .width = 4});
  gpt.blocks[1].attention.qkv_proj = Linear(6, 12);
  const Tensor ids = tensor(std::vector<std::int64_t>{0, 1, 2}, {1, 3});
  CHECK_REFUSES(ShapeError, gpt(ids), "qkv_proj");
  const std::string out = message_of<ShapeError>([] {
    nn::Sequential net(Linear(2, 3), nn::Residual(Linear(3, 5)));
    net(three_rows());
  });
  CHECK(has(out, "Sequential 1"));
  CHECK(has(out, "[3, 5]"));
  const std::string alone = message_of<ShapeError>([] { Linear(3, 2)(three_rows()); });
  CHECK(has(alone, "(in Linear)"));
}

TEST_CASE("training and evaluation reach every module below") {
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .heads = 2, .width = 4});
  CHECK(gpt.blocks[1].attention.out_proj.training());
  gpt.eval();
  CHECK(!gpt.training());
  CHECK(!gpt.blocks[1].attention.out_proj.training());
  CHECK(!gpt.norm.training());
  gpt.train();
  CHECK(gpt.blocks[0].feed_forward.up.training());
  nn::Sequential net{nn::Dropout(0.5), nn::Residual(nn::Dropout(0.5))};
  net.eval();
  CHECK(net(three_rows()).to_vector<float>() == std::vector<float>(6, 2.0f));
}

TEST_CASE("gradients are cleared, and parameters frozen, as a whole") {
  Tiny tiny;
  sum(tiny(three_rows())).backward();
  for (const nn::NamedTensor& each : tiny.parameters()) CHECK(each.tensor.grad().defined());
  tiny.zero_grad();
  for (const nn::NamedTensor& each : tiny.parameters()) CHECK(!each.tensor.grad().defined());
  tiny.freeze();
  CHECK(!tiny(three_rows()).requires_grad());
  tiny.freeze(false);
  CHECK(tiny(three_rows()).requires_grad());
}

TEST_CASE("a moved module keeps its parameters") {
  Tiny tiny;
  const Tensor weight = tiny.up.weight;
  const Tensor y = tiny(three_rows());
  std::vector<Tiny> list;
  list.push_back(std::move(tiny));
  list.emplace_back();
  list.emplace_back();  // moves them all
  CHECK(list[0].up.weight.node() == weight.node());
  CHECK(list[0](three_rows()).to_vector<float>() == y.to_vector<float>());
}

TEST_CASE("a summary is the tree with its shapes") {
  Tiny tiny;
  CHECK(tiny.summary() ==
        "Tiny: 19 parameters\n"
        "  up: Linear\n"
        "    weight [3, 2]\n"
        "    bias [3]\n"
        "  down: Linear\n"
        "    weight [2, 3]\n"
        "    bias [2]\n"
        "  gain [2]\n"
        "  seen [1]\n");
}

TEST_CASE("a summary has what is in each of a list below it") {
  struct Stack : nn::Layer<Stack> {
    std::vector<nn::Linear> layers;
    Stack() {
      layers.emplace_back(2, 1);
      layers.emplace_back(1, 2);
    }
    nn::Members members() override { return {{"layers", layers}}; }
  } stack;
  CHECK(stack.summary() ==
        "Stack: 7 parameters\n"
        "  layers.0: Linear\n"
        "    weight [1, 2]\n"
        "    bias [1]\n"
        "  layers.1: Linear\n"
        "    weight [2, 1]\n"
        "    bias [2]\n");
}

}  // namespace gradus::testing
