// What a module holds: copied, loaded, converted and shared, with every fault that this may have.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/nn/user_modules.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {

TEST_CASE("one tensor under two names is an error until it is said to be meant") {
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
  CHECK_REFUSES(ShapeError, nn::tie(other, original), "[3, 2]");
  CHECK_THROWS_AS(nn::tie(alias, Tensor()), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, ones({2, 3})), GraphError);
  CHECK_THROWS_AS(nn::tie(alias, original * 2.0), GraphError);
  nn::tie(alias, original);
  CHECK(alias.node() == original.node());
}

TEST_CASE("a clone shares nothing, and is alike in everything") {
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

TEST_CASE("a clone whose same_architecture() has other members is refused") {
  struct Other : nn::Layer<Other> {
    explicit Other(bool deep) : extra(deep) {}
    bool extra;
    Linear a{2, 2}, b{2, 2};
    Members members() override { return extra ? Members{{"a", a}, {"b", b}} : Members{{"a", a}}; }
    Tensor forward(const Tensor& x) const { return a(x); }
    Other same_architecture() const { return Other(false); }
  };
  CHECK_REFUSES(GraphError, Other(true).clone(), "Other");
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
  const std::string message = message_of<ShapeError>([&] { tiny.load_state_dict(file); });
  CHECK(has(message, "Tiny"));
  CHECK(has(message, "missing     down.bias [2]"));
  CHECK(has(message, "missing     seen [1]"));
  CHECK(has(message, "misshapen   up.bias: the model has [3], given is [4]"));
  CHECK(has(message, "misshapen   down.weight: the model has [2, 3], given is [3, 2]"));
  CHECK(has(message, "unexpected  old.weight [7, 7]"));
  CHECK(tiny.up.bias.to_vector<float>() == before);  // nothing was written

  const std::string loose = message_of<ShapeError>([&] { tiny.load_state_dict(file, false); });
  CHECK(has(loose, "up.bias"));
  CHECK(!has(loose, "missing"));
  CHECK(!has(loose, "unexpected"));
  file["up.bias"] = ones({3}), file["down.weight"] = ones({2, 3});
  tiny.load_state_dict(file, false);
  CHECK(tiny.up.bias.to_vector<float>() == std::vector<float>{1, 1, 1});
}

TEST_CASE("loading writes in place and converts") {
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

TEST_CASE("a tied tensor that is given under both names must be the same") {
  Shared shared;
  nn::tie(shared.b.weight, shared.a.weight);
  nn::StateDict file = shared.state_dict();
  for (auto& [name, tensor] : file) tensor = tensor.clone();
  file["a.weight"].fill_(std::nan(""));
  file["b.weight"] = file["a.weight"].to(Dtype::f64);
  shared.load_state_dict(file);
  file["b.weight"] = ones({2, 2});
  const std::string differ = message_of<ShapeError>([&] { shared.load_state_dict(file); });
  CHECK(has(differ, "tied        a.weight and b.weight are one tensor in the model, and differ"));
  file["b.weight"] = ones({4});
  CHECK(
      has(message_of<ShapeError>([&] { shared.load_state_dict(file); }), "a.weight and b.weight"));
  file["a.weight"] = ones({2, 2}), file["b.weight"] = ones({2, 2});
  shared.load_state_dict(file);
  CHECK(shared.b.weight.to_vector<float>() == std::vector<float>{1, 1, 1, 1});
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
  tiny.seen = zeros({1}, Dtype::i64);  // a count stays one
  tiny.to(Dtype::f32);
  CHECK(tiny.seen.dtype() == Dtype::i64);
}

}  // namespace gradus::testing
