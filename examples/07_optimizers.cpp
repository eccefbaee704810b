// Lesson 07: optimizers turn a gradient g into a step.
//
//   SGD        p −= lr · g
//   momentum   v = μ v + g;  p −= lr · v                 averages out oscillations
//   Adam       p −= lr · m̂ / (√v̂ + ε)                    gives each parameter its own scale
//   AdamW      … and p −= lr · decay · p                 weight decay that Adam does not rescale
//   Muon       p −= lr · orthogonalized v                moves a matrix equally in all directions

#include <memory>

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"
#include "gradus/train/optim/muon.h"

using namespace gradus;
using examples::expect;
using examples::Row;
using examples::same;
using examples::show;

namespace {

using Parameters = std::vector<nn::NamedTensor>;

/// The loss in a valley that is 100 times steeper across than along.
Tensor valley(const Tensor& p) { return sum(tensor({50.0, 0.5}) * square(p)); }

/// Returns the number of steps from (1, 1) to a loss below 10⁻⁶, at most 2,000. Prints some losses.
int steps_down(const char* name,
               const std::function<std::unique_ptr<optim::Optimizer>(Parameters)>& make) {
  const Tensor p = tensor({1.0, 1.0}).requires_grad_();
  const std::unique_ptr<optim::Optimizer> optimizer = make({{"p", p}});
  std::printf("%-22s", name);
  for (int step = 0; step < 2000; ++step) {
    const Tensor loss = valley(p);
    if (step == 1 || step == 10 || step == 100) std::printf("  %9.2e", loss.item());
    if (loss.item() < 1e-6) {
      std::printf("  below 1e-6 after %d\n", step);
      return step;
    }
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
  }
  std::printf("  never below 1e-6\n");
  return 2000;
}

void in_a_valley() {
  std::printf("the loss in a narrow valley after 1, 10, 100 steps\n");
  const auto sgd = [](double lr, double momentum) {
    return [=](Parameters all) {
      return std::make_unique<optim::SGD>(all, optim::SGDOptions{.lr = lr, .momentum = momentum});
    };
  };
  const int slow = steps_down("SGD, lr 0.018", sgd(0.018, 0));
  const int wild = steps_down("SGD, lr 0.021", sgd(0.021, 0));
  const int momentum = steps_down("momentum 0.9, lr 0.01", sgd(0.01, 0.9));
  const int adam = steps_down("Adam, lr 0.1", [](Parameters all) {
    return std::make_unique<optim::Adam>(all, optim::AdamOptions{.lr = 0.1});
  });
  expect(wild == 2000, "a rate above 2 / steepness diverges");
  expect(momentum < slow && adam < slow, "momentum and Adam are faster than SGD");
}

void adam_by_hand(const Row& gradient = {1000, 1, -0.001}) {
  const Tensor g = tensor(gradient);
  Tensor p = ones(g.shape()).requires_grad_();
  optim::Adam optimizer(Parameters{{"p", p}}, {.lr = 0.1});
  p.set_grad(g);
  optimizer.step();
  std::printf("\nAdam's first step, lr 0.1\n");
  show("g", g);
  show("p, from 1 1 1", p);
  // m̂ = g and v̂ = g² in the first step.
  const Tensor expected = 1.0 - 0.1 * g / (abs(g) + 1e-8);
  expect(same(p, expected), "the first step is lr · g / (|g| + ε), about lr in each element");
}

void decay() {
  const auto after = [](double lr, bool decoupled) {
    Tensor p = tensor({1.0}).requires_grad_();
    p.set_grad(tensor({1e-3}));
    if (decoupled) {
      optim::AdamW(Parameters{{"p", p}}, {.lr = lr, .weight_decay = 0.1}).step();
    } else {
      optim::Adam(Parameters{{"p", p}}, {.lr = lr, .weight_decay = 0.1}).step();
    }
    return p.item();
  };
  std::printf("\nweight decay 0.1, lr 0.01, one step from 1: Adam %.5f, AdamW %.5f\n",
              after(0.01, false), after(0.01, true));
  expect(std::abs(after(0.01, false) - 0.99) < 1e-6, "Adam rescales the decay away");
  expect(std::abs(after(0.01, true) - (0.99 - 0.01 * 0.1)) < 1e-6, "AdamW adds lr · decay · p");
}

/// Muon's step is a matrix whose singular values are all near 1.
void muon() {
  seed(1);
  const Tensor u = randn({4, 1}), v = randn({1, 4});
  const Tensor g = matmul(u, v) + 0.1 * randn({4, 4});  // almost rank 1
  const Tensor o = optim::newton_schulz(g);
  std::printf("\n");
  show("gᵀ g: one direction has almost all of the gradient", matmul(transpose(g), g));
  show("oᵀ o for o = newton_schulz(g): near the identity", matmul(transpose(o), o));
  const Tensor off = matmul(transpose(o), o) - eye(4);
  expect(max(abs(off)).item() < 0.6, "all directions of the step have similar size");
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  in_a_valley();
  adam_by_hand();
  decay();
  muon();
}
