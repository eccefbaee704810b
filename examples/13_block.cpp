// Lesson 13: the other parts of a Transformer block: residuals, norms and positions.
//
//   residual   y = x + f(x)              dx = dy + dy ∂f/∂x: dy always gets through
//   norm       y = (x − μ) / σ           mean 0 and variance 1; dx has no part along 1 and y
//   position   q_t, k_s turned by t, s   their product depends only on t − s

#include <array>

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;
using examples::same;
using examples::show;

namespace {

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

/// Prints and, for the last depth, returns the size of the gradient behind `depth` layers of
/// tanh(W x), without and with residuals.
std::array<double, 2> why_residuals(const std::vector<int>& depths = {1, 4, 16, 64}) {
  constexpr std::int64_t kWidth = 64;
  std::printf("rms of the gradient that reaches the input\n");
  std::printf("  depth    y = f(x)   y = x + f(x)\n");
  std::array<double, 2> arrived{};
  for (const int depth : depths) {
    for (const bool residual : {false, true}) {
      seed(7);
      const Tensor input = randn({4, kWidth}).requires_grad_();
      Tensor x = input;
      for (int layer = 0; layer < depth; ++layer) {
        const Tensor W = randn({kWidth, kWidth}) * (0.5 / std::sqrt(double{kWidth}));
        const Tensor f = tanh(matmul(x, W));
        x = residual ? x + f : f;
      }
      x.backward(ones({4, kWidth}));
      arrived[residual] = rms(input.grad());
    }
    std::printf("  %5d  %10.2e  %13.2e\n", depth, arrived[0], arrived[1]);
  }
  return arrived;
}

void why_norms() {
  const Tensor x = tensor({{1, 2, 3, 6}, {10, 20, 30, 60}}).to(Dtype::f64).requires_grad_();
  const Tensor y = layer_norm(x);
  const Tensor dy = tensor({{1, 0, 0, 0}, {1, 0, 0, 0}}).to(Dtype::f64);
  y.backward(dy);
  const Tensor dx = x.grad();
  std::printf("\n");
  show("x, whose second row is 10 times the first", x);
  show("y = layer_norm(x): the scale is gone", y);
  show("dx: the larger row gets the smaller gradient", dx);
  const Tensor along_1 = sum(dx, {1}), along_y = sum(dx * y, {1});
  show("sum of dx, by rows", along_1);
  show("sum of dx · y, by rows", along_y);
  expect(max(abs(y[0] - y[1])).item() < 1e-4, "10 x has the same norm as x");
  expect(max(abs(along_1)).item() < 1e-12, "adding a constant to x changes nothing: Σ dx = 0");
  expect(max(abs(along_y)).item() < 1e-5, "scaling x changes nothing: Σ dx y = 0");
}

void why_positions() {
  seed(2);
  const Tensor x = randn({1, 4, 8});
  const nn::MultiHeadAttention plain({.width = 8, .heads = 2});
  const nn::MultiHeadAttention rotary(
      {.width = 8, .heads = 2, .head = {.position = nn::HeadPosition::rotary}});
  const Tensor order = indices({2, 0, 3, 1});
  const auto shuffled = [&](const Tensor& t) { return index_select(t, 1, order); };
  const auto difference = [&](const nn::MultiHeadAttention& layer) {
    const NoGrad not_recorded;
    return max(abs(layer(shuffled(x)) - shuffled(layer(x)))).item();
  };
  const double without = difference(plain), with = difference(rotary);
  std::printf("\nshuffle the words, and the outputs are the shuffled outputs, up to\n");
  std::printf("  %.3f without positions\n  %.3f with rotary positions\n", without, with);
  expect(without < 1e-12, "without positions, attention ignores the order of words");
  expect(with > 1e-3, "rotary positions make the order matter");

  const Tensor q = randn({1, 1, 1, 8}), k = randn({1, 1, 1, 8});
  std::printf("q · k, each turned by its position\n   q at   k at    q · k\n");
  const auto product = [&](std::int64_t t, std::int64_t s) {
    const double score =
        sum(apply_rotary(q, std::vector{t}) * apply_rotary(k, std::vector{s})).item();
    std::printf("  %5d  %5d  %7.4f\n", static_cast<int>(t), static_cast<int>(s), score);
    return score;
  };
  const double near = product(5, 3), far = product(105, 103), other = product(5, 4);
  expect(std::abs(near - far) < 1e-12, "the same distance gives the same score");
  expect(std::abs(near - other) > 1e-3, "another distance gives another score");
}

/// x + attention(norm(x)), then x + feed_forward(norm(x)).
void the_block() {
  seed(4);
  nn::Block block({.width = 8, .heads = 2});
  const Tensor x = randn({1, 5, 8});
  const Tensor a = x + block.attention(block.norm1(x), causal_mask());
  const Tensor y = a + block.feed_forward(block.norm2(a));
  std::printf("\n%s", block.summary().c_str());
  expect(same(block(x, causal_mask()), y), "two lines compute the entire block");
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  const auto [plain, residual] = why_residuals();
  expect(plain < 1e-9 && residual > 0.1, "only residuals let the gradient through");
  why_norms();
  why_positions();
  the_block();
}
