// Lesson 04: a linear layer, by hand and by the engine.
//
//   forward    y = x Wᵀ + b        x [N, in], W [out, in], b [out], y [N, out]
//   backward   dx = dy W           dW = dyᵀ x           db = Σ_n dy_n
//
// All values are small integers, so three loops must give exactly the engine's results. Finite
// differences confirm the gradients. Then the layer learns.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

struct ByHand {
  Rows y, dx, dw;
  Row db;

  ByHand(const Rows& x, const Rows& w, const Row& b, const Rows& dy) {
    const std::size_t N = x.size(), in = x[0].size(), out = w.size();
    y.resize(N, b);
    dx.resize(N, Row(in));
    dw.resize(out, Row(in));
    db.resize(out);
    for (std::size_t n = 0; n < N; ++n) {
      for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t i = 0; i < in; ++i) y[n][o] += x[n][i] * w[o][i];
        // The gradient of each factor is dy times the other factor.
        for (std::size_t i = 0; i < in; ++i) dx[n][i] += dy[n][o] * w[o][i];
        for (std::size_t i = 0; i < in; ++i) dw[o][i] += dy[n][o] * x[n][i];
        db[o] += dy[n][o];
      }
    }
  }
};

/// All default sizes differ, so that a transposed matmul cannot fit.
void by_hand_and_by_engine(const Rows& x_values = {{1, 2, 3}, {-1, 0, 2}},
                           const Rows& w_values = {{1, 0, 0}, {0, 2, 0}, {0, 0, -1}, {1, 1, 1}},
                           const Row& b_values = {10, 20, 30, 40},
                           const Rows& dy_values = {{1, 2, 3, 4}, {0, -1, 0, 5}}) {
  const ByHand hand(x_values, w_values, b_values, dy_values);
  const auto N = std::ssize(x_values), in = std::ssize(x_values[0]), out = std::ssize(w_values);
  const Tensor x = tensor(flat(x_values), {N, in}).requires_grad_();
  const Tensor w = tensor(flat(w_values), {out, in}).requires_grad_();
  const Tensor b = tensor(b_values).requires_grad_(), dy = tensor(flat(dy_values), {N, out});
  const Tensor y = linear(x, w, b);
  y.backward(dy);
  show("x", x, {"n=0", "n=1"});
  show("W, a row for each output", w);
  show("y = x Wᵀ + b", y, {"n=0", "n=1"});
  show("dy, chosen", dy, {"n=0", "n=1"});
  show("dx = dy W", x.grad(), {"n=0", "n=1"});
  show("dW = dyᵀ x, summed over n: both rows of x used the same W", w.grad());
  show("db = Σ dy, summed over n", b.grad());
  expect(same(y, tensor(flat(hand.y), y.shape())), "y is x Wᵀ + b");
  expect(same(x.grad(), tensor(flat(hand.dx), x.shape())), "dx is dy W");
  expect(same(w.grad(), tensor(flat(hand.dw), w.shape())), "dW is dyᵀ x");
  expect(same(b.grad(), tensor(hand.db)), "db is the sum of dy over the rows");

  const check::Report report = check::gradients(
      "linear", [](const std::vector<Tensor>& t) { return linear(t[0], t[1], t[2]); }, {x, w, b},
      {.names = {"x", "W", "b"}});
  std::printf("finite differences agree: %s\n", report ? "yes" : report.text().c_str());
  expect(static_cast<bool>(report), "finite differences agree with the gradients");
}

/// Returns how far the learned W is from the true one. 0 < rate < 1; steps ≥ 0.
double learning(double rate = 0.2, int steps = 200) {
  seed(4);
  const Tensor true_weight = tensor({{1, -2, 0}, {0, 3, 1}, {2, 2, 2}, {0, 0, -1}});  // [out, in]
  const Tensor x = randn({20, 3});                                                    // [N, in]
  const Tensor target = linear(x, true_weight);                                       // [N, out]
  nn::Linear layer(3, 4);
  optim::SGD optimizer(layer.parameters(), {.lr = rate});
  for (int step = 0; step <= steps; ++step) {
    const Tensor loss = mse_loss(layer(x), target);
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  show(str_cat("the layer's W after ", steps, " steps"), layer.weight);
  return max(abs(layer.weight - true_weight)).item();
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  by_hand_and_by_engine();
  expect(learning() < 1e-3, "the layer has found the matrix that made the targets");
}
