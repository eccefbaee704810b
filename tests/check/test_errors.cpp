#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::conditions {
namespace {

using testing::fails, testing::passes, testing::undecided;

template <class E>
void rejected(const std::function<void()>& call, const std::string& word,
              const std::string& other = "") {
  const std::string message = message_of<E>(call);
  CAPTURE(message);
  CHECK(has(message, word));
  CHECK(has(message, other));
}

Tensor same(const Tensors& in) { return in[0] * 1.0; }

}  // namespace

TEST_CASE("errors: mismatched plain arrays throw BadInput") {
  const auto with = [](const std::vector<check::Input>& inputs, const check::RawOptions& o = {}) {
    const auto f = [](const check::Arguments& in) { return in[0]; };
    const auto df = [](const check::Arguments&, const check::Values& dy) {
      return check::Arguments{dy};
    };
    return [=] { raw_cases::run("f", {f, df}, inputs, o); };
  };
  rejected<check::BadInput>(with({{"x", {3}, {1, 2}}}), "'x'", "3 values, but 2");
  rejected<check::BadInput>(with({{"x", {-1, -2}, {1, 2}}}), "'x'", "[-1,-2]");
  rejected<check::BadInput>(with({{"x", {2}, {1, 2}, false}}), "differentiable");
  rejected<check::BadInput>(with({}), "differentiable");
  check::RawOptions shape, upstream;
  shape.output_shape = {3};
  upstream.upstream = {1};
  rejected<check::BadInput>(with({{"x", {2}, {1, 2}}}, shape), "output_shape [3]", "2 values");
  rejected<check::BadInput>(with({{"x", {2}, {1, 2}}}, upstream), "upstream gradient", "2");
  rejected<check::BadInput>([] { raw_cases::run("none", {}, {{"x", {1}, {1.0}}}); }, "empty");
}

TEST_CASE("errors: tensors that cannot be differentiated are rejected") {
  const auto with = [](const Tensors& in, const Options& options = {}) {
    return [=] { check::gradients("f", same, in, options); };
  };
  rejected<ValueError>(with({indices({1})}), "f", "differentiable");
  rejected<ValueError>(with({}), "f");
  rejected<ValueError>(with({Tensor()}), "f", "undefined");
  rejected<ValueError>([] { check::gradients(check::Function(), {values({1})}); }, "empty");
  rejected<ValueError>([] { check::vjp("f", same, check::Vjp(), {values({2})}); }, "empty");
  Options names, flags, upstream, kinks;
  names.names = {"a", "b"};
  rejected<ValueError>(with({values({1})}, names), "`names` has 2 entries");
  flags.differentiable = {true, true};
  rejected<ValueError>(with({values({1})}, flags), "differentiable", "2");
  rejected<DtypeError>(with({values({1}), indices({1})}, flags), "i64");
  upstream.upstream = values({4, 3});
  rejected<ShapeError>(with({values({3, 4})}, upstream), "[4, 3]", "[3, 4]");
  kinks.kinks = {{.input = 3}};
  rejected<ValueError>(with({values({3})}, kinks), "kink", "input 3");
}

TEST_CASE("errors: a function that returns no tensor or another dtype is rejected") {
  const auto with = [](const check::Function& f) {
    return [=] { check::gradients("rough", f, {values({2})}); };
  };
  rejected<DtypeError>(with([](const Tensors& in) { return in[0].to(Dtype::f32); }), "rough",
                       "f32");
  rejected<ValueError>(with([](const Tensors&) { return Tensor(); }), "rough");
  // Exceptions that the function throws at the given inputs propagate.
  rejected<ShapeError>(with([](const Tensors& in) { return in[0] + zeros({7}, Dtype::f64); }), "7");
  rejected<std::runtime_error>(
      with([](const Tensors&) -> Tensor { throw std::runtime_error("out of cheese"); }),
      "out of cheese");
}

TEST_CASE("errors: NaN and random results are inconclusive, and empty inputs pass") {
  const auto roots = [](const Tensors& in) { return sqrt(in[0]); };
  undecided(check::gradients("sqrt", roots, {tensor({4.0, -1.0}, Dtype::f64)}),
            "forward gives nan at out[1]");
  std::mt19937 own(1);
  const auto random = [&own](const Tensors& in) {
    return in[0] * std::uniform_real_distribution<>(0.5, 2)(own);
  };
  undecided(check::gradients("random", random, {values({2})}), "Fix the random seed");
  passes(check::gradients("empty", square_of, {zeros({0, 3}, Dtype::f64)}),
         "input 'x0' has no elements to compare");
}

TEST_CASE("errors: a function that writes to its inputs fails, even through const_cast") {
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
    fails(report, "forward writes to its input 'x0'");
  }
}

TEST_CASE("errors: a backward pass that writes to dy or to an input fails") {
  const auto writing = [](bool to_dy) {
    return square_with([to_dy](const Tensors& x, const Tensor& dy) {
      const Tensor dx = 2.0 * x[0] * dy;
      const_cast<double*>((to_dy ? dy : x[0]).data<double>())[0] += 1;
      return Tensors{dx};
    });
  };
  fails(writing(true), "backward writes to its upstream gradient");
  fails(writing(false), "backward writes to the input 'x0'");
}

TEST_CASE("errors: a manual backward pass with mismatched gradients fails") {
  const auto returns = [](const Tensors& dx) {
    return square_with([dx](const Tensors&, const Tensor&) { return dx; });
  };
  fails(returns({}), "vjp returns 0 gradients for 1 inputs");
  fails(returns({values({3, 4}), values({3, 4})}), "vjp returns 2 gradients for 1 inputs");
  fails(returns({values({4, 3})}), "vjp returns f64 [4, 3] as the gradient of input 0");
  fails(returns({values({3, 4}).to(Dtype::f32)}), "vjp returns f32 [3, 4]");
  const Report nothing = returns({Tensor()});
  fails(nothing);
  CHECK(nothing.inputs[0].cause.name == "NO GRADIENT");
  fails(square_with([](const Tensors&, const Tensor&) -> Tensors {
          throw std::runtime_error("out of cheese");
        }),
        "the derivative throws: out of cheese");
}

}  // namespace gradus::conditions
