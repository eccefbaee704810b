#include "gradus/ops/linear_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_linear_attention {
namespace {

struct Heads {
  Tensor q, k, v;
};

Heads heads(std::int64_t T, std::int64_t D, double size, Dtype dtype = Dtype::f64) {
  Generator seven(7);
  const GeneratorScope scope(seven);
  const Shape shape{1, 2, T, D};
  return {randn(shape, dtype) * size, randn(shape, dtype) * size, randn(shape, dtype)};
}

Tensor with(const Tensor& x, std::int64_t place, double value) {
  Tensor y = x.clone();
  Tensor part = slice(y, 2, place, place + 1);
  part.fill_(value);
  return y;
}

}  // namespace

TEST_CASE("causal linear attention is bitwise independent of later positions") {
  const std::int64_t T = 150;
  const Heads h = heads(T, 4, 1);
  const Tensor w = orthogonal_projection(9, 4, Generator(1).next(), Dtype::f64);
  const auto run = [&](bool performer, const Tensor& k, const Tensor& v) {
    return performer ? performer_attention(h.q, k, v, w, {.causal = true})
                     : linear_attention(h.q, k, v, {.causal = true});
  };
  for (const bool performer : {false, true}) {
    const Tensor y = run(performer, h.k, h.v);
    for (const std::int64_t t : {1, 63, 64, 100, 149}) {
      const Tensor other = run(performer, with(h.k, t, 3), with(h.v, t, 3));
      CHECK(numbers(slice(other, 2, 0, t)) == numbers(slice(y, 2, 0, t)));
      CHECK(numbers(slice(other, 2, t, T)) != numbers(slice(y, 2, t, T)));
    }
  }
}

TEST_CASE("a NaN in padding reaches no result or gradient of linear attention") {
  const Heads h = heads(5, 4, 1);
  const Tensor w = orthogonal_projection(9, 4, Generator(1).next(), Dtype::f64);
  const auto run = [&](bool performer, bool relu, double value) {
    const Tensor q = h.q.detach().requires_grad_(), k = with(h.k, 4, value).requires_grad_(),
                 v = with(h.v, 4, value).requires_grad_();
    const FeatureMap feature = relu ? FeatureMap::relu : FeatureMap::elu_plus_one;
    const Tensor y = performer ? performer_attention(q, k, v, w, {.lengths = {4}})
                               : linear_attention(q, k, v, {.feature = feature, .lengths = {4}});
    sum(square(y)).backward();
    return std::vector{numbers(y), numbers(q.grad()), numbers(k.grad()), numbers(v.grad())};
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool relu : {false, true}) CHECK(run(false, relu, nan) == run(false, relu, 0));
  CHECK(run(true, false, nan) == run(true, false, 0));
}

TEST_CASE("memory of linear attention grows linearly with the length") {
  const auto peak = [](std::int64_t T) {
    const Heads h = heads(T, 16, 1, Dtype::f32);
    Tensor q = h.q.detach().requires_grad_();
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    sum(linear_attention(q, h.k, h.v, {.causal = true})).backward();
    return static_cast<double>(memory::usage().peak_bytes - before);
  };
  CHECK(peak(2048) < 4.5 * peak(512));
}

TEST_CASE("FAVOR features estimate exp(x · y), with an error that falls with their number") {
  const Heads h = heads(32, 8, 0.4);
  const Numbers right = numbers(scaled_dot_product_attention(h.q, h.k, h.v));
  const auto error = [&](std::int64_t M) {  // root mean square over 16 draws
    double squares = 0;
    Generator draws(11);
    for (int draw = 0; draw < 16; ++draw) {
      const Tensor w = orthogonal_projection(M, 8, draws.next(), Dtype::f64);
      const Numbers got = numbers(performer_attention(h.q, h.k, h.v, w));
      for (std::size_t i = 0; i < got.size(); ++i)
        squares += std::pow(got[i] - right[i], 2) / static_cast<double>(16 * got.size());
    }
    return std::sqrt(squares);
  };
  // With 64 times the features, the error is an eighth, up to random variation.
  const double few = error(16), many = error(1024);
  CAPTURE(few, many);
  CHECK(many < few / 5);
  CHECK(many > few / 13);
  CHECK(many < 0.01);  // values are of order 1
}

TEST_CASE("a performer's result is independent of its stabilizing shift") {
  // Keys have norm 40: without the shift, exp(−|x|²/2) would be 0 in f32.
  const Tensor w = orthogonal_projection(32, 8, Generator(3).next(), Dtype::f64);
  const Heads h = heads(5, 8, 14);
  const Tensor y = performer_attention(h.q, h.k, h.v, w);
  const Heads f = {h.q.to(Dtype::f32), h.k.to(Dtype::f32), h.v.to(Dtype::f32)};
  const Tensor y32 = performer_attention(f.q, f.k, f.v, w.to(Dtype::f32));
  for (const double each : numbers(y32)) CHECK(std::isfinite(each));
  // Rounding changes exponents of about 200 by 200 · 2⁻²⁴ = 10⁻⁵. Sums of products add no larger
  // error.
  CHECK(distance(numbers(y32), numbers(y)) < 1e-3);
}

TEST_CASE("a causal performer keeps keys along a long projection row in f32") {
  // A key along the first row of w, for which |w|² = 200, has exponent 100, and a zero key has
  // exponent 0. In f32, e^88 overflows and e^−103 underflows, so the shift must be between 12 and
  // 87.
  const Tensor w = cat({full({1, 8}, 5, Dtype::f64), values({2, 8}) * 0.2}, 0);
  const Tensor along = reshape(select(w, 0, 0) * std::pow(8, 0.25), {1, 1, 1, 8});
  const Tensor k = cat({along * 0.0, along, along * 0.5}, 2), q = values({1, 1, 3, 8}) * 0.1;
  const Tensor v = values({1, 1, 3, 2}, 2);
  const auto run = [&](Dtype dtype) {
    return numbers(
        performer_attention(q.to(dtype), k.to(dtype), v.to(dtype), w.to(dtype), {.causal = true}));
  };
  const Numbers y = run(Dtype::f64), y32 = run(Dtype::f32);
  for (std::size_t c = 0; c < 2; ++c) CHECK(std::abs(y[c] - numbers(v)[c]) < 1e-14);
  // Exponents of 100 are rounded a few times, by 100 · 2⁻²⁴ each time.
  CHECK(distance(y32, y) < 1e-4);
}

TEST_CASE("a performer with a short projection keeps large values finite in f32") {
  const Heads h = heads(3, 2, 1, Dtype::f32);
  const Tensor w = orthogonal_projection(5, 2, Generator(1).next(), Dtype::f32);
  const Numbers y = numbers(performer_attention(h.q, h.k, h.v * 1e15, w, {.causal = true}));
  for (const double each : y) CHECK(std::abs(each) < 1e16);
}

TEST_CASE("keys of width 0 get equal weights") {
  const Tensor none = zeros({1, 1, 4, 0}, Dtype::f64), v = values({1, 1, 4, 3}, 2);
  const Numbers y = numbers(performer_attention(none, none, v, zeros({5, 0}, Dtype::f64)));
  const Numbers average = numbers(mean(v, {2}));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::abs(y[i] - average[i % 3]) < 1e-14);
}

TEST_CASE("a single feature gives all queries the same weights") {
  const Heads h = heads(5, 4, 0.5);
  const Tensor w = orthogonal_projection(1, 4, Generator(3).next(), Dtype::f64);
  const Numbers y = numbers(performer_attention(h.q, h.k, h.v, w));
  // Keys and projection are divided by 4^(1/4), so that q k is divided by √4.
  const Tensor keys = favor_features(h.k * std::pow(4.0, -0.25), w, {});  // [1, 2, 5, 1]
  const Numbers mean = numbers(sum(keys * h.v, {2}, true) / sum(keys, {2}, true));
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(std::abs(y[i] - mean[i / 20 * 4 + i % 4]) < 1e-14);
}

TEST_CASE("with eps 0, linear attention weights sum to 1") {
  const Heads h = heads(5, 4, 1);
  const Tensor ones_only = ones({1, 2, 5, 4}, Dtype::f64);
  for (const double each : numbers(linear_attention(h.q, h.k, ones_only, {.eps = 0})))
    CHECK(std::abs(each - 1) < 1e-15 * 8);
}

TEST_CASE("projection blocks are orthogonal, with rows as long as normal vectors") {
  const std::int64_t D = 5, M = 12;
  const Numbers w = numbers(orthogonal_projection(M, D, Generator(2).next(), Dtype::f64));
  double squares = 0;
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t c = 0; c < D; ++c)
        dot += w[static_cast<std::size_t>(i * D + c)] * w[static_cast<std::size_t>(j * D + c)];
      if (i == j) squares += dot;
      if (i != j && i / D == j / D) CHECK(std::abs(dot) < 1e-12);
    }
  // The sum of squares of 60 normal values is 60 ± √120; 44 is four standard deviations.
  CHECK(std::abs(squares - 60) < 44);
  CHECK(numbers(orthogonal_projection(M, D, Generator(2).next(), Dtype::f64)) == w);
  CHECK(numbers(orthogonal_projection(M, D, Generator(3).next(), Dtype::f64)) != w);
  CHECK_THROWS_AS(orthogonal_projection(0, 3, Generator(1).next()), ValueError);
}

}  // namespace gradus::testing::test_linear_attention
