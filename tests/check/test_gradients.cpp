// The checker on tensors and modules: it passes what is right, and names what is not.
#include "gradus/check/gradients.h"

#include <string>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {

// y = x³ with one fault each.
namespace op {

enum class Fault { none, one_element, ignores_dy, formula, second, nan };

struct FaultyCube final : Op {
  Saved x;
  Fault fault = Fault::none;
  const char* name() const override { return "faulty_cube"; }
  Tensor forward(const Tensor& input) {
    x = input;
    const Tensor t = input.detach();
    return (t * t * t).detach();
  }
  Gradients backward(const Tensor& dy, const Wanted&) override {
    const Tensor t = fault == Fault::second ? x.value().detach() : x.value();
    if (fault == Fault::ignores_dy) return {3.0 * t * t};
    if (fault == Fault::formula && GradMode::enabled()) return {dy * 2.0 * t * t};
    Tensor dx = (dy * 3.0 * t * t);
    if (fault == Fault::one_element && dx.numel() > 3) {  // smaller ones are looked for, too
      dx = dx.clone();
      dx.mutable_data<double>()[3] *= 1.001;
    }
    if (fault == Fault::nan) dx = dx * (t / t - 1.0) / (t - t);
    return {dx};
  }
};

}  // namespace op

namespace {

using check::Options;
using check::Report;
using check::Verdict;
using testing::has;
using testing::message_of;
using testing::values;
using Tensors = std::vector<Tensor>;

Tensor cube(const Tensor& x, op::Fault fault = op::Fault::none) {
  op::FaultyCube op;
  op.fault = fault;
  return apply(std::move(op), x);
}

Report check_cube(op::Fault fault, const Options& options = {}) {
  return check::gradients(
      "faulty_cube", [fault](const Tensors& in) { return cube(in[0], fault); }, {values({2, 3})},
      options);
}

/// Mixes two rows of a weight, and adds scale · b³ with a derivative by b that may be wrong.
struct Affine : nn::Layer<Affine> {
  Tensor weight = nn::parameter(values({2, 3}).to(Dtype::f32));
  Tensor bias = nn::parameter(values({2}).to(Dtype::f32));
  Tensor scale = tensor({0.5, 2.0});
  nn::Linear inner{2, 3};
  op::Fault fault = op::Fault::none;
  nn::Members members() override {
    return {{"weight", weight}, {"bias", bias}, {"scale", nn::buffer(scale)}, {"inner", inner}};
  }
  Tensor forward(const Tensor& x) const {  // [N, 2] → [N, 2]
    const Tensor h = inner(x);             // [N, 3]
    const Tensor mixed = sum(h * weight[0], {1}, true) * exp(sum(h * weight[1], {1}, true));
    return mixed + scale * cube(bias, fault);  // [N, 1] + [2] → [N, 2]
  }
};

}  // namespace

TEST_CASE("right gradients pass, with and without recording") {
  for (const bool formula : {false, true}) {
    Options options;
    options.formula = formula;
    const Report report = check_cube(op::Fault::none, options);
    INFO(report);
    CHECK(report);
    CHECK(has(report.text(), "PASS"));
    CHECK(has(report.text(), "faulty_cube"));
  }
}

TEST_CASE("a wrong element is found, with the function's name, the input's and its place") {
  Options options;
  options.names = {"angles"};
  const Report report = check_cube(op::Fault::one_element, options);
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.text(), "FAIL  faulty_cube"));
  CHECK(has(report.text(), "'angles' [2,3]: 1 of 6 elements wrong"));
  CHECK(has(report.text(), "angles[1,0]"));
}

TEST_CASE("the upstream gradient is not all ones") {
  CHECK(check_cube(op::Fault::ignores_dy).verdict == Verdict::fail);
}

TEST_CASE("NaN never passes") { CHECK(check_cube(op::Fault::nan).verdict == Verdict::fail); }

TEST_CASE("what is wrong in the formula alone is found where the formula is asked for") {
  CHECK(check_cube(op::Fault::formula));
  Options options;
  options.formula = true;
  CHECK(check_cube(op::Fault::formula, options).verdict == Verdict::fail);
}

TEST_CASE("second derivatives are checked by the inputs and by the upstream gradient") {
  const auto second_of = [](op::Fault fault) {
    return check::second("faulty_cube", [fault](const Tensors& in) { return cube(in[0], fault); },
                         {values({2, 3})});
  };
  const Report right = second_of(op::Fault::none);
  INFO(right);
  CHECK(right);
  REQUIRE(right.inputs.size() == 2);
  CHECK(right.inputs[0].name == "x0");
  CHECK(right.inputs[1].name == "upstream");
  // The first derivative is right, the term through the detached x is lost.
  CHECK(check_cube(op::Fault::second));
  const Report wrong = second_of(op::Fault::second);
  CHECK(wrong.verdict == Verdict::fail);
  CHECK(wrong.inputs[0].wrong == 6);
  CHECK(wrong.inputs[1].wrong == 0);
}

TEST_CASE("second derivatives that are zero, by cancelling or by nature, pass") {
  const Report linear =
      check::second("sum", [](const Tensors& in) { return sum(in[0]) * 3.0; }, {values({5})});
  INFO(linear);
  CHECK(linear);
  const Report cancels = check::second(
      "softmax of one", [](const Tensors& in) { return softmax(in[0], -1); }, {values({4, 1})});
  INFO(cancels);
  CHECK(cancels);
}

TEST_CASE("f32 inputs are converted, integers are handed through") {
  const auto f = [](const Tensors& in) {
    CHECK(is_float(in[0].dtype()));
    CHECK(in[1].dtype() == Dtype::i64);
    return index_select(in[0], 0, in[1]);
  };
  const Report report =
      check::gradients("index_select", f, {values({3, 2}).to(Dtype::f32), indices({2, 0, 2})});
  INFO(report);
  CHECK(report);
  CHECK(has(report.text(), "input 1 'x1' [3]: not differentiable"));
}

TEST_CASE("an input can be left out") {
  Options options;
  options.differentiable = {true, false};
  const auto f = [](const Tensors& in) { return in[0] * in[1].detach(); };
  CHECK(check::gradients(f, {values({3}), values({3}, 1)}, options));
  const Report whole = check::gradients(f, {values({3}), values({3}, 1)});
  CHECK(whole.verdict == Verdict::fail);
  CHECK(whole.inputs[0].wrong == 0);
  CHECK(whole.inputs[1].wrong == 3);
}

TEST_CASE("an input that the function ignores has gradient 0") {
  CHECK(
      check::gradients([](const Tensors& in) { return in[0] * 2.0; }, {values({3}), values({2})}));
}

TEST_CASE("random operations inside draw the same numbers each time") {
  const std::uint32_t position = generator().position();
  const Report report =
      check::gradients([](const Tensors& in) { return dropout(in[0], 0.5); }, {values({4, 5})});
  INFO(report);
  CHECK(report);
  CHECK(generator().position() == position);
}

TEST_CASE("recording is on inside, whatever the caller has") {
  const NoGrad off;
  CHECK(check_cube(op::Fault::none));
  CHECK(!GradMode::enabled());
}

TEST_CASE("a result outside the graph fails, and the report says why") {
  const Report report =
      check::gradients([](const Tensors& in) { return exp(in[0].detach()); }, {values({3})});
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.text(), "no place in the graph"));
}

TEST_CASE("what makes no sense is an error that says so") {
  const auto same = [](const Tensors& in) { return in[0] * 1.0; };
  CHECK_THROWS_AS(check::gradients(same, {indices({1})}), ValueError);
  CHECK_THROWS_AS(check::gradients(same, {}), ValueError);
  CHECK_THROWS_AS(check::gradients(same, {Tensor()}), ValueError);
  CHECK_THROWS_AS(check::gradients(check::Function(), {values({1})}), ValueError);
  Options names, flags;
  names.names = {"a", "b"};
  flags.differentiable = {true, true};
  CHECK(has(message_of<ValueError>([&] { check::gradients(same, {values({1})}, names); }),
            "2 names"));
  CHECK_THROWS_AS(check::gradients(same, {values({1})}, flags), ValueError);
  CHECK_THROWS_AS(check::gradients(same, {values({1}), indices({1})}, flags), DtypeError);
  const auto rough = [](const Tensors& in) { return in[0].to(Dtype::f32); };
  const std::string dtype =
      message_of<DtypeError>([&] { check::gradients("rough", rough, {values({2})}); });
  CHECK(has(dtype, "rough"));
  CHECK(has(dtype, "f32"));
  const auto nothing = [](const Tensors&) { return Tensor(); };
  CHECK_THROWS_AS(check::gradients(nothing, {values({2})}), ValueError);
  const auto throws = [](const Tensors& in) { return in[0] + zeros({7}, Dtype::f64); };
  CHECK_THROWS_AS(check::gradients(throws, {values({2})}), ShapeError);
}

TEST_CASE("a module is checked by every parameter and input, by name") {
  Affine m;
  const Report report = check::module(m, values({3, 2}, 3));
  INFO(report);
  CHECK(report);
  std::vector<std::string> names;
  for (const auto& input : report.inputs) names.push_back(input.name);
  CHECK(names ==
        std::vector<std::string>{"weight", "bias", "inner.weight", "inner.bias", "input 0"});
  m.fault = op::Fault::ignores_dy;
  const Report wrong = check::module(m, values({3, 2}, 3));
  CHECK(wrong.verdict == Verdict::fail);
  CHECK(wrong.inputs[1].wrong == 2);
  CHECK(wrong.inputs[0].wrong == 0);
  CHECK(has(wrong.text(), "bias["));
}

TEST_CASE("a module has its own tensors back afterwards, even when its forward throws") {
  Affine m;
  const Tensor weight = m.weight, scale = m.scale, inner = m.inner.weight;
  const auto same = [&] {
    CHECK(m.weight.node() == weight.node());
    CHECK(m.weight.dtype() == Dtype::f32);
    CHECK(m.scale.storage() == scale.storage());
    CHECK(m.inner.weight.node() == inner.node());
    CHECK(!m.weight.grad().defined());
  };
  CHECK(check::module(m, values({3, 2}, 3)));
  same();
  CHECK_THROWS_AS(check::module(m, values({3, 7})), ShapeError);
  same();
}

TEST_CASE("tied parameters are one input of the check") {
  struct Tied : nn::Layer<Tied> {
    Tensor a = nn::parameter(values({3})), b;
    Tied() { nn::tie(b, a); }
    nn::Members members() override { return {{"a", a}, {"b", b}}; }
    Tensor forward(const Tensor& x) const { return x * a * exp(b); }
  } m;
  const Report report = check::module(m, values({2, 3}, 1));
  INFO(report);
  CHECK(report);
  CHECK(report.inputs.size() == 2);
  CHECK(m.a.node() == m.b.node());
}

TEST_CASE("gradients at inputs of 1e-17 are measured, and a wrong one fails") {
  const Tensor x = values({2, 3}) * 1e-17;
  const auto f = [](const Tensors& in) { return exp(in[0]); };
  for (const double factor : {1.0, -1.0, 2.0, 1.001, 0.0}) {
    const auto backward = [factor](const Tensors& in, const Tensor& dy) {
      return Tensors{factor * dy * exp(in[0])};
    };
    const Report report = check::vjp("exp", f, backward, {x});
    INFO(report);
    CHECK(report.verdict == (factor == 1 ? Verdict::pass : Verdict::fail));
  }
}

}  // namespace gradus
