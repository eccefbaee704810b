#include <cmath>

#include "gradus/ops/members.h"
#include "gradus/tests/check/faulty_tensor_ops.h"

namespace gradus::faulty_tensor_ops {
namespace {

using T = const Tensor&;
using X = const Tensors&;

void add(std::vector<FaultyOp>& all, const Host& h, const std::string& what, std::size_t input,
         const std::string& cause, const Change& change) {
  all.push_back({h.name + ", " + what, h, changed(h, input, change), cause, input});
}

void add_elementwise(std::vector<FaultyOp>& all) {
  const Host sq = square_host(), th = tanh_host(), mul = multiply_host(), wide = broadcast_host();
  add(all, sq, "no 2", 0, "SCALE", [](T d, X, T) { return d / 2.0; });
  add(all, sq, "sign", 0, "SIGN", [](T d, X, T) { return -d; });
  add(all, sq, "no x", 0, "FACTOR", [](T, X, T dy) { return 2.0 * dy; });
  add(all, sq, "dy only", 0, "UPSTREAM ONLY", [](T, X, T dy) { return dy * 1.0; });
  add(all, sq, "nothing", 0, "NO GRADIENT", [](T d, X, T) { return d * 0.0; });
  add(all, sq, "undefined", 0, "NO GRADIENT", [](T, X, T) { return Tensor(); });
  add(all, sq, "abs x", 0, "SUBSET", [](T, X x, T dy) { return 2.0 * abs(x[0]) * dy; });
  add(all, th, "y in place of y²", 0, "LOCAL DERIVATIVE",
      [](T, X x, T dy) { return dy * (1.0 - tanh(x[0])); });
  add(all, th, "x in place of y", 0, "LOCAL DERIVATIVE",
      [](T, X x, T dy) { return dy * (1.0 - square(x[0])); });
  add(all, th, "axes swapped", 0, "TRANSPOSED", [](T d, X, T) { return transpose(d, 0, 2) * 1.0; });
  add(all, th, "shifted", 0, "OFF BY ONE", [](T d, X, T) {
    return cat({slice(d, 1, 1, 3), slice(d, 1, 0, 1)}, 1);
  });
  add(all, mul, "a for b", 0, "SAME AS ANOTHER", [](T, X x, T dy) { return dy * x[0]; });
  all.push_back({"multiply, results swapped", mul,
                 [](X x, T dy) {
                   return Tensors{dy * x[0], dy * x[1]};
                 },
                 "SWAPPED"});
  add(all, mul, "no b", 0, "UPSTREAM ONLY", [](T, X, T dy) { return dy * 1.0; });
  add(all, mul, "b twice", 0, "FACTOR", [](T d, X x, T) { return d * x[1]; });
  add(all, wide, "mean for sum", 1, "SCALE", [](T d, X, T) { return d / 8.0; });
  add(all, wide, "one axis summed", 1, "PARTIAL SUM", [](T, X x, T dy) {
    return sum(select(dy * x[0], 0, 0), {1}).view({3, 1});
  });
  add(all, wide, "one slice", 1, "PARTIAL SUM",
      [](T, X x, T dy) { return slice(select(dy * x[0], 0, 0), 1, 0, 1).contiguous(); });
  add(all, wide, "last index lost", 1, "PARTIAL SUM", [](T, X x, T dy) {
    return sum(slice(dy * x[0], 2, 0, 3), {0, 2}).view({3, 1});
  });
  add(all, wide, "factor forgotten", 1, "FACTOR", [](T, X, T dy) {
    return sum(dy, {0, 2}).view({3, 1});
  });
}

void add_products(std::vector<FaultyOp>& all) {
  const Host mm = matmul_host(), lin = linear_host();
  Host square_mm = mm;
  square_mm.inputs = {values({3, 3}), values({3, 3}, 1)};
  add(all, square_mm, "b not transposed", 0, "OPERAND TRANSPOSED",
      [](T, X x, T dy) { return matmul(dy, x[1]); });
  add(all, square_mm, "a not transposed", 1, "OPERAND TRANSPOSED",
      [](T, X x, T dy) { return matmul(x[0], dy); });
  add(all, square_mm, "result transposed", 0, "TRANSPOSED",
      [](T d, X, T) { return transpose(d).contiguous(); });
  all.push_back({"matmul, dy transposed", square_mm,
                 [right = mm.right](X x, T dy) {
                   Tensors dx = right(x, transpose(dy));
                   dx[1] = right(x, dy)[1];
                   return dx;
                 },
                 "TRANSPOSED"});
  add(all, mm, "last inner index", 0, "LEFT OUT", [](T d, X, T) {
    return cat({slice(d, 1, 0, 3), slice(d, 1, 3, 4) * 0.0}, 1);
  });
  add(all, mm, "first row twice", 0, "SUBSET", [](T d, X, T) {
    return cat({slice(d, 0, 0, 1) * 2.0, slice(d, 0, 1, 3)}, 0);
  });
  add(all, mm, "last row of dy lost", 1, "PARTIAL SUM",
      [](T, X x, T dy) { return matmul(transpose(slice(x[0], 0, 0, 2)), slice(dy, 0, 0, 2)); });
  add(all, lin, "bias of the first row", 2, "PARTIAL SUM",
      [](T, X, T dy) { return select(dy, 0, 0).clone(); });
  add(all, lin, "bias, mean", 2, "SCALE", [](T d, X, T) { return d / 3.0; });
  add(all, lin, "no bias gradient", 2, "NO GRADIENT", [](T, X, T) { return Tensor(); });
  add(all, lin, "weight's sign", 1, "SIGN", [](T d, X, T) { return -d; });
  add(all, lin, "weight over the batch", 1, "SCALE", [](T d, X, T) { return d / 3.0; });
}

void add_rows(std::vector<FaultyOp>& all) {
  const Host sm = softmax_host(), lsm = log_softmax_host(), total = sum_host();
  add(all, sm, "no sum", 0, "MISSING TERM", [](T, X x, T dy) { return softmax(x[0]) * dy; });
  add(all, sm, "mean for sum", 0, "MISSING TERM", [](T, X x, T dy) {
    const Tensor y = softmax(x[0]);
    return y * (dy - mean(y * dy, {1}, true));
  });
  add(all, sm, "no y outside", 0, "FACTOR",
      [](T, X x, T dy) { return dy - sum(softmax(x[0]) * dy, {1}, true); });
  add(all, sm, "sum over all rows", 0, "LEAK", [](T, X x, T dy) {
    const Tensor y = softmax(x[0]);
    return y * (dy - sum(y * dy));
  });
  add(all, sm, "other axis", 0, "", [](T, X x, T dy) {
    const Tensor y = softmax(x[0]);
    return y * (dy - sum(y * dy, {0}, true));
  });
  add(all, sm, "only the first row", 0, "LEFT OUT", [](T d, X, T) {
    return cat({slice(d, 0, 0, 1), slice(d, 0, 1, 3) * 0.0}, 0);
  });
  add(all, lsm, "dy only", 0, "UPSTREAM ONLY", [](T, X, T dy) { return dy * 1.0; });
  add(all, lsm, "y for its exponential", 0, "",
      [](T, X x, T dy) { return dy - log_softmax(x[0]) * sum(dy, {1}, true); });
  add(all, lsm, "mean for sum", 0, "MISSING TERM",
      [](T, X x, T dy) { return dy - softmax(x[0]) * mean(dy, {1}, true); });
  add(all, total, "mean for sum", 0, "SCALE", [](T d, X, T) { return d / 4.0; });
  add(all, total, "first column", 0, "LEFT OUT", [](T d, X, T) {
    return cat({slice(d, 1, 0, 1), slice(d, 1, 1, 4) * 0.0}, 1);
  });
}

Tensor norm_dx(const Tensors& x, const Tensor& dy, double mean_share, double hat_share,
               bool with_rstd, bool with_weight) {
  const Tensor centred = x[0] - mean(x[0], {1}, true);
  const Tensor rstd = rsqrt(mean(square(centred), {1}, true) + 1e-5);
  const Tensor hat = centred * rstd, g = with_weight ? dy * x[1] : dy * 1.0;
  const Tensor d = g - mean_share * mean(g, {1}, true) - hat_share * hat * mean(g * hat, {1}, true);
  return with_rstd ? rstd * d : d;
}

void add_norms(std::vector<FaultyOp>& all) {
  const Host ln = layer_norm_host(), rms = rms_norm_host();
  const auto norm = [&](const std::string& what, double m, double h, bool r, bool w,
                        const std::string& cause) {
    add(all, ln, what, 0, cause, [=](T, X x, T dy) { return norm_dx(x, dy, m, h, r, w); });
  };
  norm("no mean", 0, 1, true, true, "MISSING TERM");
  norm("no x̂ term", 1, 0, true, true, "MISSING TERM");
  norm("x̂ term added", 1, -1, true, true, "MISSING TERM");
  norm("neither term", 0, 0, true, true, "");
  norm("no rstd", 1, 1, false, true, "FACTOR");
  norm("no weight", 1, 1, true, false, "FACTOR");
  add(all, ln, "weight from x", 1, "", [](T, X x, T dy) { return sum(dy * x[0], {0}); });
  add(all, ln, "bias of one row", 2, "PARTIAL SUM",
      [](T, X, T dy) { return select(dy, 0, 2).clone(); });
  add(all, ln, "bias, mean", 2, "SCALE", [](T d, X, T) { return d / 3.0; });
  all.push_back({"layer_norm, weight and bias swapped", ln,
                 [right = ln.right](X x, T dy) {
                   Tensors dx = right(x, dy);
                   std::swap(dx[1], dx[2]);
                   return dx;
                 },
                 "SWAPPED", 1});
  add(all, rms, "no second term", 0, "MISSING TERM",
      [](T, X x, T dy) { return rsqrt(mean(square(x[0]), {1}, true) + 1e-5) * dy * x[1]; });
  add(all, rms, "sum for mean", 0, "MISSING TERM", [](T, X x, T dy) {
    const Tensor r = rsqrt(mean(square(x[0]), {1}, true) + 1e-5), g = dy * x[1];
    return r * g - x[0] * r * r * r * sum(g * x[0], {1}, true);
  });
  add(all, rms, "weight without r", 1, "FACTOR", [](T, X x, T dy) { return sum(dy * x[0], {0}); });
}

Tensors attention_vjp(const Tensors& x, const Tensor& dy, double scale, bool with_sum) {
  const Tensor p = softmax(matmul(x[0], transpose(x[1])) * 0.5);
  const Tensor dp = matmul(dy, transpose(x[2]));
  const Tensor ds = p * (with_sum ? dp - sum(p * dp, {-1}, true) : dp) * scale;
  return {matmul(ds, x[1]), matmul(transpose(ds), x[0]), matmul(transpose(p), dy)};
}

void add_attention(std::vector<FaultyOp>& all) {
  const Host at = attention_host();
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const std::string of = k == 0 ? " of q" : " of k";
    add(all, at, "no 1/√d" + of, k, "SCALE",
        [k](T, X x, T dy) { return attention_vjp(x, dy, 1, true)[k]; });
    add(all, at, "1/√d twice" + of, k, "SCALE",
        [k](T, X x, T dy) { return attention_vjp(x, dy, 0.25, true)[k]; });
    add(all, at, "no sum in softmax" + of, k, "",
        [k](T, X x, T dy) { return attention_vjp(x, dy, 0.5, false)[k]; });
  }
  add(all, at, "v lacks the last query", 2, "PARTIAL SUM", [](T, X x, T dy) {
    const Tensor p = softmax(matmul(x[0], transpose(x[1])) * 0.5);
    return matmul(transpose(slice(p, 2, 0, 2)), slice(dy, 2, 0, 2));
  });
  add(all, at, "second head lost", 2, "LEFT OUT", [](T d, X, T) {
    return cat({slice(d, 1, 0, 1), slice(d, 1, 1, 2) * 0.0}, 1);
  });
  add(all, at, "heads swapped", 2, "PERMUTED", [](T d, X, T) { return flip(d, {1}); });
}

void add_indices_and_losses(std::vector<FaultyOp>& all) {
  const Host rows = rows_host(), mse = loss_host(), ce = cross_entropy_host();
  add(all, rows, "repeats overwrite", 0, "PARTIAL SUM", [](T, X x, T dy) {
    std::vector<Tensor> out;
    const auto at = x[1].to_vector<std::int64_t>();
    for (std::int64_t r = 0; r < x[0].size(0); ++r) {
      Tensor row = zeros({x[0].size(1)}, dy.dtype());
      for (std::size_t i = 0; i < at.size(); ++i)
        if (at[i] == r) row = select(dy, 0, static_cast<std::int64_t>(i)) * 1.0;
      out.push_back(row);
    }
    return stack(out);
  });
  add(all, rows, "indices off by one", 0, "OFF BY ONE", [](T d, X, T) {
    return cat({slice(d, 0, 3, 4), slice(d, 0, 0, 3)}, 0);
  });
  add(all, rows, "first row skipped", 0, "LEFT OUT", [](T d, X, T) {
    return cat({slice(d, 0, 0, 1) * 0.0, slice(d, 0, 1, 4)}, 0);
  });
  add(all, rows, "mean of repeats", 0, "FACTOR", [](T d, X, T) {
    return cat({slice(d, 0, 0, 1) / 2.0, slice(d, 0, 1, 2), slice(d, 0, 2, 4) / 2.0}, 0);
  });
  add(all, mse, "no mean", 0, "SCALE", [](T d, X, T) { return d * 12.0; });
  add(all, mse, "no 2", 0, "SCALE", [](T d, X, T) { return d / 2.0; });
  add(all, mse, "target's sign", 1, "SIGN", [](T d, X, T) { return -d; });
  add(all, mse, "sign of the error", 0, "",
      [](T, X x, T dy) { return dy / 6.0 * sign(x[0] - x[1]); });
  add(all, ce, "no mean", 0, "SCALE", [](T d, X, T) { return d * 4.0; });
  add(all, ce, "no one-hot", 0, "", [](T, X x, T dy) { return dy * softmax(x[0]) / 4.0; });
  add(all, ce, "sign", 0, "SIGN", [](T d, X, T) { return -d; });
  add(all, ce, "classes for rows", 0, "SCALE", [](T d, X, T) { return d * 4.0 / 3.0; });
}

}  // namespace

std::vector<FaultyOp> faulty_formula() {
  std::vector<FaultyOp> all;
  add_elementwise(all);
  add_products(all);
  add_rows(all);
  add_norms(all);
  add_attention(all);
  add_indices_and_losses(all);
  return all;
}

}  // namespace gradus::faulty_tensor_ops
