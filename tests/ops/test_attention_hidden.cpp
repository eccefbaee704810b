// Padding may hold anything, and a query that may attend to nothing gives output 0 and gradient 0.
#include <limits>

#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/attention_case.h"

namespace gradus::testing::attending {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Writes through a view.
void fill(Tensor view, double value) { view.fill_(value); }

/// x with `value` in row r of every head.
Tensor with_row(const Tensor& x, std::int64_t r, double value) {
  Tensor y = x.clone();
  fill(slice(y, 2, r, r + 1), value);
  return y;
}

Tensor row(const Tensor& x, std::int64_t r) { return slice(x, 2, r, r + 1); }

bool all_finite(const Tensor& x) {
  for (const double each : numbers(x))
    if (!std::isfinite(each)) return false;
  return true;
}

bool all_zero(const Tensor& x) { return largest(numbers(x)) == 0; }

}  // namespace

TEST_CASE("a query that may attend to nothing gives 0 and gets gradient 0") {
  Generator own(14);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    const Case c{2, 1, 5, 4, 3, 2, Dtype::f64, causal_mask(-2) & padding_mask({4, 0})};
    const Results r = run(c, way);
    CHECK(all_finite(r.o));
    CHECK(all_zero(slice(r.o, 2, 0, 2)));
    CHECK(all_zero(slice(r.dq, 2, 0, 2)));
    for (const Tensor& x : {r.o, r.dq, r.dk, r.dv})
      CHECK(all_zero(slice(x, 0, 1, 2)));  // all padding
    CHECK(!all_zero(slice(slice(r.o, 0, 0, 1), 2, 2, 5)));
    CHECK(all_finite(r.dq));
    CHECK(all_finite(r.dk));
    CHECK(all_finite(r.dv));
    CHECK(all_zero(row(r.dk, 3)));  // the last query, 4, sees the keys up to 2
  }
}

TEST_CASE("padding may hold anything") {
  Generator own(16);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{2, 1, 5, 7, 3, 2, Dtype::f64, padding_mask({7, 4})};
    const Results right = run(c, way);
    fill(slice(slice(c.k, 0, 1, 2), 2, 4, 7), kNaN);
    fill(slice(slice(c.v, 0, 1, 2), 2, 4, 7), kInfinity);
    const Results r = run(c, way);
    check_alike(r, right, Dtype::f64);
    CHECK(all_zero(slice(slice(r.dk, 0, 1, 2), 2, 4, 7)));
    CHECK(all_zero(slice(slice(r.dv, 0, 1, 2), 2, 4, 7)));
  }
}

TEST_CASE("of heads that share keys, a NaN in one key head stays away from the other") {
  Generator own(18);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{1, 4, 5, 7, 3, 2, Dtype::f64, padding_mask({4}), 0, 2};
    const Results right = run(c, way);
    fill(slice(slice(c.k, 1, 1, 2), 2, 4, 7), kNaN);  // of the second key head
    const Results keys = run(c, way);
    check_alike(keys, right, Dtype::f64);
    // A NaN in a query of head 1 does not reach keys and values of the second key head.
    fill(slice(slice(c.q, 1, 1, 2), 2, 0, 1), kNaN);
    const Results r = run(c, way);
    CHECK(difference(slice(r.dk, 1, 1, 2), slice(right.dk, 1, 1, 2)) < tolerance(Dtype::f64));
    CHECK(difference(slice(r.o, 1, 2, 4), slice(right.o, 1, 2, 4)) < tolerance(Dtype::f64));
    CHECK(difference(slice(r.dq, 1, 0, 1), slice(right.dq, 1, 0, 1)) < tolerance(Dtype::f64));
    CHECK(!all_finite(slice(slice(r.dk, 1, 0, 1), 2, 0, 4)));
    CHECK(all_zero(slice(r.dk, 2, 4, 7)));
  }
}

TEST_CASE("a NaN in a query leaves the outputs of other queries as they are") {
  Generator own(17);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{1, 1, 6, 6, 3, 3, Dtype::f64, causal_mask()};
    const Results right = run(c, way);
    c.q = with_row(c.q, 2, kNaN);
    const Results r = run(c, way);
    for (const std::int64_t i : {0, 1, 3, 4, 5}) {
      CHECK(difference(row(r.o, i), row(right.o, i)) < tolerance(Dtype::f64));
      CHECK(difference(row(r.dq, i), row(right.dq, i)) < tolerance(Dtype::f64));
    }
    CHECK(!all_finite(row(r.o, 2)));
  }
}

TEST_CASE("without a mask NaN goes everywhere") {
  Case c{1, 1, 3, 4, 2, 2};
  c.k = with_row(c.k, 3, kNaN);
  for (const double each : numbers(run(c, Way::fused).o)) CHECK(std::isnan(each));
}

}  // namespace gradus::testing::attending
