#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/scoring.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/nn/user_modules.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

struct GradusTestsPlain : gradus::nn::Layer<GradusTestsPlain> {
  gradus::nn::Members members() override { return {}; }
  gradus::Tensor forward(const gradus::Tensor& x) const { return x; }
};

namespace gradus::testing::test_module {
namespace {

// vector<Block>(6, Block(c)) must not compile: copies would share weights.
static_assert(!std::is_copy_constructible_v<nn::Block> && !std::is_copy_assignable_v<nn::Block>);
static_assert(!std::is_copy_constructible_v<Linear> &&
              !std::is_copy_constructible_v<nn::LayerNorm>);
static_assert(!std::is_copy_constructible_v<nn::GPT> && !std::is_copy_constructible_v<nn::Dropout>);
static_assert(!std::is_copy_constructible_v<nn::Sequential>);
static_assert(!std::is_copy_constructible_v<nn::ModuleList>);
static_assert(!std::is_copy_constructible_v<nn::Residual<Linear>>);
static_assert(std::is_nothrow_move_constructible_v<nn::Block>);
static_assert(std::is_move_assignable_v<nn::Sequential>);

/// A layer whose members() omits `down`.
struct Forgetful : nn::Layer<Forgetful> {
  Linear up{2, 3}, down{3, 5};
  Members members() override { return {{"up", up}}; }
  Tensor forward(const Tensor& x) const { return down(up(x)); }
};

struct Outer : nn::Layer<Outer> {
  std::vector<Forgetful> parts;
  Outer() { parts.resize(2); }
  Members members() override { return {{"parts", parts}}; }
  Tensor forward(const Tensor& x) const { return parts[1](x); }
};

}  // namespace

TEST_CASE("members are listed by path, parameters first") {
  Tiny tiny;
  std::vector<std::string> names;
  for (const nn::NamedTensor& each : tiny.named_tensors()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"up.weight", "up.bias", "down.weight", "down.bias",
                                          "gain", "seen"});
  CHECK(tiny.parameters().size() == 5);
  CHECK(tiny.buffers().size() == 1);
  CHECK(tiny.parameter_count() == 6 + 3 + 6 + 2 + 2);
  CHECK(Linear(2, 3, {.bias = false}).parameters().size() == 1);
  const nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .block = {.width = 4, .heads = 2}});
  const std::vector<nn::NamedTensor> all = gpt.parameters();
  CHECK(all.front().name == "token.weight");
  CHECK(all[2].name == "blocks.0.norm1.weight");
  CHECK(all.back().name == "norm.bias");
}

TEST_CASE("the first training call needs no more memory than the next") {
  struct Branch : nn::Layer<Branch> {
    Members members() override { return {}; }
    Tensor forward(const Tensor& x) const { return x + x * 2.0; }  // overwrites x · 2
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
  Observer reader;  // an observer may read x · 2 after the sum
  const ObserverScope scope(reader);
  CHECK(peak() == 2 * bytes);
}

TEST_CASE("a parameter missing in members() throws on the first training call") {
  const Forgetful forgetful;
  const std::string message = message_of<GraphError>([&] { forgetful(three_rows()); });
  CHECK(has(message, "Forgetful"));
  CHECK(has(message, "[5, 3]"));
  CHECK(has(message, "linear"));
  CHECK(has(message, "members()"));
  CHECK_THROWS_AS(forgetful(three_rows()),
                  GraphError);  // the second call throws, too
  const std::string deep = message_of<GraphError>([] { Outer()(three_rows()); });
  CHECK(has(deep, "Outer parts.1"));
}

TEST_CASE("only training calls are checked for missing members") {
  Forgetful forgetful;
  {
    const NoGrad off;
    CHECK(forgetful(three_rows()).shape() == Shape{3, 5});
  }
  forgetful.eval();
  CHECK(forgetful(three_rows()).shape() == Shape{3, 5});
  forgetful.train();
  CHECK_THROWS_AS(forgetful(three_rows()), GraphError);
  // Called outside Forgetful, `down` is a root module, which need not be a member.
  CHECK(forgetful.down(ones({1, 3})).shape() == Shape{1, 5});
}

TEST_CASE("frozen tensors and arguments need not be members") {
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

TEST_CASE("a member that is not a parameter is reported by name") {
  Tiny tiny;
  tiny.gain = ones({2});
  const std::string message = message_of<GraphError>([&] { tiny.parameters(); });
  CHECK(has(message, "gain"));
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "nn::parameter"));
}

TEST_CASE("an error reports the layer in which it occurred") {
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .block = {.width = 4, .heads = 2}});
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

TEST_CASE("train and eval reach every submodule") {
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .block = {.width = 4, .heads = 2}});
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

TEST_CASE("zero_grad and freeze act on all parameters") {
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
  list.emplace_back();  // reallocates the list
  CHECK(list[0].up.weight.node() == weight.node());
  CHECK(list[0](three_rows()).to_vector<float>() == y.to_vector<float>());
}

TEST_CASE("a summary shows the tree with its shapes") {
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
  nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .block = {.width = 2, .heads = 1}});
  const std::string listed = gpt.summary();
  CHECK(has(listed, "  blocks.0: "));
  CHECK(has(listed, "  blocks.1: "));
}

TEST_CASE("one tensor under two names is an error unless it is tied") {
  Shared shared;
  shared.b.weight = shared.a.weight;
  const std::string message = message_of<GraphError>([&] { shared.parameters(); });
  CHECK(has(message, "a.weight"));
  CHECK(has(message, "b.weight"));
  CHECK(has(message, "clone()"));
  CHECK(has(message, "tie("));
  CHECK_THROWS_AS(shared(three_rows()), GraphError);
  CHECK_THROWS_AS(shared.clone(), GraphError);

  nn::tie(shared.b.weight, shared.a.weight);
  CHECK(shared.parameters().size() == 3);
  CHECK(shared.parameters()[0].name == "a.weight");
  CHECK(shared.parameter_count() == 4 + 2 + 2);
  sum(shared(three_rows())).backward();
  CHECK(shared.b.weight.grad().defined());
}

TEST_CASE("a tie survives to() and clone()") {
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

TEST_CASE("a clone shares no memory and equals the original") {
  Tiny tiny;
  tiny.to(Dtype::f64);
  tiny.up.freeze();
  tiny.down.eval();
  tiny.seen.fill_(3);
  const Tiny copy = tiny.clone();
  const std::vector<nn::NamedTensor> a = tiny.named_tensors(), b = copy.named_tensors();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].tensor.to_vector<double>() == b[i].tensor.to_vector<double>());
    CHECK(a[i].tensor.storage() != b[i].tensor.storage());
    CHECK((!a[i].tensor.node() || a[i].tensor.node() != b[i].tensor.node()));
    CHECK(a[i].tensor.requires_grad() == b[i].tensor.requires_grad());
  }
  CHECK(!copy.down.training());
  CHECK(copy.up.training());
  const Tensor x = ones({3, 2}, Dtype::f64);
  CHECK(tiny(x).to_vector<double>() == copy(x).to_vector<double>());
}

TEST_CASE("cloning draws no random numbers") {
  seed(5);
  const nn::GPT gpt({.vocab = 5, .context = 4, .layers = 2, .block = {.width = 4, .heads = 2}});
  const nn::LinearAttention performer(
      {.width = 4, .heads = 2, .kind = nn::LinearAttentionKind::performer});
  const std::uint32_t position = generator().position();
  const nn::GPT copy = gpt.clone();
  const nn::LinearAttention other = performer.clone();
  CHECK(generator().position() == position);
  CHECK(copy.token.weight.to_vector<float>() == gpt.token.weight.to_vector<float>());
  CHECK(other.features.to_vector<float>() == performer.features.to_vector<float>());
}

TEST_CASE("an error in loading lists all mismatches") {
  Tiny tiny;
  const std::vector<float> before = tiny.up.bias.to_vector<float>();
  std::map<std::string, Tensor> file;
  file["up.weight"] = ones({3, 2});
  file["up.bias"] = ones({4});
  file["down.weight"] = ones({3, 2});
  file["gain"] = ones({2});
  file["old.weight"] = ones({7, 7});
  const std::string message = message_of<ShapeError>([&] { tiny.load_state_dict(file); });
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "missing     down.bias [2]"));
  CHECK(has(message, "missing     seen [1]"));
  CHECK(has(message, "mismatched  up.bias: expected [3], got [4]"));
  CHECK(has(message, "mismatched  down.weight: expected [2, 3], got [3, 2]"));
  CHECK(has(message, "unexpected  old.weight [7, 7]"));
  CHECK(tiny.up.bias.to_vector<float>() == before);  // the failed load wrote nothing

  const std::string loose = message_of<ShapeError>([&] { tiny.load_state_dict(file, false); });
  CHECK(has(loose, "up.bias"));
  CHECK(!has(loose, "missing"));
  CHECK(!has(loose, "unexpected"));
  file["up.bias"] = ones({3}), file["down.weight"] = ones({2, 3});
  tiny.load_state_dict(file, false);
  CHECK(tiny.up.bias.to_vector<float>() == std::vector<float>{1, 1, 1});
}

TEST_CASE("loading may exchange tensors of the module itself") {
  nn::Sequential net(nn::Linear(3, 3), nn::Linear(3, 3));
  const nn::StateDict own = net.state_dict();
  nn::StateDict exchanged, expected;
  for (const auto& [name, tensor] : own) {
    const std::string other = (name[0] == '0' ? "1" : "0") + name.substr(1);
    exchanged[other] = tensor.rank() == 2 ? transpose(tensor, 0, 1) : tensor;
    expected[other] = exchanged[other].clone();
  }
  net.load_state_dict(exchanged);
  for (const auto& [name, tensor] : net.state_dict()) {
    CAPTURE(name);
    CHECK(tensor.to_vector<float>() == expected.at(name).to_vector<float>());
  }
}

TEST_CASE("loading writes in place and converts dtypes") {
  Tiny tiny, other;
  const Tensor handle = tiny.up.weight;
  std::map<std::string, Tensor> file;
  for (const nn::NamedTensor& each : other.named_tensors())
    file[each.name] = each.tensor.to(Dtype::f64);
  tiny.load_state_dict(file);
  CHECK(handle.node() == tiny.up.weight.node());
  CHECK(handle.to_vector<float>() == other.up.weight.to_vector<float>());
  CHECK(tiny.up.weight.dtype() == Dtype::f32);
  CHECK(tiny.up.weight.requires_grad());
}

TEST_CASE("to() makes new leaves and marks the replaced ones") {
  Tiny tiny;
  tiny.down.freeze();
  const Tensor before = tiny.up.weight, gain = tiny.gain;
  tiny.to(Dtype::f32);
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
  tiny.seen = zeros({1}, Dtype::i64);  // integer buffers keep their dtype
  tiny.to(Dtype::f32);
  CHECK(tiny.seen.dtype() == Dtype::i64);
}

namespace {

struct Twice : nn::Layer<Twice> {
  Tensor first, second;
  explicit Twice(bool tied = true) {
    first = nn::parameter(tensor({{1, 2, 3}, {4, 5, 6}}, Dtype::f64));
    second = first;
    if (tied) nn::tie(second, first);
  }
  Members members() override { return {{"first", first}, {"second", second}}; }
  Tensor forward(const Tensor& x) const { return x * first; }
  Twice same_architecture() const { return Twice(); }
};

/// Uses a tensor that its parent registers.
struct Guest : nn::Layer<Guest> {
  Tensor borrowed;
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x * borrowed; }
};
struct Host : nn::Layer<Host> {
  Tensor own = nn::parameter(ones({2}));
  Guest guest;
  Host() { guest.borrowed = own; }
  nn::Members members() override { return {{"own", own}, {"guest", guest}}; }
  Tensor forward(const Tensor& x) const { return guest(x); }
};

std::vector<std::string> names_of(const std::vector<nn::NamedTensor>& all) {
  std::vector<std::string> names;
  for (const nn::NamedTensor& each : all) names.push_back(each.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("all elements of a tied tensor must be equal under both names") {
  const Tensor good = tensor({{1, 2, 3}, {4, 5, 7}}, Dtype::f64);
  const Tensor turned = transpose(transpose(good, 0, 1).clone(), 0, 1);  // strided
  const Tensor last = tensor({{1, 2, 3}, {4, 5, 8}}, Dtype::f64);
  const auto loads = [](const nn::StateDict& given, bool strict = true) {
    Twice net;
    return outcome([&] {
      net.load_state_dict(given, strict);
      return str_cat(net.second.to(Dtype::f64).to_vector<double>()[5]);
    });
  };
  CHECK(loads({{"first", good}}) == "7");
  CHECK(loads({{"first", good}, {"second", good}}) == "7");
  CHECK(loads({{"first", good}, {"second", turned}}) == "7");
  CHECK(loads({{"first", turned}, {"second", good}}) == "7");
  CHECK(loads({}, false) == "6");
  const std::string differ =
      "first and second are one tensor in the model, but their given values differ";
  for (const Tensor& other : {last, reshape(good, {3, 2})})
    CHECK(loads({{"first", good}, {"second", other}}).find(differ) != std::string::npos);
  const Tensor unknown = full({2, 3}, std::nan(""), Dtype::f64);
  CHECK(loads({{"first", unknown}, {"second", unknown.to(Dtype::f32)}}) == "nan");
  Twice from, to;
  to.load_state_dict(from.state_dict());
}

TEST_CASE("a layer may use tensors that its parent lists") {
  const Host host;
  CHECK(host(ones({2})).to_vector<float>() == std::vector<float>{1, 1});
}

TEST_CASE("named_modules lists modules in lists, and type_name works without a namespace") {
  struct Stack : nn::Layer<Stack> {
    std::vector<Linear> layers;
    nn::Members members() override { return {{"layers", layers}}; }
    Tensor forward(const Tensor& x) const { return x; }
  } stack;
  stack.layers.emplace_back(1, 1);
  stack.layers.emplace_back(1, 1);
  Names names;
  for (const auto& [name, module] : stack.named_modules()) names.push_back(name);
  CHECK(names == Names{"", "layers.0", "layers.1"});
  CHECK(GradusTestsPlain().type_name() == "GradusTestsPlain");
}

TEST_CASE("the static to() of a module converts a tensor") {
  const Tensor x = Linear::to(ones({2}), Dtype::f64);
  CHECK(x.dtype() == Dtype::f64);
}

TEST_CASE("adapters merge next to layers without adapters, and their scale is a buffer") {
  Shared net;
  nn::add_adapters(net, "a", {.rank = 1});
  CHECK(names_of(net.buffers()) == Names{"a.lora_scale"});
  CHECK(names_of(net.parameters()) ==
        Names{"a.weight", "a.bias", "a.lora_a", "a.lora_b", "b.weight", "b.bias"});
  nn::merge_adapters(net);
  CHECK(net.buffers().empty());
  CHECK(net.parameters().size() == 4);
}

TEST_CASE("pack keeps weights in f32 and replaces defined ones in other precisions") {
  struct Half : nn::Layer<Half> {
    Linear there{32, 2}, missing;
    nn::Members members() override { return {{"there", there}, {"missing", missing}}; }
    Tensor forward(const Tensor& x) const { return there(x); }
  } net;
  nn::pack(net, Precision::f32);
  CHECK(net.there.weight.defined());
  CHECK(net.parameters().size() == 2);
  nn::pack(net, Precision::bf16);
  CHECK_FALSE(net.there.weight.defined());
  CHECK_FALSE(net.missing.weight.defined());
}

}  // namespace gradus::testing::test_module
