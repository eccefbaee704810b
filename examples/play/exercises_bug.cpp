// Exercises 21 to 26: find the wrong line. Each bug is simplified from one in a released library:
// see docs/found/seen_in_the_wild.md.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/examples/play/exercises.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::play {
namespace {

using check::Tensors;
using check::Vjp;

Choice correct(std::string line, std::string explanation) {
  return {std::move(line), std::move(explanation), {}};
}

Choice wrong(std::string line, std::string explanation, std::string fix, Vjp fixed) {
  return {std::move(line), std::move(explanation), std::move(fixed), std::move(fix)};
}

/// The gradient of y = −q² / 2 + log q with respect to q.
Tensor by_distance(const Tensor& w, const Tensor& dy) {
  const Tensor q = 1.0 - w;
  return dy * (1.0 / q - q);
}

Exercise starting_point() {
  return {
      "bug",
      "Stan: density of a diffusion by its starting point",
      {"`y = −q² / 2 + log q`, with `q = 1 − w`", "`w`: [3], between 0 and 1"},
      [](const Tensors& in) {
        const Tensor q = 1.0 - in[0];
        return log(q) - 0.5 * square(q);
      },
      {tensor({0.3, 0.55, 0.8}, Dtype::f64)},
      {"w"},
      {correct("`q = 1 − w`", "The forward pass computes the same `q`."),
       correct("`u = 1 / q − q`", "`−q² / 2` has the derivative `−q`, and `log q` has `1 / q`."),
       correct("`dq = dy u`", "This is the chain rule for `q`."),
       wrong("`dw = dq`", "`w` reaches `y` only through `q = 1 − w`, and `∂q/∂w = −1`.", "dw = −dq",
             [](const Tensors& in, const Tensor& dy) -> Tensors {
               return {-by_distance(in[0], dy)};
             })},
      [](const Tensors& in, const Tensor& dy) -> Tensors { return {by_distance(in[0], dy)}; },
      "https://github.com/stan-dev/math/issues/3322"};
}

/// The gradient of log_sigmoid if `s` is the derivative of |x|.
Tensor log_sigmoid_gradient(const Tensor& x, const Tensor& dy, const Tensor& s) {
  const Tensor e = exp(-abs(x)), m = (x < 0.0).to(x.dtype());
  return dy * (m + s * e / (1.0 + e));
}

Exercise log_sigmoid() {
  return {
      "bug",
      "JAX: log_sigmoid",
      {"`y = min(x, 0) − log(1 + exp(−|x|))`, which is `log σ(x)`", "`x = 0, 0.5, −2`"},
      [](const Tensors& in) {
        return minimum(in[0], zeros({1}, Dtype::f64)) - log1p(exp(-abs(in[0])));
      },
      {tensor({0, 0.5, -2}, Dtype::f64)},
      {"x"},
      {correct("`e = exp(−|x|)`", "The forward pass computes the same e."),
       correct("`m = 1` if `x < 0`, else `0`",
               "This is the derivative of `min(x, 0)`, except at 0."),
       wrong("`s = sign(x)`",
             "`sign(0) = 0` removes the second term at 0, but `y` is smooth there, with slope `½`. "
             "With `m = 0` at 0, `s` must be 1.",
             "s = 1 if x ≥ 0, else −1",
             [](const Tensors& in, const Tensor& dy) -> Tensors {
               const Tensor s = 2.0 * (in[0] >= 0.0).to(dy.dtype()) - 1.0;
               return {log_sigmoid_gradient(in[0], dy, s)};
             }),
       correct("`dx = dy (m + s e / (1 + e))`",
               "`log(1 + e)` has the derivative `e′ / (1 + e)`, with `e′ = −s e`.")},
      [](const Tensors& in, const Tensor& dy) -> Tensors {
        return {log_sigmoid_gradient(in[0], dy, sign(in[0]))};
      },
      "https://github.com/jax-ml/jax/issues/2140"};
}

Exercise cauchy_loss() {
  return {"bug",
          "PoseLib: Cauchy loss",
          {"`y = log(1 + u)`, with `u = x / c`", "`x`: [3] squared residuals, `c = 4`"},
          [](const Tensors& in) { return log1p(in[0] / 4.0); },
          {tensor({0.3, 2, 7.5}, Dtype::f64)},
          {"x"},
          {correct("`u = x / c`", "The forward pass computes the same `u`."),
           correct("`w = 1 / (1 + u)`", "This is the derivative of `log(1 + u)` by `u`."),
           correct("`du = dy w`", "This is the chain rule for `u`."),
           wrong("`dx = du`", "`w` is the derivative by `u`, not by `x`, and `∂u/∂x = 1 / c`.",
                 "dx = du / c",
                 [](const Tensors& in, const Tensor& dy) -> Tensors {
                   return {dy / (4.0 * (1.0 + in[0] / 4.0))};
                 })},
          [](const Tensors& in, const Tensor& dy) -> Tensors { return {dy / (1.0 + in[0] / 4.0)}; },
          "https://github.com/PoseLib/PoseLib/issues/97"};
}

/// Returns the 2 × 2 blocks of x, [2R, 2C], as [R, C, 4].
Tensor blocks(const Tensor& x) {
  const std::int64_t rows = x.size(0) / 2, columns = x.size(1) / 2;
  return reshape(permute(reshape(x, {rows, 2, columns, 2}), {0, 2, 1, 3}), {rows, columns, 4});
}

/// The gradient of max pooling from the blocks (i, j) with i < rows, j < columns.
Tensor pooling_gradient(const Tensor& x, const Tensor& dy, std::int64_t rows,
                        std::int64_t columns) {
  Tensor dx = zeros(x.shape(), x.dtype());
  const std::vector<std::int64_t> largest = argmax(blocks(x), 2).to_vector<std::int64_t>();
  for (std::int64_t i = 0; i < std::min(rows, dy.size(0)); ++i)
    for (std::int64_t j = 0; j < std::min(columns, dy.size(1)); ++j) {
      const std::int64_t at = largest[static_cast<std::size_t>(i * dy.size(1) + j)];
      dx[{2 * i + at / 2, 2 * j + at % 2}].copy_(dy[{i, j}]);
    }
  return dx;
}

Exercise max_pooling() {
  return {
      "bug",
      "PyTorch: max pooling on a GPU",
      {"`y_ij` = maximum of block `(i, j)`: rows `2i`, `2i + 1` and columns `2j`, `2j + 1` of `x`",
       "`x`: [4, 8], `y`: [2, 4]"},
      [](const Tensors& in) { return max(blocks(in[0]), {2}); },
      {awkward({4, 8})},
      {"x"},
      {correct("`dx = 0`", "Elements that are not a maximum get the gradient 0."),
       correct("`R`, `C` = number of rows and columns of `dy`", "Here `R = 2` and `C = 4`."),
       wrong("for each `i < C` and `j < R` that is inside `dy`:",
             "The axes are exchanged: only 2 × 2 of the 2 × 4 blocks are visited. A square `y` "
             "hides the bug.",
             "for each i < R and j < C:",
             [](const Tensors& in, const Tensor& dy) -> Tensors {
               return {pooling_gradient(in[0], dy, dy.size(0), dy.size(1))};
             }),
       correct("    `a`, `b` = position of the maximum of block `(i, j)`",
               "Only this element of the block reaches `y_ij`."),
       correct("    `dx_ab = dy_ij`", "Blocks do not overlap, so = is enough.")},
      [](const Tensors& in, const Tensor& dy) -> Tensors {
        return {pooling_gradient(in[0], dy, dy.size(1), dy.size(0))};
      },
      "https://github.com/pytorch/pytorch/issues/36820"};
}

Exercise shared_gradient() {
  return {
      "bug",
      "Warp: a tape behind a PyTorch function",
      {"`y = x²`", "`x`: [4]"},
      [](const Tensors& in) { return square(in[0]); },
      {awkward({4})},
      {"x"},
      {correct("`g = 2x`", "This is the derivative of `x²`."),
       correct("`dx = g dy`", "This is the chain rule."),
       wrong("fill `dy` with 0, for the tape's next run",
             "`dy` belongs to the caller, who uses it again: a second backward pass gets zeros. "
             "Finite differences alone do not detect it.",
             "leave dy unchanged",
             [](const Tensors& in, const Tensor& dy) -> Tensors { return {2.0 * in[0] * dy}; }),
       correct("return `dx`", "`dx` is a new tensor, so line 3 does not change it.")},
      [](const Tensors& in, const Tensor& dy) -> Tensors {
        const Tensor dx = 2.0 * in[0] * dy;
        Tensor same = dy;
        same.copy_(zeros_like(dy));
        return {dx};
      },
      "https://github.com/NVIDIA/warp/issues/1732"};
}

Exercise power_of_two() {
  return {"bug",
          "JAX: ldexp",
          {"`y = x` if `x = 0`, else `x · 2ⁿ`: the first case keeps the sign of −0",
           "`x = 0, 1.5, −2`; `n = 3`"},
          [](const Tensors& in) { return where(in[0] == 0.0, in[0], 8.0 * in[0]); },
          {tensor({0, 1.5, -2}, Dtype::f64)},
          {"x"},
          {correct("`p = 2ⁿ`", "This is the derivative of `x · 2ⁿ`."),
           wrong("`q = 1` if `x = 0`, else `p`",
                 "The first case returns `x` only because `0 · 2ⁿ` is 0, too. Around 0, `y` is `x "
                 "· 2ⁿ`, so "
                 "the derivative at 0 is also `2ⁿ`.",
                 "q = p", [](const Tensors&, const Tensor& dy) -> Tensors { return {8.0 * dy}; }),
           correct("`dx = q dy`", "This is the chain rule.")},
          [](const Tensors& in, const Tensor& dy) -> Tensors {
            return {where(in[0] == 0.0, dy, 8.0 * dy)};
          },
          "https://github.com/jax-ml/jax/issues/37992"};
}

}  // namespace

std::vector<Exercise> bug_exercises() {
  return {starting_point(), log_sigmoid(),     cauchy_loss(),
          max_pooling(),    shared_gradient(), power_of_two()};
}

}  // namespace gradus::play
