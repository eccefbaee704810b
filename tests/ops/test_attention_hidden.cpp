#include <algorithm>
#include <chrono>
#include <limits>

#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/attention_case.h"

namespace gradus::testing::attending {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor row(const Tensor& x, std::int64_t r) { return slice(x, 2, r, r + 1); }

bool all_finite(const Tensor& x) {
  for (const double each : numbers(x))
    if (!std::isfinite(each)) return false;
  return true;
}

bool all_zero(const Tensor& x) { return largest(numbers(x)) == 0; }

/// Returns a copy of x in which rows [first, last) of example b are `value`, in every head.
Tensor with_rows(const Tensor& x, std::int64_t b, std::int64_t first, std::int64_t last,
                 double value) {
  Tensor y = x.clone(), rows = slice(slice(y, 0, b, b + 1), 2, first, last);
  rows.fill_(value);
  return y;
}

Case with_padding(Case c, std::int64_t b, std::int64_t first, std::int64_t last) {
  c.k = with_rows(c.k, b, first, last, kNaN), c.v = with_rows(c.v, b, first, last, kNaN);
  return c;
}

Tensor rows(const Tensor& x, std::int64_t b, std::int64_t first, std::int64_t last) {
  return slice(slice(x, 0, b, b + 1), 2, first, last);
}

bool has_nan(const Tensor& x) {
  const Numbers all = numbers(x);
  return std::any_of(all.begin(), all.end(), [](double value) { return std::isnan(value); });
}

void padding_changes_nothing(const Case& clean, std::int64_t first, std::int64_t last) {
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way) << ", mask " << clean.mask.describe());
    const Results r = run(with_padding(clean, 1, first, last), way);
    check_same(r, run(clean, way), clean.dtype);
    CHECK(all_zero(rows(r.dk, 1, first, last)));
    CHECK(all_zero(rows(r.dv, 1, first, last)));
  }
}

}  // namespace

TEST_CASE("a query without allowed keys gives output 0 and gets gradient 0") {
  Generator own(14);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    const Case c{2, 1, 5, 4, 3, 2, Dtype::f64, causal_mask(-2) & padding_mask({4, 0})};
    const Results r = run(c, way);
    CHECK(all_finite(r.o));
    CHECK(all_zero(slice(r.o, 2, 0, 2)));
    CHECK(all_zero(slice(r.dq, 2, 0, 2)));
    for (const Tensor& x : {r.o, r.dq, r.dk, r.dv})
      CHECK(all_zero(slice(x, 0, 1, 2)));  // these rows are padding
    CHECK(!all_zero(slice(slice(r.o, 0, 0, 1), 2, 2, 5)));
    CHECK(all_finite(r.dq));
    CHECK(all_finite(r.dk));
    CHECK(all_finite(r.dv));
    CHECK(all_zero(row(r.dk, 3)));  // the last query, 4, attends only to keys 0 to 2
  }
}

TEST_CASE("a NaN in one query leaves the outputs of other queries unchanged") {
  Generator own(17);
  const GeneratorScope scope(own);
  for (const Way way : kWays) {
    INFO("way " << static_cast<int>(way));
    Case c{1, 1, 6, 6, 3, 3, Dtype::f64, causal_mask()};
    const Results right = run(c, way);
    c.q = with_rows(c.q, 0, 2, 3, kNaN);
    const Results r = run(c, way);
    for (const std::int64_t i : {0, 1, 3, 4, 5}) {
      CHECK(difference(row(r.o, i), row(right.o, i)) < tolerance(Dtype::f64));
      CHECK(difference(row(r.dq, i), row(right.dq, i)) < tolerance(Dtype::f64));
    }
    CHECK(!all_finite(row(r.o, 2)));
  }
}

TEST_CASE("without a mask, a NaN reaches every output") {
  Case c{1, 1, 3, 4, 2, 2};
  c.k = with_rows(c.k, 0, 3, 4, kNaN);
  for (const double each : numbers(run(c, Way::fused).o)) CHECK(std::isnan(each));
}

TEST_CASE("NaN in padding at the end changes no output or gradient") {
  Generator own(31);
  const GeneratorScope scope(own);
  const Mask tail = padding_mask({70, 45});  // key 45 is inside a tile of 32 keys
  for (const std::int64_t T : {1, 3, 40, 70}) {
    padding_changes_nothing({2, 2, T, 70, 4, 3, Dtype::f64, tail}, 45, 70);
    padding_changes_nothing({2, 2, T, 70, 4, 3, Dtype::f64, tail & causal_mask(70 - T)}, 45, 70);
  }
  padding_changes_nothing({2, 2, 40, 70, 4, 3, Dtype::f64, tail, 0.3}, 45, 70);   // dropout
  padding_changes_nothing({2, 4, 40, 70, 4, 3, Dtype::f64, tail, 0, 2}, 45, 70);  // shared keys
  padding_changes_nothing({2, 2, 40, 70, 4, 3, Dtype::f32, tail}, 45, 70);
  padding_changes_nothing({2, 2, 40, 70, 4, 3, Dtype::f64, padding_mask({70, 0})}, 0, 70);
}

TEST_CASE("NaN in padding at the start changes no output or gradient") {
  Generator own(32);
  const GeneratorScope scope(own);
  Positions at(2);
  for (std::int64_t j = 0; j < 50; ++j) at[0].push_back(j), at[1].push_back(j < 7 ? -1 : j - 7);
  const Case c{2, 2, 50, 50, 4, 3, Dtype::f64, remap_positions(causal_mask(), at, at)};
  padding_changes_nothing(c, 0, 7);
}

TEST_CASE("NaN in the padding of packed projections changes no output or gradient") {
  Generator own(33);
  const GeneratorScope scope(own);
  const Tensor qkv = randn({2, 40, 18}, Dtype::f64), dout = randn({2, 40, 6}, Dtype::f64);
  const auto run_with = [&](double value) {
    Tensor x = qkv.clone(), keys_and_values = slice(slice(x[1], 0, 33, 40), 1, 6, 18).detach();
    keys_and_values.fill_(value);
    x.requires_grad_();
    const Tensor y = packed_self_attention(x, 2, padding_mask({40, 33}));
    y.backward(dout);
    return std::pair(y.detach(), x.grad());
  };
  const auto [y, dx] = run_with(0.0);
  const auto [padded_y, padded_dx] = run_with(kNaN);
  CHECK(numbers(padded_y) == numbers(y));
  CHECK(numbers(padded_dx) == numbers(dx));
  CHECK(all_zero(slice(slice(padded_dx[1], 0, 33, 40), 1, 6, 18)));
}

TEST_CASE("a NaN query without allowed keys gives output 0 and gradient 0") {
  Generator own(34);
  const GeneratorScope scope(own);
  for (const std::int64_t T : {3, 40}) {
    const Case clean{1, 2, T, T, 4, 3, Dtype::f64, causal_mask(-2)};  // queries 0, 1 have no keys
    Case c = clean;
    c.q = with_rows(c.q, 0, 0, 2, kNaN), c.dout = with_rows(c.dout, 0, 0, 2, kNaN);
    for (const Way way : kWays) {
      INFO("way " << static_cast<int>(way) << ", " << T << " queries");
      const Results r = run(c, way);
      check_same(r, run(clean, way), c.dtype);
      CHECK(all_zero(rows(r.o, 0, 0, 2)));
      CHECK(all_zero(rows(r.dq, 0, 0, 2)));
    }
  }
}

TEST_CASE("a query without allowed keys gives 0 next to NaN keys and values") {
  Generator own(35);
  const GeneratorScope scope(own);
  for (const std::int64_t T : {3, 40}) {
    Case c{1, 2, T, T, 4, 3, Dtype::f64, causal_mask(-2)};
    c.k = with_rows(c.k, 0, 0, 1, kNaN), c.v = with_rows(c.v, 0, 0, 1, kNaN);
    for (const Way way : kWays) {
      INFO("way " << static_cast<int>(way) << ", " << T << " queries");
      const Results r = run(c, way);
      CHECK(all_zero(rows(r.o, 0, 0, 2)));
      CHECK(all_zero(rows(r.dq, 0, 0, 2)));
    }
  }
}

TEST_CASE("a visible NaN in a key or value reaches the output and gradient") {
  Generator own(36);
  const GeneratorScope scope(own);
  const Case clean{1, 2, 40, 40, 4, 3, Dtype::f64, causal_mask()};
  for (const Way way : kWays)
    for (const bool key : {true, false}) {
      INFO("way " << static_cast<int>(way) << (key ? ", key" : ", value"));
      Case c = clean;
      Tensor& x = key ? c.k : c.v;
      x = with_rows(x, 0, 5, 6, kNaN);
      const Results r = run(c, way);
      for (std::int64_t i = 5; i < 40; ++i) {
        CHECK(has_nan(rows(r.o, 0, i, i + 1)));
        CHECK(has_nan(rows(r.dq, 0, i, i + 1)));
      }
    }
}

TEST_CASE("a NaN key changes no output of queries that may not attend to it") {
  Generator own(37);
  const GeneratorScope scope(own);
  const Case clean{1, 2, 40, 40, 4, 3, Dtype::f64, causal_mask()};
  for (const Way way : kWays) {
    Case c = clean;
    c.k = with_rows(c.k, 0, 20, 21, kNaN);
    CHECK(difference(rows(run(c, way).o, 0, 0, 20), rows(run(clean, way).o, 0, 0, 20)) <
          tolerance(c.dtype));
  }
}

TEST_CASE("a diverged head takes about as long as a finite one") {
  Generator own(38);
  const GeneratorScope scope(own);
  const Case finite{1, 2, 256, 256, 32, 32, Dtype::f32, causal_mask()};
  const Case diverged = with_padding(finite, 0, 0, 1);
  const auto seconds = [](const Case& c) {
    double best = 1e9;
    for (int i = 0; i < 7; ++i) {
      const auto start = std::chrono::steady_clock::now();
      run(c, Way::fused);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
    return best;
  };
  // The factor 3 allows for load by other processes. Computing the attention pair by pair would
  // take 10 times as long.
  CHECK(seconds(diverged) < 3 * seconds(finite));
}

}  // namespace gradus::testing::attending
