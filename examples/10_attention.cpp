// Lesson 10: one attention head on three tokens, forward and backward, with every matrix.
//
//   scores = q kᵀ / √D      weights = softmax(scores)      out = weights v
//
//   dv = weightsᵀ dout      dweights = dout vᵀ
//   dscores = weights (dweights − Σ weights dweights)
//   dq = dscores k / √D     dk = dscoresᵀ q / √D
//
// Under FormulaScope, attention runs as separate ops, and an observer records their results and
// gradients. The fused kernel, which stores no T × S matrix, must give the same values.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

/// q [T, D], k [S, D], v [S, Dv], dout [T, Dv]
void attention(const Rows& q_values = {{1, 2, 0, 1}, {0, 1, 2, 0}},
               const Rows& k_values = {{1, 0, 0, 1}, {0, 2, 0, 1}, {0, 0, 2, -1}},
               const Rows& v_values = {{1, 0, 0, 0, 4}, {0, 2, 0, 0, -4}, {0, 0, 3, 0, 0}},
               const Rows& dout_values = {{1, 0, -1, 1, 0}, {0, 1, 2, 0, -0.5}}) {
  const std::vector<std::string> queries = {"cat", "sat"}, keys = {"the", "cat", "sat"};
  Tensor q = head(q_values), k = head(k_values), v = head(v_values);  // [1, 1, T or S, width]
  const Tensor dout = head(dout_values).detach();
  show("q, what each query looks for", q, queries);
  show("k, what each key is found by", k, keys);
  show("v, what each key contributes", v, keys);

  // ---- the formula, op by op ----
  Recorder recorded;
  Tensor out;
  {
    const ObserverScope watching(recorded);
    const FormulaScope as_formula;
    out = scaled_dot_product_attention(q, k, v);
    out.backward(dout);
  }
  std::printf("operations that ran, with their node ids:");
  for (const auto& [id, entry] : recorded.entries)
    std::printf("  %d %s", static_cast<int>(id), entry.name.c_str());
  const Tensor scores = recorded["scale"].y, dscores = recorded["scale"].dy;        // [1, 1, T, S]
  const Tensor weights = recorded["softmax"].y, dweights = recorded["softmax"].dy;  // [1, 1, T, S]
  show("\n\nscores = q kᵀ / √D, a row for each query, a column for each key", scores, queries);
  show("weights = softmax(scores)", weights, queries);
  show("out = weights v", out, queries);
  show("\ndout, chosen", dout, queries);
  show("dv = weightsᵀ dout", v.grad(), keys);
  show("dweights = dout vᵀ", dweights, queries);
  show("dscores = weights (dweights - Σ weights dweights)", dscores, queries);
  show("dq = dscores k / √D", q.grad(), queries);
  show("dk = dscoresᵀ q / √D", k.grad(), keys);

  // ---- recompute each formula from the matrices above ----
  const Tensor dq = q.grad(), dk = k.grad(), dv = v.grad();
  {
    const NoGrad by_hand;
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));  // 1 / √D
    expect(same(scores, matmul(q, transpose(k)) * scale), "scores = q kᵀ / √D");
    expect(same(weights, exp(scores) / sum(exp(scores), {-1}, true)), "weights = softmax(scores)");
    expect(same(out, matmul(weights, v)), "out = weights v");
    expect(same(dv, matmul(transpose(weights), dout)), "dv = weightsᵀ dout");
    expect(same(dweights, matmul(dout, transpose(v))), "dweights = dout vᵀ");
    const Tensor inner = sum(weights * dweights, {-1}, true);  // [1, 1, T, 1]
    expect(same(dscores, weights * (dweights - inner)), "dscores = weights (dweights − Σ …)");
    expect(same(dq, matmul(dscores, k) * scale), "dq = dscores k / √D");
    expect(same(dk, matmul(transpose(dscores), q) * scale), "dk = dscoresᵀ q / √D");
    expect(same(sum(weights, {-1}), ones({1, 1, q.size(2)})), "each row of weights sums to 1");
    expect(same(sum(dscores, {-1}), zeros({1, 1, q.size(2)})), "each row of dscores sums to 0");
  }

  // ---- the fused kernel ----
  q.set_grad({});
  k.set_grad({});
  v.set_grad({});
  const Tensor fused = scaled_dot_product_attention(q, k, v);
  fused.backward(dout);
  expect(same(fused, out), "the fused kernel gives the same output");
  expect(same(q.grad(), dq) && same(k.grad(), dk) && same(v.grad(), dv), "fused gradients agree");
  std::printf("\nthe fused kernel, one operation named %s, gives the same out, dq, dk, dv\n",
              fused.node()->name());
}

int main() {
  set_default_dtype(Dtype::f64);
  attention();
}
