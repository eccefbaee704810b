// Lesson 12: masks decide which keys a query may attend to, possibly none.
//
//   weights = softmax(scores, over the allowed keys)     hidden key: weight 0 and dscore 0
//   out     = Σ weight · v, over the allowed keys        no allowed key: out 0, no gradient
//
// true = may attend. In pictures, rows are queries, columns are keys, and '#' is true.

#include <optional>

#include "gradus/check/invariance.h"
#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

/// Draws masks of T queries and S keys, at most 26.
void kinds(int T = 3, int S = 5, int window = 2, int prefix_length = 3) {
  draw({{"causal_mask()", causal_mask().picture(T, S)},
        {str_cat("causal_lower_right(", T, ", ", S, ")"), causal_lower_right(T, S).picture(T, S)},
        {str_cat("causal_lower_right(", S, ", ", T, ")"), causal_lower_right(S, T).picture(S, T)}});
  expect(causal_mask().picture(2, 4) == "#...\n##..\n",
         "the first query is aligned with the first key");
  expect(causal_lower_right(2, 4).picture(2, 4) == "###.\n####\n",
         "the last query is aligned with the last key");
  const Mask padding = padding_mask({5, 3}), prefix = causal_mask() | prefix_mask(prefix_length);
  const Mask blocks = block_sparse_mask({.length = 10, .block = 2, .window = 0, .random = 0});
  draw({{str_cat("window_mask(", window, ")"), window_mask(window).picture(5, 5)},
        {str_cat("causal | prefix_mask(", prefix_length, ")"), prefix.picture(5, 5)},
        {"blocks: own and first", blocks.picture(10, 10)}});
  draw({{"padding {5, 3}, example 0", padding.picture(4, 5, 0)},
        {"padding {5, 3}, example 1", padding.picture(4, 5, 1)},
        {"causal & padding, example 1", (causal_mask() & padding).picture(4, 5, 1)}});
  expect(prefix.picture(1, 5) == prefix_mask(prefix_length).picture(1, 5),
         "a | b allows the pairs that a or b allows");
  // A ring buffer of 4 slots, in which positions 4 and 5 replaced 0 and 1. A prompt with padding
  // before it.
  const Mask ring = remap_positions(window_mask(2), {{5}}, {{4, 5, 2, 3}});
  const Mask left = remap_positions(causal_mask(), {{-1, 0, 1, 2}}, {{-1, 0, 1, 2}});
  draw({{"query 5, keys 4 5 2 3", ring.picture(1, 4)}, {"positions -1 0 1 2", left.picture(4, 4)}});
  expect(ring.picture(1, 4) == "##.#\n", "positions decide, not the order in memory");
}

/// Shows weights and gradients under causal_mask(offset). The values v equal the keys k.
void three_words(int offset = 0, const Rows& q_values = {{1, 2, 0, 1}, {0, 1, 2, 0}, {1, 0, 1, 1}},
                 const Rows& k_values = {{1, 0, 0, 1}, {0, 2, 0, 1}, {0, 0, 2, -1}}) {
  const FormulaScope as_formula;
  const Tensor q = head(q_values), k = head(k_values);
  const Tensor bias = zeros({3, 3}).requires_grad_();  // its gradient is dscores
  const AttentionOutput y = attention_with_weights(q, k, k, causal_mask(offset), {.bias = bias});
  sum(y.output * y.output).backward();
  show(offset == 0 ? "weights under causal_mask()"
                   : str_cat("weights under causal_mask(", offset, ")"),
       y.weights, {"the", "cat", "sat"});
  show("dscores", bias.grad(), {"the", "cat", "sat"});
  const NoGrad by_hand;
  const Tensor hiding = log(tril(ones({3, 3}), offset));  // 0 where allowed, −∞ where not
  expect(same(y.weights, softmax(matmul(q, transpose(k)) / 2.0 + hiding)), "softmax(scores - ∞)");
  expect(same(tril(bias.grad(), offset), bias.grad()), "hidden pairs get no gradient");
  try {
    dense_mask(triu(ones({3, 3}), 1) > 0);
    expect(false, "an inverted causal mask is rejected");
  } catch (const Error& error) {
    std::printf("\ntriu(…, 1) > 0, which assumes true = hidden, is rejected:\n%s\n\n",
                error.what());
  }
}

/// The first query has no key, and no query attends to the last key, whose values are `hidden`.
void nobody_and_nan(bool formula, double hidden = NAN) {
  std::optional<FormulaScope> as_formula;  // empty: the fused kernel
  if (formula) as_formula.emplace();
  const Mask mask = causal_mask(-1) & padding_mask({2});
  const Tensor q = head({{1, 2}, {0, 1}, {3, -1}}), k = head({{1, 0}, {2, 1}, {hidden, hidden}});
  const Tensor out = scaled_dot_product_attention(q, k, k, mask);
  sum(out * out).backward();
  if (formula) {
    draw({{"causal_mask(-1) & padding_mask({2})", mask.picture(3, 3)}});
    show("out", out, {"0", "1", "2"});
    show("dq", q.grad(), {"0", "1", "2"});
    show("dk + dv, as keys are also values", k.grad(),
         {"0", "1", std::isnan(hidden) ? "NaN" : "2"});
  }
  const Tensor clean = head({{1, 0}, {2, 1}});  // [1, 1, 2, 2]
  const Tensor expected = scaled_dot_product_attention(q, clean, clean, causal_mask(-1));
  expect(same(out, expected), "hidden keys have no effect, even if they are NaN");
  expect(same(slice(out, 2, 0, 1), zeros({1, 1, 1, 2})), "a query without keys gives 0");
  expect(same(slice(q.grad(), 2, 0, 1), zeros({1, 1, 1, 2})),
         "a query without keys gets no gradient");
  expect(same(slice(k.grad(), 2, 2, 3), zeros({1, 1, 1, 2})),
         "a key that no query sees gets no gradient");
}

/// Only an offset ≤ 0 is causal.
void off_by_one(const std::vector<int>& offsets = {0, 1}) {
  seed(1);
  const nn::SelfAttention layer(4);
  for (const int offset : offsets) {
    const auto masked = [&](const Tensor& x) { return layer(x, causal_mask(offset)); };
    const check::Invariance found = check::causal(masked, randn({1, 5, 4}));
    std::printf("causal_mask(%d): %s\n", offset, found.words.c_str());
    expect(found.holds == (offset <= 0), "check::causal detects a mask that is off by one");
  }
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  kinds();
  three_words();
  nobody_and_nan(true);
  nobody_and_nan(false);
  off_by_one();
}
