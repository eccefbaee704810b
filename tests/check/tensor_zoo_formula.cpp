// Wrong formulas: signs, factors, terms, axes, masks, indices.
#include <cmath>

#include "gradus/ops/members.h"
#include "gradus/tests/check/tensor_zoo.h"

namespace gradus::tensor_zoo {
namespace {

/// The right gradient of `input`, replaced.
Beast wrong(const Host& h, const std::string& what, std::size_t input, const Change& change,
            const std::string& cause) {
  return {h.name + ", " + what, h, changed(h, input, change), cause, input};
}

void add_elementwise(std::vector<Beast>& all) {
  const Host sq = square_host(), th = tanh_host(), mul = multiply_host(), wide = broadcast_host();
  using T = const Tensor&;
  using X = const Tensors&;
  all.push_back(wrong(
      sq, "no 2", 0, [](T d, X, T) { return d / 2.0; }, "SCALE"));
  all.push_back(wrong(
      sq, "sign", 0, [](T d, X, T) { return -d; }, "SIGN"));
  all.push_back(wrong(
      sq, "no x", 0, [](T, X, T dy) { return 2.0 * dy; }, "FACTOR"));
  all.push_back(wrong(
      sq, "dy alone", 0, [](T, X, T dy) { return dy * 1.0; }, "UPSTREAM ONLY"));
  all.push_back(wrong(
      sq, "nothing", 0, [](T d, X, T) { return d * 0.0; }, "NO GRADIENT"));
  all.push_back(wrong(
      sq, "undefined", 0, [](T, X, T) { return Tensor(); }, "NO GRADIENT"));
  all.push_back(wrong(
      sq, "abs x", 0, [](T, X x, T dy) { return 2.0 * abs(x[0]) * dy; }, "SUBSET"));
  all.push_back(wrong(
      th, "y in place of y²", 0, [](T, X x, T dy) { return dy * (1.0 - tanh(x[0])); },
      "LOCAL DERIVATIVE"));
  all.push_back(wrong(
      th, "x in place of y", 0, [](T, X x, T dy) { return dy * (1.0 - square(x[0])); },
      "LOCAL DERIVATIVE"));
  all.push_back(wrong(
      th, "axes swapped", 0, [](T d, X, T) { return transpose(d, 0, 2) * 1.0; }, "TRANSPOSED"));
  all.push_back(wrong(
      th, "shifted", 0,
      [](T d, X, T) {
        return cat({slice(d, 1, 1, 3), slice(d, 1, 0, 1)}, 1);
      },
      "OFF BY ONE"));
  all.push_back(wrong(
      mul, "a for b", 0, [](T, X x, T dy) { return dy * x[0]; }, "SAME AS ANOTHER"));
  all.push_back({"multiply, results swapped", mul,
                 [](X x, T dy) {
                   return Tensors{dy * x[0], dy * x[1]};
                 },
                 "SWAPPED"});
  all.push_back(wrong(
      mul, "no b", 0, [](T, X, T dy) { return dy * 1.0; }, "UPSTREAM ONLY"));
  all.push_back(wrong(
      mul, "b twice", 0, [](T d, X x, T) { return d * x[1]; }, "FACTOR"));
  all.push_back(wrong(
      wide, "mean for sum", 1, [](T d, X, T) { return d / 8.0; }, "SCALE"));
  all.push_back(wrong(
      wide, "one axis summed", 1,
      [](T, X x, T dy) {
        return sum(select(dy * x[0], 0, 0), {1}).view({3, 1});
      },
      "PARTIAL SUM"));
  all.push_back(wrong(
      wide, "one slice", 1,
      [](T, X x, T dy) { return slice(select(dy * x[0], 0, 0), 1, 0, 1).contiguous(); },
      "PARTIAL SUM"));
  all.push_back(wrong(
      wide, "last index lost", 1,
      [](T, X x, T dy) {
        return sum(slice(dy * x[0], 2, 0, 3), {0, 2}).view({3, 1});
      },
      "PARTIAL SUM"));
  all.push_back(wrong(
      wide, "factor forgotten", 1,
      [](T, X, T dy) {
        return sum(dy, {0, 2}).view({3, 1});
      },
      "FACTOR"));
}

void add_products(std::vector<Beast>& all) {
  const Host mm = matmul_host(), lin = linear_host();
  using T = const Tensor&;
  using X = const Tensors&;
  Host square_mm = mm;
  square_mm.inputs = {values({3, 3}), values({3, 3}, 1)};
  all.push_back(wrong(
      square_mm, "b not transposed", 0, [](T, X x, T dy) { return matmul(dy, x[1]); },
      "OPERAND TRANSPOSED"));
  all.push_back(wrong(
      square_mm, "a not transposed", 1, [](T, X x, T dy) { return matmul(x[0], dy); },
      "OPERAND TRANSPOSED"));
  all.push_back(wrong(
      square_mm, "result transposed", 0, [](T d, X, T) { return transpose(d).contiguous(); },
      "TRANSPOSED"));
  all.push_back({"matmul, dy transposed", square_mm,
                 [right = mm.right](X x, T dy) {
                   Tensors dx = right(x, transpose(dy));
                   dx[1] = right(x, dy)[1];
                   return dx;
                 },
                 "TRANSPOSED"});
  all.push_back(wrong(
      mm, "last inner index", 0,
      [](T d, X, T) {
        return cat({slice(d, 1, 0, 3), slice(d, 1, 3, 4) * 0.0}, 1);
      },
      "LEFT OUT"));
  all.push_back(wrong(
      mm, "first row twice", 0,
      [](T d, X, T) {
        return cat({slice(d, 0, 0, 1) * 2.0, slice(d, 0, 1, 3)}, 0);
      },
      "SUBSET"));
  all.push_back(wrong(
      mm, "last row of dy lost", 1,
      [](T, X x, T dy) { return matmul(transpose(slice(x[0], 0, 0, 2)), slice(dy, 0, 0, 2)); },
      "PARTIAL SUM"));
  all.push_back(wrong(
      lin, "bias of the first row", 2, [](T, X, T dy) { return select(dy, 0, 0).clone(); },
      "PARTIAL SUM"));
  all.push_back(wrong(
      lin, "bias, mean", 2, [](T d, X, T) { return d / 3.0; }, "SCALE"));
  all.push_back(wrong(
      lin, "no bias gradient", 2, [](T, X, T) { return Tensor(); }, "NO GRADIENT"));
  all.push_back(wrong(
      lin, "weight's sign", 1, [](T d, X, T) { return -d; }, "SIGN"));
  all.push_back(wrong(
      lin, "weight over the batch", 1, [](T d, X, T) { return d / 3.0; }, "SCALE"));
}

void add_rows(std::vector<Beast>& all) {
  const Host sm = softmax_host(), lsm = log_softmax_host(), total = sum_host();
  using T = const Tensor&;
  using X = const Tensors&;
  all.push_back(wrong(
      sm, "no sum", 0, [](T, X x, T dy) { return softmax(x[0]) * dy; }, "MISSING TERM"));
  all.push_back(wrong(
      sm, "mean for sum", 0,
      [](T, X x, T dy) {
        const Tensor y = softmax(x[0]);
        return y * (dy - mean(y * dy, {1}, true));
      },
      "MISSING TERM"));
  all.push_back(wrong(
      sm, "no y outside", 0, [](T, X x, T dy) { return dy - sum(softmax(x[0]) * dy, {1}, true); },
      "FACTOR"));
  all.push_back(wrong(
      sm, "sum over all rows", 0,
      [](T, X x, T dy) {
        const Tensor y = softmax(x[0]);
        return y * (dy - sum(y * dy));
      },
      "LEAK"));
  all.push_back(wrong(
      sm, "other axis", 0,
      [](T, X x, T dy) {
        const Tensor y = softmax(x[0]);
        return y * (dy - sum(y * dy, {0}, true));
      },
      ""));
  all.push_back(wrong(
      sm, "first row alone", 0,
      [](T d, X, T) {
        return cat({slice(d, 0, 0, 1), slice(d, 0, 1, 3) * 0.0}, 0);
      },
      "LEFT OUT"));
  all.push_back(wrong(
      lsm, "dy alone", 0, [](T, X, T dy) { return dy * 1.0; }, "UPSTREAM ONLY"));
  all.push_back(wrong(
      lsm, "y for its exponential", 0,
      [](T, X x, T dy) { return dy - log_softmax(x[0]) * sum(dy, {1}, true); }, ""));
  all.push_back(wrong(
      lsm, "mean for sum", 0, [](T, X x, T dy) { return dy - softmax(x[0]) * mean(dy, {1}, true); },
      "MISSING TERM"));
  all.push_back(wrong(
      total, "mean for sum", 0, [](T d, X, T) { return d / 4.0; }, "SCALE"));
  all.push_back(wrong(
      total, "first column", 0,
      [](T d, X, T) {
        return cat({slice(d, 1, 0, 1), slice(d, 1, 1, 4) * 0.0}, 1);
      },
      "LEFT OUT"));
}

Tensor norm_dx(const Tensors& x, const Tensor& dy, double mean_share, double hat_share,
               bool with_rstd, bool with_weight) {
  const Tensor centred = x[0] - mean(x[0], {1}, true);
  const Tensor rstd = rsqrt(mean(square(centred), {1}, true) + 1e-5);
  const Tensor hat = centred * rstd, g = with_weight ? dy * x[1] : dy * 1.0;
  const Tensor d = g - mean_share * mean(g, {1}, true) - hat_share * hat * mean(g * hat, {1}, true);
  return with_rstd ? rstd * d : d;
}

void add_norms(std::vector<Beast>& all) {
  const Host ln = layer_norm_host(), rms = rms_norm_host();
  using T = const Tensor&;
  using X = const Tensors&;
  const auto norm = [&](const std::string& what, double m, double h, bool r, bool w,
                        const std::string& cause) {
    all.push_back(wrong(
        ln, what, 0, [=](T, X x, T dy) { return norm_dx(x, dy, m, h, r, w); }, cause));
  };
  norm("no mean", 0, 1, true, true, "MISSING TERM");
  norm("no x̂ term", 1, 0, true, true, "MISSING TERM");
  norm("x̂ term added", 1, -1, true, true, "MISSING TERM");
  norm("neither term", 0, 0, true, true, "");
  norm("no rstd", 1, 1, false, true, "FACTOR");
  norm("no weight", 1, 1, true, false, "FACTOR");
  all.push_back(wrong(
      ln, "weight from x", 1, [](T, X x, T dy) { return sum(dy * x[0], {0}); }, ""));
  all.push_back(wrong(
      ln, "bias of one row", 2, [](T, X, T dy) { return select(dy, 0, 2).clone(); },
      "PARTIAL SUM"));
  all.push_back(wrong(
      ln, "bias, mean", 2, [](T d, X, T) { return d / 3.0; }, "SCALE"));
  all.push_back({"layer_norm, weight and bias swapped", ln,
                 [right = ln.right](X x, T dy) {
                   Tensors dx = right(x, dy);
                   std::swap(dx[1], dx[2]);
                   return dx;
                 },
                 "SWAPPED", 1});
  all.push_back(wrong(
      rms, "no second term", 0,
      [](T, X x, T dy) { return rsqrt(mean(square(x[0]), {1}, true) + 1e-5) * dy * x[1]; },
      "MISSING TERM"));
  all.push_back(wrong(
      rms, "sum for mean", 0,
      [](T, X x, T dy) {
        const Tensor r = rsqrt(mean(square(x[0]), {1}, true) + 1e-5), g = dy * x[1];
        return r * g - x[0] * r * r * r * sum(g * x[0], {1}, true);
      },
      "MISSING TERM"));
  all.push_back(wrong(
      rms, "weight without r", 1, [](T, X x, T dy) { return sum(dy * x[0], {0}); }, "FACTOR"));
}

/// attention's gradients with a scale, and with or without softmax's sum.
Tensors attention_vjp(const Tensors& x, const Tensor& dy, double scale, bool with_sum) {
  const Tensor p = softmax(matmul(x[0], transpose(x[1])) * 0.5);
  const Tensor dp = matmul(dy, transpose(x[2]));
  const Tensor ds = p * (with_sum ? dp - sum(p * dp, {-1}, true) : dp) * scale;
  return {matmul(ds, x[1]), matmul(transpose(ds), x[0]), matmul(transpose(p), dy)};
}

void add_attention(std::vector<Beast>& all) {
  const Host at = attention_host();
  using T = const Tensor&;
  using X = const Tensors&;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const std::string of = k == 0 ? " of q" : " of k";
    all.push_back(wrong(
        at, "no 1/√d" + of, k, [k](T, X x, T dy) { return attention_vjp(x, dy, 1, true)[k]; },
        "SCALE"));
    all.push_back(wrong(
        at, "1/√d twice" + of, k, [k](T, X x, T dy) { return attention_vjp(x, dy, 0.25, true)[k]; },
        "SCALE"));
    all.push_back(wrong(
        at, "no sum in softmax" + of, k,
        [k](T, X x, T dy) { return attention_vjp(x, dy, 0.5, false)[k]; }, ""));
  }
  all.push_back(wrong(
      at, "v lacks the last query", 2,
      [](T, X x, T dy) {
        const Tensor p = softmax(matmul(x[0], transpose(x[1])) * 0.5);
        return matmul(transpose(slice(p, 2, 0, 2)), slice(dy, 2, 0, 2));
      },
      "PARTIAL SUM"));
  all.push_back(wrong(
      at, "second head lost", 2,
      [](T d, X, T) {
        return cat({slice(d, 1, 0, 1), slice(d, 1, 1, 2) * 0.0}, 1);
      },
      "LEFT OUT"));
  all.push_back(wrong(
      at, "heads swapped", 2, [](T d, X, T) { return flip(d, {1}); }, "PERMUTED"));
}

void add_indices_and_losses(std::vector<Beast>& all) {
  const Host rows = rows_host(), mse = loss_host(), ce = cross_entropy_host();
  using T = const Tensor&;
  using X = const Tensors&;
  all.push_back(wrong(
      rows, "repeats overwrite", 0,
      [](T, X x, T dy) {
        std::vector<Tensor> out;
        const auto at = x[1].to_vector<std::int64_t>();
        for (std::int64_t r = 0; r < x[0].size(0); ++r) {
          Tensor row = zeros({x[0].size(1)}, dy.dtype());
          for (std::size_t i = 0; i < at.size(); ++i)
            if (at[i] == r) row = select(dy, 0, static_cast<std::int64_t>(i)) * 1.0;
          out.push_back(row);
        }
        return stack(out);
      },
      "PARTIAL SUM"));
  all.push_back(wrong(
      rows, "indices one off", 0,
      [](T d, X, T) {
        return cat({slice(d, 0, 3, 4), slice(d, 0, 0, 3)}, 0);
      },
      "OFF BY ONE"));
  all.push_back(wrong(
      rows, "first row left out", 0,
      [](T d, X, T) {
        return cat({slice(d, 0, 0, 1) * 0.0, slice(d, 0, 1, 4)}, 0);
      },
      "LEFT OUT"));
  all.push_back(wrong(
      rows, "mean of repeats", 0,
      [](T d, X, T) {
        return cat({slice(d, 0, 0, 1) / 2.0, slice(d, 0, 1, 2), slice(d, 0, 2, 4) / 2.0}, 0);
      },
      "FACTOR"));
  all.push_back(wrong(
      mse, "no mean", 0, [](T d, X, T) { return d * 12.0; }, "SCALE"));
  all.push_back(wrong(
      mse, "no 2", 0, [](T d, X, T) { return d / 2.0; }, "SCALE"));
  all.push_back(wrong(
      mse, "target's sign", 1, [](T d, X, T) { return -d; }, "SIGN"));
  all.push_back(wrong(
      mse, "sign of the error", 0, [](T, X x, T dy) { return dy / 6.0 * sign(x[0] - x[1]); }, ""));
  all.push_back(wrong(
      ce, "no mean", 0, [](T d, X, T) { return d * 4.0; }, "SCALE"));
  all.push_back(wrong(
      ce, "no one-hot", 0, [](T, X x, T dy) { return dy * softmax(x[0]) / 4.0; }, ""));
  all.push_back(wrong(
      ce, "sign", 0, [](T d, X, T) { return -d; }, "SIGN"));
  all.push_back(wrong(
      ce, "classes for rows", 0, [](T d, X, T) { return d * 4.0 / 3.0; }, "SCALE"));
}

}  // namespace

std::vector<Beast> formula_beasts() {
  std::vector<Beast> all;
  add_elementwise(all);
  add_products(all);
  add_rows(all);
  add_norms(all);
  add_attention(all);
  add_indices_and_losses(all);
  return all;
}

}  // namespace gradus::tensor_zoo
