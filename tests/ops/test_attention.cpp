// Attention beside its samples: sizes of several tiles and spans, the kernel against the formula,
// no T × S buffer, threads.
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/base/parallel.h"
#include "gradus/engine/backward.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/attention_case.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::attending {
namespace {

Mask random_mask(const Shape& shape) {
  const Tensor x = rand(shape, Dtype::f64);
  Tensor allowed = Tensor::empty(shape, Dtype::bool_);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    allowed.mutable_data<bool>()[i] = x.data<double>()[i] < 0.5;
  return dense_mask(allowed);
}

/// Keys in a ring that has gone round, the last 9 not there in the second example.
Mask ring(std::int64_t T, std::int64_t S) {
  Positions queries(1), keys(2);
  for (std::int64_t i = 0; i < T; ++i) queries[0].push_back(S + i);
  for (std::int64_t j = 0; j < S; ++j) {
    keys[0].push_back(j < T ? S + j : j);
    keys[1].push_back(j < S - 9 ? keys[0].back() : -1);
  }
  return remap_positions(causal_mask(), queries, keys);
}

/// Writes through a view.
void fill(Tensor view, double value) { view.fill_(value); }

}  // namespace

TEST_CASE("several blocks of queries and tiles of keys equal the naive loops") {
  Generator own(11);
  const GeneratorScope scope(own);
  const auto causal = [](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
    return i + 40 >= j;
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Case c{1, 2, 150, 190, 5, 3, dtype, causal_mask(40)};
    const Tensor o = scaled_dot_product_attention(c.q, c.k, c.v, c.mask);
    const Numbers right =
        naive::attention({1, 2, 150, 190, 5, 3, causal}, numbers(c.q), numbers(c.k), numbers(c.v));
    CHECK(difference(o, tensor(right, o.shape())) < tolerance(dtype));
  }
}

TEST_CASE("the kernel equals the formula, forward and backward") {
  Generator own(12);
  const GeneratorScope scope(own);
  const Mask blocks = block_sparse_mask({.length = 200, .block = 24, .random = 1});
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const std::vector<Case> cases = {
        {2, 2, 7, 5, 3, 2, dtype},
        {1, 2, 150, 150, 8, 8, dtype, causal_mask()},
        {1, 1, 65, 129, 4, 6, dtype, causal_mask(64)},
        {1, 1, 130, 70, 4, 4, dtype, causal_mask(-60)},  // the first 60 queries see nothing
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
      check_alike(fused, run(c, Way::with_weights), dtype);
      check_alike(fused, run(c, Way::formula), dtype);
      check_alike(fused, run(c, Way::formula_backward), dtype);
    }
  }
}

TEST_CASE("more keys than one product takes: several spans") {
  Generator own(13);
  const GeneratorScope scope(own);
  const std::vector<Case> cases = {
      {1, 1, 70, 1100, 4, 3, Dtype::f64},
      {1, 1, 70, 1100, 4, 3, Dtype::f64, causal_mask(1030)},
      {1, 2, 20, 700, 4, 4, Dtype::f64, random_mask({1, 2, 20, 700}), 0.2},
      {1, 1, 600, 600, 4, 4, Dtype::f32, causal_mask()},
  };
  for (const Case& c : cases) {
    INFO(c.mask << ", S " << c.S);
    check_alike(run(c, Way::fused), run(c, Way::with_weights), c.dtype);
  }
}

TEST_CASE("a later span with a far larger score takes over") {
  // The running maximum rises from about 0 to 600: exp of the difference underflows, and what the
  // first spans gave must vanish without a trace.
  Case c{1, 1, 3, 1200, 1, 1};
  c.q = full({1, 1, 3, 1}, 1, Dtype::f64);
  c.k = full({1, 1, 1200, 1}, 0, Dtype::f64);
  c.v = full({1, 1, 1200, 1}, 5, Dtype::f64);
  fill(slice(c.k, 2, 1150, 1151), 1600);
  fill(slice(c.v, 2, 1150, 1151), -2);
  CHECK(numbers(run(c, Way::fused).o) == Numbers{-2, -2, -2});
  c.k = c.k * -1.0;  // now all but one share the weight
  CHECK(difference(run(c, Way::fused).o, full({1, 1, 3, 1}, 5, Dtype::f64)) <
        tolerance(Dtype::f64));
}

TEST_CASE("few heads: parts of one go side by side and add up") {
  Generator own(22);
  const GeneratorScope scope(own);
  const std::vector<Case> cases = {
      {1, 1, 600, 600, 16, 16, Dtype::f64, causal_mask()},
      {1, 4, 500, 500, 8, 8, Dtype::f64, causal_mask(), 0.2, 1},
      {2, 1, 300, 900, 16, 8, Dtype::f64, window_mask(400, 100) & padding_mask({900, 100})},
      {1, 2, 200, 700, 16, 16, Dtype::f64, causal_mask(-190), 0, 1},  // most see nothing
      {1, 1, 128, 1024, 64, 64, Dtype::f64},                          // parts of one block each
      {1, 1, 40, 2000, 32, 32, Dtype::f64},                           // parts without any block
  };
  const int before = num_threads();
  for (const Case& c : cases) {
    INFO(c.mask << ", H " << c.H << ", Hk " << c.Hk);
    set_num_threads(1);
    const Results one = run(c, Way::fused);
    check_alike(one, run(c, Way::formula_backward), c.dtype);
    set_num_threads(3);
    const Results three = run(c, Way::fused);
    CHECK(one.dq.to_vector<double>() == three.dq.to_vector<double>());
    CHECK(one.dk.to_vector<double>() == three.dk.to_vector<double>());
    CHECK(one.dv.to_vector<double>() == three.dv.to_vector<double>());
  }
  set_num_threads(before);
}

TEST_CASE("keys before and behind all that are seen get gradient 0") {
  Generator own(24);
  const GeneratorScope scope(own);
  const Poison poison;
  Positions queries(1), keys(1);
  for (std::int64_t i = 0; i < 70; ++i) queries[0].push_back(600 + i);
  for (std::int64_t j = 0; j < 1100; ++j) keys[0].push_back(j);
  const Case c{1, 1, 70, 1100, 4, 3, Dtype::f64, remap_positions(window_mask(20), queries, keys)};
  check_alike(run(c, Way::fused), run(c, Way::formula), c.dtype);
}

TEST_CASE("a window holds and computes what is in it") {
  Generator own(23);
  const GeneratorScope scope(own);
  // Twice as long takes twice the memory, parts' sums included, and not four times.
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

TEST_CASE("the packed operation equals three views of the projection") {
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

TEST_CASE("the weights are a distribution over what may be seen") {
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
          8 * 0x1p-53);  // 7 roundings; example 1 sees nothing
}

TEST_CASE("dropout in attention: from the seed, on any number of threads, off in evaluation") {
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
  CHECK(own.position() == position);  // no stream is drawn
  CHECK(quiet.to_vector<float>() ==
        scaled_dot_product_attention(c.q, c.k, c.v, c.mask).to_vector<float>());
}

TEST_CASE("the kernel gives the same bits on one thread and on two") {
  Generator own(20);
  const GeneratorScope scope(own);
  const int before = num_threads();
  for (const double dropout : {0.0, 0.2}) {
    const Case c{2, 3, 150, 150, 8, 8, Dtype::f32, causal_mask(), dropout};
    set_num_threads(1);
    const Results one = run(c, Way::fused);
    set_num_threads(2);
    const Results two = run(c, Way::fused);
    CHECK(one.o.to_vector<float>() == two.o.to_vector<float>());
    CHECK(one.dq.to_vector<float>() == two.dq.to_vector<float>());
    CHECK(one.dk.to_vector<float>() == two.dk.to_vector<float>());
    CHECK(one.dv.to_vector<float>() == two.dv.to_vector<float>());
  }
  set_num_threads(before);
}

TEST_CASE("no T × S buffer is ever held") {
  Generator own(21);
  const GeneratorScope scope(own);
  const std::int64_t H = 4, T = 1024, D = 16;
  const Case c{1, H, T, T, D, D, Dtype::f32, causal_mask()};
  const std::int64_t before = memory::usage().live_bytes;
  memory::reset_peak();
  run(c, Way::fused);
  const std::int64_t used = memory::usage().peak_bytes - before;
  CHECK(used >= 4 * H * T * D * 4);  // o, dq, dk, dv at least: the measurement sees them
  CHECK(used < H * T * T * 4 / 4);   // a quarter of the weights
  memory::reset_peak();
  run(c, Way::with_weights);
  CHECK(memory::usage().peak_bytes - before > H * T * T * 4);
}

TEST_CASE("packed projections take a bias") {
  Generator own(16);
  const GeneratorScope scope(own);
  const Tensor qkv = randn({2, 4, 18}, Dtype::f64), bias = randn({2, 2, 4, 4}, Dtype::f64);
  const auto heads = [&](std::int64_t which) {
    return transpose(reshape(slice(qkv, 2, 6 * which, 6 * which + 6), {2, 4, 2, 3}), 1, 2);
  };
  const Tensor apart =
      scaled_dot_product_attention(heads(0), heads(1), heads(2), causal_mask(), {.bias = bias});
  const Tensor packed = packed_self_attention(qkv, 2, causal_mask(), {.bias = bias});
  CHECK(numbers(packed) == numbers(reshape(transpose(apart, 1, 2), {2, 4, 6})));
}

}  // namespace gradus::testing::attending
