#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_long_sequences {
namespace {

constexpr std::int64_t kT = 32768, kD = 8;  // one head
using Row = std::array<double, kD>;
using Rows = std::vector<Row>;

Rows rows_of(const Tensor& x) {
  const std::vector<float> flat = x.to_vector<float>();
  Rows rows(kT);
  for (std::size_t i = 0; i < flat.size(); ++i) rows[i / kD][i % kD] = flat[i];
  return rows;
}

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t c = 0; c < kD; ++c) sum += a[c] * b[c];
  return sum;
}

/// A sum of rows, and the sum of the rows' magnitudes. The second sum bounds the rounding error of
/// the first.
struct Sum {
  Row value{}, size{};
  void add(double factor, const Row& row) {
    for (std::size_t c = 0; c < kD; ++c) {
      value[c] += factor * row[c];
      size[c] += std::abs(factor * row[c]);
    }
  }
};

/// Query i attends to keys max(0, i − before) … i.
struct Reference {
  Rows q, k, v, dy;
  std::int64_t before;
  std::vector<double> lse, delta;  // log Σ exp s, dy · y

  double score(std::size_t i, std::size_t j) const { return dot(q[i], k[j]) / std::sqrt(kD); }
  double weight(std::size_t i, std::size_t j) const { return std::exp(score(i, j) - lse[i]); }
  double score_gradient(std::size_t i, std::size_t j) const {
    return weight(i, j) * (dot(dy[i], v[j]) - delta[i]) / std::sqrt(kD);
  }
  std::size_t first_key(std::size_t i) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, std::int64_t(i) - before));
  }
  std::size_t end_of_queries(std::size_t j) const {
    return static_cast<std::size_t>(std::min<std::int64_t>(kT, std::int64_t(j) + before + 1));
  }

  void prepare() {
    for (std::size_t i = 0; i < kT; ++i) {
      double sum = 0, mean = 0;  // scores are below 20, so no shift is needed
      for (std::size_t j = first_key(i); j <= i; ++j) {
        const double e = std::exp(score(i, j));
        sum += e, mean += e * dot(dy[i], v[j]);
      }
      lse.push_back(std::log(sum)), delta.push_back(mean / sum);
    }
  }
  Sum y(std::size_t i) const {
    Sum sum;
    for (std::size_t j = first_key(i); j <= i; ++j) sum.add(weight(i, j), v[j]);
    return sum;
  }
  Sum dq(std::size_t i) const {
    Sum sum;
    for (std::size_t j = first_key(i); j <= i; ++j) sum.add(score_gradient(i, j), k[j]);
    return sum;
  }
  Sum dk(std::size_t j) const {
    Sum sum;
    for (std::size_t i = j; i < end_of_queries(j); ++i) sum.add(score_gradient(i, j), q[i]);
    return sum;
  }
  Sum dv(std::size_t j) const {
    Sum sum;
    for (std::size_t i = j; i < end_of_queries(j); ++i) sum.add(weight(i, j), dy[i]);
    return sum;
  }
};

/// Each of about ten operations rounds scores up to 10 by 10 · 2⁻²⁴ = 6e-7. The weights have the
/// same relative error. The differences dy · v − delta multiply this error by a few.
constexpr double kRounding = 1e-5;

void check_row(const char* name, const Row& got, const Sum& right) {
  CAPTURE(name);
  for (std::size_t c = 0; c < kD; ++c)
    CHECK(std::abs(got[c] - right.value[c]) <= kRounding * right.size[c] + 1e-7);
}

void check_attention(const Mask& mask, std::int64_t before) {
  Generator own(11);
  const GeneratorScope draws(own);
  const Shape shape = {1, 1, kT, kD};
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) x.push_back(randn(shape, Dtype::f32).requires_grad_());
  const Tensor dy = randn(shape, Dtype::f32);

  const std::int64_t live = memory::usage().live_bytes;
  memory::reset_peak();
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], mask);
  const std::vector<Tensor> dx = grad({y}, x, {dy});
  // y, the gradients and each thread's sums take some tens of arrays of T · D values, of 1 MiB
  // each. T · T values would take 4 GiB.
  CHECK(memory::usage().peak_bytes - live <= 64 * kT * kD * 4);

  Reference right{rows_of(x[0].detach()),
                  rows_of(x[1].detach()),
                  rows_of(x[2].detach()),
                  rows_of(dy),
                  before,
                  {},
                  {}};
  right.prepare();
  const Rows out = rows_of(y.detach()), dq = rows_of(dx[0]), dk = rows_of(dx[1]),
             dv = rows_of(dx[2]);
  std::vector<std::int64_t> sampled = randint(0, kT, {40}).to_vector<std::int64_t>();
  for (const std::int64_t edge : {0, 1, 63, 64, 65, 4095, 4096, 16384, 32766, 32767})
    sampled.push_back(edge);
  for (const std::int64_t row : sampled) {
    const auto i = static_cast<std::size_t>(row);
    CAPTURE(row);
    check_row("y", out[i], right.y(i));
    check_row("dq", dq[i], right.dq(i));
    check_row("dk", dk[i], right.dk(i));
    check_row("dv", dv[i], right.dv(i));
  }
}

}  // namespace

TEST_CASE("causal attention over 32768 positions is right and keeps no matrix", "[.nightly]") {
  check_attention(causal_mask(), kT);
}

TEST_CASE("windowed attention over 32768 positions is right and keeps no matrix", "[.nightly]") {
  check_attention(window_mask(64), 64);
}

// An angle of 1e6 radians is rounded by 0.06 in f32, and by 1e-10 in double. The only other error
// is the rounding of a rotation: two f32 products and a sum.
TEST_CASE("rotary positions of a million are exact in f32") {
  constexpr std::int64_t width = 64, half = width / 2;
  const std::vector<std::int64_t> positions = {1'000'000, 1'000'001, 999'999, 123'456'789};
  Generator own(5);
  const GeneratorScope draws(own);
  const Tensor x = randn({1, 1, 4, width}, Dtype::f32);
  const std::vector<float> in = x.to_vector<float>();
  for (const bool interleaved : {false, true}) {
    const std::vector<float> out =
        apply_rotary(x, positions, {.base = 10000, .interleaved = interleaved}).to_vector<float>();
    for (std::size_t t = 0; t < positions.size(); ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(positions[t]) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / width);
        const auto row = static_cast<std::int64_t>(t) * width;
        const auto a = static_cast<std::size_t>(row + (interleaved ? 2 * i : i));
        const auto b = static_cast<std::size_t>(row + (interleaved ? 2 * i + 1 : i + half));
        const double length = std::hypot(in[a], in[b]);
        CAPTURE(interleaved, positions[t], i);
        CHECK(std::abs(out[a] - (in[a] * std::cos(angle) - in[b] * std::sin(angle))) <=
              4 * 0x1p-24 * length);
        CHECK(std::abs(out[b] - (in[a] * std::sin(angle) + in[b] * std::cos(angle))) <=
              4 * 0x1p-24 * length);
      }
  }
}

TEST_CASE("ALiBi at positions of a million depends only on distances and is exact in f32") {
  const std::vector<std::int64_t> queries = {1'000'000, 1'000'001},
                                  keys = {0, 1, 999'990, 999'999, 1'000'000, 1'000'001};
  const std::int64_t heads = 8;
  const std::vector<float> bias =
      alibi_bias(heads, queries, keys, 0, Dtype::f32).to_vector<float>();
  std::size_t at = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (const std::int64_t query : queries)
      for (const std::int64_t key : keys) {
        const double right = -std::pow(2.0, -static_cast<double>(h + 1)) *
                             static_cast<double>(std::abs(query - key));
        CAPTURE(h, query, key);
        CHECK(std::abs(bias[at++] - right) <= 0x1p-24 * std::abs(right));
      }
}

}  // namespace gradus::testing::test_long_sequences
