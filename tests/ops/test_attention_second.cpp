// Second derivatives of attention over several tiles of keys and blocks of queries, by the checker
// and by finite differences of gradients.
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/ops/attention_case.h"

namespace gradus::testing::attending {
namespace {

/// T 70 and S 97 are two blocks of queries and four tiles of keys, neither of them whole.
struct Named {
  const char* name;
  Case c;
};

std::vector<Named> cases() {
  return {{"causal", {1, 1, 70, 97, 3, 2, Dtype::f64, causal_mask(27)}},
          {"window", {1, 1, 70, 97, 2, 3, Dtype::f64, window_mask(40, 5)}},
          {"grouped heads", {1, 4, 70, 97, 2, 2, Dtype::f64, {}, 0, 2}},
          {"dropout", {1, 2, 70, 97, 2, 2, Dtype::f64, causal_mask(27), 0.3}}};
}

Tensor attend(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v) {
  return scaled_dot_product_attention(q, k, v, c.mask, {.dropout = c.dropout});
}

/// The gradients of ⟨dout, attention⟩ by the backward kernel, at q, k and v moved along u by h.
std::vector<Tensor> gradients_at(const Case& c, const std::vector<Tensor>& u, double h) {
  Generator frozen(7);
  const GeneratorScope scope(frozen);
  const Tensor q = (c.q + u[0] * h).requires_grad_(), k = (c.k + u[1] * h).requires_grad_(),
               v = (c.v + u[2] * h).requires_grad_();
  return grad({attend(c, q, k, v)}, {q, k, v}, {c.dout});
}

}  // namespace

TEST_CASE("second derivatives of attention over several tiles pass the checker", "[once]") {
  Generator own(21);
  const GeneratorScope scope(own);
  for (const auto& [name, c] : cases()) {
    const check::Report report = check::second(
        name, [&, &c = c](const check::Tensors& x) { return attend(c, x[0], x[1], x[2]); },
        {c.q, c.k, c.v},
        {.conditions = false, .mode = check::Mode::projections, .smallest = false});
    INFO(report.text());
    CHECK(report);
  }
}

// Differences of order h⁴: h⁴ / 30 times a fifth derivative, with directions of size 1 an element
// below 100 times the compared values; and the rounding of sums of 97 terms, divided by h: below
// 1e-9.
TEST_CASE("second derivatives of attention match differences of its gradients") {
  Generator own(22);
  const GeneratorScope scope(own);
  constexpr double h = 1e-3;
  for (const auto& [name, c] : cases()) {
    INFO(name);
    const std::vector<Tensor> u{randn(c.q.shape(), Dtype::f64), randn(c.k.shape(), Dtype::f64),
                                randn(c.v.shape(), Dtype::f64)};
    const auto loss = [&, &c = c](const std::vector<Tensor>& x) {
      Generator frozen(7);
      const GeneratorScope as_above(frozen);
      return sum(c.dout * attend(c, x[0], x[1], x[2]));
    };
    const std::vector<Tensor> product = hessian_vector_product(loss, {c.q, c.k, c.v}, u).product;
    const std::vector<Tensor> far[] = {gradients_at(c, u, 2 * h), gradients_at(c, u, -2 * h)},
                              near[] = {gradients_at(c, u, h), gradients_at(c, u, -h)};
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const Tensor measured =
          ((near[0][i] - near[1][i]) * 8.0 - (far[0][i] - far[1][i])) / (12 * h);
      CHECK(difference(product[i], measured) < 1e-9);
    }
  }
}

}  // namespace gradus::testing::attending
