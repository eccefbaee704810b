// Modules at the borders of what is listed, tied, copied and adapted.
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/lora.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/packing.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/nn/user_modules.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

/// A module of no namespace.
struct GradusTestsPlain : gradus::nn::Layer<GradusTestsPlain> {
  gradus::nn::Members members() override { return {}; }
  gradus::Tensor forward(const gradus::Tensor& x) const { return x; }
};

namespace gradus::testing {
namespace {

/// One tensor by two names.
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

struct Listed : nn::Layer<Listed> {
  Tensor x;
  nn::Members members() override { return {{"x", x}}; }
  Tensor forward(const Tensor& input) const { return input; }
};

/// What its copy lists by the same name is of another kind.
struct Swapped : nn::Layer<Swapped> {
  enum Kind { parameter, buffer, layers };
  Kind kind, copied;
  Tensor x = ones({1});
  std::vector<Linear> none;
  Swapped(Kind own, Kind copys) : kind(own), copied(copys) {
    if (kind == parameter) x.requires_grad_();
  }
  nn::Members members() override {
    if (kind == layers) return {{"x", none}};
    if (kind == buffer) return {{"x", nn::buffer(x)}};
    return {{"x", x}};
  }
  Tensor forward(const Tensor& input) const { return input; }
  Swapped same_architecture() const { return {copied, copied}; }
};

/// A layer that uses what its parent lists.
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

TEST_CASE("what is given by both names of one tensor must be the same, to its last number") {
  const Tensor good = tensor({{1, 2, 3}, {4, 5, 7}}, Dtype::f64);
  const Tensor turned = transpose(transpose(good, 0, 1).clone(), 0, 1);  // the same numbers
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
  const std::string differ = "first and second are one tensor in the model, and differ";
  for (const Tensor& other : {last, reshape(good, {3, 2})})
    CHECK(loads({{"first", good}, {"second", other}}).find(differ) != std::string::npos);
  Twice from, to;
  to.load_state_dict(from.state_dict());
}

TEST_CASE("only leaves are parameters, and originals of ties") {
  Listed net;
  net.x = nn::parameter(ones({2})) * 2;
  CHECK_THROWS_AS(net.parameters(), GraphError);
  Tensor alias;
  CHECK_THROWS_AS(nn::tie(alias, Tensor()), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, net.x), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, ones({2})), GraphError);
}

TEST_CASE("a copy is refused of one tensor by two names, and by another kind of member") {
  CHECK_THROWS_AS(Twice(false).clone(), GraphError);
  CHECK(Twice().clone().first.to(Dtype::f64).to_vector<double>()[5] == 6);
  for (const auto own : {Swapped::parameter, Swapped::buffer, Swapped::layers})
    for (const auto other : {Swapped::parameter, Swapped::buffer, Swapped::layers}) {
      CAPTURE(own, other);
      const std::string said = outcome([&] { return Swapped(own, other).clone().type_name(); });
      CHECK(said == (own == other ? "Swapped"
                                  : "gradus::GraphError: clone: same_architecture() of Swapped "
                                    "gives a module with other members"));
    }
}

TEST_CASE("a layer may use what its parent lists") {
  const Host host;
  CHECK(host(ones({2})).to_vector<float>() == std::vector<float>{1, 1});
}

TEST_CASE("names of modules below, and of types outside of namespaces") {
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

TEST_CASE("a tensor as another dtype, by a module's name too") {
  const Tensor x = Linear::to(ones({2}), Dtype::f64);
  CHECK(x.dtype() == Dtype::f64);
}

TEST_CASE("adapters of one layer merge beside layers that have none, and their scale is a buffer") {
  Shared net;
  nn::add_adapters(net, "a", {.rank = 1});
  CHECK(names_of(net.buffers()) == Names{"a.lora_scale"});
  CHECK(names_of(net.parameters()) ==
        Names{"a.weight", "a.bias", "a.lora_a", "a.lora_b", "b.weight", "b.bias"});
  nn::merge_adapters(net);
  CHECK(net.buffers().empty());
  CHECK(net.parameters().size() == 4);
}

TEST_CASE("buffers of layers are no parameters") {
  nn::BatchNorm1d norm(3);
  CHECK(names_of(norm.buffers()) == Names{"running_mean", "running_var"});
  CHECK(names_of(norm.parameters()) == Names{"weight", "bias"});
  CHECK(norm.same_architecture().running_mean.numel() == 3);
  nn::BatchNorm1d plain(3, {.affine = false});
  CHECK(plain.parameters().empty());
}

TEST_CASE("norms take one vector, and have no weight where none is wanted") {
  nn::RMSNorm plain(3, {.affine = false}), scaled(3);
  CHECK(plain.parameters().empty());
  CHECK(scaled.parameters().size() == 1);
  const Tensor one = tensor({1.0F, -2.0F, 2.0F});
  CHECK(plain(one).shape() == Shape{3});
  CHECK(nn::LayerNorm(3)(one).shape() == Shape{3});
  CHECK_THROWS_AS(plain(ones({})), ShapeError);
}

TEST_CASE("packing takes the weights that are there, and gives their memory back") {
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

TEST_CASE("relative positions have a table, others none; a head may be one wide") {
  const auto of = [](nn::HeadPosition position) {
    return nn::MultiHeadAttention({.width = 8, .heads = 2, .position = position});
  };
  CHECK_FALSE(of(nn::HeadPosition::none).relative.weight.defined());
  CHECK_FALSE(of(nn::HeadPosition::alibi).relative.weight.defined());
  CHECK(of(nn::HeadPosition::relative).relative.weight.defined());
  nn::CrossAttention cross({.width = 8, .heads = 2});
  CHECK_FALSE(cross.relative.weight.defined());
  const nn::MultiHeadAttention narrow({.width = 8, .heads = 2, .head_width = 1});
  CHECK(narrow.qkv_proj.weight.shape() == Shape{6, 8});
}

TEST_CASE("scores are of two sequences of one batch") {
  const nn::DotScore dot;
  CHECK(dot(ones({2, 3, 4}), ones({2, 5, 4})).shape() == Shape{2, 3, 5});
  const std::vector<std::pair<Shape, Shape>> wrong = {{{2, 4}, {2, 4}},
                                                      {{2, 3, 4}, {2, 4}},
                                                      {{2, 4}, {2, 3, 4}},
                                                      {{4}, {4}},
                                                      {{2, 1, 3, 4}, {2, 1, 3, 4}},
                                                      {{2, 3, 4}, {1, 3, 4}},
                                                      {{2, 3, 4}, {2, 1, 5, 4}},
                                                      {{2, 1, 3, 4}, {2, 5, 4}}};
  for (const auto& [q, k] : wrong) {
    CAPTURE(q, k);
    const std::string said = outcome([&] {
      dot(ones(q), ones(k));
      return std::string("accepted");
    });
    CHECK(said.starts_with("gradus::ShapeError: DotScore: q "));
  }
}

TEST_CASE("a record without the layer that is asked for says which there are, in their order") {
  nn::AttentionRecord record;
  const auto asked = [&] { return outcome([&] { return str_cat(record.weights("x").shape()); }); };
  const std::string begin =
      "gradus::ValueError: AttentionRecord: no attention layer \"x\" has run: ";
  CHECK(asked() == begin + "none has");
  record.add(ones({1, 1, 1, 1}));
  CHECK(asked() == begin + "there are \"\"");
  record.add(ones({1, 1, 1, 1}));
  CHECK(asked() == begin + "there are \"\", \"\"");
}

}  // namespace gradus::testing
