// Computes the largest eigenvalue λ of a trained network's Hessian H without forming H.
//
// Power iteration turns v toward the eigenvector of λ by repeated products H v, each at about the
// cost of two gradients (hessian_vector_product). Along the eigenvector, gradient descent with
// learning rate η multiplies the error by 1 − η λ per step. It converges for η < 2 / λ and diverges
// for larger η.

#include <cmath>
#include <cstdio>
#include <vector>

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;

namespace {

/// Approximates y. Runs in f64 to get close to the minimum.
struct Net : nn::Layer<Net> {
  Net() : hidden(1, 8), out(8, 1) {}
  nn::Members members() override { return {{"hidden", hidden}, {"out", out}}; }
  Tensor forward(const Tensor& x) const { return out(tanh(hidden(x))); }  // [N, 1]
  nn::Linear hidden, out;
};

double dot(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
  return total;
}

/// Returns the largest eigenvalue of H; v becomes its unit eigenvector.
double power_iteration(const Tensor& loss, const std::vector<Tensor>& parameters,
                       std::vector<Tensor>& v) {
  double eigenvalue = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<Tensor> Hv = hessian_vector_product(loss, parameters, v);
    eigenvalue = dot(v, Hv);  // vᵀ H v, as |v| = 1
    const double length = std::sqrt(dot(Hv, Hv));
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = Hv[k] / length;
  }
  return eigenvalue;
}

void move(std::vector<Tensor>& parameters, const std::vector<Tensor>& v, double step) {
  const NoGrad not_recorded;
  for (std::size_t k = 0; k < v.size(); ++k) parameters[k].copy_(parameters[k] + step * v[k]);
}

constexpr int kSteps = 20;

/// Returns the displacement along v after kSteps of gradient descent from `push` · v. Restores the
/// parameters.
template <class Loss>
double descend(const Loss& loss, std::vector<Tensor>& parameters, const std::vector<Tensor>& v,
               double learning_rate, double push) {
  std::vector<Tensor> before, way;
  for (const Tensor& each : parameters) before.push_back(each.detach().clone());
  move(parameters, v, push);
  for (int step = 0; step < kSteps; ++step)
    move(parameters, grad({loss()}, parameters), -learning_rate);
  for (std::size_t k = 0; k < before.size(); ++k) way.push_back(parameters[k].detach() - before[k]);
  const NoGrad not_recorded;
  for (std::size_t k = 0; k < before.size(); ++k) parameters[k].copy_(before[k]);
  return dot(v, way);
}

int run() {
  seed(3);
  const Tensor x = reshape(linspace(-2, 2, 41, Dtype::f64), {41, 1});  // [N, 1]
  const Tensor y = sin(2 * x);
  Net net;
  net.to(Dtype::f64);
  std::vector<Tensor> parameters;
  for (const nn::NamedTensor& each : net.parameters()) parameters.push_back(each.tensor);
  const auto loss = [&] { return mean(square(net(x) - y)); };

  optim::Adam optimizer(net.parameters(), {.lr = 2e-2});
  for (int step = 0; step < 1500; ++step) {
    optimizer.zero_grad();
    loss().backward();
    optimizer.step();
  }
  const double floor = loss().item();

  std::vector<Tensor> v;
  for (const Tensor& each : parameters) v.push_back(randn(each.shape(), Dtype::f64));
  const double length = std::sqrt(dot(v, v));
  for (Tensor& each : v) each = each / length;
  const double largest = power_iteration(loss(), parameters, v);
  std::printf("after training: loss %.2e, largest eigenvalue of the Hessian %.3f\n", floor,
              largest);
  std::printf("gradient descent should converge up to a learning rate of 2 / %.3f = %.4f\n\n",
              largest, 2 / largest);

  std::printf("a push of 1e-4 along its eigenvector becomes, after %d steps,\n", kSteps);
  for (const double part : {0.5, 0.9, 1.1}) {
    const double rate = part * 2 / largest, push = 1e-4;
    const double away =
        descend(loss, parameters, v, rate, push) - descend(loss, parameters, v, rate, 0);
    const double theory = push * std::pow(1 - rate * largest, kSteps);
    std::printf("  at %.1f of that rate: %9.2e   (theory: %9.2e)\n", part, away, theory);
    // The push grows to about 4e-3. Over this distance, third derivatives change λ by a similar
    // amount.
    examples::expect(std::abs(away - theory) < 0.05 * theory + 1e-9,
                     "the push grows or shrinks as the theory predicts");
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const Error& error) {
    std::fprintf(stderr, "sharpness: %s\n", error.what());
    return 2;
  }
}
