// What attention's masks hide: it does not leak, and a query that may attend to nothing gives 0.
#include <limits>

#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/pair_products.h"
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

TEST_CASE("what a mask hides does not leak, NaN and infinity included") {
  Generator own(15);
  const GeneratorScope scope(own);
  const std::int64_t T = 70;
  const Case clean{1, 2, T, T, 4, 4, Dtype::f64, causal_mask()};
  for (const Way way : kWays)
    for (const double bad : {kNaN, kInfinity, -kInfinity}) {
      INFO("way " << static_cast<int>(way) << ", value " << bad);
      // Key and value 60 are hidden from the queries before 60. No gradient arrives from the
      // others.
      Case c = clean;
      fill(slice(c.dout, 2, 60, T), 0);
      const Results right = run(c, way);
      c.k = with_row(c.k, 60, bad), c.v = with_row(c.v, 60, bad);
      const Results r = run(c, way);
      CHECK(difference(slice(r.o, 2, 0, 60), slice(right.o, 2, 0, 60)) < tolerance(Dtype::f64));
      CHECK(difference(slice(r.dq, 2, 0, 60), slice(right.dq, 2, 0, 60)) < tolerance(Dtype::f64));
      CHECK(!all_finite(slice(r.o, 2, 60, T)));  // who may see it, does
    }
}

TEST_CASE("a sum over visible pairs takes all of its pairs, and none that lie beside them") {
  Tensor weights = randn({3, 2, 3}, Dtype::f64), hides = zeros({3, 2, 3}, Dtype::bool_);
  const Tensor x = slice(randn({3, 3, 2}, Dtype::f64), 0, 1, 2);
  const auto within = [](const Tensor& all) { return slice(all, 0, 1, 2); };
  const auto at_a_pair = [](const Tensor& all) {
    return select(select(select(all, 0, 1), 0, 0), 0, 1);
  };
  fill(at_a_pair(weights), 0);
  const Tensor wanted = matmul(within(weights), x);
  fill(at_a_pair(hides), 1);
  fill(at_a_pair(weights), kNaN);  // it goes pair by pair where something is not finite
  const Tensor got = weighted_sum(within(weights), x, within(hides));
  CHECK(difference(got, wanted) < 1e-14);
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

TEST_CASE("of few queries the last may see less than the first") {
  Generator own(19);
  const GeneratorScope scope(own);
  Tensor sees = full({1, 3, 7}, true, Dtype::bool_);
  sees.mutable_data<bool>()[20] = false;
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{1, 1, 3, 7, 3, 2, Dtype::f64, dense_mask(sees)};
    const Results right = run(c, way);
    c.k = with_row(c.k, 6, kNaN), c.v = with_row(c.v, 6, kNaN);
    const Results r = run(c, way);
    CHECK(difference(row(r.o, 2), row(right.o, 2)) < tolerance(Dtype::f64));
    CHECK(!all_finite(row(r.o, 0)));
  }
}

TEST_CASE("heads that share keys: one that goes pair by pair adds to what the others add") {
  Generator own(18);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{1, 4, 5, 7, 3, 2, Dtype::f64, padding_mask({4}), 0, 2};
    const Results right = run(c, way);
    fill(slice(slice(c.k, 1, 1, 2), 2, 4, 7), kNaN);  // of the second key head
    const Results keys = run(c, way);
    check_alike(keys, right, Dtype::f64);
    // A query of head 1 that is NaN: keys and values of the second key head do not hear of it.
    fill(slice(slice(c.q, 1, 1, 2), 2, 0, 1), kNaN);
    const Results r = run(c, way);
    CHECK(difference(slice(r.dk, 1, 1, 2), slice(right.dk, 1, 1, 2)) < tolerance(Dtype::f64));
    CHECK(difference(slice(r.o, 1, 2, 4), slice(right.o, 1, 2, 4)) < tolerance(Dtype::f64));
    CHECK(difference(slice(r.dq, 1, 0, 1), slice(right.dq, 1, 0, 1)) < tolerance(Dtype::f64));
    CHECK(!all_finite(slice(slice(r.dk, 1, 0, 1), 2, 0, 4)));
    CHECK(all_zero(slice(r.dk, 2, 4, 7)));
  }
}

TEST_CASE("a query or an upstream gradient that is NaN stays in its row") {
  Generator own(17);
  const GeneratorScope scope(own);
  const std::int64_t T = 6;
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    // Query 2 sees the keys 0 … 2 only: keys and values from 3 on must not hear of it.
    const Case clean{1, 1, T, T, 3, 3, Dtype::f64, causal_mask()};
    const Results right = run(clean, way);
    Case query = clean;
    query.q = with_row(query.q, 2, kNaN);
    const Results a = run(query, way);
    CHECK(difference(slice(a.o, 2, 3, T), slice(right.o, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(difference(slice(a.dk, 2, 3, T), slice(right.dk, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(difference(slice(a.dv, 2, 3, T), slice(right.dv, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(difference(slice(a.dq, 2, 3, T), slice(right.dq, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(!all_finite(slice(a.dk, 2, 0, 3)));
    Case upstream = clean;
    upstream.dout = with_row(upstream.dout, 2, kNaN);
    const Results b = run(upstream, way);
    CHECK(difference(slice(b.dk, 2, 3, T), slice(right.dk, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(difference(slice(b.dv, 2, 3, T), slice(right.dv, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(difference(slice(b.dq, 2, 3, T), slice(right.dq, 2, 3, T)) < tolerance(Dtype::f64));
    CHECK(!all_finite(slice(b.dv, 2, 0, 3)));
  }
}

TEST_CASE("without a mask NaN goes everywhere") {
  Case c{1, 1, 3, 4, 2, 2};
  c.k = with_row(c.k, 3, kNaN);
  for (const double each : numbers(run(c, Way::fused).o)) CHECK(std::isnan(each));
}

}  // namespace gradus::testing::attending
