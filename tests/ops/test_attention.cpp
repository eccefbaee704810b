#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/attention_case.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::attending {
namespace {

Mask random_mask(const Shape& shape) { return dense_mask(rand(shape, Dtype::f64) < 0.5); }

/// Positions in a ring buffer that has wrapped around. The second example lacks its last 9 keys.
Mask ring(std::int64_t T, std::int64_t S) {
  Positions queries(1), keys(2);
  for (std::int64_t i = 0; i < T; ++i) queries[0].push_back(S + i);
  for (std::int64_t j = 0; j < S; ++j) {
    keys[0].push_back(j < T ? S + j : j);
    keys[1].push_back(j < S - 9 ? keys[0].back() : -1);
  }
  return remap_positions(causal_mask(), queries, keys);
}

void fill(Tensor view, double value) { view.fill_(value); }

}  // namespace

TEST_CASE("the attention kernel equals the formula, forward and backward") {
  Generator own(12);
  const GeneratorScope scope(own);
  const Mask blocks = block_sparse_mask({.length = 200, .block = 24, .random = 1});
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const std::vector<Case> cases = {
        {2, 2, 7, 5, 3, 2, dtype},
        {1, 2, 150, 150, 8, 8, dtype, causal_mask()},
        {1, 1, 65, 129, 4, 6, dtype, causal_mask(64)},
        {1, 1, 130, 70, 4, 4, dtype, causal_mask(-60)},  // queries 0 to 59 have no keys
        {3, 1, 70, 140, 4, 4, dtype, padding_mask({140, 65, 0})},
        {2, 2, 70, 90, 3, 5, dtype, random_mask({2, 2, 70, 90})},
        {2, 1, 80, 80, 4, 4, dtype, causal_mask() & padding_mask({30, 80})},
        {1, 2, 80, 80, 4, 4, dtype, causal_mask() | random_mask({1, 2, 80, 80})},
        {1, 2, 70, 100, 4, 4, dtype, causal_mask(30), 0.3},
        {2, 6, 70, 70, 3, 5, dtype, causal_mask(), 0.3, 2},
        {1, 4, 40, 130, 4, 4, dtype, random_mask({1, 4, 40, 130}), 0, 1},
        {1, 2, 300, 300, 4, 4, dtype, window_mask(50)},
        {1, 1, 200, 300, 4, 4, dtype, window_mask(20, 30) | prefix_mask(5)},
        {2, 1, 200, 200, 4, 4, dtype, blocks & causal_mask()},
        {1, 4, 200, 190, 4, 4, dtype, blocks, 0, 2},
        {2, 2, 70, 130, 4, 4, dtype, ring(70, 130) & window_mask(200)},
    };
    for (const Case& c : cases) {
      INFO(c.dtype << ", " << c.mask << ", Hk " << c.Hk << ", T " << c.T << ", S " << c.S
                   << ", dropout " << c.dropout);
      const Results fused = run(c, Way::fused);
      check_same(fused, run(c, Way::with_weights), dtype);
      check_same(fused, run(c, Way::formula), dtype);
      check_same(fused, run(c, Way::formula_backward), dtype);
    }
  }
}

TEST_CASE("a later span with a far larger score replaces the earlier spans") {
  // At key 1150, the running maximum of the scores rises from 0 to 1600, so the weights of all
  // earlier keys underflow to 0.
  Case c{1, 1, 3, 1200, 1, 1};
  c.q = full({1, 1, 3, 1}, 1, Dtype::f64);
  c.k = full({1, 1, 1200, 1}, 0, Dtype::f64);
  c.v = full({1, 1, 1200, 1}, 5, Dtype::f64);
  fill(slice(c.k, 2, 1150, 1151), 1600);
  fill(slice(c.v, 2, 1150, 1151), -2);
  CHECK(numbers(run(c, Way::fused).o) == Numbers{-2, -2, -2});
  c.k = c.k * -1.0;  // all keys but one have equal weights
  CHECK(difference(run(c, Way::fused).o, full({1, 1, 3, 1}, 5, Dtype::f64)) <
        tolerance(Dtype::f64));
}

TEST_CASE("attention with few heads splits each head and adds the parts") {
  Generator own(22);
  const GeneratorScope scope(own);
  const std::vector<Case> cases = {
      {1, 1, 600, 600, 16, 16, Dtype::f64, causal_mask()},
      {1, 4, 500, 500, 8, 8, Dtype::f64, causal_mask(), 0.2, 1},
      {2, 1, 300, 900, 16, 8, Dtype::f64, window_mask(400, 100) & padding_mask({900, 100})},
      {1, 2, 200, 700, 16, 16, Dtype::f64, causal_mask(-190), 0, 1},  // most queries have no keys
      {1, 1, 128, 1024, 64, 64, Dtype::f64},  // each part has one block of queries
      {1, 1, 40, 2000, 32, 32, Dtype::f64},   // some parts have no block of queries
  };
  const int before = num_threads();
  for (const Case& c : cases)
    for (const int threads : {1, 3}) {
      INFO(c.mask << ", H " << c.H << ", Hk " << c.Hk);
      set_num_threads(threads);
      check_same(run(c, Way::fused), run(c, Way::formula_backward), c.dtype);
    }
  set_num_threads(before);
}

TEST_CASE("keys outside all windows get gradient 0") {
  Generator own(24);
  const GeneratorScope scope(own);
  const Poison poison;
  Positions queries(1), keys(1);
  for (std::int64_t i = 0; i < 70; ++i) queries[0].push_back(600 + i);
  for (std::int64_t j = 0; j < 1100; ++j) keys[0].push_back(j);
  const Case c{1, 1, 70, 1100, 4, 3, Dtype::f64, remap_positions(window_mask(20), queries, keys)};
  check_same(run(c, Way::fused), run(c, Way::formula), c.dtype);
}

TEST_CASE("window attention needs memory and time for the window only") {
  Generator own(23);
  const GeneratorScope scope(own);
  // Twice the length must take twice the memory, not four times.
  const auto used = [](std::int64_t T) {
    const Case c{1, 1, T, T, 8, 8, Dtype::f32, window_mask(20)};
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    run(c, Way::fused);
    return static_cast<double>(memory::usage().peak_bytes - before);
  };
  const double ratio = used(32768) / used(16384);
  CHECK(ratio > 1.5);
  CHECK(ratio < 2.5);
}

TEST_CASE("packed attention equals attention of three views of the projection") {
  Generator own(18);
  const GeneratorScope scope(own);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const double dropout : {0.0, 0.25}) {
      const std::int64_t B = 2, T = 70, H = 3, D = 4;
      Tensor qkv = randn({B, T, 3 * H * D}, dtype);
      qkv.requires_grad_();
      const Tensor dout = randn({B, T, H * D}, dtype);
      AttentionOptions options;
      options.dropout = dropout;
      const auto gradient_of = [&](const std::function<Tensor()>& f) {
        Generator seven(7);
        const GeneratorScope frozen(seven);
        const Tensor o = f();
        return std::vector<Tensor>{o.detach(), grad({o}, {qkv}, {dout})[0]};
      };
      const std::vector<Tensor> packed =
          gradient_of([&] { return packed_self_attention(qkv, H, causal_mask(), options); });
      const std::vector<Tensor> apart = gradient_of([&] {
        const std::vector<Tensor> parts = chunk(qkv, 3, -1);
        const auto heads = [&](const Tensor& x) {
          return transpose(reshape(x, {B, T, H, D}), 1, 2);
        };
        const Tensor o = scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                      heads(parts[2]), causal_mask(), options);
        return reshape(transpose(o, 1, 2), {B, T, H * D});
      });
      CHECK(difference(packed[0], apart[0]) < tolerance(dtype));
      CHECK(difference(packed[1], apart[1]) < tolerance(dtype));
    }
}

TEST_CASE("attention weights are a distribution over the allowed keys") {
  const Case c{2, 2, 5, 7, 3, 2, Dtype::f64, causal_mask(1) & padding_mask({7, 0})};
  const Tensor weights = attention_with_weights(c.q, c.k, c.v, c.mask).weights;
  CHECK(weights.shape() == Shape{2, 2, 5, 7});
  const Tensor allowed = c.mask.dense({2, 2, 5, 7});
  const std::vector<bool> may = allowed.to_vector<bool>();
  const Numbers w = numbers(weights);
  for (std::size_t i = 0; i < w.size(); ++i) CHECK((w[i] != 0) == may[i]);
  const Numbers sums = numbers(sum(weights, {-1}));
  for (std::size_t i = 0; i < sums.size(); ++i)
    CHECK(std::abs(sums[i] - (i < 10 ? 1 : 0)) <
          // Allows 7 rounding errors. Example 1 has no keys, so its sums are 0.
          8 * 0x1p-53);
}

TEST_CASE("attention dropout depends only on the seed, not on threads, and is off in evaluation") {
  Generator own(19);
  const GeneratorScope scope(own);
  const Case c{2, 2, 70, 70, 4, 4, Dtype::f32, causal_mask(), 0.3};
  const Results once = run(c, Way::fused), twice = run(c, Way::fused);
  CHECK(once.o.to_vector<float>() == twice.o.to_vector<float>());
  CHECK(once.dq.to_vector<float>() == twice.dq.to_vector<float>());
  AttentionOptions options;
  options.dropout = 0.3;
  const Tensor a = scaled_dot_product_attention(c.q, c.k, c.v, c.mask, options);
  const Tensor b = scaled_dot_product_attention(c.q, c.k, c.v, c.mask, options);
  CHECK(a.to_vector<float>() != b.to_vector<float>());
  options.training = false;
  const std::uint32_t position = own.position();
  const Tensor quiet = scaled_dot_product_attention(c.q, c.k, c.v, c.mask, options);
  const Tensor none = scaled_dot_product_attention(c.q, c.k, c.v, c.mask);
  CHECK(own.position() == position);  // no dropout stream was used
  CHECK(quiet.to_vector<float>() == none.to_vector<float>());
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Numbers> all_of(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout,
                            const Mask& mask, const AttentionOptions& options = {}) {
  const Tensor a = q.detach().requires_grad_(), b = k.detach().requires_grad_(),
               c = v.detach().requires_grad_();
  const Tensor y = scaled_dot_product_attention(a, b, c, mask, options);
  y.backward(dout);
  return {numbers(y), numbers(a.grad()), numbers(b.grad()), numbers(c.grad())};
}

struct Inputs {
  Tensor q, k, v, dout;
  Inputs(std::int64_t B, std::int64_t H, std::int64_t Hk, std::int64_t T, std::int64_t S,
         std::int64_t D, std::int64_t Dv)
      : q(values({B, H, T, D})),
        k(values({B, Hk, S, D}, 1)),
        v(values({B, Hk, S, Dv}, 2)),
        dout(values({B, H, T, Dv}, 3)) {}
  std::vector<Numbers> run(const Mask& mask, const AttentionOptions& options = {}) const {
    return all_of(q, k, v, dout, mask, options);
  }
};

/// Allows for sums of up to a thousand terms of order 1, a softmax, and sums of its results.
void same(const std::vector<Numbers>& a, const std::vector<Numbers>& b, const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i) expect(near(a[i], b[i], 1e-10), what);
}

void against_the_formula(const Inputs& x, const Mask& mask, const AttentionOptions& options,
                         const std::string& what) {
  seed(11);  // gives both runs the same dropout
  const std::vector<Numbers> kernel = x.run(mask, options);
  const FormulaScope formula;
  seed(11);
  same(kernel, x.run(mask, options), what);
}

/// The wider the heads, the fewer keys the kernel processes at a time.
TEST_CASE("attention accepts sizes of 0 and very wide heads") {
  expect(
      scaled_dot_product_attention(values({2, 0, 3, 4}), values({2, 0, 5, 4}), values({2, 0, 5, 3}))
              .shape() == Shape{2, 0, 3, 3},
      "attention of no heads");
  Inputs(2, 0, 0, 3, 5, 4, 3).run({});
  Inputs(1, 1, 1, 2, 3, 0, 0).run({}, {.scale = 1});
  const std::vector<Numbers> mean = Inputs(1, 1, 1, 5, 4, 0, 3).run({}, {.scale = 1});
  const Numbers v = numbers(values({1, 1, 4, 3}, 2));
  for (std::size_t c = 0; c < 3; ++c)
    expect(std::abs(mean[0][c] - (v[c] + v[3 + c] + v[6 + c] + v[9 + c]) / 4) <= 1e-12,
           "keys of width 0 have equal weights");
  against_the_formula({1, 1, 1, 5, 4, 1000, 3}, {}, {}, "wide keys");
  against_the_formula({1, 1, 1, 5, 4, 3, 1000}, {}, {}, "wide values");
}

/// Tests blocks full of queries, and more keys than the kernel processes at a time.
TEST_CASE("large attention with bias and dropout equals the formula") {
  against_the_formula({1, 1, 1, 64, 32, 2, 2}, {}, {.dropout = 0.3}, "blocks that fill buffers");
  const Inputs square(1, 1, 1, 64, 64, 2, 2);
  against_the_formula(square, causal_mask(), {.bias = values({1, 1, 64, 64}, 5)}, "causal, bias");
  against_the_formula(square, {}, {.bias = values({1, 1, 64, 64}, 5)}, "bias");
  against_the_formula({1, 2, 2, 3, 600, 2, 2}, {},
                      {.bias = values({1, 2, 3, 600}, 5), .dropout = 0.3}, "few queries");
  against_the_formula({1, 1, 1, 70, 600, 2, 2}, causal_mask(500), {.dropout = 0.3}, "causal");
  against_the_formula({1, 1, 1, 3, 600, 2, 2}, {}, {.bias = transpose(values({1, 1, 600, 3}, 5))},
                      "a bias by columns");
  std::vector<bool> two_of_three;
  for (int i = 0; i < 70 * 520; ++i) two_of_three.push_back(i % 3 != 0);
  against_the_formula({1, 1, 1, 70, 520, 1, 1}, dense_mask(tensor(two_of_three, {70, 520})),
                      {.bias = values({1, 1, 70, 520}, 5)}, "two keys of three");
  // The mask hides keys 480 to 959, which are entire tiles of 32 keys.
  std::vector<bool> gap;
  for (int i = 0; i < 64 * 1000; ++i) gap.push_back(i % 1000 < 480 || i % 1000 >= 960);
  against_the_formula({1, 1, 1, 64, 1000, 1, 1}, dense_mask(tensor(gap, {64, 1000})), {}, "a gap");
}

TEST_CASE("window attention that is split into parts equals the formula") {
  against_the_formula({1, 1, 1, 600, 600, 64, 64}, window_mask(100), {}, "parts in windows");
  against_the_formula({1, 2, 1, 400, 400, 64, 64}, window_mask(120), {}, "with shared keys");
}

/// The kernel splits each of the four heads into two parts.
TEST_CASE("attention in parts computes the same gradient separately and with the others") {
  const Inputs x(2, 2, 2, 200, 200, 64, 64);
  const std::vector<Numbers> all = x.run({});
  against_the_formula(x, {}, {}, "two parts of each head");
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<Tensor> in{x.q.detach(), x.k.detach(), x.v.detach()};
    in[k].requires_grad_();
    scaled_dot_product_attention(in[0], in[1], in[2]).backward(x.dout);
    expect(numbers(in[k].grad()) == all[k + 1], "one gradient alone");
  }
}

Mask without(std::int64_t T, std::int64_t S, std::int64_t key) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < T * S; ++i) allowed.push_back(i % S != key);
  return dense_mask(tensor(allowed, {T, S}));
}

Tensor with(const Tensor& x, std::vector<std::int64_t> place, double value) {
  Tensor y = x.clone();
  Tensor at = slice(y[{place[0], place[1], place[2]}], 0, place[3], place[3] + 1).detach();
  at.fill_(value);
  return y;
}

TEST_CASE("a hidden NaN in any element of the first or last key or value changes no result") {
  const Inputs x(2, 2, 2, 3, 5, 2, 2), shared(2, 4, 2, 3, 5, 2, 2);
  for (const std::int64_t key : {0, 4})
    for (const Inputs* n : {&x, &shared})
      for (std::int64_t place = 0; place < 8; ++place) {
        const std::vector<std::int64_t> at{place & 1, place >> 1 & 1, key, place >> 2};
        const Mask mask = without(3, 5, key);
        const auto run = [&](double k, double v) {
          return all_of(n->q, with(n->k, at, k), with(n->v, at, v), n->dout, mask);
        };
        const std::vector<Numbers> zeros = run(0, 0);
        same(run(kNan, 0), zeros, "NaN in a hidden key");
        same(run(0, kNan), zeros, "NaN in a hidden value");
      }
}

TEST_CASE("a NaN in a query or its upstream gradient reaches no hidden key") {
  const Inputs x(2, 2, 2, 6, 5, 2, 2);
  const Mask mask = without(6, 5, 4);
  for (std::int64_t place = 0; place < 16; ++place) {
    const std::int64_t b = place & 1, h = place >> 1 & 1, row = place >> 2 & 1 ? 5 : 0;
    const Tensor q = with(x.q, {b, h, row, place >> 3}, kNan);
    const Tensor dout = with(x.dout, {b, h, row, place >> 3}, kNan);
    const Tensor apart = transpose(transpose(dout).contiguous());  // equals dout, with strided rows
    for (const std::vector<Numbers>& dx :
         {all_of(q, x.k, x.v, x.dout, mask), all_of(x.q, x.k, x.v, dout, mask),
          all_of(x.q, x.k, x.v, apart, mask)})
      for (const std::size_t input : {2u, 3u})
        for (std::size_t i = 0; i < dx[input].size(); ++i)
          expect(i / 2 % 5 != 4 || dx[input][i] == 0, "a hidden key gets gradient 0");
  }
}

/// Returns x with strided rows.
Tensor gaps(const Tensor& x) { return slice(cat({x, x}, 3), 3, 0, 1).detach(); }

/// All values are infinite or NaN, but a query without keys must have output and gradient 0.
void nothing_finite(std::int64_t T) {
  std::vector<bool> allowed(static_cast<std::size_t>(T), true);
  allowed.back() = false;
  const Mask mask = dense_mask(tensor(allowed, {T, 1}));
  const auto check = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout) {
    const std::vector<Numbers> found = all_of(q, k, v, dout, mask);
    const std::size_t end = found[0].size(), width = end / static_cast<std::size_t>(T);
    for (std::size_t i = end - width; i < end; ++i)
      expect(found[0][i] == 0 && found[1][i] == 0, "a query without allowed keys");
  };
  const auto nans = [](std::int64_t rows, std::int64_t width) {
    return full({1, 1, rows, width}, kNan, Dtype::f64);
  };
  check(nans(T, 3), nans(1, 3), nans(1, 3), values({1, 1, T, 3}));
  check(nans(T, 3), nans(1, 3), nans(1, 3), nans(T, 3));
  check(gaps(nans(T, 1)), gaps(nans(1, 1)), gaps(nans(1, 1)), values({1, 1, T, 1}));
  check(values({1, 1, T, 3}), values({1, 1, 1, 3}), values({1, 1, 1, 3}), nans(T, 3));
}

TEST_CASE("with NaN everywhere, a query without keys gives 0") {
  for (const std::int64_t queries : {2, 6}) nothing_finite(queries);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// As in the formula, infinity times a weight that underflows to 0 is NaN.
TEST_CASE("without a mask, a weight of 0 does not hide infinite values") {
  const Inputs x(1, 1, 1, 6, 4, 3, 2);
  Tensor bias = zeros({1, 1, 6, 4}, Dtype::f64);
  slice(bias, 3, 2, 3).detach().fill_(-1e5);
  const auto run = [&] {
    return all_of(x.q, x.k, with(x.v, {0, 0, 2, 1}, kInfinity), x.dout, {}, {.bias = bias});
  };
  const std::vector<Numbers> kernel = run();
  const FormulaScope formula;
  const std::vector<Numbers> right = run();
  for (std::size_t i = 0; i < right.size(); ++i)
    for (std::size_t j = 0; j < right[i].size(); ++j)
      expect(std::isnan(kernel[i][j]) == std::isnan(right[i][j]), "NaN where the formula has it");
  expect(std::isnan(kernel[0][1]) && std::isnan(kernel[1][0]), "a NaN in output and dq");
}

}  // namespace

}  // namespace gradus::testing::attending
