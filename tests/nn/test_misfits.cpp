// Modules that do not fit: each way in which a clone, a tie, a pattern or a packing is refused.
#include "gradus/nn/attention_record.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/lora.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/packing.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

/// Members as the test says, those of its same_architecture() as it says, too.
struct Any : nn::Layer<Any> {
  enum Kind { parameter, buffer, layer, two_layers };
  explicit Any(Kind as, const char* called = "x", Kind copy_as = parameter,
               const char* copy_called = "x")
      : kind(as), other_kind(copy_as), name(called), other_name(copy_called) {
    if (kind == parameter) x = nn::parameter(x);
  }
  nn::Members members() override {
    if (kind == parameter) return {{name, x}};
    if (kind == buffer) return {{name, nn::buffer(x)}};
    if (kind == layer) return {{name, one}};
    return {{name, many}};
  }
  Tensor forward(const Tensor& y) const { return y; }
  Any same_architecture() const { return Any(other_kind, other_name, other_kind, other_name); }

  Kind kind, other_kind;
  const char *name, *other_name;
  Tensor x = ones({2});
  nn::Linear one{1, 1};
  std::vector<nn::Linear> many = two();
  static std::vector<nn::Linear> two() {
    std::vector<nn::Linear> all;
    all.emplace_back(1, 1);
    all.emplace_back(1, 1);
    return all;
  }
};

/// One parameter of so many numbers, which nobody reads.
struct Large : nn::Layer<Large> {
  explicit Large(std::int64_t numbers) : x(nn::parameter(Tensor::empty({numbers}, Dtype::f32))) {}
  nn::Members members() override { return {{"x", x}}; }
  Tensor forward(const Tensor& y) const { return y; }
  Large same_architecture() const { return Large(x.numel()); }
  Tensor x;
};

}  // namespace

TEST_CASE("a clone must have the same names, kinds and numbers of members") {
  const auto cloned = [](Any::Kind kind, const char* name, Any::Kind as, const char* called) {
    Any module(kind, name, as, called);
    return module.clone().summary();
  };
  using A = Any;
  for (const A::Kind kind : {A::parameter, A::buffer, A::layer, A::two_layers})
    CHECK_NOTHROW(cloned(kind, "x", kind, "x"));
  CHECK_REFUSES(GraphError, cloned(A::parameter, "x", A::parameter, "y"), "clone",
                "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::parameter, "x", A::buffer, "x"), "clone",
                "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::buffer, "x", A::parameter, "x"), "clone",
                "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::buffer, "x", A::buffer, "y"), "clone", "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::parameter, "x", A::layer, "x"), "clone", "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::layer, "x", A::parameter, "x"), "clone", "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::layer, "x", A::layer, "y"), "clone", "same_architecture");
  CHECK_REFUSES(GraphError, cloned(A::two_layers, "x", A::layer, "x"), "clone",
                "same_architecture");
}

TEST_CASE("borders of ties, lists, adapters and records") {
  nn::Linear model(2, 3), other(2, 3);
  Tensor none, plain = ones({2}), p = nn::parameter(ones({2})), wide = ones({3}), alias;
  const Tensor made = p * 2;
  nn::ModuleList list, empty;
  list.add("a", nn::Linear(1, 1));
  const nn::AttentionRecord record;
  const auto adapted = [&](const std::string& pattern, std::int64_t rank) {
    nn::Sequential deep(nn::Linear(2, 2), nn::Linear(2, 3));
    std::string names;
    for (const std::string& each : nn::add_adapters(deep, pattern, {.rank = rank}))
      names += each + " ";
    return names;
  };
  nn::Sequential nothing;
  CHECK_REFUSES(GraphError, nn::tie(alias, none), "tie", "parameter");
  CHECK_REFUSES(GraphError, nn::tie(alias, plain), "tie", "parameter");
  CHECK_REFUSES(GraphError, nn::tie(alias, made), "tie", "parameter");
  CHECK_REFUSES(ShapeError, nn::tie(wide, p), "tie", "[3]");
  CHECK_NOTHROW(nn::tie(alias, p));
  CHECK_REFUSES(ValueError, list.add("", nn::Linear(1, 1)), "ModuleList", "becomes");
  CHECK_REFUSES(ValueError, list.add("a.b", nn::Linear(1, 1)), "ModuleList", "\"a.b\"");
  CHECK_REFUSES(ValueError, list.add("a", nn::Linear(1, 1)), "ModuleList", "\"a\"");
  CHECK_NOTHROW(list.add("b", nn::Linear(1, 1)));
  CHECK_REFUSES(ValueError, list.at<nn::Linear>("c"), "ModuleList", "\"c\"");
  CHECK_NOTHROW(list.at<nn::Linear>("b"));
  CHECK_REFUSES(ValueError, list.at<nn::Sequential>("b"), "ModuleList", "\"b\"");
  CHECK_REFUSES(ValueError, empty.at<nn::Linear>("c"), "ModuleList", "\"c\"");
  CHECK_REFUSES(IndexError, list.at<nn::Linear>(2), "ModuleList", "2");
  CHECK_NOTHROW(list.at<nn::Linear>(1));
  CHECK_REFUSES(ValueError, adapted("*", 0), "add_adapters", "0");
  CHECK_REFUSES(ValueError, adapted("*", -1), "add_adapters", "-1");
  CHECK(adapted("*", 1) == "0 1 ");
  CHECK(adapted("0", 1) == "0 ");
  CHECK(adapted("1,2", 1) == "1 ");
  CHECK(adapted("*0*", 1) == "0 ");
  CHECK(adapted("1*,0", 1) == "0 1 ");
  CHECK(adapted("*1", 1) == "1 ");
  CHECK_REFUSES(ValueError, adapted("", 1), "add_adapters", "0");
  CHECK_REFUSES(ValueError, adapted("00", 1), "add_adapters", "\"00\"");
  CHECK_REFUSES(ValueError, nn::add_adapters(nothing, "*", {.rank = 1}), "add_adapters", "\"*\"");
  CHECK_NOTHROW(nn::add_adapters(model, "*", {.rank = 1}));
  CHECK_REFUSES(ValueError, nn::add_adapters(model, "*", {.rank = 1}), "add_adapters", "adapter");
  CHECK_NOTHROW(nn::merge_adapters(model));
  CHECK_NOTHROW(nn::add_adapters(model, "*", {.rank = 1}));
  CHECK_REFUSES(ValueError, nn::activate(plain, static_cast<nn::Activation>(9)), "9", "activation");
  CHECK_REFUSES(ValueError, record.weights("a"), "AttentionRecord", "\"a\"");
  CHECK_REFUSES(ValueError, record.mean_entropy(), "AttentionRecord", "attention");
}

TEST_CASE("a model that the caches hold decodes fastest as it is") {
  constexpr std::int64_t kHeld = (8 << 20) / 4;
  CHECK(nn::fast_precision(Large(kHeld)) == Precision::f32);
  CHECK(nn::fast_precision(Large(kHeld + 1)) == Precision::bf16);
  CHECK(nn::fast_precision(Large(1)) == Precision::f32);
}

TEST_CASE("merged adapters leave nothing that learns but what did before") {
  nn::Linear model(2, 3);
  nn::add_adapters(model, "*", {.rank = 2, .alpha = 4});
  CHECK_FALSE(model.weight.requires_grad());
  CHECK(nn::adapter_state(model).size() == 3);
  nn::merge_adapters(model);
  CHECK(model.weight.requires_grad());
  CHECK(model.weight.is_leaf());
  CHECK(model.parameters().size() == 2);
  CHECK(model.buffers().empty());
  CHECK(nn::adapter_state(model).empty());
  sum(model(ones({1, 2}))).backward();
  CHECK(model.weight.grad().defined());
}

}  // namespace gradus::testing
