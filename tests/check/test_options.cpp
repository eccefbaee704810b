// What the tensor checker is told and given: options, kinks, large inputs; and what makes no sense,
// or does what no function may.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gradus/ops/activation.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus::conditions {
namespace {

const check::Vjp square_vjp = [](const Tensors& x, const Tensor& dy) {
  return Tensors{2.0 * x[0] * dy};
};

/// One line of it, without the breaks that the report makes.
std::string said(const Report& report) {
  std::string all;
  for (const auto& finding : report.findings) all += finding.note + "\n";
  for (const std::string& note : report.notes) all += note + "\n";
  return all;
}

Tensor at_kinks() { return tensor({-1.0, 0.0, 2.0, 0.0}, Dtype::f64); }

Report relu_with(double derivative_at_0, const Options& options) {
  const auto f = [](const Tensors& in) { return relu(in[0]); };
  const check::Vjp backward = [derivative_at_0](const Tensors& x, const Tensor& dy) {
    const Tensor at = equal(x[0], 0.0).to(dy.dtype());
    return Tensors{dy * (greater(x[0], 0.0).to(dy.dtype()) + at * derivative_at_0)};
  };
  return check::vjp("relu", f, backward, {at_kinks()}, options);
}

}  // namespace

TEST_CASE("kinks: without a declaration any value between the one-sided derivatives passes") {
  for (const double d : {0.0, 0.3, 1.0}) {
    const Report report = relu_with(d, {});
    INFO(report);
    CHECK(report);
    CHECK(report.inputs[0].kinks == 2);
    CHECK(has(said(report), "any value between"));
  }
  CHECK(relu_with(1.2, {}).verdict == Verdict::fail);
}

TEST_CASE("kinks: a declared one is held to its convention") {
  Options options;
  options.kinks = {{.input = 0, .at = 0.0, .share = 0.0}};  // the derivative from the left
  const Report right = relu_with(0, options);
  INFO(right);
  CHECK(right);
  CHECK(!has(said(right), "any value between"));
  for (const double d : {0.3, 1.0}) {
    const Report wrong = relu_with(d, options);
    CHECK(wrong.verdict == Verdict::fail);
    CHECK(wrong.inputs[0].wrong == 2);
    CHECK(has(said(wrong), "by the declared convention it is 0"));
  }
  options.kinks = {{.share = 0.5}};  // everywhere, half way
  CHECK(relu_with(0.5, options));
  CHECK(relu_with(0, options).verdict == Verdict::fail);
  // max of two equal numbers: each gets half, as amax does, or the first gets all.
  const auto largest = [](const Tensors& in) { return max(in[0], {0}); };
  CHECK(check::gradients("max", largest, {tensor({3.0, 3.0, 1.0}, Dtype::f64)}));
  options.kinks = {{.at = 1.0, .share = 0.5}};
  const Report none = relu_with(0.7, options);
  CHECK(none);
  CHECK(has(said(none), "a kink is declared for input 'x0', and none was met"));
  options.kinks = {{.input = 3}};
  CHECK(has(message_of<ValueError>([&] { relu_with(0, options); }),
            "a kink is declared for input 3, which is not differentiable"));
}

TEST_CASE("options: an upstream gradient of one's own") {
  Options options;
  options.conditions = false;
  // Wrong for one dy alone.
  const check::Vjp moody = [](const Tensors& x, const Tensor& dy) {
    const bool seven = dy.numel() > 0 && dy.contiguous().to_vector<double>()[0] == 7;
    return Tensors{(seven ? 3.0 : 2.0) * x[0] * dy};
  };
  CHECK(square_with(moody));
  options.upstream = values({3, 4}).clone();
  options.upstream.mutable_data<double>()[0] = 7;
  CHECK(square_with(moody, options).verdict == Verdict::fail);
  options.upstream = values({4, 3});
  const std::string message = message_of<ShapeError>([&] { square_with(square_vjp, options); });
  CHECK(has(message, "square: the upstream gradient is [4, 3] but the function returns [3, 4]"));
}

TEST_CASE("options: large inputs are sampled, and the report says what was") {
  const auto f = [](const Tensors& in) { return in[0] * in[0] * sum(in[1]); };
  const Tensors in = {reshape(arange(0, 3000, 1, Dtype::f64) * 1e-3 + 0.5, {60, 50}), values({3})};
  Options bare;
  bare.conditions = false;
  const Report report = check::gradients("large", f, in, bare);
  INFO(report);
  CHECK(report);
  CHECK(has(said(report), "the Jacobian was sampled: 16 of its 3000 rows, and 3 weighted sums"));
  CHECK(has(said(report),
            "64 of 3000 elements of input 'x0' were compared one by one, all of them "
            "along 3 directions"));
  CHECK(report.counts.forward < 800);
  // One element of 3000 has a wrong gradient, for one output.
  const check::Vjp wrong = [](const Tensors& x, const Tensor& dy) {
    Tensor dx = 2.0 * x[0] * dy * sum(x[1]);
    if (dx.numel() > 1717) dx.mutable_data<double>()[1717] *= 1.01;
    return Tensors{dx, expand(reshape(sum(dy * x[0] * x[0]), {1}), {3}) * 1.0};
  };
  const Report found = check::vjp("large", f, wrong, in, bare);
  INFO(found);
  CHECK(found.verdict == Verdict::fail);
  REQUIRE(!found.findings.empty());
  CHECK(found.findings[0].at == check::Shape{34, 17});
  Options sampled = bare;
  sampled.mode = check::Mode::projections;
  const Report few = check::gradients("small", square_of, {values({5, 20})}, sampled);
  CHECK(few);
  CHECK(has(said(few), "the Jacobian was sampled: 16 of its 100 rows"));
}

TEST_CASE("bad input: a function that throws, gives NaN, is random, or has nothing to compare") {
  const auto throws = [](const Tensors&) -> Tensor { throw std::runtime_error("out of cheese"); };
  CHECK(message_of<std::runtime_error>([&] { check::gradients("f", throws, {values({2})}); }) ==
        "out of cheese");
  const auto roots = [](const Tensors& in) { return sqrt(in[0]); };
  const Report nan = check::gradients("sqrt", roots, {tensor({4.0, -1.0}, Dtype::f64)});
  INFO(nan);
  CHECK(nan.verdict == Verdict::inconclusive);
  CHECK(has(said(nan), "forward gives nan at out[1]; no derivative can be measured there"));
  std::mt19937 own(1);
  const auto random = [&own](const Tensors& in) {
    return in[0] * std::uniform_real_distribution<>(0.5, 2)(own);
  };
  const Report random_report = check::gradients("random", random, {values({2})});
  CHECK(random_report.verdict == Verdict::inconclusive);
  CHECK(has(said(random_report), "different values for the same inputs: freeze its randomness"));
  const Report empty = check::gradients("empty", square_of, {zeros({0, 3}, Dtype::f64)});
  INFO(empty);
  CHECK(empty);
  CHECK(has(said(empty), "input 'x0' has no elements: nothing to compare"));
}

TEST_CASE("bad input: a function that changes its inputs, openly or behind the counter") {
  const auto openly = [](const Tensors& in) {
    Tensor x = in[0].detach();
    const Tensor y = in[0] * 2.0;
    x.fill_(1);
    return y;
  };
  const auto behind = [](const Tensors& in) {
    if (in[0].numel() > 1) const_cast<double*>(in[0].data<double>())[1] = 1;
    return in[0] * 2.0;
  };
  for (const check::Function& f : {check::Function(openly), check::Function(behind)}) {
    const Report report = check::gradients("writes", f, {values({3})});
    INFO(report);
    CHECK(report.verdict == Verdict::fail);
    CHECK(has(said(report), "forward writes to its input 'x0'"));
  }
}

TEST_CASE("bad input: a backward pass that writes to what it is given") {
  const auto writing = [](bool to_dy) {
    return square_with([to_dy](const Tensors& x, const Tensor& dy) {
      const Tensor dx = 2.0 * x[0] * dy;
      const_cast<double*>((to_dy ? dy : x[0]).data<double>())[0] += 1;
      return Tensors{dx};
    });
  };
  CHECK(has(said(writing(true)), "backward writes to its upstream gradient"));
  CHECK(has(said(writing(false)), "backward writes to the input 'x0'"));
  CHECK(writing(true).verdict == Verdict::fail);
  CHECK(writing(false).verdict == Verdict::fail);
}

TEST_CASE("bad input: a backward pass by hand that returns what does not fit") {
  const auto returns = [](const Tensors& dx) {
    const Report report = square_with([dx](const Tensors&, const Tensor&) { return dx; });
    CHECK(report.verdict == Verdict::fail);
    return said(report);
  };
  CHECK(has(returns({}), "vjp returns 0 gradients for 1 inputs: it must give one for each"));
  CHECK(has(returns({values({3, 4}), values({3, 4})}), "vjp returns 2 gradients for 1 inputs"));
  CHECK(has(returns({values({4, 3})}),
            "vjp returns f64 [4, 3] as the gradient of input 0, which is f64 [3, 4]"));
  CHECK(has(returns({values({3, 4}).to(Dtype::f32)}), "vjp returns f32 [3, 4]"));
  const Report nothing =
      square_with([](const Tensors&, const Tensor&) { return Tensors{Tensor()}; });
  CHECK(nothing.verdict == Verdict::fail);
  CHECK(nothing.inputs[0].cause.name == "NO GRADIENT");
  CHECK(has(said(square_with([](const Tensors&, const Tensor&) -> Tensors {
              throw std::runtime_error("out of cheese");
            })),
            "the derivative throws: out of cheese"));
  CHECK(has(message_of<ValueError>([] { check::vjp("f", square_of, check::Vjp(), {values({2})}); }),
            "its backward pass, is empty"));
}

TEST_CASE("second: of a backward pass by hand") {
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
}

TEST_CASE("options: a mode and a time are those of the comparison") {
  Options options;
  options.conditions = options.smallest = false;
  options.mode = check::Mode::projections;
  const Report few = check::gradients("square", square_of, {values({5, 4})}, options);
  CHECK(few);
  CHECK(has(said(few), "the Jacobian was sampled: 16 of its 20 rows"));
  options.mode = check::Mode::automatic;
  options.seconds = 1e-12;
  const Report none = check::gradients("square", square_of, {values({5, 4})}, options);
  CHECK(none.verdict == Verdict::inconclusive);
  CHECK(has(said(none), "a budget of 1e-12 s left no time for x0"));
}

TEST_CASE("options: random operations inside draw the seed's numbers") {
  const auto drawn = [](std::uint64_t seed) {
    Options options;
    options.conditions = options.smallest = false;
    options.seed = seed;
    std::vector<double> numbers;
    const auto f = [&numbers](const Tensors& in) {
      const Tensor noise = randn({3}, Dtype::f64);
      numbers = noise.to_vector<double>();
      return in[0] * noise;
    };
    CHECK(check::gradients("noisy", f, {values({3})}, options));
    return numbers;
  };
  CHECK(drawn(3) == drawn(3));
  CHECK(drawn(3) != drawn(4));
}

TEST_CASE("second: both random weights are the seed's") {
  struct Weights {
    double w, u;
    bool operator==(const Weights&) const = default;
  };
  const auto of = [](std::uint64_t seed) {
    Options options;
    options.conditions = options.smallest = false;
    options.seed = seed;
    std::vector<double> asked;
    // x², whose gradient is half constant in dy: by dy it is found to be 2 x u.
    const check::Vjp half = [&asked](const Tensors& x, const Tensor& dy) {
      asked.push_back(dy.item());
      return Tensors{x[0] * (dy + dy.detach())};
    };
    const Report r =
        check::second("square", square_of, half, {full({}, 0.75, Dtype::f64)}, options);
    REQUIRE(r.findings.size() == 1);
    CHECK(r.findings[0].input_name == "upstream");
    return Weights{asked.at(0), r.findings[0].numeric / 1.5};
  };
  const Weights three = of(3), four = of(4);
  CHECK(of(3) == three);
  CHECK(three.w != four.w);
  CHECK(three.u != Approx(four.u));
}

}  // namespace gradus::conditions
