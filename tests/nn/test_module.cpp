// What modules promise: every fault that a user's module may have is found, and says so.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/engine/create.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/gpt.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using nn::Linear;
using nn::Members;

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

/// A user's module: two layers, a scale of its own, and a buffer.
struct Tiny : nn::Layer<Tiny> {
  Linear up{2, 3}, down{3, 2};
  Tensor gain = nn::parameter(ones({2}));
  Tensor seen = zeros({1});
  Members members() override {
    return {{"up", up}, {"down", down}, {"gain", gain}, {"seen", nn::buffer(seen)}};
  }
  Tensor forward(const Tensor& x) const { return gain * down(tanh(up(x))); }  // [N, 2] → [N, 2]
  Tiny blank() const { return {}; }
};

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

struct Shared : nn::Layer<Shared> {
  Linear a{2, 2}, b{2, 2};
  Members members() override { return {{"a", a}, {"b", b}}; }
  Tensor forward(const Tensor& x) const { return b(a(x)); }
  Shared blank() const { return {}; }
};

const Tensor x23 = ones({3, 2});

}  // namespace

TEST_CASE("members are found by path, parameters first") {
  Tiny tiny;
  std::vector<std::string> names;
  for (const nn::NamedTensor& each : tiny.state()) names.push_back(each.name);
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

TEST_CASE("a parameter that members() forgets is an error on the first training call") {
  const Forgetful forgetful;
  const std::string message = message_of<GraphError>([&] { forgetful(x23); });
  CHECK(has(message, "Forgetful"));
  CHECK(has(message, "[5, 3]"));
  CHECK(has(message, "linear"));
  CHECK(has(message, "members()"));
  CHECK_THROWS_AS(forgetful(x23), GraphError);  // and on the second, while nobody has mended it
  const std::string deep = message_of<GraphError>([] { Outer()(x23); });
  CHECK(has(deep, "Outer parts.1"));
}

TEST_CASE("only training calls are watched") {
  Forgetful forgetful;
  {
    const NoGrad off;
    CHECK(forgetful(x23).shape() == Shape{3, 5});
  }
  forgetful.eval();
  CHECK(forgetful(x23).shape() == Shape{3, 5});
  forgetful.train();
  CHECK_THROWS_AS(forgetful(x23), GraphError);
  // Outside of any module nothing is watched: a layer is its own root.
  CHECK(forgetful.down(ones({1, 3})).shape() == Shape{1, 5});
}

TEST_CASE("what is frozen, or handed in, need not be a member") {
  Forgetful frozen;
  frozen.down.freeze();
  CHECK(frozen(x23).shape() == Shape{3, 5});

  struct Borrower : nn::Layer<Borrower> {
    Linear own{2, 3};
    Members members() override { return {{"own", own}}; }
    Tensor forward(const Tensor& x, const Tensor& weight) const { return linear(own(x), weight); }
    Tensor forward(const std::vector<Tensor>& x) const { return linear(own(x[0]), x[1]); }
  };
  const Tensor weight = nn::parameter(ones({4, 3}));
  CHECK(Borrower()(x23, weight).shape() == Shape{3, 4});
  CHECK(Borrower()(std::vector<Tensor>{x23, weight}).shape() == Shape{3, 4});
}

TEST_CASE("one tensor under two names is an error until it is said to be meant") {
  Shared shared;
  shared.b.weight = shared.a.weight;
  const std::string message = message_of<GraphError>([&] { shared.parameters(); });
  CHECK(has(message, "a.weight"));
  CHECK(has(message, "b.weight"));
  CHECK(has(message, "clone()"));
  CHECK(has(message, "tie("));
  CHECK_THROWS_AS(shared(x23), GraphError);
  CHECK_THROWS_AS(shared.clone(), GraphError);

  nn::tie(shared.b.weight, shared.a.weight);
  CHECK(shared.parameters().size() == 3);
  CHECK(shared.parameters()[0].name == "a.weight");
  CHECK(shared.parameter_count() == 4 + 2 + 2);
  sum(shared(x23)).backward();
  CHECK(shared.b.weight.grad().defined());
}

TEST_CASE("a tie outlives to() and clone()") {
  Shared shared;
  nn::tie(shared.b.weight, shared.a.weight);
  shared.to(Dtype::f64);
  CHECK(shared.parameters().size() == 3);
  CHECK(shared.a.weight.node() == shared.b.weight.node());
  CHECK(shared.a.weight.dtype() == Dtype::f64);
  const Shared copy = shared.clone();
  CHECK(copy.parameters().size() == 3);
  CHECK(copy.a.weight.node() == copy.b.weight.node());
  CHECK(copy.a.weight.node() != shared.a.weight.node());
}

TEST_CASE("only parameters are tied, of one shape") {
  Tensor alias, original = nn::parameter(ones({2, 3})), other = nn::parameter(ones({3, 2}));
  CHECK(has(message_of<ShapeError>([&] { nn::tie(other, original); }), "[3, 2]"));
  CHECK_THROWS_AS(nn::tie(alias, Tensor()), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, ones({2, 3})), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, original * 2.0), GraphError);
  nn::tie(alias, original);
  CHECK(alias.node() == original.node());
}

TEST_CASE("a member that is no parameter is named") {
  Tiny tiny;
  tiny.gain = ones({2});
  const std::string message = message_of<GraphError>([&] { tiny.parameters(); });
  CHECK(has(message, "gain"));
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "nn::parameter"));
}

TEST_CASE("a clone shares nothing, and is alike in everything") {
  Tiny tiny;
  tiny.to(Dtype::f64);
  tiny.up.freeze();
  tiny.down.eval();
  tiny.seen.fill_(3);
  const Tiny copy = tiny.clone();
  const std::vector<nn::NamedTensor> a = tiny.state(), b = copy.state();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].tensor.to_vector<double>() == b[i].tensor.to_vector<double>());  // f64, as it was
    CHECK(a[i].tensor.storage() != b[i].tensor.storage());
    CHECK((!a[i].tensor.node() || a[i].tensor.node() != b[i].tensor.node()));
    CHECK(a[i].tensor.requires_grad() == b[i].tensor.requires_grad());
  }
  CHECK(!copy.down.training());
  CHECK(copy.up.training());
  const Tensor x = ones({3, 2}, Dtype::f64);
  CHECK(tiny(x).to_vector<double>() == copy(x).to_vector<double>());
}

TEST_CASE("a clone whose blank() has other members is refused") {
  struct Other : nn::Layer<Other> {
    explicit Other(bool deep) : extra(deep) {}
    bool extra;
    Linear a{2, 2}, b{2, 2};
    Members members() override { return extra ? Members{{"a", a}, {"b", b}} : Members{{"a", a}}; }
    Tensor forward(const Tensor& x) const { return a(x); }
    Other blank() const { return Other(false); }
  };
  CHECK(has(message_of<GraphError>([] { Other(true).clone(); }), "Other"));
}

TEST_CASE("loading lists everything that does not fit, at once") {
  Tiny tiny;
  const std::vector<float> before = tiny.up.bias.to_vector<float>();
  std::map<std::string, Tensor> file;
  file["up.weight"] = ones({3, 2});
  file["up.bias"] = ones({4});
  file["down.weight"] = ones({3, 2});
  file["gain"] = ones({2});
  file["old.weight"] = ones({7, 7});
  const std::string message = message_of<ShapeError>([&] { tiny.load_state(file); });
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "missing     down.bias [2]"));
  CHECK(has(message, "missing     seen [1]"));
  CHECK(has(message, "misshapen   up.bias: the model has [3], given is [4]"));
  CHECK(has(message, "misshapen   down.weight: the model has [2, 3], given is [3, 2]"));
  CHECK(has(message, "unexpected  old.weight [7, 7]"));
  CHECK(tiny.up.bias.to_vector<float>() == before);  // nothing was written

  const std::string loose = message_of<ShapeError>([&] { tiny.load_state(file, false); });
  CHECK(has(loose, "up.bias"));
  CHECK(!has(loose, "missing"));
  CHECK(!has(loose, "unexpected"));
  file["up.bias"] = ones({3}), file["down.weight"] = ones({2, 3});
  tiny.load_state(file, false);
  CHECK(tiny.up.bias.to_vector<float>() == std::vector<float>{1, 1, 1});
}

TEST_CASE("loading writes in place and converts") {
  Tiny tiny, other;
  const Tensor handle = tiny.up.weight;
  std::map<std::string, Tensor> file;
  for (const nn::NamedTensor& each : other.state())
    file[each.name] = each.tensor.astype(Dtype::f64);
  tiny.load_state(file);
  CHECK(handle.node() == tiny.up.weight.node());
  CHECK(handle.to_vector<float>() == other.up.weight.to_vector<float>());
  CHECK(tiny.up.weight.dtype() == Dtype::f32);
  CHECK(tiny.up.weight.requires_grad());
}

TEST_CASE("to() makes new leaves and marks the ones it replaced") {
  Tiny tiny;
  tiny.down.freeze();
  const Tensor before = tiny.up.weight, gain = tiny.gain;
  tiny.to(Dtype::f32);  // already so: nothing changes
  CHECK(tiny.up.weight.node() == before.node());
  tiny.to(Dtype::f64);
  CHECK(tiny.up.weight.node() != before.node());
  CHECK(before.node()->extra().replaced);
  CHECK(gain.node()->extra().replaced);
  CHECK(!tiny.up.weight.node()->extra().replaced);
  CHECK(tiny.up.weight.dtype() == Dtype::f64);
  CHECK(tiny.seen.dtype() == Dtype::f64);
  CHECK(tiny.up.weight.requires_grad());
  CHECK(!tiny.down.weight.requires_grad());
  CHECK(tiny(ones({1, 2}, Dtype::f64)).dtype() == Dtype::f64);
}

TEST_CASE("an error says in which layer it happened") {
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .heads = 2, .width = 4});
  gpt.blocks[1].attention.qkv_proj = Linear(6, 12);
  const Tensor ids = from(std::vector<std::int64_t>{0, 1, 2}, {1, 3});
  CHECK(has(message_of<ShapeError>([&] { gpt(ids); }), "GPT blocks.1.attention.qkv_proj"));
  const std::string out = message_of<ShapeError>([] {
    nn::Sequential net(Linear(2, 3), nn::Residual(Linear(3, 5)));
    net(x23);
  });
  CHECK(has(out, "Sequential 1"));
  CHECK(has(out, "[3, 5]"));
  const std::string alone = message_of<ShapeError>([] { Linear(3, 2)(x23); });
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
  CHECK(net(x23).to_vector<float>() == std::vector<float>(6, 2.0f));
}

TEST_CASE("gradients are cleared, and parameters frozen, as a whole") {
  Tiny tiny;
  sum(tiny(x23)).backward();
  for (const nn::NamedTensor& each : tiny.parameters()) CHECK(each.tensor.grad().defined());
  tiny.zero_grad();
  for (const nn::NamedTensor& each : tiny.parameters()) CHECK(!each.tensor.grad().defined());
  tiny.freeze();
  CHECK(!tiny(x23).requires_grad());
  tiny.freeze(false);
  CHECK(tiny(x23).requires_grad());
}

TEST_CASE("a moved module keeps its parameters") {
  Tiny tiny;
  const Tensor weight = tiny.up.weight;
  const Tensor y = tiny(x23);
  std::vector<Tiny> list;
  list.push_back(std::move(tiny));
  list.emplace_back();
  list.emplace_back();  // moves them all
  CHECK(list[0].up.weight.node() == weight.node());
  CHECK(list[0](x23).to_vector<float>() == y.to_vector<float>());
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

}  // namespace gradus::testing
