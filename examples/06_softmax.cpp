// Lesson 06: softmax, cross-entropy, and why their gradient is p − y.
//
//   p = softmax(x)                p_v = exp(x_v) / Σ_u exp(x_u)
//   loss = −log p[target]         y = 1 at the target, 0 elsewhere
//   d loss/dp = −y / p            dx = p (dp − Σ p dp) = p (−y/p + 1) = p − y

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

/// Which of four words, 0 to 3, follows "the", and which follows "cat"? Scores x [N 2, V 4] may
/// differ by at most 30 in a row.
void by_pieces(const Rows& x_values = {{0, 2, 1, -1}, {0.5, 0, 1, 2}}, int after_the = 1,
               int after_cat = 2) {
  const std::vector<std::string> places = {"the", "cat"};
  const char* const words[] = {"the", "cat", "sat", "mat"};
  const Tensor x = matrix(x_values).requires_grad_();
  const Tensor target = indices({after_the, after_cat});
  const Tensor y = one_hot(target, 4, Dtype::f64);
  std::printf("which word comes next? columns: the, cat, sat, mat\n");
  std::printf("targets: \"the %s\" and \"cat %s\"\n", words[after_the], words[after_cat]);
  show("x, the scores", x, places);

  const Tensor p = softmax(x);                  // [2, 4]
  const Tensor losses = -sum(y * log(p), {1});  // [2]
  const Tensor loss = mean(losses);
  p.retain_grad();
  loss.backward();
  show("p = softmax(x)", p, places);
  show("-log p[target], whose mean is the loss", losses);
  show("dp = -y / p / N", p.grad(), places);
  show("dx = p (dp - Σ p dp)", x.grad(), places);
  expect(same(sum(p, {1}), ones({2})), "each row of p sums to 1");
  expect(same(sum(x.grad(), {1}), zeros({2})), "each row of dx sums to 0");
  expect(same(p.grad(), -y / p.detach() / 2), "dp is -y / p / N, as the loss is a mean of N rows");

  const Tensor logits = x.detach().requires_grad_();
  const Tensor fused = cross_entropy(logits, target);
  fused.backward();
  const Tensor p_minus_y = (p.detach() - y) / 2;
  show("(p - y) / N, computed directly by cross_entropy", logits.grad(), places);
  expect(std::abs(fused.item() - loss.item()) < 1e-12, "cross_entropy gives the same loss");
  expect(same(logits.grad(), p_minus_y), "the gradient of cross_entropy is (p − y) / N");
  expect(same(x.grad(), p_minus_y), "the separate ops give the same gradient");
}

/// Returns the loss by separate ops if the target's score is 0 and the other is `score` ≥ 0.
double why_not_by_pieces(double score = 1000) {
  const Tensor x = tensor({{0.0, score}}).requires_grad_();
  const Tensor target = indices({0});
  const double by_pieces = -std::log(softmax(x.detach()).to_vector<double>()[0]);
  const Tensor loss = cross_entropy(x, target);
  loss.backward();
  std::printf("scores 0 and %g, target 0: the loss is %g by separate ops, %g by cross_entropy\n",
              score, by_pieces, loss.item());
  show("the gradient of cross_entropy, p - y", x.grad());
  const double p = 1 / (1 + std::exp(-score));
  expect(std::abs(loss.item() - (score + std::log1p(std::exp(-score)))) < 1e-9 &&
             same(x.grad(), tensor({{-p, p}})),
         "cross_entropy never computes log p");
  return by_pieces;
}

/// A sum of d products of independent values with variance 1 has variance d. Returns the spreads
/// without and with scaling for each d.
std::vector<std::pair<Spread, Spread>> why_scaled(const std::vector<std::int64_t>& widths = {
                                                      4, 64, 1024}) {
  seed(5);
  std::vector<std::pair<Spread, Spread>> spreads;
  std::printf("          q kᵀ                               q kᵀ / √d\n");
  std::printf("    d     std   largest p   |d scores|       std   largest p   |d scores|\n");
  for (const std::int64_t d : widths) {
    const Tensor q = randn({200, d}), k = randn({10, d});
    const Tensor scores = matmul(q, transpose(k));  // [200, 10]
    const Spread plain(scores), scaled(scores / std::sqrt(static_cast<double>(d)));
    std::printf("%5d  %6.2f  %10.2f  %11.4f    %6.2f  %10.2f  %11.4f\n", static_cast<int>(d),
                plain.deviation, plain.largest, plain.gradient, scaled.deviation, scaled.largest,
                scaled.gradient);
    spreads.emplace_back(plain, scaled);
  }
  return spreads;
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  by_pieces();
  expect(std::isinf(why_not_by_pieces()), "p rounds to 0, and its logarithm is −∞");
  const auto spreads = why_scaled();
  for (const auto& [plain, scaled] : spreads)
    expect(std::abs(scaled.deviation - 1) < 0.25,
           "divided by √d, scores have a deviation of about 1");
  const auto& [plain, scaled] = spreads.back();
  expect(plain.largest > 0.95 && plain.gradient < scaled.gradient / 5,
         "if not divided, one weight is near 1 and gradients almost vanish");
}
