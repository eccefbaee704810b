// Gradients that are right as they stand and break when something else runs: other inputs that want
// one, dirty memory, no recording, another dy, f32. And the smallest inputs that fail.
#include <cmath>
#include <string>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/check/conditions.h"

namespace gradus {
namespace conditions {

TEST_CASE("conditions: one tensor for two inputs") {
  const check::Vjp careless_product = [](const Tensors& x, const Tensor& dy) {
    const bool one = x[0].storage() == x[1].storage();
    return Tensors{dy * x[1], one ? Tensor() : dy * x[0]};
  };
  const Report report = check::vjp("mul", [](const Tensors& in) { return in[0] * in[1]; },
                                   careless_product, {values({2, 3}), values({2, 3}, 1)});
  caught(report, "SAME INPUT TWICE");
}

}  // namespace conditions

namespace op {

/// y = a b, with a short cut that is wrong where only b wants a gradient.
struct HastyMul final : Op {
  Saved a, b;
  const char* name() const override { return "hasty_mul"; }
  Tensor forward(const Tensor& x, const Tensor& z) {
    a = x, b = z;
    return (x.detach() * z.detach()).detach();
  }
  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    const Tensor da = dy * b.value();
    return {da, wants(0) ? dy * a.value() : dy};
  }
};

/// y = 2 x into a buffer of which the last number is left as it was.
struct Unfinished final : Op {
  bool forward_too = false;
  static Tensor twice(const Tensor& x, bool all) {
    const Tensor from = x.contiguous();
    Tensor y = Tensor::empty_like(from);
    const auto n = static_cast<std::size_t>(from.numel());
    double* out = y.mutable_data<double>();
    const bool written = all || std::isnan(out[n - 1]);
    for (std::size_t i = 0; i < n; ++i) out[i] = 2 * from.data<double>()[i];
    if (!all && written) out[n - 1] = std::nan("");
    return y;
  }
  const char* name() const override { return "unfinished"; }
  Tensor forward(const Tensor& x) { return twice(x, !forward_too); }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {twice(dy, forward_too)}; }
};

}  // namespace op

namespace conditions {

TEST_CASE("conditions: only some inputs want a gradient") {
  const Report report = check::gradients(
      "hasty", [](const Tensors& in) { return apply(op::HastyMul{}, in[0], in[1]); },
      {values({2, 3}), values({2, 3}, 1)});
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(report.inputs[1].wrong == 0);
  CHECK(report.inputs[1].cause.name == "WANTS");
  CHECK(has(report.text(), "when only x1 wants a gradient"));
}

TEST_CASE("conditions: results that are never written") {
  for (const bool forward_too : {false, true}) {
    op::Unfinished unfinished;
    unfinished.forward_too = forward_too;
    const Report report = check::gradients(
        "unfinished", [=](const Tensors& in) { return apply(op::Unfinished(unfinished), in[0]); },
        {values({2, 3})});
    caught(report, "NEVER WRITTEN");
  }
}

TEST_CASE("conditions: poisoned memory stays poisoned where it was") {
  for (const bool before : {false, true, false}) {
    memory::set_poison(before);
    CHECK(check::gradients([](const Tensors& in) { return in[0] * 2.0; }, {values({3})}));
    Tensor next = Tensor::empty({5}, Dtype::f64).fill_(1);
    next = Tensor();  // its block is the next one's
    next = Tensor::empty({5}, Dtype::f64);
    CHECK(std::isnan(next.to_vector<double>()[4]) == before);
  }
  memory::set_poison(false);
}

TEST_CASE("conditions: a forward that is another one when nothing is recorded") {
  const Report report = check::gradients(
      "moody", [](const Tensors& in) { return in[0] * (in[0].requires_grad() ? 2.0 : 2.0 + 1e-9); },
      {values({3})});
  caught(report, "TWO FORWARDS");
}

TEST_CASE("conditions: a backward that is not additive in dy") {
  const Report report = square_with([](const Tensors& x, const Tensor& dy) {
    const double share = 0.1 * max(abs(dy)).item();  // drops what is small beside the largest
    return Tensors{2.0 * x[0] * dy * greater(abs(dy), share).to(Dtype::f64)};
  });
  caught(report, "NOT LINEAR");
}

TEST_CASE("conditions: a backward that writes to the output of forward") {
  Tensor y;
  const Report report = check::vjp(
      "exp",
      [&y](const Tensors& in) {
        y = exp(in[0]);
        return y;
      },
      [](const Tensors& x, const Tensor& dy) { return Tensors{dy * exp(x[0])}; }, {values({3})});
  CHECK(report);
  const Report bad = check::vjp(
      "exp",
      [&y](const Tensors& in) {
        y = exp(in[0]);
        return y;
      },
      [&y](const Tensors& x, const Tensor& dy) {
        const Tensor dx = dy * exp(x[0]);
        const_cast<double*>(y.data<double>())[0] = 7;
        return Tensors{dx};
      },
      {values({3})});
  caught(bad, "WRITES TO ITS OUTPUT");
}

TEST_CASE("conditions: inputs that must be refused, recorded or not") {
  const auto strict = [](const Tensors& in) {
    require<ShapeError>(in[0].size(0) == 3 || !in[0].requires_grad(), "three rows are wanted");
    return in[0] * 2.0;
  };
  Options options;
  options.refused = {{values({2}).requires_grad_()}};
  const Report lax = check::gradients("strict", strict, {values({3})}, options);
  INFO(lax);
  CHECK(lax.inputs[0].cause.name == "");  // it tests for a leaf, which both calls get
  options.refused = {{values({3})}};
  caught(check::gradients("strict", strict, {values({3})}, options), "ERRORS");
  const auto recorded_only = [](const Tensors& in) {
    const Tensor y = in[0] * 2.0;
    require<ShapeError>(in[0].size(0) == 3 || !GradMode::enabled(), "three rows are wanted");
    return y;
  };
  options.refused = {{values({2})}};
  const Report report = check::gradients("strict", recorded_only, {values({3})}, options);
  caught(report, "ERRORS");
  CHECK(has(report.text(), "three rows are wanted"));
  const auto always = [](const Tensors& in) {
    require<ShapeError>(in[0].size(0) == 3, "three rows are wanted");
    return in[0] * 2.0;
  };
  CHECK(check::gradients("strict", always, {values({3})}, options));
}

TEST_CASE("conditions: f32 is held to the roundings it may have") {
  const auto rough = [](double off) {
    return [off](const Tensors& in) {
      const Tensor y = exp(in[0]) * in[1];
      return in[0].dtype() == Dtype::f32 ? y * (1.0 + off) : y;
    };
  };
  const Tensors in = {values({3, 4}).to(Dtype::f32), values({4}, 1).to(Dtype::f32)};
  CHECK(check::gradients("fine", rough(0), in));
  const Report report = check::gradients("rough", rough(1e-4), in);
  caught(report, "PRECISION");
  Tensor off = ones({3, 4});
  off.mutable_data<float>()[9] = 1.001f;
  const auto at_one = [&](const Tensors& x) {
    return x[0].dtype() == Dtype::f32 ? x[0] * x[1] * off : x[0] * x[1];
  };
  Options whole;
  whole.smallest = false;  // `off` fits no others
  const Report one = check::gradients("one", at_one, in, whole);
  INFO(one);
  CHECK(has(one.text(), "in f32: dx0[2,1]"));
  Options options;
  options.dtype = Dtype::f64;
  CHECK(check::gradients("rough", rough(1e-4), in, options));
  // f64 inputs are checked in f32 where that is asked for.
  const Tensors wide = {values({3, 4}), values({4}, 1)};
  CHECK(check::gradients("rough", rough(1e-4), wide));
  options.dtype = Dtype::f32;
  CHECK(check::gradients("rough", rough(1e-4), wide, options).verdict == Verdict::fail);
}

TEST_CASE("conditions: a function that has no f32") {
  const Tensor other = values({3});
  const auto f = [&](const Tensors& in) { return in[0] * other; };
  const Report noted = check::gradients("fixed", f, {values({3}).to(Dtype::f32)});
  INFO(noted);
  CHECK(noted);
  CHECK(has(noted.text(), "not checked in f32, where it throws"));
  Options options;
  options.dtype = Dtype::f32;
  const Report report = check::gradients("fixed", f, {values({3})}, options);
  caught(report, "PRECISION");
  const Report large = check::gradients(
      "large", [](const Tensors& in) { return in[0] * 1e35; }, {values({3})}, options);
  CHECK(large);
  CHECK(has(large.text(), "too large for it"));
}

TEST_CASE("conditions: the smallest inputs that fail too") {
  const auto f = [](const Tensors& in) { return softmax(in[0]); };
  const check::Vjp no_dot = [](const Tensors& x, const Tensor& dy) {
    return Tensors{dy * softmax(x[0])};
  };
  const Report report = check::vjp("softmax", f, no_dot, {values({3, 5, 7})});
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.smallest, "x0 [1,1,1]"));
  // Where each size asks for another, all of them shrink together.
  const check::Vjp by_rows = [](const Tensors& x, const Tensor& dy) {
    const Tensor da = matmul(dy, transpose(x[1], 0, 1));
    return Tensors{da, matmul(transpose(x[0], 0, 1), dy) * (x[0].size(0) > 2 ? 2.0 : 1.0)};
  };
  const Report product =
      check::vjp("matmul", [](const Tensors& in) { return matmul(in[0], in[1]); }, by_rows,
                 {values({7, 5}), values({5, 6}, 1)});
  INFO(product);
  CHECK(has(product.smallest, "x0 [3,1], x1 [1,1]: d out["));
  CHECK(has(product.smallest, "/ d x1[0,0]"));
  Options given, options;
  given.upstream = values({3, 5, 7}, 2);  // which fits no smaller ones
  CHECK(has(check::vjp("softmax", f, no_dot, {values({3, 5, 7})}, given).smallest, "[1,1,1]"));
  options.smallest = false;
  CHECK(check::vjp("softmax", f, no_dot, {values({3, 5})}, options).smallest.empty());
}

}  // namespace conditions
}  // namespace gradus
