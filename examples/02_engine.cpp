// Lesson 02: an autograd engine in 40 lines.
//
//   forward    each operation computes y and pushes a function onto the tape: dx += dy · ∂y/∂x
//   backward   runs the functions in reverse, so dy is complete before it is used
//
// The engine trains a network on XOR. Its gradients equal those of Gradus, which uses tensors.

#include <functional>
#include <memory>

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using gradus::examples::expect;

// ---- The engine ----
namespace engine {

/// A number and its gradient. Copies share both.
struct Value {
  struct Numbers {
    double value, gradient = 0;
  };
  std::shared_ptr<Numbers> at;

  Value(double value) : at(std::make_shared<Numbers>(Numbers{value})) {}
  double value() const { return at->value; }
  double& gradient() const { return at->gradient; }
};

std::vector<std::function<void()>> tape;

/// y = a + b:   da += dy,  db += dy
Value operator+(const Value& a, const Value& b) {
  const Value y(a.value() + b.value());
  tape.push_back([=] { a.gradient() += y.gradient(), b.gradient() += y.gradient(); });
  return y;
}

/// y = a b:   da += dy b,  db += dy a
Value operator*(const Value& a, const Value& b) {
  const Value y(a.value() * b.value());
  tape.push_back([=] {
    a.gradient() += y.gradient() * b.value();
    b.gradient() += y.gradient() * a.value();
  });
  return y;
}

/// y = tanh x:   dx += dy (1 − y²)
Value tanh(const Value& x) {
  const Value y(std::tanh(x.value()));
  tape.push_back([=] { x.gradient() += y.gradient() * (1 - y.value() * y.value()); });
  return y;
}

void backward(const Value& y) {
  y.gradient() = 1;
  for (auto step = tape.rbegin(); step != tape.rend(); ++step) (*step)();
  tape.clear();
}

}  // namespace engine

namespace {

using engine::Value;

void a_value_used_twice(double at = 3) {
  const Value x = at;
  const Value y = x * x + x;
  std::printf("y = x·x + x at x = %g: y = %g, and the tape has %zu functions\n", at, y.value(),
              engine::tape.size());
  backward(y);
  std::printf("dy/dx = %g: x is used three times, and its gradient is the sum, %g + %g + 1\n",
              x.gradient(), at, at);
  expect(x.gradient() == at + at + 1, "the gradient is 2x + 1");
}

/// Three neurons and their sum: y = Σ_j v_j tanh(a_j x_0 + b_j x_1 + c_j).
struct Network {
  std::vector<Value> a, b, c, v;

  explicit Network(const std::vector<double>& start) {
    for (std::size_t j = 0; j < start.size(); j += 4) {
      a.emplace_back(start[j]), b.emplace_back(start[j + 1]);
      c.emplace_back(start[j + 2]), v.emplace_back(start[j + 3]);
    }
  }
  Value operator()(double x0, double x1) const {
    Value y = 0.0;
    for (std::size_t j = 0; j < a.size(); ++j) y = y + v[j] * tanh(a[j] * x0 + b[j] * x1 + c[j]);
    return y;
  }
  /// Σ (y − target)² over the four points of XOR.
  Value loss() const {
    Value sum = 0.0;
    for (const double x0 : {0.0, 1.0})
      for (const double x1 : {0.0, 1.0}) {
        const Value error = (*this)(x0, x1) + (x0 == x1 ? 0.0 : -1.0);
        sum = sum + error * error;
      }
    return sum;
  }
  void descend(double rate) const {
    for (const std::vector<Value>* each : {&a, &b, &c, &v})
      for (const Value& parameter : *each) {
        parameter.at->value -= rate * parameter.gradient();
        parameter.gradient() = 0;
      }
  }
};

// One row per neuron: a, b, c, v.
const std::vector<double> kStart = {0.9, -0.7, 0.1, 0.6, -0.5, 0.8, -0.2, 0.7, 0.4, 0.5, 0.3, -0.4};

/// d loss / d a by Gradus, with all points and neurons in one tensor.
gradus::Tensor by_gradus() {
  using namespace gradus;
  const Tensor rows = transpose(reshape(tensor(kStart), {3, 4}));   // [4, 3]
  const Tensor in = slice(rows, 0, 0, 2).clone().requires_grad_();  // a and b, [2, 3]
  const Tensor points = tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}}).to(Dtype::f64);
  const Tensor h = tanh(matmul(points, in) + rows[2]);  // [4, 3]
  const Tensor y = sum(h * rows[3], {1});               // [4]
  sum(square(y - tensor({0.0, 1.0, 1.0, 0.0}))).backward();
  return in.grad()[0];
}

/// Returns the loss after training.
double it_learns_xor(int steps = 2000, double rate = 0.1) {
  const Network network(kStart);
  const Value first = network.loss();
  std::printf("\nXOR with three neurons: loss %.4f, %zu functions on the tape\n", first.value(),
              engine::tape.size());
  backward(first);
  const std::vector<double> expected = by_gradus().to_vector<double>();
  std::printf("d loss/d a    engine %8.4f %8.4f %8.4f    Gradus %8.4f %8.4f %8.4f\n",
              network.a[0].gradient(), network.a[1].gradient(), network.a[2].gradient(),
              expected[0], expected[1], expected[2]);
  for (std::size_t j = 0; j < 3; ++j)
    expect(std::abs(network.a[j].gradient() - expected[j]) < 1e-12,
           "the engine's gradients equal those of Gradus");

  network.descend(rate);
  for (int step = 1; step < steps; ++step) {
    backward(network.loss());
    network.descend(rate);
  }
  std::printf("after %d steps:\n", steps);
  for (const double x0 : {0.0, 1.0})
    for (const double x1 : {0.0, 1.0})
      std::printf("  %g xor %g = %6.3f\n", x0, x1, network(x0, x1).value());
  const double last = network.loss().value();
  engine::tape.clear();
  return last;
}

}  // namespace

int main() {
  gradus::set_default_dtype(gradus::Dtype::f64);
  a_value_used_twice();
  expect(it_learns_xor() < 1e-3, "the network has learned XOR");
}
