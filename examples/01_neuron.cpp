// Lesson 01: one neuron, and the chain rule.
//
//   y = tanh(w·x + b)          loss = (y − target)²
//
// The forward pass records a graph, and backward() follows it from the loss to w and b. The program
// compares the result with derivatives computed by hand.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;
using examples::same;

/// Returns the loss after `steps` steps of gradient descent. Values must be between −10 and 10.
double neuron(double x_value = 0.5, double target_value = 1.0, double w_value = -1.5,
              double b_value = 0.25, int steps = 100) {
  const Tensor x = tensor(x_value), target = tensor(target_value);
  Tensor w = tensor(w_value).requires_grad_();  // a leaf: gets d loss / d w
  Tensor b = tensor(b_value).requires_grad_();

  // ---- forward ----
  const Tensor z = w * x + b;
  const Tensor y = tanh(z);
  const Tensor error = y - target;
  const Tensor loss = error * error;
  std::printf("forward   z = w·x + b = %.4f   y = tanh z = %.4f   loss = (y - target)² = %.4f\n",
              z.item(), y.item(), loss.item());

  // ---- backward, by the engine ----
  loss.backward();
  std::printf("backward  d loss/d w = %.4f   d loss/d b = %.4f\n", w.grad().item(),
              b.grad().item());

  // ---- backward, by hand: the same lines in reverse ----
  const double d_error = 2 * error.item();             // loss = error²
  const double d_y = d_error;                          // error = y − target
  const double d_z = d_y * (1 - y.item() * y.item());  // y = tanh z
  const double d_w = d_z * x.item(), d_b = d_z;        // z = w·x + b
  std::printf("by hand   d loss/d y = %.4f  →  d loss/d z = %.4f  →  d loss/d w = %.4f\n", d_y, d_z,
              d_w);
  expect(same(w.grad(), tensor(d_w)), "the engine's d loss/d w equals the derivative by hand");
  expect(same(b.grad(), tensor(d_b)), "the engine's d loss/d b equals the derivative by hand");

  // ---- finite differences ----
  const double h = 1e-6;
  const auto loss_at = [&](double weight) {
    return std::pow(std::tanh(weight * x_value + b_value) - target_value, 2);
  };
  const double slope = (loss_at(w_value + h) - loss_at(w_value - h)) / (2 * h);
  std::printf("moving w  (loss(w + h) - loss(w - h)) / 2h = %.4f\n", slope);
  expect(std::abs(slope - d_w) < 1e-6, "the slope of the loss equals the derivative");

  // ---- gradient descent ----
  for (int step = 0; step < steps; ++step) {
    const Tensor now = square(tanh(w * x + b) - target);
    w.set_grad({});  // because gradients accumulate
    b.set_grad({});
    now.backward();
    const NoGrad not_recorded;  // the update is not part of the graph
    w.copy_(w - 0.5 * w.grad());
    b.copy_(b - 0.5 * b.grad());
  }
  const double after = square(tanh(w * x + b) - target).item();
  std::printf("learning  after %d steps downhill the loss is %.4f\n", steps, after);
  return after;
}

int main() {
  set_default_dtype(Dtype::f64);
  const double loss = neuron();
  expect(loss < 0.02, "one hundred steps bring the loss below 0.02");
}
