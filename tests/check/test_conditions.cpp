// Tests that each condition detects a fault that no other condition detects.
#include <cmath>
#include <functional>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus {

namespace op {

/// Computes a wrong gradient in the second node that uses a leaf.
struct Jealous final : Op {
  static inline std::uint64_t latest = 0;  // id of the last leaf
  Saved x;
  double factor = 2;
  const char* name() const override { return "jealous"; }
  Tensor forward(const Tensor& input) {
    const std::uint64_t leaf = input.node() ? input.node()->id : 0;
    factor = leaf != 0 && leaf == latest ? 3 : 2;
    latest = leaf;
    x = input;
    const Tensor t = input.detach();
    return (t * t).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {dy * factor * x.value()};
  }
};

/// Saves its input for all nodes together.
struct Leaky final : Op {
  static inline Tensor last;
  const char* name() const override { return "leaky"; }
  Tensor forward(const Tensor& input) {
    last = input.detach();
    return (last * last).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * 2.0 * last}; }
};

/// The second backward pass overwrites the gradient that the first one returned.
struct Rewriting final : Op {
  Saved x;
  Tensor first;
  const char* name() const override { return "rewriting"; }
  Tensor forward(const Tensor& input) {
    x = input;
    const Tensor t = input.detach();
    return (t * t).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    Tensor dx = dy * 2.0 * x.value();
    if (first.defined()) first.fill_(0);
    return {first = dx};
  }
};

/// The backward pass is wrong if exactly `wrong_for` inputs need a gradient.
struct Product final : Op {
  Saved a, b, c;
  int wrong_for = 0;
  const char* name() const override { return "product"; }
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) {
    a = x, b = y, c = z;
    return (x.detach() * y.detach() * z.detach()).detach();
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const double factor = needs_grad(0) + needs_grad(1) + needs_grad(2) == wrong_for ? 1.5 : 1.0;
    const Tensor x = a.value(), y = b.value(), z = c.value(), d = dy * factor;
    return {d * y * z, d * x * z, d * x * y};
  }
};

/// Backward never writes the last element, which is NaN if memory is poisoned, and otherwise
/// correct by chance.
struct Unfinished final : Op {
  const char* name() const override { return "unfinished"; }
  Tensor forward(const Tensor& x) {
    Tensor y = (x.detach() * 2.0).contiguous().clone();
    const bool poisoned = memory::set_poison(false);
    memory::set_poison(poisoned);
    if (poisoned) y.mutable_data<double>()[y.numel() - 1] = std::nan("");
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy * 2.0}; }
};

}  // namespace op

namespace conditions {
namespace {

void found_by(const Report& report, const std::string& words, const std::string& cause = "") {
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(!report.findings.empty());
  for (const check::Finding& finding : report.findings) CHECK(has(finding.note, words));
  if (!cause.empty()) CHECK(report.inputs[0].cause.name == cause);
}

Options plain() {
  Options options;
  options.smallest = false;
  return options;
}

std::string layout_of(const Tensor& x) {
  const std::int64_t i = x.strides()[0], j = x.strides()[1];
  if (i == 0 && j == 0) return "one number";
  if (i == 0) return "one row";
  if (j == 0) return "one column";
  if (i == 1) return "transposed";
  if (j == 2) return "every second";
  return x.offset() > 0 ? "slice" : "whole";
}

Report square_wrong_for(const std::string& layout, bool of_dy) {
  return square_with(
      [&](const Tensors& x, const Tensor& dy) {
        const bool wrong = layout_of(of_dy ? dy : x[0]) == layout;
        return Tensors{2.0 * x[0] * dy * (wrong ? 1.5 : 1.0)};
      },
      plain());
}

TEST_CASE("conditions: each layout of an input and of dy is tried") {
  const auto input = [](const std::string& layout, const std::string& words) {
    found_by(square_wrong_for(layout, false), "for " + words, "LAYOUT");
  };
  input("transposed", "transposed inputs");
  input("every second", "inputs of every second element in memory");
  input("slice", "inputs that are slices of larger ones");
  input("one row", "inputs that expand() repeats");
  const auto upstream = [](const std::string& layout, const std::string& words) {
    found_by(square_wrong_for(layout, true), words, "UPSTREAM LAYOUT");
  };
  upstream("transposed", "for a transposed upstream gradient");
  upstream("every second", "for an upstream gradient of every second element in memory");
  upstream("slice", "that is a slice of a larger one");
  upstream("one number", "of one repeated value, as from sum()");
  upstream("one row", "repeated along axis 0");
  upstream("one column", "repeated along axis 1");
  CHECK(square_wrong_for("none", true).verdict == Verdict::pass);
}

TEST_CASE("conditions: different outputs in two runs are reported as NOT DETERMINISTIC") {
  int runs = 0;
  const auto f = [&](const Tensors& in) {
    runs += in[0].requires_grad();
    return in[0] * in[0] + (in[0].requires_grad() && runs % 2 == 0 ? 0.5 : 0.0);
  };
  const Report report = check::gradients("alternating", f, {values({3})}, plain());
  INFO(report);
  REQUIRE(!report.findings.empty());
  CHECK(has(report.findings[0].note, "in a second run"));
  CHECK(report.inputs[0].cause.name == "NOT DETERMINISTIC");
}

TEST_CASE("conditions: a gradient with two faults is reported with two causes") {
  const Report report = square_with(
      [](const Tensors& x, const Tensor& dy) {
        const bool wrong = layout_of(x[0]) == "transposed" || layout_of(dy) == "one row";
        return Tensors{2.0 * x[0] * dy * (wrong ? 1.5 : 1.0)};
      },
      plain());
  INFO(report);
  REQUIRE(report.findings.size() == 2);
  CHECK(has(report.findings[0].note, "for transposed inputs"));
  CHECK(has(report.findings[1].note, "repeated along axis 0"));
}

TEST_CASE(
    "conditions: gradients must be correct for each single input and for all inputs but one") {
  const auto wrong_for = [](int count) {
    return check::gradients(
        "product",
        [count](const Tensors& in) {
          op::Product product;
          product.wrong_for = count;
          return apply(std::move(product), in[0], in[1], in[2]);
        },
        {values({3}), values({3}, 1), values({3}, 2)}, plain());
  };
  found_by(wrong_for(1), "when only x0 requires a gradient");
  found_by(wrong_for(2), "when x0 requires no gradient");
  CHECK(wrong_for(0).verdict == Verdict::pass);
  CHECK(wrong_for(1).inputs[0].cause.name == "WANTS");
}

TEST_CASE("conditions: a wrong gradient of a non-leaf that is also used elsewhere fails") {
  const auto f = [](const Tensors& in) {
    const bool inner = in[0].node() && !in[0].is_leaf();
    return in[0] * in[0] * (inner ? 1.5 : 1.0);
  };
  found_by(check::gradients("square", f, {values({3})}, plain()), "with x also used outside f",
           "ACCUMULATION");
}

TEST_CASE("conditions: a second backward pass must not write to the gradients of the first") {
  found_by(check::gradients(
               "rewriting", [](const Tensors& in) { return apply(op::Rewriting{}, in[0]); },
               {values({3})}, plain()),
           "in the gradients of the first backward pass after a second one");
}

TEST_CASE("conditions: a function that is wrong only when used twice in a graph fails") {
  found_by(check::gradients(
               "jealous", [](const Tensors& in) { return apply(op::Jealous{}, in[0]); },
               {values({3})}, plain()),
           "for the sum of f(x) and 2 f(x)");
}

TEST_CASE("conditions: correct gradients pass all conditions, and the report counts them") {
  const auto passes = [](const std::string& name, const check::Function& f, const Tensors& in) {
    const Report report = check::gradients(name, f, in);
    INFO(report);
    CHECK(report);
    CHECK(report.counts.conditions > 12);
    Options bare;
    bare.conditions = false;
    const Report few = check::gradients(name, f, in, bare);
    CHECK(few);
    CHECK(few.counts.conditions == 0);
  };
  passes("softmax", [](const Tensors& in) { return softmax(in[0]); }, {values({3, 5})});
  passes("layer_norm", [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
         {values({2, 5}), values({5}, 1), values({5}, 2)});
  passes("matmul", [](const Tensors& in) { return matmul(in[0], in[1]); },
         {values({3, 3}), values({3, 3}, 1)});
  passes("attention",
         [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
         {values({1, 2, 3, 2}), values({1, 2, 3, 2}, 1), values({1, 2, 3, 2}, 2)});
  passes("dropout", [](const Tensors& in) { return dropout(in[0], 0.5); }, {values({4, 5})});
  passes("a view of its input", [](const Tensors& in) { return transpose(in[0], 0, 1); },
         {values({3, 4})});
  passes("itself", [](const Tensors& in) { return in[0]; }, {values({3})});
  passes("one number", [](const Tensors& in) { return exp(in[0]); }, {values({})});
}

TEST_CASE("conditions: a forward that reads its input as if it were row-major fails") {
  const Report report = check::vjp(
      "square",
      [](const Tensors& in) {
        const Tensor x = careless(in[0]);
        return x * x;
      },
      [](const Tensors& x, const Tensor& dy) { return Tensors{2.0 * x[0] * dy}; },
      {values({3, 4})});
  caught(report, "LAYOUT");
  CHECK(has(report.text(), "out["));
}

TEST_CASE("conditions: an exception for other strides is reported with its message") {
  const Report report = square_with([](const Tensors& x, const Tensor& dy) {
    require(dy.is_contiguous(), "this kernel requires rows");
    return Tensors{2.0 * x[0] * dy};
  });
  caught(report, "UPSTREAM LAYOUT");
  CHECK(testing::says(report, "the function throws: this kernel requires rows"));
}

TEST_CASE("conditions: a write outside a slice fails") {
  const auto write_outside = [](const Tensor& t) {
    if (t.offset() > 0) const_cast<double*>(t.data<double>())[-1] = 1;
  };
  for (const bool to_dy : {false, true})
    caught(square_with([&](const Tensors& x, const Tensor& dy) {
             write_outside(to_dy ? dy : x[0]);
             return Tensors{2.0 * x[0] * dy};
           }),
           "WRITES OUTSIDE");
}

TEST_CASE("conditions: an op that writes to .grad fails") {
  Tensor* leaf = nullptr;
  const auto f = [&leaf](const Tensors& in) {
    static thread_local Tensor last;
    last = in[0];
    leaf = &last;
    const Tensor y = in[0] * in[0];
    if (y.requires_grad())
      y.register_hook([&leaf](const Tensor& dy) {
        if (leaf->grad().defined()) leaf->set_grad(Tensor());
        return dy;
      });
    return y;
  };
  caught(check::gradients("square", f, {values({3})}), "ACCUMULATION");
}

TEST_CASE(
    "conditions: a function may reject a tensor that is not a leaf, or one tensor for two inputs") {
  const auto strict = [](const Tensors& in) {
    for (const Tensor& x : in) require(x.is_leaf(), "leaves only");
    require(in[0].node() != in[1].node() || !in[0].node(), "two tensors, please");
    return in[0] * in[1];
  };
  const Report report = check::gradients("strict", strict, {values({3}), values({3}, 1)});
  INFO(report);
  CHECK(report);
}

TEST_CASE("conditions: an output that is not fully written fails") {
  const auto f = [](const Tensors& in) { return apply(op::Unfinished{}, in[0]); };
  caught(check::gradients("unfinished", f, {values({2, 3})}), "NEVER WRITTEN");
}

TEST_CASE("conditions: memory poisoning is restored to its previous state") {
  for (const bool before : {false, true, false}) {
    memory::set_poison(before);
    CHECK(check::gradients([](const Tensors& in) { return in[0] * 2.0; }, {values({3})}));
    Tensor next = Tensor::empty({5}, Dtype::f64).fill_(1);
    next = Tensor();
    next = Tensor::empty({5}, Dtype::f64);
    CHECK(std::isnan(next.to_vector<double>()[4]) == before);
  }
  memory::set_poison(false);
}

TEST_CASE("conditions: a forward that differs under NoGrad fails") {
  const Report report = check::gradients(
      "moody", [](const Tensors& in) { return in[0] * (in[0].requires_grad() ? 2.0 : 2.0 + 1e-9); },
      {values({3})});
  caught(report, "TWO FORWARDS");
}

TEST_CASE("conditions: state of forward that the next call overwrites fails") {
  found_by(check::gradients(
               "leaky", [](const Tensors& in) { return apply(op::Leaky{}, in[0]); }, {values({3})},
               plain()),
           "", "NOT DETERMINISTIC");
}

TEST_CASE("conditions: a backward pass that takes more memory than its limit fails") {
  const auto f = [](const Tensors& in) { return exp(in[0]); };
  const Tensors in = {values({1000})};
  check::Options options;
  options.backward_bytes = 1 << 20;
  CHECK(check::gradients("exp", f, in, options));
  options.backward_bytes = 100;  // less than the gradient
  const Report report = check::gradients("exp", f, in, options);
  caught(report, "BACKWARD MEMORY");
}

TEST_CASE("conditions: a backward that writes to the output of forward fails") {
  Tensor y;
  const auto f = [&y](const Tensors& in) { return y = exp(in[0]); };
  for (const bool writes : {false, true}) {
    const auto backward = [&](const Tensors& x, const Tensor& dy) {
      const Tensor dx = dy * exp(x[0]);
      if (writes) const_cast<double*>(y.data<double>())[0] = 7;
      return Tensors{dx};
    };
    const Report report = check::vjp("exp", f, backward, {values({3})});
    if (writes) caught(report, "WRITES TO ITS OUTPUT");
    if (!writes) CHECK(report);
  }
}

TEST_CASE("conditions: invalid inputs must throw the same message, recorded or not") {
  const auto strict = [](const Tensors& in) {
    require<ShapeError>(in[0].size(0) == 3 || !in[0].requires_grad(), "three rows are required");
    return in[0] * 2.0;
  };
  Options options;
  options.refused = {{values({2}).requires_grad_()}};
  const Report lax = check::gradients("strict", strict, {values({3})}, options);
  INFO(lax);
  // In both calls, the input requires a gradient, so both throw the same message.
  CHECK(lax.inputs[0].cause.name == "");
  options.refused = {{values({3})}};
  caught(check::gradients("strict", strict, {values({3})}, options), "ERRORS");
  const auto recorded_only = [](const Tensors& in) {
    const Tensor y = in[0] * 2.0;
    require<ShapeError>(in[0].size(0) == 3 || !GradMode::enabled(), "three rows are required");
    return y;
  };
  options.refused = {{values({2})}};
  const Report report = check::gradients("strict", recorded_only, {values({3})}, options);
  caught(report, "ERRORS");
  CHECK(has(report.text(), "three rows are required"));
  const auto always = [](const Tensors& in) {
    require<ShapeError>(in[0].size(0) == 3, "three rows are required");
    return in[0] * 2.0;
  };
  CHECK(check::gradients("strict", always, {values({3})}, options));
}

TEST_CASE("conditions: the report shows the smallest inputs that also fail") {
  const auto f = [](const Tensors& in) { return softmax(in[0]); };
  const check::Vjp no_dot = [](const Tensors& x, const Tensor& dy) {
    return Tensors{dy * softmax(x[0])};
  };
  const Report report = check::vjp("softmax", f, no_dot, {values({3, 5, 7})});
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(has(report.smallest, "x0 [1,1,1]"));
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
  given.upstream = values({3, 5, 7}, 2);  // this gradient does not fit smaller inputs
  CHECK(has(check::vjp("softmax", f, no_dot, {values({3, 5, 7})}, given).smallest, "[1,1,1]"));
  options.smallest = false;
  CHECK(check::vjp("softmax", f, no_dot, {values({3, 5})}, options).smallest.empty());
}

TEST_CASE(
    "conditions: a wrong gradient of an input that is also used elsewhere fails at any scale") {
  for (const double size : {1e-20, 1.0, 1e20}) {
    const auto f = [size](const Tensors& in) {
      const bool inner = in[0].node() && !in[0].is_leaf();
      return in[0] * in[0] * (inner ? 1.5 * size : size);
    };
    const Report report = check::gradients("square", f, {values({3})}, plain());
    INFO(report);
    REQUIRE(report.findings.size() == 1);
    CHECK(has(report.findings[0].note, "with x also used outside f"));
  }
}

TEST_CASE("conditions: findings follow the order of the inputs") {
  const auto backward = [](const Tensors& x, const Tensor& dy) {
    const bool slice = x[0].offset() > 0, transposed = x[0].strides()[0] == 1;
    return Tensors{dy * x[1] * (transposed ? 1.5 : 1.0), dy * x[0] * (slice ? 1.5 : 1.0)};
  };
  const Report report = check::vjp(
      "product", [](const Tensors& in) { return in[0] * in[1]; }, backward,
      {values({3, 4}), values({3, 4}, 1)}, plain());
  INFO(report);
  REQUIRE(report.findings.size() == 2);
  CHECK((report.findings[0].input == 0 && report.findings[1].input == 1));
}

}  // namespace
}  // namespace conditions
}  // namespace gradus
