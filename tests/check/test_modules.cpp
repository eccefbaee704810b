#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus {

namespace op {

/// y = x². Backward multiplies dx by `factor` and adds `more` times a mix of all elements of dy.
struct OffSquare final : Op {
  OffSquare(double f, double m) : factor(f), more(m) {}
  double factor, more;
  Saved x;
  const char* name() const override { return "off_square"; }
  Tensor forward(const Tensor& input) {
    x = input;
    const Tensor t = input.detach();
    return (t * t).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor mixed =
        tensor({{0.25, 1.5, -0.75}, {2.0, -0.5, 0.375}, {-1.25, 0.625, 1.0}}, Dtype::f64);
    const Tensor dx = dy * x.value() * (2 * factor);
    return {dx + more * reshape(matmul(mixed, reshape(dy, {3, 1})), {3})};
  }
};

}  // namespace op

namespace conditions {
namespace {

Tensor filled(const std::vector<double>& numbers, Dtype dtype = Dtype::f64) {
  return kernel::convert(tensor(numbers), dtype);
}

struct WithBuffers : nn::Layer<WithBuffers> {
  Tensor scale = filled({0.5, 2.0, -1.0}, Dtype::f32), shift = filled({1.0, 2.0, 3.0});
  Tensor order = indices({2, 0, 1});
  nn::Members members() override {
    return {
        {"scale", nn::buffer(scale)}, {"shift", nn::buffer(shift)}, {"order", nn::buffer(order)}};
  }
  Tensor forward(const Tensor& x) const {
    CHECK(order.dtype() == Dtype::i64);
    CHECK((scale.dtype() == x.dtype() && shift.dtype() == x.dtype()));
    shift.detach().copy_(shift * 1.0);
    return index_select(x * scale + shift, 0, order) * x;
  }
};

struct Inner : nn::Layer<Inner> {
  Tensor weight = nn::parameter(filled({1.5, -0.5, 2.0}));
  nn::Members members() override { return {{"weight", weight}}; }
  Tensor forward(const Tensor& x) const { return x * weight; }
};
struct Middle : nn::Layer<Middle> {
  Inner first, second;
  nn::Members members() override { return {{"first", first}, {"second", second}}; }
  Tensor forward(const Tensor& x) const { return second(first(x) * x); }
};
struct Outer : nn::Layer<Outer> {
  Middle middle;
  Tensor bias = nn::parameter(filled({0.5, 1.0, 2.0}));
  nn::Members members() override { return {{"middle", middle}, {"bias", bias}}; }
  Tensor forward(const Tensor& x) const { return middle(x) + bias; }
};

struct Off : nn::Layer<Off> {
  Off(double f, double m) : factor(f), more(m) {}
  double factor, more;
  Tensor bias = nn::parameter(filled({0.5, 1.0, 2.0}));
  Tensor scale = nn::parameter(filled({0.5, 1.5, -2.0}));
  nn::Members members() override { return {{"bias", bias}, {"scale", scale}}; }
  Tensor forward(const Tensor& x) const {
    return (x - bias) * apply(op::OffSquare(factor, more), scale);
  }
};

std::string names_of(const Report& report) {
  std::string all;
  for (const auto& input : report.inputs) all += input.name + (input.differentiable ? " " : "- ");
  return all;
}

const Tensor kX = filled({0.75, -1.5, 2.5});

}  // namespace

TEST_CASE("modules: parameters have their full names, and inputs their names or numbers") {
  Outer m;
  CHECK(names_of(check::module(m, kX)) == "middle.first.weight middle.second.weight bias input 0 ");
  const auto f = [&](const Tensors& in) { return m(in[0]) * index_select(in[1], 0, in[2]); };
  const Tensors in = {kX, filled({1, 2, 4}), indices({2, 0, 1})};
  Options options;
  options.conditions = false;
  const std::string own = "middle.first.weight middle.second.weight bias ";
  CHECK(names_of(check::module(m, f, in, options)) == own + "input 0 input 1 input 2- ");
  options.names = {"x", "y", "order"};
  options.differentiable = {false, true, false};
  CHECK(names_of(check::module(m, f, in, options)) == own + "x- y order- ");
  const auto error_of = [&](std::vector<std::string> names, std::vector<bool> flags) {
    options.names = std::move(names), options.differentiable = std::move(flags);
    return message_of<ValueError>([&] { check::module(m, f, in, options); });
  };
  CHECK(has(error_of({"x"}, {}), "1 names"));
  CHECK(has(error_of({}, {true, true}), "2 differentiable flags were given for 3 inputs"));
}

TEST_CASE("modules: one tensor under two names is rejected unless it is tied") {
  struct Shared : nn::Layer<Shared> {
    Tensor a = nn::parameter(filled({1.0, 2.0, 3.0})), b = a;
    nn::Members members() override { return {{"a", a}, {"b", b}}; }
    Tensor forward(const Tensor& x) const { return x * a * b; }
  } m;
  CHECK_THROWS_AS(check::module(m, kX), GraphError);
}

TEST_CASE("modules: floating-point buffers follow the dtype of the inputs and are restored") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32}) {
    WithBuffers m;
    const Tensor scale = m.scale, shift = m.shift, order = m.order;
    const auto version = shift.storage()->version();
    const Report report = check::module(m, kernel::convert(kX, dtype));
    INFO(report);
    CHECK(report);
    CHECK(report.notes.empty());
    CHECK((m.scale.storage() == scale.storage() && m.shift.storage() == shift.storage() &&
           m.order.storage() == order.storage()));
    CHECK(shift.storage()->version() == version);
  }
  WithBuffers m;
  const Report ids_first =
      check::module(m, [&](const Tensors& in) { return index_select(m(in[1]), 0, in[0]); },
                    {indices({1, 1, 0}), kX}, {});
  INFO(ids_first);
  CHECK(ids_first);
}

TEST_CASE("modules: kinks and invalid inputs apply to inputs and not to parameters") {
  Inner m;
  int wrong_sizes = 0;
  const auto f = [&](const Tensors& in) {
    if (in.size() != 2) ++wrong_sizes;
    require(in.size() == 2 && in[0].numel() == 3, "of three numbers");
    return m(relu(in[0]) + in[1]);
  };
  const auto of = [&](std::size_t input) {
    Options options;
    options.kinks = {{.input = input, .at = 0.0, .share = 0.5}};
    options.refused = {{filled({1, 2}), filled({1, 2})}};
    return check::module(m, f, {filled({0.0, 1.0, -2.0}), filled({1.0, 2.0, 3.0})}, options);
  };
  const Report first = of(0);
  INFO(first);
  CHECK(first.verdict == Verdict::fail);  // the derivative of relu at 0 is not one half
  CHECK(first.inputs[1].wrong == 1);
  CHECK(wrong_sizes == 0);
  const Report second = of(1);
  INFO(second);
  CHECK(second);
  CHECK(has(second.text(), "a kink is declared for input 'input 1'"));
  Options takes_all;
  takes_all.refused = {{kX, kX}};
  const Report taken = check::module(m, f, {kX, filled({1.0, 2.0, 3.0})}, takes_all);
  CHECK(taken.verdict == Verdict::fail);
}

TEST_CASE("modules: a wrong op is reported if no other cause is found") {
  Options options;
  options.conditions = options.smallest = false;
  const auto causes = [&](double factor, double more) {
    Off m(factor, more);
    const Report report = check::module(m, kX, options);
    std::string all;
    for (const auto& input : report.inputs) all += input.name + ": " + input.cause.name + "\n";
    for (const std::string& note : report.notes)
      if (has(note, "off_square (node ")) all += "reported";
    return all;
  };
  CHECK(causes(1, 0) == "bias: \nscale: \ninput 0: \n");
  CHECK(causes(-1, 0) == "bias: \nscale: SIGN\ninput 0: \nreported");
  CHECK(causes(1, 0.25) == "bias: \nscale: WRONG OPERATION\ninput 0: \nreported");
  Inner m;
  const Report apart = check::module(
      m, [&](const Tensors& in) { return m(in[0].detach()); }, {kX}, options);
  CHECK(apart.verdict == Verdict::fail);
  CHECK(apart.inputs[0].cause.name.empty());
  CHECK(apart.inputs[1].cause.name == "NO GRADIENT");
}

TEST_CASE("modules: a wrong gradient is reported only for its parameter") {
  Off m(1.5, 0);
  const Report report = check::module(m, kX);
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(
      (report.inputs[0].wrong == 0 && report.inputs[1].wrong == 3 && report.inputs[2].wrong == 0));
  CHECK(has(report.text(), "d scale["));
}

TEST_CASE("modules: the tensors of a module are restored even if its forward throws") {
  Outer m;
  const Tensor weight = m.middle.first.weight, bias = m.bias;
  const auto same = [&] {
    CHECK(m.middle.first.weight.node() == weight.node());
    CHECK(m.bias.storage() == bias.storage());
    CHECK(!m.bias.grad().defined());
  };
  CHECK(check::module(m, kX));
  same();
  CHECK_THROWS_AS(check::module(m, filled({1, 2, 3, 4, 5})), ShapeError);
  same();
}

TEST_CASE("modules: tied parameters are one input of the check") {
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

}  // namespace conditions
}  // namespace gradus
