#include <string>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus {

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
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor t = fault == Fault::second ? x.value().detach() : x.value();
    if (fault == Fault::ignores_dy) return {3.0 * t * t};
    if (fault == Fault::formula && GradMode::enabled()) return {dy * 2.0 * t * t};
    Tensor dx = (dy * 3.0 * t * t);
    if (fault == Fault::one_element && dx.numel() > 3) {  // the check also tries smaller inputs
      dx = dx.clone();
      dx.mutable_data<double>()[3] *= 1.001;
    }
    if (fault == Fault::nan) dx = dx * (t / t - 1.0) / (t - t);
    return {dx};
  }
};

}  // namespace op

namespace conditions {
namespace {

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

const check::Vjp square_vjp = [](const Tensors& x, const Tensor& dy) {
  return Tensors{2.0 * x[0] * dy};
};

}  // namespace

TEST_CASE("gradients: correct gradients from kernels and from create_graph pass") {
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

TEST_CASE("gradients: a wrong element is reported with its function, input and position") {
  Options options;
  options.names = {"angles"};
  const Report report = check_cube(op::Fault::one_element, options);
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.text(), "FAIL  faulty_cube"));
  CHECK(has(report.text(), "'angles' [2,3]: 1 of 6 elements wrong"));
  CHECK(has(report.text(), "angles[1,0]"));
}

TEST_CASE("gradients: a backward that ignores dy fails") {
  CHECK(check_cube(op::Fault::ignores_dy).verdict == Verdict::fail);
}

TEST_CASE("gradients: NaN never passes") {
  CHECK(check_cube(op::Fault::nan).verdict == Verdict::fail);
}

TEST_CASE("gradients: a bug in the reference formula fails if the formula is checked") {
  CHECK(check_cube(op::Fault::formula));
  Options options;
  options.formula = true;
  CHECK(check_cube(op::Fault::formula, options).verdict == Verdict::fail);
}

TEST_CASE("gradients: the verdict is correct for inputs of 1e-17") {
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

TEST_CASE("gradients: f32 inputs are converted, and integers are passed through") {
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

TEST_CASE("gradients: an input can be excluded") {
  Options options;
  options.differentiable = {true, false};
  const auto f = [](const Tensors& in) { return in[0] * in[1].detach(); };
  CHECK(check::gradients(f, {values({3}), values({3}, 1)}, options));
  const Report whole = check::gradients(f, {values({3}), values({3}, 1)});
  CHECK(whole.verdict == Verdict::fail);
  CHECK(whole.inputs[0].wrong == 0);
  CHECK(whole.inputs[1].wrong == 3);
}

TEST_CASE("gradients: an input that the function ignores has gradient 0") {
  CHECK(
      check::gradients([](const Tensors& in) { return in[0] * 2.0; }, {values({3}), values({2})}));
}

TEST_CASE(
    "gradients: random ops draw the same numbers in each call, and the caller's generator is "
    "unchanged") {
  const std::uint32_t position = generator().position();
  const Report report =
      check::gradients([](const Tensors& in) { return dropout(in[0], 0.5); }, {values({4, 5})});
  INFO(report);
  CHECK(report);
  CHECK(generator().position() == position);
}

TEST_CASE("gradients: the check records regardless of the caller's mode") {
  const NoGrad off;
  CHECK(check_cube(op::Fault::none));
  CHECK(!GradMode::enabled());
}

TEST_CASE("gradients: a result outside the graph fails, and the report gives the reason") {
  const Report report =
      check::gradients([](const Tensors& in) { return exp(in[0].detach()); }, {values({3})});
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.text(), "not connected to the graph"));
}

TEST_CASE("second: derivatives with respect to inputs and upstream gradient are checked") {
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
  // The result lacks the term of the detached x.
  CHECK(check_cube(op::Fault::second));
  const Report wrong = second_of(op::Fault::second);
  CHECK(wrong.verdict == Verdict::fail);
  CHECK(wrong.inputs[0].wrong == 6);
  CHECK(wrong.inputs[1].wrong == 0);
}

TEST_CASE("second: derivatives of 0 pass") {
  const Report linear =
      check::second("sum", [](const Tensors& in) { return sum(in[0]) * 3.0; }, {values({5})});
  INFO(linear);
  CHECK(linear);
  const Report cancels = check::second(
      "softmax of one", [](const Tensors& in) { return softmax(in[0], -1); }, {values({4, 1})});
  INFO(cancels);
  CHECK(cancels);
}

TEST_CASE("second: a manual backward pass can be differentiated") {
  const Tensors in = {values({3})};
  const Report right = check::second("square", square_of, square_vjp, in);
  INFO(right);
  CHECK(right);
  CHECK(right.inputs.back().name == "upstream");
  const Report wrong = check::second(
      "square", square_of,
      [](const Tensors& x, const Tensor& dy) { return Tensors{2.0 * x[0].detach() * dy}; }, in);
  CHECK(wrong.verdict == Verdict::fail);
  CHECK(wrong.inputs[0].cause.name == "NO GRADIENT");
  CHECK(has(wrong.reproduce, "check::second(\"square, second derivatives\""));
  const Report detached = check::second(
      "square", square_of,
      [](const Tensors& x, const Tensor& dy) { return Tensors{(2.0 * x[0] * dy).detach()}; }, in);
  CHECK(detached.verdict == Verdict::fail);
  CHECK(detached.inputs[0].cause.name == "DETACHED");
}

TEST_CASE("second: the report contains the formula's value, and canceling terms pass") {
  const auto cube_of = [](const Tensors& in) { return in[0] * in[0] * in[0]; };
  const check::Vjp half = [](const Tensors& in, const Tensor& dy) {
    return Tensors{dy * 3.0 * in[0] * in[0].detach()};
  };
  const Report wrong = check::second("cube", cube_of, half, {values({4})});
  INFO(wrong);
  REQUIRE(wrong.verdict == Verdict::fail);
  CHECK(wrong.findings[0].analytic == Approx(wrong.findings[0].numeric / 2));
  for (const double in : {1e-6, 1.0, 1e3, 0.0})
    for (const double out : {1e-6, 1.0, 1e6}) {
      CAPTURE(in, out);
      CHECK(check::second("softmax of one",
                          [out](const Tensors& x) { return softmax(x[0] * 1.0, -1) * out; },
                          {full({3, 1}, in, Dtype::f64)}));
    }
}

}  // namespace conditions
}  // namespace gradus
