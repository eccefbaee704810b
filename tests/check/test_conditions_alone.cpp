// For each condition a fault that it alone sees: left out, nothing else would.
#include <algorithm>

#include "gradus/engine/apply.h"
#include "gradus/tests/check/conditions.h"

namespace gradus {

namespace op {

/// x², whose backward is wrong for the second node that one leaf has.
struct Jealous final : Op {
  static inline std::uint64_t latest = 0;  // the leaf
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
  Gradients backward(const Tensor& dy, const Wanted&) override { return {dy * factor * x.value()}; }
};

/// x², whose second backward writes into what the first returned.
struct Rewriting final : Op {
  Saved x;
  Tensor first;
  const char* name() const override { return "rewriting"; }
  Tensor forward(const Tensor& input) {
    x = input;
    const Tensor t = input.detach();
    return (t * t).detach();
  }
  Gradients backward(const Tensor& dy, const Wanted&) override {
    Tensor dx = dy * 2.0 * x.value();
    if (first.defined()) first.fill_(0);
    return {first = dx};
  }
};

/// a b c, whose backward is wrong where so many of the three want a gradient.
struct Product final : Op {
  Saved a, b, c;
  int wrong_for = 0;
  const char* name() const override { return "product"; }
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) {
    a = x, b = y, c = z;
    return (x.detach() * y.detach() * z.detach()).detach();
  }
  Gradients backward(const Tensor& dy, const Wanted& wants) override {
    const double factor = wants(0) + wants(1) + wants(2) == wrong_for ? 1.5 : 1.0;
    const Tensor x = a.value(), y = b.value(), z = c.value(), d = dy * factor;
    return {d * y * z, d * x * z, d * x * y};
  }
};

}  // namespace op

namespace conditions {
namespace {

/// Fails, and all that is found says this.
void found_by(const Report& report, const std::string& words) {
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(!report.findings.empty());
  for (const check::Finding& finding : report.findings) CHECK(has(finding.note, words));
}

Options plain() {
  Options options;
  options.smallest = false;
  return options;
}

/// What a tensor [3, 4] looks like in memory.
std::string layout_of(const Tensor& x) {
  const std::int64_t i = x.strides()[0], j = x.strides()[1];
  if (i == 0 && j == 0) return "one number";
  if (i == 0) return "one row";
  if (j == 0) return "one column";
  if (i == 1) return "transposed";
  if (j == 2) return "every second";
  return x.offset() > 0 ? "slice" : "whole";
}

/// x² at [3, 4], wrong where x, or dy, lies so.
Report square_wrong_for(const std::string& layout, bool of_dy) {
  return square_with(
      [&](const Tensors& x, const Tensor& dy) {
        const bool wrong = layout_of(of_dy ? dy : x[0]) == layout;
        return Tensors{2.0 * x[0] * dy * (wrong ? 1.5 : 1.0)};
      },
      plain());
}

TEST_CASE("conditions: each layout of an input or of dy is looked at") {
  const std::string dy = "for an upstream gradient ";
  found_by(square_wrong_for("transposed", false), "for transposed inputs");
  found_by(square_wrong_for("every second", false), "for inputs of every second element in memory");
  found_by(square_wrong_for("slice", false), "for inputs that are slices of larger ones");
  found_by(square_wrong_for("one row", false), "for inputs that expand() repeats");
  found_by(square_wrong_for("transposed", true), "for a transposed upstream gradient");
  found_by(square_wrong_for("every second", true), dy + "of every second element in memory");
  found_by(square_wrong_for("slice", true), dy + "that is a slice of a larger one");
  found_by(square_wrong_for("one number", true), dy + "of one repeated number, as sum() gives");
  found_by(square_wrong_for("one row", true), dy + "repeated along axis 0");
  found_by(square_wrong_for("one column", true), dy + "repeated along axis 1");
  CHECK(square_wrong_for("none", true).verdict == Verdict::pass);
}

TEST_CASE("conditions: every second run gives another output, and the same gradient") {
  int runs = 0;
  const auto f = [&](const Tensors& in) {
    runs += in[0].requires_grad();
    return in[0] * in[0] + (in[0].requires_grad() && runs % 2 == 0 ? 0.5 : 0.0);
  };
  const Report report = check::gradients("alternating", f, {values({3})}, plain());
  INFO(report);  // what is not the same twice is not called memory that is never written
  REQUIRE(!report.findings.empty());
  CHECK(has(report.findings[0].note, "in a second run"));
  CHECK(report.inputs[0].cause.name == "NOT DETERMINISTIC");
}

TEST_CASE("conditions: what is wrong for two causes is told for both") {
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

TEST_CASE("conditions: each input alone wants a gradient, and all but one") {
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
  found_by(wrong_for(1), "when only x0 wants a gradient");
  found_by(wrong_for(2), "when x0 wants no gradient");
  CHECK(wrong_for(0).verdict == Verdict::pass);
}

TEST_CASE("conditions: an input that is no leaf, and is used beside f") {
  const auto f = [](const Tensors& in) {
    const bool inner = in[0].node() && !in[0].is_leaf();
    return in[0] * in[0] * (inner ? 1.5 : 1.0);
  };
  found_by(check::gradients("square", f, {values({3})}, plain()), "with another path beside f");
}

TEST_CASE("conditions: the gradients of a first backward pass are written to by the second") {
  found_by(check::gradients(
               "rewriting", [](const Tensors& in) { return apply(op::Rewriting{}, in[0]); },
               {values({3})}, plain()),
           "after a second backward pass");
}

TEST_CASE("conditions: f(x) twice in one network is wrong where once is right") {
  found_by(check::gradients(
               "jealous", [](const Tensors& in) { return apply(op::Jealous{}, in[0]); },
               {values({3})}, plain()),
           "for the sum of f(x) and 2 f(x)");
}

}  // namespace
}  // namespace conditions
}  // namespace gradus
