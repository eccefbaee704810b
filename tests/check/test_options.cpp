#include <string>
#include <vector>

#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::conditions {
namespace {

using testing::fails, testing::passes, testing::undecided;

}  // namespace

TEST_CASE("options: a declared kink must follow its convention, and others are reported") {
  const auto relu_with = [](const std::vector<check::Kink>& kinks) {
    Options options;
    options.kinks = kinks;
    return check::gradients(
        "relu", [](const Tensors& in) { return relu(in[0]); },
        {tensor({-1.0, 0.0, 2.0, 0.0}, Dtype::f64)}, options);
  };
  passes(relu_with({}), "any value between the one-sided derivatives");
  CHECK(relu_with({}).inputs[0].kinks == 2);
  passes(relu_with({{.input = 0, .at = 0.0, .share = 0}}));
  const Report half = relu_with({{.share = 0.5}});
  fails(half, "the declared convention gives 0.5");
  CHECK(half.inputs[0].wrong == 2);
  passes(relu_with({{.at = 1.0, .share = 0.5}}), "declared for input 'x0', but none was found");
  // At a tie, each of two equal values may receive half of the gradient, or the first may receive
  // all of it.
  const auto largest = [](const Tensors& in) { return max(in[0], {0}); };
  passes(check::gradients("max", largest, {tensor({3.0, 3.0, 1.0}, Dtype::f64)}));
}

TEST_CASE("options: the caller's upstream gradient is also checked") {
  Options options;
  options.conditions = false;
  const check::Vjp moody = [](const Tensors& x, const Tensor& dy) {
    const bool seven = dy.numel() > 0 && dy.contiguous().to_vector<double>()[0] == 7;
    return Tensors{(seven ? 3.0 : 2.0) * x[0] * dy};
  };
  CHECK(square_with(moody));
  options.upstream = values({3, 4}).clone();
  options.upstream.mutable_data<double>()[0] = 7;
  CHECK(square_with(moody, options).verdict == Verdict::fail);
}

TEST_CASE("options: large inputs are sampled, and an error in one element is still found") {
  const auto f = [](const Tensors& in) { return in[0] * in[0] * sum(in[1]); };
  const Tensors in = {reshape(arange(0, 3000, 1, Dtype::f64) * 1e-3 + 0.5, {60, 50}), values({3})};
  Options bare;
  bare.conditions = false;
  const Report report = check::gradients("large", f, in, bare);
  passes(report, "of its 3000 rows");
  passes(report, "of 3000 elements of input 'x0' were compared one by one");
  CHECK(report.counts.forward < 800);
  const check::Vjp wrong = [](const Tensors& x, const Tensor& dy) {
    Tensor dx = 2.0 * x[0] * dy * sum(x[1]);
    if (dx.numel() > 1717) dx.mutable_data<double>()[1717] *= 1.01;
    return Tensors{dx, expand(reshape(sum(dy * x[0] * x[0]), {1}), {3}) * 1.0};
  };
  const Report found = check::vjp("large", f, wrong, in, bare);
  INFO(found);
  CHECK(found.verdict == Verdict::fail);
  REQUIRE(!found.findings.empty());
  CHECK(found.findings[0].at == check::Dims{34, 17});
}

TEST_CASE("options: the mode and the time budget apply to the comparison") {
  Options options;
  options.conditions = options.smallest = false;
  options.mode = check::Mode::projections;
  passes(check::gradients("square", square_of, {values({5, 4})}, options), "of its 20 rows");
  options.mode = check::Mode::automatic;
  options.seconds = 1e-12;
  undecided(check::gradients("square", square_of, {values({5, 4})}, options),
            "left no time for x0");
}

TEST_CASE("options: random ops draw numbers from the given seed") {
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
