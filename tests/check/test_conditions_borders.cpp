// What conditions call a function with, and faults that are small beside everything but gradients
// of their own size.
#include <cmath>
#include <set>

#include "gradus/engine/apply.h"
#include "gradus/tests/check/conditions.h"

namespace gradus {

namespace op {

/// 1 everywhere; its backward clears what the leaf's .grad holds.
struct Clearing final : Op {
  Tensor held;
  const char* name() const override { return "clearing"; }
  Tensor forward(const Tensor& input) {
    if (input.requires_grad()) held = input.grad();
    return full(input.shape(), 1, input.dtype());
  }
  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (held.defined()) held.fill_(0);
    return {dy * 0.0};
  }
};

}  // namespace op

namespace conditions {
namespace {

Options plain() {
  Options options;
  options.smallest = false;
  return options;
}

Tensor product_of(const Tensors& in) {
  Tensor y = in[0];
  for (std::size_t k = 1; k < in.size(); ++k) y = y * in[k];
  return y;
}

using Pairs = std::set<std::pair<std::size_t, std::size_t>>;

/// The inputs that a product of them is ever given in the same memory.
Pairs pairs_of(const Tensors& inputs, const Options& options) {
  Pairs pairs;
  const auto f = [&](const Tensors& in) {
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t j = i + 1; j < in.size(); ++j)
        if (in[i].storage() == in[j].storage()) pairs.insert({i, j});
    if (!options.differentiable.empty()) CHECK_FALSE(in[0].requires_grad());
    return product_of(in);
  };
  const Report report = check::gradients("product", f, inputs, options);
  INFO(report);
  CHECK(report.verdict == Verdict::pass);
  return pairs;
}

}  // namespace

TEST_CASE("conditions: one tensor stands for two inputs, in three pairs at most") {
  CHECK(pairs_of({values({3}), values({3}, 1), values({3}, 2), values({3}, 3)}, plain()) ==
        Pairs{{0, 1}, {0, 2}, {0, 3}});
  CHECK(pairs_of({values({3}), values({2, 3}, 1), values({3}, 2)}, plain()) == Pairs{{0, 2}});
  Options options = plain();
  options.differentiable = {false, true, true};
  CHECK(pairs_of({values({3}), values({3}, 1), values({3}, 2)}, options) == Pairs{{1, 2}});
}

TEST_CASE("conditions: gradients of any size meet others of their own") {
  for (const double size : {1e-20, 1.0, 1e20}) {
    const auto f = [size](const Tensors& in) {
      const bool inner = in[0].node() && !in[0].is_leaf();
      return in[0] * in[0] * (inner ? 1.5 * size : size);
    };
    const Report report = check::gradients("square", f, {values({3})}, plain());
    INFO(report);
    REQUIRE(report.findings.size() == 1);
    CHECK(has(report.findings[0].note, "with another path beside f"));
  }
  const auto f = [](const Tensors& in) { return apply(op::Clearing{}, in[0]); };
  const Report report = check::gradients("clearing", f, {values({3})}, plain());
  INFO(report);
  REQUIRE(!report.findings.empty());
  CHECK(has(report.findings[0].note, ".grad held something before"));
}

TEST_CASE("conditions: what is found stands in the order of the inputs") {
  const auto backward = [](const Tensors& x, const Tensor& dy) {
    const bool slice = x[0].offset() > 0, transposed = x[0].strides()[0] == 1;
    return Tensors{dy * x[1] * (transposed ? 1.5 : 1.0), dy * x[0] * (slice ? 1.5 : 1.0)};
  };
  const Report report =
      check::vjp("product", product_of, backward, {values({3, 4}), values({3, 4}, 1)}, plain());
  INFO(report);
  REQUIRE(report.findings.size() == 2);
  CHECK((report.findings[0].input == 0 && report.findings[1].input == 1));
}

TEST_CASE("conditions: around a slice lies nothing but NaN") {
  int slices = 0;
  const auto f = [&](const Tensors& in) {
    const Tensor& x = in[0];
    if (x.offset() > 0) {
      const auto count = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
      const Tensor all = kernel::strided_view(x.detach(), {count}, {1}, 0).clone();
      std::int64_t own = 0;
      for (const double v : all.to_vector<double>()) own += std::isnan(v) ? 0 : 1;
      CHECK(own == x.numel());
      ++slices;
    }
    return x * x;
  };
  CHECK(check::gradients("square", f, {values({3, 4})}, plain()).verdict == Verdict::pass);
  CHECK(slices > 0);
}

TEST_CASE("conditions: a vector of upstream gradients is repeated in one way") {
  int repeated = 0;
  const auto backward = [&](const Tensors& x, const Tensor& dy) {
    repeated += dy.strides()[0] == 0 ? 1 : 0;
    return Tensors{2.0 * x[0] * dy};
  };
  const Report report = check::vjp("square", square_of, backward, {values({3})}, plain());
  CHECK(report.verdict == Verdict::pass);
  CHECK(repeated == 1);
}

}  // namespace conditions
}  // namespace gradus
