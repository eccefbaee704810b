// Options of check::gradients and check::vjp do what their names say.
#include <string>
#include <vector>

#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
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

TEST_CASE("options: without a declared kink any value between the one-sided derivatives passes") {
  for (const double d : {0.0, 0.3, 1.0}) {
    const Report report = relu_with(d, {});
    INFO(report);
    CHECK(report);
    CHECK(report.inputs[0].kinks == 2);
    CHECK(has(said(report), "any value between"));
  }
  CHECK(relu_with(1.2, {}).verdict == Verdict::fail);
}

TEST_CASE("options: a declared kink is held to its convention") {
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

TEST_CASE("options: an upstream gradient of the caller's is used too") {
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

TEST_CASE("options: large inputs are sampled, and a fault of one element is found all the same") {
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

TEST_CASE("options: a mode and a budget of time reach the comparison") {
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

TEST_CASE("options: random operations draw the numbers of the seed") {
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

}  // namespace gradus::conditions
