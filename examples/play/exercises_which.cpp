// Exercises 1 to 10: which of these four backward passes is right?
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/examples/play/exercises.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::play {
namespace {

using check::Tensors;

Tensor row_sum(const Tensor& x) { return sum(x, {-1}, true); }
Tensor row_mean(const Tensor& x) { return mean(x, {-1}, true); }

Exercise division() {
  return {
      "which",
      "Division",
      {"`y = a / b`, element by element", "`a`, `b` and `y`: [2, 3]"},
      [](const Tensors& in) { return in[0] / in[1]; },
      {awkward({2, 3}), awkward({2, 3}, 1)},
      {"a", "b"},
      {{"`da = dy / b`,  `db = dy a / b²`",
        "The sign of `db` is wrong: if `b` grows, `1 / b` falls.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {dy / in[1], dy * in[0] / square(in[1])};
        }},
       {"`da = dy b`,  `db = −dy a / b²`",
        "The forward pass multiplies `a` by `1 / b`, so the backward pass does the same with `dy`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {dy * in[1], -dy * in[0] / square(in[1])};
        }},
       {"`da = dy / b`,  `db = −dy a / b²`",
        "`∂y/∂a = 1 / b`, and the derivative of `1 / b` is `−1 / b²`, times `a`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {dy / in[1], -dy * in[0] / square(in[1])};
        }},
       {"`da = dy / b`,  `db = −dy / b²`",
        "This `db` is the gradient of `1 / b`: the factor `a` of the forward pass is missing.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {dy / in[1], -dy / square(in[1])};
        }}}};
}

Exercise bias() {
  return {
      "which",
      "Bias",
      {"`y_ij = x_ij + b_j`: each row of `x` gets the same `b`", "`x` and `y`: [5, 3], `b`: [3]"},
      [](const Tensors& in) { return in[0] + in[1]; },
      {awkward({5, 3}), awkward({3}, 1)},
      {"x", "b"},
      {{"`dx = dy`,  `db_j = Σ_i dy_ij`",
        "`b_j` is used in every row, and the gradients of all uses add up.",
        [](const Tensors&, const Tensor& dy) -> Tensors {
          return {dy, sum(dy, {0})};
        }},
       {"`dx = dy`,  `db = dy`",
        "`dy` is [5, 3], but `db` must be [3], as `b` is: sum over the axis that was broadcast.",
        [](const Tensors&, const Tensor& dy) -> Tensors {
          return {dy, dy};
        }},
       {"`dx = dy`,  `db_j = (1 / N) Σ_i dy_ij`, with `N` rows",
        "The gradients of several uses add up; a mean makes `db` `N` times too small.",
        [](const Tensors&, const Tensor& dy) -> Tensors {
          return {dy, mean(dy, {0})};
        }},
       {"`dx = dy`,  `db_j = dy_ij` of the last row `i`",
        "A loop that writes `db_j = dy_ij` in place of `db_j += dy_ij` keeps only the last row.",
        [](const Tensors&, const Tensor& dy) -> Tensors {
          return {dy, select(dy, 0, -1)};
        }}}};
}

Exercise matrix_product() {
  return {
      "which",
      "Matmul",
      {"`y_ij = Σ_k a_ik b_kj`, or `y = a b`", "`a`: [3, 4], `b`: [4, 4], `y`: [3, 4]"},
      [](const Tensors& in) { return matmul(in[0], in[1]); },
      {awkward({3, 4}), awkward({4, 4}, 1)},
      {"a", "b"},
      {{"`da = dy b`,  `db = aᵀ dy`",
        "`da_ik = Σ_j dy_ij b_kj` sums over the second index of `b`, so `b` must be transposed. "
        "Because `b` "
        "is square, the shapes do not show it.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {matmul(dy, in[1]), matmul(transpose(in[0]), dy)};
        }},
       {"`da = dy bᵀ`,  `db = dyᵀ a`",
        "This is the transpose of `db`. Because `b` is square, the shapes do not show it.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {matmul(dy, transpose(in[1])), matmul(transpose(dy), in[0])};
        }},
       {"`da = dy bᵀ`,  `db = aᵀ y`",
        "The upstream gradient `dy` is the factor, not the output `y`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {matmul(dy, transpose(in[1])), matmul(transpose(in[0]), matmul(in[0], in[1]))};
        }},
       {"`da = dy bᵀ`,  `db = aᵀ dy`", "`da_ik = Σ_j dy_ij b_kj`, and `db_kj = Σ_i a_ik dy_ij`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {matmul(dy, transpose(in[1])), matmul(transpose(in[0]), dy)};
        }}}};
}

Exercise residual() {
  return {"which",
          "Residual connection",
          {"`y = x + t`, with `t = tanh x`", "`x` and `y`: [2, 3]"},
          [](const Tensors& in) { return in[0] + tanh(in[0]); },
          {awkward({2, 3})},
          {"x"},
          {{"`dx = dy (1 − t²)`",
            "This overwrites the gradient of the direct path with the gradient of the tanh.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {dy * (1.0 - square(tanh(in[0])))};
            }},
           {"`dx = dy + dy (1 − t²)`",
            "`x` reaches `y` on two paths, and the gradients of both paths add up.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {dy + dy * (1.0 - square(tanh(in[0])))};
            }},
           {"`dx = ½ (dy + dy (1 − t²))`",
            "The gradients of several paths add up; they are not averaged.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {0.5 * (dy + dy * (1.0 - square(tanh(in[0]))))};
            }},
           {"`dx = dy`", "The path through the tanh is missing: it adds `dy (1 − t²)`.",
            [](const Tensors&, const Tensor& dy) -> Tensors { return {dy.clone()}; }}}};
}

Exercise softmax_rows() {
  return {
      "which",
      "Softmax",
      {"`y_i = exp(x_i) / Σ_j exp(x_j)`, for each row", "`x` and `y`: [3, 4]"},
      [](const Tensors& in) { return softmax(in[0]); },
      {awkward({3, 4})},
      {"x"},
      {{"`dx_i = y_i dy_i`",
        "This holds the denominator fixed, but it depends on every `x_i`: `−y_i Σ_j y_j dy_j` is "
        "missing.",
        [](const Tensors& in, const Tensor& dy) -> Tensors { return {softmax(in[0]) * dy}; }},
       {"`dx_i = y_i (1 − y_i) dy_i`",
        "This is only the diagonal `∂y_i/∂x_i`. The other outputs `y_j` depend on `x_i`, too.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          const Tensor y = softmax(in[0]);
          return {y * (1.0 - y) * dy};
        }},
       {"`dx_i = y_i (dy_i − Σ_j y_j dy_j)`",
        "`∂y_j/∂x_i = y_j (δ_ij − y_i)`, where the second term comes from the denominator.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          const Tensor y = softmax(in[0]);
          return {y * (dy - row_sum(y * dy))};
        }},
       {"`dx_i = y_i (dy_i − Σ_j dy_j)`",
        "The sum must weight each `dy_j` by its `y_j`: if all `dy_j` are equal, `dx` is 0.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {softmax(in[0]) * (dy - row_sum(dy))};
        }}}};
}

/// Returns softmax(x) − h for inputs x and target, where h is the one-hot target.
Tensor excess(const Tensors& in) {
  return softmax(in[0]) - one_hot(in[1], in[0].size(1), in[0].dtype());
}

double rows(const Tensors& in) { return static_cast<double>(in[0].size(0)); }

Exercise cross_entropy_mean() {
  return {"which",
          "Cross-entropy",
          {"`y = −(1 / N) Σ_i log p_{i,target(i)}`, with `p = softmax(x)`",
           "`x`: [3, 4] for `N = 3` rows, `y`: a single value. `h` is the one-hot target."},
          [](const Tensors& in) { return cross_entropy(in[0], in[1]); },
          {awkward({3, 4}), indices({2, 0, 3})},
          {"x", "target"},
          {{"`dx = dy (p − h) / N`",
            "The softmax and the log cancel to `p − h`, and the mean over rows divides by `N`.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {dy * excess(in) / rows(in), {}};
            }},
           {"`dx = dy (p − h)`", "The forward pass takes a mean, so `1 / N` is missing.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {dy * excess(in), {}};
            }},
           {"`dx = dy (h − p) / N`",
            "The sign is wrong: a larger logit of the target must lower the loss.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {dy * -excess(in) / rows(in), {}};
            }},
           {"`dx = dy h (p − h) / N`",
            "Only the target gets a gradient here, but all logits are in the denominator of `p`.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor h = one_hot(in[1], in[0].size(1), in[0].dtype());
              return {dy * h * excess(in) / rows(in), {}};
            }}}};
}

constexpr double kEps = 1e-5;

/// Returns r = 1 / √(variance of each row + ε).
Tensor one_over_deviation(const Tensor& x) {
  return rsqrt(row_mean(square(x - row_mean(x))) + kEps);
}

Exercise layer_normalization() {
  return {
      "which",
      "Layer norm",
      {"`y = (x − μ) r`, for each row", "`μ = mean(x)`, `r = 1 / √(mean((x − μ)²) + ε)`",
       "`x` and `y`: [3, 5]"},
      [](const Tensors& in) { return (in[0] - row_mean(in[0])) * one_over_deviation(in[0]); },
      {awkward({3, 5})},
      {"x"},
      {{"`dx = r (dy − mean(dy))`",
        "This holds `r` fixed, but each `x_i` changes the variance: `−y mean(dy y)` is missing.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          return {one_over_deviation(in[0]) * (dy - row_mean(dy))};
        }},
       {"`dx = r (dy − mean(dy) − x mean(dy x))`",
        "The last term needs the normalized `y`, not the input `x`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          const Tensor& x = in[0];
          return {one_over_deviation(x) * (dy - row_mean(dy) - x * row_mean(dy * x))};
        }},
       {"`dx = r (dy − y mean(dy y))`",
        "This holds `μ` fixed, but each `x_i` changes the mean: `−mean(dy)` is missing.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          const Tensor r = one_over_deviation(in[0]), y = (in[0] - row_mean(in[0])) * r;
          return {r * (dy - y * row_mean(dy * y))};
        }},
       {"`dx = r (dy − mean(dy) − y mean(dy y))`",
        "The second term is the path through `μ`, the third the path through `r`.",
        [](const Tensors& in, const Tensor& dy) -> Tensors {
          const Tensor r = one_over_deviation(in[0]), y = (in[0] - row_mean(in[0])) * r;
          return {r * (dy - row_mean(dy) - y * row_mean(dy * y))};
        }}}};
}

Tensor one_hot_ids(const Tensors& in) { return one_hot(in[1], in[0].size(0), in[0].dtype()); }

Exercise embedding_rows() {
  return {"which",
          "Embedding",
          {"`y_t = W_{id(t)}`: position `t` copies row `id(t)`",
           "`W`: [5, 3], `id = 4, 1, 1, 0, 4, 1`, `y`: [6, 3]. `dW` starts at 0."},
          [](const Tensors& in) { return embedding(in[0], in[1]); },
          {awkward({5, 3}), indices({4, 1, 1, 0, 4, 1})},
          {"W", "id"},
          {{"`dW_{id(t)} = dy_t`, for each `t`",
            "Each repeated id overwrites the gradient of its earlier positions: write +=, not =.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              Tensor dW = zeros(in[0].shape(), dy.dtype());
              const std::vector<std::int64_t> ids = in[1].to_vector<std::int64_t>();
              for (std::size_t t = 0; t < ids.size(); ++t)
                dW[ids[t]].copy_(dy[static_cast<std::int64_t>(t)]);
              return {dW, {}};
            }},
           {"`dW_{id(t)} += dy_t`, for each `t`",
            "A row that several positions copy gets the sum of their gradients.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              return {matmul(transpose(one_hot_ids(in)), dy), {}};
            }},
           {"`dW_{id(t)} += dy_t / count(id(t))`, for each `t`",
            "The gradients of several uses add up; this takes their mean.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor uses = one_hot_ids(in);
              return {matmul(transpose(uses / clamp(sum(uses, {0}), 1, 6)), dy), {}};
            }},
           {"`dW_t += dy_t`, for each `t` that is a row of `W`",
            "Position `t` read row `id(t)`, not row `t`: backward must use the same index.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              Tensor dW = zeros(in[0].shape(), dy.dtype());
              const std::int64_t count = std::min(dW.size(0), dy.size(0));
              slice(dW, 0, 0, count).copy_(slice(dy, 0, 0, count));
              return {dW, {}};
            }}}};
}

/// Returns ds, given dp and the attention weights p = softmax(s).
Tensor scores_gradient(const Tensor& p, const Tensor& dp) { return p * (dp - row_sum(p * dp)); }

Exercise attention_weights() {
  return {"which",
          "Attention",
          {"`o = p v`, with `p = softmax(s)` over the keys",
           "`s`: [3, 4], `v`: [4, 2], `o`: [3, 2]", "In all choices, `dp = do vᵀ`."},
          [](const Tensors& in) { return matmul(softmax(in[0]), in[1]); },
          {awkward({3, 4}), awkward({4, 2}, 1)},
          {"s", "v"},
          {{"`dv = sᵀ do`,  `ds = p (dp − Σ_keys p dp)`",
            "The forward pass multiplies `v` by the weights `p`, not by the scores `s`.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor dp = matmul(dy, transpose(in[1]));
              return {scores_gradient(softmax(in[0]), dp), matmul(transpose(in[0]), dy)};
            }},
           {"`dv = pᵀ do`,  `ds = p (dp − Σ_queries p dp)`",
            "The softmax normalizes over the keys of a query, so the sum is over the keys, too.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor p = softmax(in[0]), dp = matmul(dy, transpose(in[1]));
              return {p * (dp - sum(p * dp, {0}, true)), matmul(transpose(p), dy)};
            }},
           {"`dv = pᵀ do`,  `ds = p (dp − Σ_keys p dp)`",
            "`dv` and `dp` are the gradients of a matmul, and `ds` is the gradient of a softmax.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor p = softmax(in[0]), dp = matmul(dy, transpose(in[1]));
              return {scores_gradient(p, dp), matmul(transpose(p), dy)};
            }},
           {"`dv = pᵀ do`,  `ds = dp − Σ_keys p dp`",
            "The factor `p` of the softmax's gradient is missing: small weights move little.",
            [](const Tensors& in, const Tensor& dy) -> Tensors {
              const Tensor p = softmax(in[0]), dp = matmul(dy, transpose(in[1]));
              return {dp - row_sum(p * dp), matmul(transpose(p), dy)};
            }}}};
}

/// Rotates row t of x, [T, 2], by direction · 0.7 (t + 1).
Tensor rotated(const Tensor& x, double direction = 1) {
  const Tensor angle = direction * 0.7 * (arange(x.size(0)).to(Dtype::f64) + 1.0);
  const Tensor a = select(x, 1, 0), b = select(x, 1, 1), c = cos(angle), s = sin(angle);
  return stack({a * c - b * s, a * s + b * c}, 1);
}

Exercise rotary() {
  return {
      "which",
      "Rotary embedding",
      {"`y_1 = x_1 cos θ − x_2 sin θ`", "`y_2 = x_1 sin θ + x_2 cos θ`",
       "`x` and `y`: [5, 2]; each position has its angle `θ`."},
      [](const Tensors& in) { return rotated(in[0]); },
      {awkward({5, 2})},
      {"x"},
      {{"`dx_1 = dy_1 cos θ − dy_2 sin θ`,  `dx_2 = dy_1 sin θ + dy_2 cos θ`",
        "This rotates forward again. The transpose of a rotation rotates by `−θ`.",
        [](const Tensors&, const Tensor& dy) -> Tensors { return {rotated(dy)}; }},
       {"`dx_1 = dy_1 cos θ + dy_2 sin θ`,  `dx_2 = −dy_1 sin θ + dy_2 cos θ`",
        "The backward pass multiplies by the transposed matrix, which rotates by `−θ`.",
        [](const Tensors&, const Tensor& dy) -> Tensors { return {rotated(dy, -1)}; }},
       {"`dx_1 = dy_1 cos θ`,  `dx_2 = dy_2 cos θ`",
        "`x_1` also reaches `y_2`, and `x_2` reaches `y_1`: the terms with `sin θ` are missing.",
        [](const Tensors&, const Tensor& dy) -> Tensors {
          return {0.5 * (rotated(dy) + rotated(dy, -1))};
        }},
       {"`dx_1 = dy_2 cos θ − dy_1 sin θ`,  `dx_2 = dy_2 sin θ + dy_1 cos θ`",
        "`dy_1` and `dy_2` are exchanged: `y_1` contains `x_1 cos θ`, so `dx_1` contains `dy_1 cos "
        "θ`.",
        [](const Tensors&, const Tensor& dy) -> Tensors { return {rotated(flip(dy, {1}))}; }}}};
}

}  // namespace

std::vector<Exercise> which_exercises() {
  return {division(),
          bias(),
          matrix_product(),
          residual(),
          softmax_rows(),
          cross_entropy_mean(),
          layer_normalization(),
          embedding_rows(),
          attention_weights(),
          rotary()};
}

}  // namespace gradus::play
