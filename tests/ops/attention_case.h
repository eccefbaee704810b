// One attention problem, computed in four ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::attending {

using naive::Numbers;
using naive::numbers;

struct Case {
  std::int64_t B, H, T, S, D, Dv;
  Dtype dtype = Dtype::f64;
  Mask mask = {};
  double dropout = 0;
  std::int64_t Hk = H;

  Tensor q = randn({B, H, T, D}, dtype), k = randn({B, Hk, S, D}, dtype),
         v = randn({B, Hk, S, Dv}, dtype);
  Tensor dout = randn({B, H, T, Dv}, dtype);
  Tensor bias = {};
};

struct Results {
  Tensor o, dq, dk, dv;
};

/// The four ways: the kernel; composed ops under FormulaScope; composed ops that return the
/// weights; the kernel with the backward formula that create_graph uses.
enum class Way { fused, formula, with_weights, formula_backward };
constexpr Way kWays[] = {Way::fused, Way::formula, Way::with_weights, Way::formula_backward};

/// Draws dropout from the first stream of Generator(7).
inline Results run(const Case& c, Way way) {
  Generator seven(7);
  const GeneratorScope scope(seven);
  const FormulaScope formula(way == Way::formula);
  const auto leaf = [](const Tensor& x) {
    Tensor y = x.detach();
    return y.requires_grad_();
  };
  const Tensor q = leaf(c.q), k = leaf(c.k), v = leaf(c.v);
  AttentionOptions options;
  options.dropout = c.dropout, options.bias = c.bias;
  const Tensor o = way == Way::with_weights
                       ? attention_with_weights(q, k, v, c.mask, options).output
                       : scaled_dot_product_attention(q, k, v, c.mask, options);
  if (way == Way::formula_backward) {
    const std::vector<Tensor> d = grad({o}, {q, k, v}, {c.dout}, {.create_graph = true});
    return {o.detach(), d[0].detach(), d[1].detach(), d[2].detach()};
  }
  o.backward(c.dout);
  return {o.detach(), q.grad(), k.grad(), v.grad()};
}

inline double largest(const Numbers& x) {
  double most = 0;
  for (const double each : x) most = std::max(most, std::abs(each));
  return most;
}

/// Returns the largest difference relative to the largest value.
inline double difference(const Tensor& a, const Tensor& b) {
  const Numbers x = numbers(a), y = numbers(b);
  REQUIRE(x.size() == y.size());
  Numbers d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::isfinite(x[i]));
    d[i] = x[i] - y[i];
  }
  return largest(d) / std::max(largest(y), 1e-300);
}

/// A gradient is a sum of up to S (or T) products of a few factors, each rounded. With random
/// signs, the error grows as the square root of the number of terms. 64 rounding errors cover it.
inline double tolerance(Dtype dtype) { return 64 * (dtype == Dtype::f32 ? 0x1p-24 : 0x1p-53); }

inline void check_same(const Results& a, const Results& b, Dtype dtype) {
  CHECK(difference(a.o, b.o) < tolerance(dtype));
  CHECK(difference(a.dq, b.dq) < tolerance(dtype));
  CHECK(difference(a.dk, b.dk) < tolerance(dtype));
  CHECK(difference(a.dv, b.dv) < tolerance(dtype));
}

}  // namespace gradus::testing::attending
