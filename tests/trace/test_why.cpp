// Tests the reasons that why() gives for leaves that backward does not reach.
#include "gradus/engine/grad_mode.h"
#include "gradus/trace/why.h"

#include <string>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/leaky.h"
#include "gradus/trace/watch.h"

namespace gradus::testing::test_why {
namespace {

using testing::has;
using testing::Leaky;
using testing::leaky_loss;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

std::string about(const std::string& all, const std::string& name) {
  const std::size_t at = all.find(name);
  return at == std::string::npos ? "nothing" : all.substr(at, all.find('\n', at) - at);
}

}  // namespace

TEST_CASE("why lists the leaves that the gradient of a tensor reaches") {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4}), c = leaf({5, 6});
  const Tensor y = sum(a * b + c.detach());
  const std::string all = why(y);
  CHECK(has(all, "reaches 2 leaves\n"));
  CHECK(has(all, str_cat("leaf #", a.node()->id, " [2]")));
  CHECK(has(all, str_cat("leaf #", b.node()->id, " [2]")));
  CHECK_FALSE(has(all, str_cat("leaf #", c.node()->id)));
  Tensor(b).requires_grad_(false);
  CHECK(has(why(y), str_cat("frozen        leaf #", b.node()->id)));
  CHECK(has(why(y), "reaches 1 leaf\n"));
}

TEST_CASE("why names the unreached parameters of a model") {
  Leaky m;
  m.down.bias.requires_grad_(false);
  m.unused.set_grad(ones({2}));  // this gradient comes from another loss
  const Tensor loss = leaky_loss(m);
  const std::string all = why(loss, m);
  for (const char* name : {"up.weight", "up.bias", "down.weight"})
    CHECK(has(all, std::string("  reached       ") + name));
  for (const char* name : {"detached", "unrecorded", "compared", "dropped", "unused"})
    CHECK(has(all, std::string("  not reached   ") + name));
  CHECK(has(all, "not reached   down.bias [2]: frozen"));
  CHECK(has(all, "under NoGrad"));  // the graph does not contain the reason
  CHECK(has(all, "trace::Watch"));

  const std::vector<trace::Unreached> missing = trace::unreached(loss, m);
  REQUIRE(missing.size() == 6);
  CHECK(missing[0].name == "down.bias");
  CHECK(missing[0].frozen);
  CHECK(missing[1].name == "detached");
  CHECK_FALSE(missing[1].frozen);
  CHECK(missing[1].shape == Shape{2});
  CHECK(missing[1].ended_at == "");
}

TEST_CASE("why names the operation and layer where a path ended, after a watch") {
  const Leaky m;
  const trace::Watch watch;
  const Tensor loss = leaky_loss(m);
  const std::string all = why(loss, m);
  CHECK(about(all, "detached [2]") == "detached [2]: it was detached before multiply in Leaky");
  CHECK(about(all, "unrecorded [2]") == "unrecorded [2]: multiply in Leaky ran under NoGrad");
  CHECK(about(all, "compared [2]") ==
        "compared [2]: the result of argmax in Leaky is i64, which has no gradient");
  CHECK(about(all, "dropped [2]") ==
        "dropped [2]: no operation used the result of scale in Leaky, or its values were copied "
        "out of the graph");
  CHECK(about(all, "unused [2]") == "unused [2]: no operation used it during the watch");
  CHECK_FALSE(has(all, "reason:"));
  CHECK(watch.path_end(m.unused) == "no operation used it during the watch");
}

TEST_CASE("why finds detached and frozen parameters in deeply nested layers") {
  struct Deep : nn::Layer<Deep> {
    nn::Linear inner{2, 2};
    Tensor scale = nn::parameter(ones({2})), late = nn::parameter(ones({2}));
    nn::Members members() override { return {{"inner", inner}, {"scale", scale}, {"late", late}}; }
    Tensor forward(const Tensor& x) const {
      const NoGrad off;
      const Tensor hidden = inner(x);
      const GradMode on(true);
      return hidden * scale.detach() * late;
    }
  } m;
  m.late.requires_grad_(false);
  const trace::Watch watch;
  const Tensor y = sum(m(ones({3, 2})) * ones({2}).requires_grad_());
  m.late.requires_grad_(true);
  const std::string all = why(y, m);
  CHECK(about(all, "inner.weight") == "inner.weight [2, 2]: linear in Deep inner ran under NoGrad");
  CHECK(about(all, "scale [2]") == "scale [2]: it was detached before multiply in Deep");
  CHECK(about(all, "late [2]") == "late [2]: it was frozen when multiply in Deep used it");
  CHECK(has(all, "not in the model"));
}

TEST_CASE("why describes a graph that backward released") {
  Leaky m;
  const Tensor loss = leaky_loss(m);
  loss.backward();
  const std::string all = why(loss, m);
  CHECK(has(all, "released"));
  CHECK(has(all, "reached       up.weight [3, 2]: has a gradient"));
  CHECK(has(all, "not reached   unused"));
  m.zero_grad();
  CHECK(has(why(loss, m), "not reached   up.weight"));
}

TEST_CASE("why explains tensors without a graph") {
  CHECK(why(Tensor()) == "an undefined tensor\n");
  CHECK(has(why(indices({1, 2})), "this one is i64"));
  CHECK(has(why(tensor({1, 2})), "computed only from constants, under NoGrad, or detached"));
  CHECK_FALSE(has(why(tensor({1, 2})), "active on this thread"));
  {
    const NoGrad off;
    CHECK(has(why(tensor({1, 2})), "a NoGrad is active on this thread"));
  }
  const trace::Watch watch;
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  CHECK(has(why(y.detach()), "detached: its values are the result of exp"));
  const Tensor z = [&] {
    const NoGrad off;
    return exp(x);
  }();
  CHECK(has(why(z), "exp computed it under NoGrad"));
  CHECK(has(why(exp(tensor({1, 2}))), "none of its inputs requires a gradient"));
}

TEST_CASE("why handles a chain of a million nodes") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = y + 1.0;
  CHECK(has(why(y), "reaches 1 leaf\n"));
}

TEST_CASE("why abbreviates a thousand leaves") {
  const auto product_of = [](int leaves) {
    Tensor y = leaf({1});
    for (int i = 1; i < leaves; ++i) y = y * leaf({1});
    return y;
  };
  const std::string all = why(product_of(1000));
  CHECK(has(all, "reaches 1000 leaves"));
  CHECK(has(all, "… and 960 more"));
  CHECK(!has(why(product_of(40)), "more"));
}

TEST_CASE("a watch ignores unrecorded backward operations") {
  const trace::Watch watch;
  const Tensor x = leaf({1}), y = x * x * x;
  const std::size_t count = watch.events().size();
  CHECK(count == 2);
  y.backward();
  CHECK(watch.events().size() == count);
}

TEST_CASE("a watch drops freed values and ends with its scope") {
  CHECK(trace::Watch::current() == nullptr);
  {
    const trace::Watch outer;
    {
      const trace::Watch inner;
      CHECK(trace::Watch::current() == &inner);
      exp(leaf({1}));
      CHECK(inner.events().size() == 1);
    }
    CHECK(trace::Watch::current() == &outer);
    CHECK(outer.events().size() == 1);
    for (int i = 0; i < 50; ++i) {  // makes storages reuse addresses
      const Tensor made = exp(leaf({1}));
      CHECK(outer.maker_of(made.detach())->node == made.node()->id);
    }
    CHECK(outer.maker_of(tensor({1.0}, Dtype::f64)) == nullptr);
    const Tensor w = leaf({1, 2});
    const Tensor view = reshape(w, {2, 1});
    // A leaf has no maker, even if a view of the leaf has one.
    CHECK(outer.maker_of(w.detach()) == nullptr);
  }
  CHECK(trace::Watch::current() == nullptr);
}

}  // namespace gradus::testing::test_why
