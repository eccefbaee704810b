// What a function sees while gradients meet: what .grad holds, which inputs are one tensor, which
// of them want a gradient; and second derivatives by their formula.
#include <set>

#include "gradus/check/condition.h"
#include "gradus/engine/node.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus::conditions {
namespace {

double largest(const Tensor& x) {
  double most = 0;
  for (const double v : check::numbers(x)) most = std::max(most, std::abs(v));
  return most;
}

/// A product of all inputs that are floats.
Tensor product(const Tensors& in) {
  Tensor y = in[0] * 1.0;
  for (std::size_t k = 1; k < in.size(); ++k) y = y * in[k];
  return y;
}

using Pairs = std::set<std::pair<std::size_t, std::size_t>>;

/// The inputs that are one leaf, in some call.
Pairs pairs_of(const Tensors& x, const std::vector<bool>& differentiable) {
  Pairs seen;
  const auto f = [&](const Tensors& in) {
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t j = i + 1; j < in.size(); ++j)
        if (in[i].node() && in[i].node() == in[j].node()) seen.insert({i, j});
    for (std::size_t k = 0; k < in.size(); ++k)
      if (!differentiable[k]) CHECK(!in[k].requires_grad());
    return sum(in[0]) * product({in.begin() + 1, in.end()});
  };
  Options options;
  options.differentiable = differentiable;
  const Report report = check::gradients(f, x, options);
  INFO(report);
  CHECK(report);
  return seen;
}

}  // namespace

TEST_CASE("meeting: what .grad holds before is of the gradient's own size, but another") {
  for (const double size : {1e-6, 1.0, 300.0, 0.0}) {
    double least = HUGE_VAL, most = 0;
    const auto f = [&](const Tensors& in) {
      if (in[0].grad().defined()) {
        most = std::max(most, largest(in[0].grad()));
        for (const double v : check::numbers(in[0].grad())) least = std::min(least, std::abs(v));
      }
      return sum(in[0]) * size;
    };
    CAPTURE(size);
    CHECK(check::gradients(f, {values({5})}));
    const double dy = largest(check::other_numbers(zeros({}, Dtype::f64), 0x5eed + 100));
    const double unit = size == 0 ? 1 : dy * size;
    CHECK((least >= 1.5 * unit * (1 - 1e-9) && most < 2.5 * unit));
  }
}

TEST_CASE("meeting: of wanted inputs of one shape three pairs are tried as one tensor") {
  const Tensor a = values({3}), b = values({3}, 1), c = values({3}, 2), d = values({3}, 3);
  CHECK(pairs_of({values({2}), a}, {true, true}).empty());
  CHECK(pairs_of({a, b}, {true, true}) == Pairs{{0, 1}});
  CHECK(pairs_of({a, b, c}, {true, true, true}) == Pairs{{0, 1}, {0, 2}, {1, 2}});
  CHECK(pairs_of({a, b, c, d}, {true, true, true, true}) == Pairs{{0, 1}, {0, 2}, {0, 3}});
  CHECK(pairs_of({a, b, c, d}, {false, true, true, true}) == Pairs{{1, 2}, {1, 3}, {2, 3}});
  CHECK(pairs_of({a, b, c}, {true, false, true}) == Pairs{{0, 2}});
}

TEST_CASE("meeting: findings stand in the order of inputs") {
  Options options;
  options.smallest = false;
  options.dtype = Dtype::f32;
  const check::Vjp backward = [](const Tensors& x, const Tensor& dy) {
    const bool first = !x[0].is_contiguous() || x[0].dtype() == Dtype::f32;
    const bool second = !dy.is_contiguous();
    return Tensors{dy * x[1] * (first ? 1.5 : 1.0), dy * x[0] * (second ? 1.5 : 1.0)};
  };
  const Report report =
      check::vjp("product", product, backward, {values({2, 3}), values({2, 3}, 1)}, options);
  INFO(report);
  std::vector<std::size_t> order;
  for (const auto& finding : report.findings) order.push_back(finding.input);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(order.size() >= 3);
  CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == 2);
}

TEST_CASE("the smallest inputs: five are told, of failures alone") {
  for (const std::size_t count : {1U, 5U, 6U, 7U}) {
    const check::Vjp none = [](const Tensors& x, const Tensor& dy) {
      Tensors dx;
      for (const Tensor& each : x) dx.push_back(dy * each * 0.0);
      return dx;
    };
    Options options;
    options.conditions = false;
    const Report report =
        check::vjp("product", product, none, Tensors(count, full({2}, 2.0, Dtype::f64)), options);
    const auto commas = std::count(
        report.smallest.begin(),
        report.smallest.begin() + static_cast<std::ptrdiff_t>(report.smallest.find(':')), ',');
    CAPTURE(count, report.smallest);
    CHECK(has(report.smallest, " …: ") == (count > 5));
    CHECK(commas == static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, 5)) - 1);
  }
  const auto edge = [](const Tensors& in) { return sqrt(in[0]); };
  const Report unseen = check::gradients(edge, {tensor({4.0, 0.0}, Dtype::f64)});
  INFO(unseen);
  CHECK(unseen.verdict == Verdict::inconclusive);
  CHECK(unseen.smallest.empty());
}

TEST_CASE("second derivatives: the numbers are those of the formula, of either sign") {
  const Tensor x = values({4});
  const auto cube = [](const Tensors& in) { return in[0] * in[0] * in[0]; };
  const check::Vjp off = [](const Tensors& in, const Tensor& dy) {
    return Tensors{dy * 3.0 * in[0] * in[0].detach()};
  };
  Options options;
  options.dtype = Dtype::f32;
  const Report report = check::second("cube", cube, off, {x}, options);
  INFO(report);
  REQUIRE(report.verdict == Verdict::fail);
  CHECK(report.smallest.empty());
  const check::Finding& finding = report.findings[0];
  REQUIRE(finding.at.size() == 1);
  const auto j = static_cast<std::size_t>(finding.at[0]);
  const double u = check::numbers(check::other_numbers(x, options.seed + 7))[j];
  const double w = check::numbers(check::other_numbers(x, options.seed + 6))[j];
  CHECK(finding.numeric == Approx(6 * u * w * check::numbers(x)[j]));
  CHECK(finding.analytic == Approx(finding.numeric / 2));
}

TEST_CASE("second derivatives: terms that cancel pass at any size of inputs and outputs") {
  for (const double in : {1e-6, 1e-3, 1.0, 1e3, 0.0})
    for (const double out : {1e-6, 1.0, 1e6}) {
      CAPTURE(in, out);
      const Report report = check::second(
          "softmax", [out](const Tensors& x) { return softmax(x[0] * 1.0, -1) * out; },
          {full({3, 1}, in, Dtype::f64)});
      INFO(report);
      CHECK(report);
    }
}

TEST_CASE("second derivatives in f32 are those in f64") {
  const auto conditions = [](std::optional<Dtype> dtype) {
    Options options;
    options.dtype = dtype;
    const auto square = [](const Tensors& in) { return in[0] * in[0]; };
    return check::second("square", square, {values({3})}, options).counts.conditions;
  };
  CHECK(conditions(Dtype::f32) == conditions(Dtype::f64));
}

}  // namespace gradus::conditions
