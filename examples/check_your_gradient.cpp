// One call finds the error in a custom op's backward pass and names the cause.
//
//   y_i = (x_i − μ) r,   μ = mean x,   r = 1 / √(mean (x − μ)² + ε)      for each row of x [N, C]
//
// The first version holds μ fixed:    dx = r (dy − y mean(dy y))
// But μ depends on every x_i as well: dx = r (dy − y mean(dy y) − mean dy)

#include <cstdio>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;

namespace mine {

/// Returns the mean of each row, [N, 1].
Tensor row_mean(const Tensor& x) { return mean(x, {-1}, true); }

/// Returns r of each row, [N, 1].
Tensor one_over_deviation(const Tensor& x) {
  return rsqrt(row_mean(square(x - row_mean(x))) + 1e-5);
}

struct Standardize : Op {
  Saved x;
  const char* name() const override { return "standardize"; }
  Tensor forward(const Tensor& input) {
    x = input;
    const Tensor in = input.detach();  // record one op, not its internals
    return (in - row_mean(in)) * one_over_deviation(in);
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value(), r = one_over_deviation(in), y = (in - row_mean(in)) * r;
    return {r * (dy - y * row_mean(dy * y))};
  }
};

struct Corrected final : Standardize {
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value(), r = one_over_deviation(in), y = (in - row_mean(in)) * r;
    return {r * (dy - y * row_mean(dy * y) - row_mean(dy))};
  }
};

}  // namespace mine

int main() {
  const Tensor x = tensor({{0.5, -1.2, 2.0, 0.3}, {-0.7, 1.1, 0.4, -2.5}, {1.6, 0.2, -0.9, 0.8}});

  std::printf("dx = r (dy - y mean(dy y)):\n\n");
  const check::Report wrong = check::gradients(
      "standardize",
      [](const std::vector<Tensor>& in) { return apply(mine::Standardize{}, in[0]); }, {x},
      {.names = {"x"}});
  std::printf("%s\n", wrong.text().c_str());
  expect(!wrong, "the checker detects that mean(dy) is missing");
  expect(wrong.inputs[0].cause.name == "MISSING TERM", "the checker names the cause");

  std::printf(
      "x_i moves the mean of its row by 1/C, and the mean moves each of the C y_j by -r:\n");
  std::printf("so dx_i has one more term, -r mean(dy).\n\n");
  std::printf("dx = r (dy - y mean(dy y) - mean(dy)):\n\n");
  const check::Report right = check::gradients(
      "standardize", [](const std::vector<Tensor>& in) { return apply(mine::Corrected{}, in[0]); },
      {x}, {.names = {"x"}});
  std::printf("%s", right.text().c_str());
  expect(static_cast<bool>(right), "with this term the gradient is correct");
}
