// Lesson 09: one query pools a sequence into a vector; four ways to score a key.
//
//   scores_s = score(q, k_s)      weights = softmax(scores)      pooled = Σ_s weights_s x_s
//
//   dot        q · k                  additive   v · tanh(W q + U k)   Bahdanau et al. 2015
//   scaled     q · k / √C             bilinear   q · W k               Luong et al. 2015
//
// Backward, for the scaled score with k = x:
//
//   dweights_s = x_s · dpooled        dscores = weights (dweights − Σ weights dweights)
//   dq = Σ_s dscores_s x_s / √C

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

void set(Tensor weight, const Tensor& numbers) {
  const NoGrad not_recorded;
  weight.copy_(numbers);
}

/// Pools three words by a query that selects the verb. The columns of x [S 3, C 4] and query [C 4]
/// are article, noun, verb and content.
void pooling(const Row& query = {0, 0, 3, 0},
             const Rows& x_values = {{2, 0, 0, 0}, {0, 2, 0, 5}, {0, 0, 2, 3}}) {
  const FormulaScope as_formula;
  const Tensor x = matrix(x_values);
  nn::AttentionPooling pool(4);
  set(pool.query, tensor(query));
  const AttentionOutput y = pool.with_weights(unsqueeze(x, 0));
  y.output.backward(tensor({{0, 0, 0, 1}}));
  show("x", x, {"the", "cat", "sat"});
  show(str_cat("weights of the query ", query[0], " ", query[1], " ", query[2], " ", query[3]),
       y.weights);
  show("pooled = Σ weights x", y.output);
  show("dq of the last value of pooled", pool.query.grad());

  const NoGrad by_hand;
  const Tensor weights = softmax(matmul(x, pool.query) / 2.0);  // [3]; √C = 2
  expect(same(y.weights[0], weights), "weights = softmax(x q / √C)");
  expect(same(y.output[0], matmul(weights, x)), "pooled = Σ weights x");
  const Tensor dweights = matmul(x, tensor({0, 0, 0, 1}));                // [3]
  const Tensor dscores = weights * (dweights - sum(weights * dweights));  // [3]
  expect(same(pool.query.grad(), matmul(dscores, x) / 2.0), "dq = Σ dscores x / √C");
}

/// Scores three keys k [S 3, C 4] for one query q [C 4]. v [2] belongs to the additive score.
void four_scores(const Row& q_values = {2, 1, 0, 0},
                 const Rows& k_values = {{2, 0, 0, 1}, {1, 1, 1, 1}, {0, 0, 2, 1}},
                 const Row& v = {-2, -2}) {
  const Tensor q = tensor(q_values), k = matrix(k_values);
  nn::AdditiveScore additive(4, 4, 2);
  const Tensor W = additive.query_proj.weight, U = additive.key_proj.weight;  // [2, 4]
  set(W, tensor({{1, 0, 0, 0}, {0, 1, 0, 0}}));
  set(U, W * -1.0);
  set(additive.out_proj.weight, matrix({v}));  // v < 0: the closest keys score highest
  nn::BilinearScore bilinear(4, 4);
  set(bilinear.proj.weight, tensor({{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}));
  const Tensor Q = reshape(q, {1, 1, 4}), K = unsqueeze(k, 0);  // [1, 1, 4], [1, 3, 4]
  const Tensor dot = nn::DotScore(false)(Q, K), scaled = nn::DotScore()(Q, K);  // [1, 1, 3]
  const Tensor a = additive(Q, K), b = bilinear(Q, K);                          // [1, 1, 3]
  const Tensor scores = cat({dot, scaled, a, b}, 1)[0];                         // [4, 3]
  show("\ndot, scaled, additive and bilinear scores of three keys", scores);
  show("weights = softmax(scores)", softmax(scores));
  for (int s = 0; s < 3; ++s) {
    const Tensor units = tanh(matmul(W, q) + matmul(U, k[s]));  // [2]
    expect(same(scores[0][s], sum(q * k[s])), "q · k");
    expect(same(scores[1][s], sum(q * k[s]) / 2.0), "q · k / √C");
    expect(same(scores[2][s], sum(additive.out_proj.weight[0] * units)), "v · tanh(W q + U k)");
    expect(same(scores[3][s], sum(matmul(bilinear.proj.weight, q) * k[s])), "q · W k");
  }
  expect(same(nn::weighted_values(b, K).output, matmul(softmax(b), K)),
         "the steps after the score are the same");
}

/// Returns the largest relative deviation of the scores' variance from its expected value: d, or 1
/// if scaled.
double scale(const std::vector<std::int64_t>& widths = {4, 64, 1024}) {
  seed(2);
  double worst = 0;
  std::printf("\n         q · k                           q · k / √d\n");
  std::printf("    d  variance  largest  exp(entropy)  variance  largest  exp(entropy)\n");
  for (const std::int64_t d : widths) {
    const Tensor q = randn({1, 400, d}), k = randn({1, 10, d});
    std::printf("%5d", static_cast<int>(d));
    for (const bool scaled : {false, true}) {
      const Tensor scores = nn::DotScore(scaled)(q, k), p = softmax(scores);  // [1, 400, 10]
      const double variance = mean(square(scores)).item();
      std::printf("%10.2f%9.2f%14.2f", variance, mean(max(p, {-1})).item(),
                  mean(exp(attention_entropy(p))).item());
      worst = std::max(worst, std::abs(variance / (scaled ? 1 : static_cast<double>(d)) - 1));
    }
    std::printf("\n");
  }
  return worst;
}

/// Learns a query that finds the word with a 1 in column 0. Returns the first value of the query.
double learning(int steps = 100, double rate = 0.1) {
  seed(2);
  nn::AttentionPooling pool(4);
  optim::Adam optimizer(pool.parameters(), {.lr = rate});
  for (int step = 0; step <= steps; ++step) {
    const Tensor marks = one_hot(randint(0, 5, {64}), 5);               // [64, S 5]
    const Tensor x = cat({unsqueeze(marks, 2), randn({64, 5, 3})}, 2);  // [64, 5, 4]
    const Tensor marked = sum(x * unsqueeze(marks, 2), {1});            // [64, 4]
    const Tensor loss = mse_loss(pool(x), marked);
    if (step % 50 == 0) show("query at step " + std::to_string(step), pool.query);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  return pool.query[0].item();
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  pooling();
  four_scores();
  expect(scale() < 0.4, "q · k has variance d, and 1 if scaled");
  expect(learning() > 5, "the query has learned to find the mark");
}
