#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/ops/attention_case.h"

namespace gradus::testing::attending {
namespace {

/// All cases have T = 70 queries and S = 97 keys: two blocks of queries and four tiles of keys. The
/// last block and the last tile are partial.
struct Scoped {
  const char* name;
  Case c;
};

std::vector<Scoped> cases() {
  return {{"causal", {1, 1, 70, 97, 3, 2, Dtype::f64, causal_mask(27)}},
          {"window", {1, 1, 70, 97, 2, 3, Dtype::f64, window_mask(40, 5)}},
          {"grouped heads", {1, 4, 70, 97, 2, 2, Dtype::f64, {}, 0, 2}},
          {"dropout", {1, 2, 70, 97, 2, 2, Dtype::f64, causal_mask(27), 0.3}}};
}

Tensor attend(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v) {
  return scaled_dot_product_attention(q, k, v, c.mask, {.dropout = c.dropout});
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

}  // namespace gradus::testing::attending
