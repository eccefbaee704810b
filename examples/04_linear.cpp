// Lesson 04: a linear layer, by hand and by the engine.
//
//   forward    y = x Wᵀ + b        x [N, in], W [out, in], b [out], y [N, out]
//   backward   dx = dy W           dW = dyᵀ x           db = Σ_n dy_n
//
// Three loops compute all of it. The engine must give exactly the same values, which are small
// integers. Finite differences confirm both. Then the layer learns.
//
// In a debugger: break gradus::op::Linear::backward, and print dy, x and weight.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;
using examples::same;
using examples::show;

namespace {

constexpr std::size_t N = 2, in = 3, out = 4;  // all different: a transposed matmul cannot fit

struct ByHand {
  double y[N][out] = {}, dx[N][in] = {}, dw[out][in] = {}, db[out] = {};

  ByHand(const double (&x)[N][in], const double (&w)[out][in], const double (&b)[out],
         const double (&dy)[N][out]) {
    for (std::size_t n = 0; n < N; ++n) {
      for (std::size_t o = 0; o < out; ++o) {
        y[n][o] = b[o];
        for (std::size_t i = 0; i < in; ++i) y[n][o] += x[n][i] * w[o][i];
        // The gradient of each factor is dy times the other factor.
        for (std::size_t i = 0; i < in; ++i) dx[n][i] += dy[n][o] * w[o][i];
        for (std::size_t i = 0; i < in; ++i) dw[o][i] += dy[n][o] * x[n][i];
        db[o] += dy[n][o];
      }
    }
  }
};

template <std::size_t rows, std::size_t columns>
Tensor matrix(const double (&values)[rows][columns]) {
  return tensor(std::span<const double>(&values[0][0], rows * columns),
                {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
}

Tensor vector(const double (&values)[out]) {
  return tensor(std::span<const double>(values), {static_cast<std::int64_t>(out)});
}

void by_hand_and_by_engine() {
  const double x_values[N][in] = {{1, 2, 3}, {-1, 0, 2}}, b_values[out] = {10, 20, 30, 40};
  const double w_values[out][in] = {{1, 0, 0}, {0, 2, 0}, {0, 0, -1}, {1, 1, 1}};
  const double dy_values[N][out] = {{1, 2, 3, 4}, {0, -1, 0, 5}};
  const ByHand hand(x_values, w_values, b_values, dy_values);

  const Tensor x = matrix(x_values).requires_grad_(), w = matrix(w_values).requires_grad_();
  const Tensor b = vector(b_values).requires_grad_(), dy = matrix(dy_values);
  const Tensor y = linear(x, w, b);
  y.backward(dy);
  show("x", x, {"n=0", "n=1"});
  show("W, a row for each output", w);
  show("y = x Wᵀ + b", y, {"n=0", "n=1"});
  show("dy, chosen", dy, {"n=0", "n=1"});
  show("dx = dy W", x.grad(), {"n=0", "n=1"});
  show("dW = dyᵀ x, summed over n: both rows of x used the same W", w.grad());
  show("db = Σ dy, summed over n", b.grad());
  expect(same(y, matrix(hand.y)), "y is x Wᵀ + b");
  expect(same(x.grad(), matrix(hand.dx)), "dx is dy W");
  expect(same(w.grad(), matrix(hand.dw)), "dW is dyᵀ x");
  expect(same(b.grad(), vector(hand.db)), "db is the sum of dy over the rows");

  const check::Report report = check::gradients(
      "linear", [](const std::vector<Tensor>& t) { return linear(t[0], t[1], t[2]); }, {x, w, b},
      {.names = {"x", "W", "b"}});
  std::printf("finite differences agree: %s\n", report ? "yes" : report.text().c_str());
  expect(static_cast<bool>(report), "finite differences agree with the gradients");
}

void learning() {
  seed(4);
  const Tensor true_weight = tensor({{1, -2, 0}, {0, 3, 1}, {2, 2, 2}, {0, 0, -1}});  // [out, in]
  const Tensor x = randn({20, 3});                                                    // [N, in]
  const Tensor target = linear(x, true_weight);                                       // [N, out]
  nn::Linear layer(3, 4);
  optim::SGD optimizer(layer.parameters(), {.lr = 0.2});
  for (int step = 0; step <= 200; ++step) {
    const Tensor loss = mse_loss(layer(x), target);
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  show("the layer's W after 200 steps", layer.weight);
  const Tensor error = max(abs(layer.weight - true_weight));
  expect(error.item() < 1e-3, "the layer has found the matrix that made the targets");
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  by_hand_and_by_engine();
  learning();
}
