// Exercises 11 to 20: fill in the factor of dx = dy · □.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/examples/play/exercises.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::play {
namespace {

using check::Tensors;
using Formula = Tensor (*)(const Tensor& x);

/// Returns the choice dx = dy · factor(x).
Choice factor(std::string text, std::string explanation, Formula factor) {
  return {
      std::move(text), std::move(explanation),
      [factor](const Tensors& in, const Tensor& dy) -> Tensors { return {dy * factor(in[0])}; }};
}

Exercise fill_in(std::string title, std::string forward, Formula f, const Tensor& x,
                 std::vector<Choice> choices) {
  return {"factor",
          std::move(title),
          {std::move(forward), "`dx = dy · □`"},
          [f](const Tensors& in) { return f(in[0]); },
          {x},
          {"x"},
          std::move(choices)};
}

Tensor any_sign() { return awkward({2, 3}); }
Tensor positive() { return tensor({{0.4, 1.7, 2.3}, {0.9, 3.1, 0.6}}, Dtype::f64); }

Tensor unit(const Tensor& x) { return ones(x.shape(), x.dtype()); }
double count(const Tensor& x) { return static_cast<double>(x.numel()); }

/// Returns the density and the distribution of the standard normal distribution.
Tensor normal_density(const Tensor& x) {
  return exp(-0.5 * square(x)) * (1 / std::sqrt(2 * std::acos(-1.0)));
}
Tensor normal_distribution(const Tensor& x) { return 0.5 * (1.0 + erf(x / std::sqrt(2.0))); }

Exercise of_tanh() {
  return fill_in(
      "Tanh", "`y = tanh x`", [](const Tensor& x) { return tanh(x); }, any_sign(),
      {factor("`1 − x²`",
              "The derivative at `x` is `1 − tanh² x`: use the output `y`, not the input `x`.",
              [](const Tensor& x) { return 1.0 - square(x); }),
       factor("`y² − 1`",
              "The sign is wrong: tanh grows everywhere, so its derivative is positive.",
              [](const Tensor& x) { return square(tanh(x)) - 1.0; }),
       factor("`1 − y²`", "The derivative of tanh is `1 − tanh²`, and `y` is already there.",
              [](const Tensor& x) { return 1.0 - square(tanh(x)); }),
       factor("`y (1 − y)`", "This is the factor of the sigmoid.",
              [](const Tensor& x) { return tanh(x) * (1.0 - tanh(x)); })});
}

Exercise of_sigmoid() {
  return fill_in(
      "Sigmoid", "`y = 1 / (1 + exp(−x))`", [](const Tensor& x) { return sigmoid(x); }, any_sign(),
      {factor("`y (1 − y)`", "`exp(−x) / (1 + exp(−x))²` is `y` times `1 − y`.",
              [](const Tensor& x) { return sigmoid(x) * (1.0 - sigmoid(x)); }),
       factor("`x (1 − x)`", "The derivative is in terms of the output `y`, not of the input `x`.",
              [](const Tensor& x) { return x * (1.0 - x); }),
       factor("`1 − y²`", "This is the factor of tanh.",
              [](const Tensor& x) { return 1.0 - square(sigmoid(x)); }),
       factor("`1 − y`", "This is the derivative of `log y`: the factor `y` is missing.",
              [](const Tensor& x) { return 1.0 - sigmoid(x); })});
}

Exercise of_sqrt() {
  return fill_in(
      "Square root", "`y = √x`", [](const Tensor& x) { return sqrt(x); }, positive(),
      {factor("`1 / y`", "`x^½` has the derivative `½ x^(−½)`: the factor `½` is missing.",
              [](const Tensor& x) { return rsqrt(x); }),
       factor("`1 / (2y)`", "`½ x^(−½)` is `1 / (2√x)`, and `√x` is `y`.",
              [](const Tensor& x) { return 0.5 * rsqrt(x); }),
       factor("`y / 2`", "The exponent must fall by 1: from `x^½` to `x^(−½)`.",
              [](const Tensor& x) { return 0.5 * sqrt(x); }),
       factor("`1 / (2x)`", "This is the derivative of `log √x`.",
              [](const Tensor& x) { return 0.5 / x; })});
}

Exercise of_log() {
  return fill_in(
      "Logarithm", "`y = log x`", [](const Tensor& x) { return log(x); }, positive(),
      {factor("`1 / y`", "The derivative is in terms of the input `x`, not of the output `y`.",
              [](const Tensor& x) { return 1.0 / log(x); }),
       factor("`exp(y)`",
              "`exp(y)` is `x`. The derivative of the inverse function is `1 / exp(y)`.",
              [](const Tensor& x) { return x.clone(); }),
       factor("`−1 / x²`", "This is the second derivative of `log x`.",
              [](const Tensor& x) { return -1.0 / square(x); }),
       factor("`1 / x`", "From `x = exp(y)`: `dx/dy = exp(y) = x`, so `dy/dx = 1 / x`.",
              [](const Tensor& x) { return 1.0 / x; })});
}

Exercise of_mean() {
  return fill_in(
      "Mean", "`y = (1 / N) Σ_i x_i`, for `N` values", [](const Tensor& x) { return mean(x); },
      any_sign(),
      {factor("`1`", "This is the gradient of a sum. The forward pass also divides by `N`.", unit),
       factor("`N`", "A mean over more values depends less on each of them, not more.",
              [](const Tensor& x) { return count(x) * unit(x); }),
       factor("`1 / N`", "`y` contains each `x_i` once, with the factor `1 / N`.",
              [](const Tensor& x) { return unit(x) / count(x); }),
       factor("`x_i / N`", "`y` is linear in `x_i`, so its derivative does not depend on `x_i`.",
              [](const Tensor& x) { return x / count(x); })});
}

Exercise of_exp() {
  return fill_in("Exponential", "`y = exp x`", [](const Tensor& x) { return exp(x); }, any_sign(),
                 {factor("`y`", "exp is its own derivative, and its value `y` is already there.",
                         [](const Tensor& x) { return exp(x); }),
                  factor("`x`", "`x` is only the exponent: the derivative of `exp x` is `exp x`.",
                         [](const Tensor& x) { return x.clone(); }),
                  factor("`x exp(x − 1)`",
                         "The power rule is for `x^n`: here `x` is the exponent, not the base.",
                         [](const Tensor& x) { return x * exp(x - 1.0); }),
                  factor("`1 / y`", "This is the derivative of `−exp(−x)`.",
                         [](const Tensor& x) { return exp(-x); })});
}

Exercise of_square() {
  return fill_in(
      "Square", "`y = x²`", [](const Tensor& x) { return square(x); }, any_sign(),
      {factor("`x`", "`x² = x · x` depends on `x` twice, and each factor `x` contributes `x`.",
              [](const Tensor& x) { return x.clone(); }),
       factor("`2y`", "The exponent must fall by 1: from `x²` to `x`.",
              [](const Tensor& x) { return 2.0 * square(x); }),
       factor("`2`", "This is the second derivative.",
              [](const Tensor& x) { return 2.0 * unit(x); }),
       factor("`2x`", "The power rule: the derivative of `x^n` is `n x^(n−1)`.",
              [](const Tensor& x) { return 2.0 * x; })});
}

Exercise of_reciprocal() {
  return fill_in("Reciprocal", "`y = 1 / x`", [](const Tensor& x) { return reciprocal(x); },
                 any_sign(),
                 {factor("`y²`", "The sign is wrong: if `x` grows, `1 / x` falls.",
                         [](const Tensor& x) { return square(reciprocal(x)); }),
                  factor("`−y²`", "`x^(−1)` has the derivative `−x^(−2)`, which is `−y²`.",
                         [](const Tensor& x) { return -square(reciprocal(x)); }),
                  factor("`−y`", "The exponent must fall by 1: from `x^(−1)` to `x^(−2)`.",
                         [](const Tensor& x) { return -reciprocal(x); }),
                  factor("`log |x|`", "This is the integral of `1 / x`, not its derivative.",
                         [](const Tensor& x) { return log(abs(x)); })});
}

Exercise of_relu() {
  return fill_in(
      "ReLU", "`y = max(x, 0)`", [](const Tensor& x) { return relu(x); }, any_sign(),
      {factor("`1`", "A negative `x` does not reach `y`, so its gradient is 0.", unit),
       factor("`y`", "This multiplies by the value. The slope for `x > 0` is 1.",
              [](const Tensor& x) { return relu(x); }),
       factor("`1` if `x < 0`, else `0`", "The condition is reversed: positive `x` reach `y`.",
              [](const Tensor& x) { return (x < 0.0).to(x.dtype()); }),
       factor("`1` if `x > 0`, else `0`", "The slope is 1 where `y = x`, and 0 where `y = 0`.",
              [](const Tensor& x) { return (x > 0.0).to(x.dtype()); })});
}

Exercise of_gelu() {
  return fill_in(
      "GELU", "`y = x Φ(x)`: `Φ` is the normal distribution function, `φ = Φ′` its density",
      [](const Tensor& x) { return gelu(x); }, any_sign(),
      {factor("`Φ(x)`", "This holds `Φ(x)` fixed: the product rule also gives `x φ(x)`.",
              normal_distribution),
       factor("`Φ(x) + φ(x)`", "The second term of the product rule is `x Φ′(x)`: `x` is missing.",
              [](const Tensor& x) { return normal_distribution(x) + normal_density(x); }),
       factor("`Φ(x) + x φ(x)`", "The product rule: `1 · Φ(x) + x Φ′(x)`.",
              [](const Tensor& x) { return normal_distribution(x) + x * normal_density(x); }),
       factor("`x φ(x)`", "The product rule also gives `Φ(x)`, from the derivative of `x`.",
              [](const Tensor& x) { return x * normal_density(x); })});
}

}  // namespace

std::vector<Exercise> factor_exercises() {
  return {of_tanh(), of_sigmoid(), of_sqrt(),       of_log(),  of_mean(),
          of_exp(),  of_square(),  of_reciprocal(), of_relu(), of_gelu()};
}

}  // namespace gradus::play
