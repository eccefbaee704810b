// Tables of names against what they say, where a file leaves out, repeats or holds too much.
#include "gradus/models/names.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/lora.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

using nn::Form;

struct Net : nn::Layer<Net> {
  nn::Linear a{3, 4}, b{3, 2};
  nn::Members members() override { return {{"a", a}, {"b", b}}; }
  Tensor forward(const Tensor& x) const { return a(x); }
};

std::vector<double> numbers(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

/// No two numbers alike.
Tensor some(const Shape& shape, double first) {
  return reshape(arange(0, numel(shape)), shape).to(Dtype::f64) + first;
}

/// What our names hold after a load, or what it says, from the second line on.
std::string loaded(const nn::Names& names, const nn::StateDict& theirs) {
  return outcome([&] {
    Net net;
    nn::load_named(net, names, nn::reader_of(theirs));
    std::string text;
    for (const auto& [name, tensor] : net.state_dict())
      text += str_cat(name, " ", numbers(tensor)[0], ";");
    return text;
  });
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const nn::Names kPlain = {.rules = {{"a.*", "model.x.*"}, {"b.*", "model.y.*"}},
                          .prefix = "model.",
                          .ignored = {"model.mask", "model.count.{}"}};

nn::StateDict plain_state(const std::string& prefix) {
  return {{prefix + "x.weight", some({4, 3}, 10)},
          {prefix + "x.bias", some({4}, 30)},
          {prefix + "y.weight", some({2, 3}, 40)},
          {prefix + "y.bias", some({2}, 50)}};
}

}  // namespace

TEST_CASE("files may leave the prefix out, and hold what is ignored") {
  const std::string good = "a.bias 30;a.weight 10;b.bias 50;b.weight 40;";
  for (const std::string prefix : {"model.", ""}) {
    nn::StateDict state = plain_state(prefix);
    CHECK(loaded(kPlain, state) == good);
    state[prefix + "mask"] = ones({2});
    state[prefix + "count.0"] = state[prefix + "count.1"] = ones({1});
    CHECK(loaded(kPlain, state) == good);
    state[prefix + "count.3"] = ones({1});
    CHECK(says(loaded(kPlain, state), "unexpected  " + prefix + "count.3 [1]"));
  }
}

TEST_CASE("what is left out of a name is the prefix, not as many letters") {
  nn::Names names = kPlain;
  names.rules[1] = {"b.*", "outputs.*"};  // as long as the prefix, and more
  nn::StateDict state = plain_state("");
  state.erase("y.weight"), state.erase("y.bias");
  state["s.weight"] = some({2, 3}, 40);
  state["outputs.bias"] = some({2}, 50);
  const std::string said = loaded(names, state);
  CHECK(says(said, "missing     outputs.weight [2, 3], for b.weight"));
  CHECK(says(said, "unexpected  s.weight [2, 3]"));
  names.rules[1] = {"b.*", "y.*"};  // shorter than the prefix
  CHECK(says(loaded(names, plain_state("model.")), "missing     y.bias [2], for b.bias"));
}

TEST_CASE("a tensor that no line names is said, read or written") {
  const nn::Names half = {.rules = {{"a.*", "x.*"}, {"b.weight", "y.weight"}}};
  nn::StateDict state = plain_state("");
  CHECK(says(loaded(half, state), "unnamed     b.bias [2]: the table of names has no line for it"));
  CHECK(says(outcome([&] { return str_cat(nn::named_state(Net(), half).size()); }),
             "ValueError: no name is known there for b.bias"));
  const nn::Names whole = {.rules = {{"a.*", "x.*"}, {"b.*", "y.*"}}};
  CHECK(nn::named_state(Net(), whole).size() == 4);
  Net adapted;
  nn::add_adapters(adapted, "b", {.rank = 1});
  const std::string said = outcome([&] { return str_cat(nn::named_state(adapted, whole).size()); });
  CHECK(says(said, "no name is known there for b.lora_a: merge the adapters first"));
}

TEST_CASE("rows of several of theirs are one of ours, and the other way round") {
  struct Parts : nn::Layer<Parts> {
    Tensor joined = nn::parameter(zeros({5, 3})), first = nn::parameter(zeros({2, 3})),
           second = nn::parameter(zeros({4, 3}));
    nn::Members members() override {
      return {{"joined", joined}, {"first", first}, {"second", second}};
    }
    Tensor forward(const Tensor& x) const { return x; }
  } net;
  const nn::Names names = {
      .rules = {{"joined", "(q|k)", Form::same, {2, 3}}, {"(first|second)", "both"}}};
  const nn::StateDict theirs = {
      {"q", some({2, 3}, 0)}, {"k", some({3, 3}, 6)}, {"both", some({6, 3}, 20)}};
  nn::load_named(net, names, nn::reader_of(theirs));
  CHECK(numbers(net.joined) == numbers(some({5, 3}, 0)));
  CHECK(numbers(net.first) == numbers(some({2, 3}, 20)));
  CHECK(numbers(net.second) == numbers(some({4, 3}, 26)));
  const nn::StateDict again = nn::named_state(net, names);
  net.joined.detach().fill_(-1), net.first.detach().fill_(-1);  // what was written stays
  REQUIRE(again.size() == 3);
  for (const auto& [name, tensor] : theirs) {
    CHECK(numbers(again.at(name)) == numbers(tensor));
    CHECK_FALSE(again.at(name).requires_grad());
  }
}

TEST_CASE("what is written is a copy, in each form") {
  Net net;
  for (const Form form : {Form::same, Form::transposed}) {
    const nn::Names names = {.rules = {{"a.*", "x.*", form}, {"b.*", "y.*", form}}};
    const nn::StateDict state = nn::named_state(net, names);
    const std::vector<double> before = numbers(state.at("x.weight"));
    net.a.weight.detach().fill_(before[0] + 1);
    CHECK(numbers(state.at("x.weight")) == before);
  }
}

TEST_CASE("a second name may be missing, stand first, or hold the same again") {
  const nn::Names names = {
      .rules = {{"a.weight", "head", Form::again}, {"a.*", "x.*"}, {"b.*", "y.*"}}};
  nn::StateDict state = plain_state("");
  const std::string good = "a.bias 30;a.weight 10;b.bias 50;b.weight 40;";
  CHECK(loaded(names, state) == good);
  state["head"] = some({4, 3}, 10).to(Dtype::f32);
  CHECK(loaded(names, state) == good);
  state["head"] = some({4, 3}, 11);
  CHECK(
      says(loaded(names, state), "head: is a.weight again in this model, but holds other numbers"));
}

}  // namespace gradus::testing
