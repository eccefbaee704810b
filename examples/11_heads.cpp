// Lesson 11: heads are several attentions side by side, on separate columns.
//
//   Q, K, V = x Wᵀ, W [3C, C]: one matmul     head_h = softmax(Q_h K_hᵀ / √D) V_h, D = C / H
//   y = [head_1 … head_H] W_outᵀ              Q_h: columns h · D … (h + 1) · D of Q
//
//   dW = [dQ_1; … dQ_H; dK_1; … dV_H]ᵀ x: each head has its own rows
//
// With hand-written weights, head 0 attends to words of the same type. Head 1 turns the queries'
// angle by −45°, one position, and attends to the word before.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

const std::vector<std::string> kWords = {"the", "cat", "and", "the", "dog"};

/// [1, T 5, C 4]: article, noun, cos and sin of the position's angle.
Tensor words() {
  const Tensor kinds = tensor({{1, 0}, {0, 1}, {0, 0}, {1, 0}, {0, 1}});  // [5, 2]
  const Tensor angles = arange(0.0, 5.0) * (M_PI / 4);                    // [5]
  return unsqueeze(cat({kinds, stack({cos(angles), sin(angles)}, 1)}, 1), 0);
}

/// W [3C 12, C 4]: queries of head 0 (rows 0–1) and head 1 (2–3), then keys, then values.
Tensor projection(double key, int back) {
  const double c = 4 * std::cos(back * M_PI / 4), s = 4 * std::sin(back * M_PI / 4);
  const Tensor queries = tensor({{3, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, c, s}, {0, 0, -s, c}});
  const Tensor keys = tensor({{key, 0, 0, 0}, {0, key, 0, 0}, {0, 0, 4, 0}, {0, 0, 0, 4}});
  const Tensor values = tensor({{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}});
  return cat({queries, keys, values});
}

Tensor columns(const Tensor& x, std::int64_t h, std::int64_t width) {
  return slice(x, -1, h * width, (h + 1) * width);
}

/// A single head, with the gradients of lesson 10.
struct Head {
  Tensor q, k, v;                                                                       // [1, T, D]
  Tensor weights() const { return softmax(matmul(q, transpose(k)) / std::sqrt(2.0)); }  // [1, T, T]
  Tensor out() const { return matmul(weights(), v); }                                   // [1, T, D]
  std::vector<Tensor> backward(const Tensor& dout) const {
    const Tensor w = weights(), dw = matmul(dout, transpose(v));                 // [1, T, T]
    const Tensor dscores = w * (dw - sum(w * dw, {-1}, true)) / std::sqrt(2.0);  // [1, T, T]
    return {matmul(dscores, k), matmul(transpose(dscores), q), matmul(transpose(w), dout)};
  }
};

/// The keys of head 0 have size `key`, 0 to 100. Head 1 attends to the word `back` positions
/// before, −3 to 3.
void two_heads(double key = 3, int back = 1) {
  nn::MultiHeadAttention layer({.width = 4, .heads = 2, .bias = false});
  layer.qkv_proj.weight = projection(key, back).requires_grad_();
  layer.out_proj.weight = eye(4).requires_grad_();  // only concatenates the heads
  const Tensor x = words(), dy = arange(0.0, 20.0) / 10.0 - 1.0;
  const FormulaScope as_formula;
  nn::AttentionRecord record;
  const Tensor y = layer(x);                           // [1, 5, 4]
  const Tensor weights = record.entries()[0].weights;  // [1, 2, 5, 5]
  const Tensor entropy = attention_entropy(weights);   // [1, 2, 5]
  y.backward(reshape(dy, {1, 5, 4}));
  show("weights of head 0, for words of the same type", weights[0][0], kWords);
  show(back == 1 ? "weights of head 1, for the previous word"
                 : str_cat("weights of head 1, for the word ", back, " positions back"),
       weights[0][1], kWords);
  show("exp(entropy): how many words each word attends to, a row per head", exp(entropy[0]));
  show("y = [head_0 head_1]", y[0], kWords);

  const NoGrad by_hand;
  const std::vector<Tensor> qkv =
      chunk(matmul(x, transpose(projection(key, back))), 3, -1);  // [1, 5, 4]
  std::vector<Tensor> outs, dq, dk, dv;
  for (std::int64_t h = 0; h < 2; ++h) {
    const Head head{columns(qkv[0], h, 2), columns(qkv[1], h, 2), columns(qkv[2], h, 2)};
    expect(same(head.weights()[0], weights[0][h]), "a head uses only its own columns");
    const std::vector<Tensor> back = head.backward(columns(reshape(dy, {1, 5, 4}), h, 2));
    outs.push_back(head.out());
    dq.push_back(back[0]);
    dk.push_back(back[1]);
    dv.push_back(back[2]);
  }
  expect(same(cat(outs, -1), y), "y = [head_0 head_1]");
  const Tensor stacked = stack(outs, 1);  // [1, H 2, T 5, D 2]
  expect(same(nn::merge_heads(stacked), y) && same(nn::split_heads(y, 2), stacked),
         "merge_heads undoes split_heads");
  const Tensor d = cat({cat(dq, -1), cat(dk, -1), cat(dv, -1)}, -1)[0];  // [5, 12]
  const Tensor dW = layer.qkv_proj.weight.grad();                        // [12, 4]
  show("dW = [dQ dK dV]ᵀ x", dW,
       {"q 0", "", "q 1", "", "k 0", "", "k 1", "", "v 0", "", "v 1", ""});
  expect(same(matmul(transpose(d), x[0]), dW), "dW: the heads' gradients, stacked");
  expect(same(entropy, sum(weights * log(weights), {-1}) * -1.0), "entropy = -Σ p log p");
}

/// Six query heads share G heads of keys and values: 1, 2, 3 or 6.
void fewer_keys(const std::vector<std::int64_t>& groups = {6, 2, 1}) {
  seed(1);
  const Tensor x = randn({2, 5, 12});
  std::printf("\nC 12, H 6     qkv_proj   parameters   cached values per word\n");
  for (const std::int64_t G : groups) {
    const nn::MultiHeadAttention few({.width = 12, .heads = 6, .kv_heads = G, .bias = false});
    std::printf("G %d          %s %12d %12d\n", static_cast<int>(G),
                to_string(few.qkv_proj.weight.shape()).c_str(),
                static_cast<int>(few.parameter_count()), static_cast<int>(2 * G * 2));
    const NoGrad off;
    std::vector<Tensor> rows = split(few.qkv_proj.weight, {12, 2 * G, 2 * G}, 0);
    // Repeats each head for the query heads that it serves.
    for (const std::size_t part : {std::size_t{1}, std::size_t{2}})
      rows[part] = reshape(expand(reshape(rows[part], {G, 1, 2, 12}), {G, 6 / G, 2, 12}), {12, 12});
    nn::MultiHeadAttention all({.width = 12, .heads = 6, .bias = false});
    all.qkv_proj.weight.copy_(cat(rows));
    all.out_proj.weight.copy_(few.out_proj.weight);
    expect(same(few(x), all(x)), "the query heads of a group share keys and values");
  }
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  two_heads();
  fewer_keys();
}
