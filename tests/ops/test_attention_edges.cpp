// Attention at its edges: no heads, no width, very wide heads, parts of one head that
// begin far into the keys, and NaN in padding.
#include <cmath>
#include <limits>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Output and gradients of q, k and v, one after the other.
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

/// f64 sums of up to a thousand terms of order 1, a softmax, and sums of those.
void same(const std::vector<Numbers>& a, const std::vector<Numbers>& b, const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i) expect(near(a[i], b[i], 1e-10), what);
}

void against_the_formula(const Inputs& x, const Mask& mask, const AttentionOptions& options,
                         const std::string& what) {
  seed(11);  // dropout draws the same in both
  const std::vector<Numbers> kernel = x.run(mask, options);
  const FormulaScope formula;
  seed(11);
  same(kernel, x.run(mask, options), what);
}

/// Sizes of 0, and heads so wide that a span of keys is cut by their width.
TEST_CASE("sizes of attention") {
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
           "keys of no width weigh alike");
  against_the_formula({1, 1, 1, 5, 4, 1000, 3}, {}, {}, "wide keys");
  against_the_formula({1, 1, 1, 5, 4, 3, 1000}, {}, {}, "wide values");
}

/// Full blocks of queries, keys in several spans, with bias and dropout.
TEST_CASE("large attention") {
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
  std::vector<bool> gap;  // of whole tiles, after almost a whole span
  for (int i = 0; i < 64 * 1000; ++i) gap.push_back(i % 1000 < 480 || i % 1000 >= 960);
  against_the_formula({1, 1, 1, 64, 1000, 1, 1}, dense_mask(tensor(gap, {64, 1000})), {}, "a gap");
}

/// The pair whose random word is the threshold keeps its weight.
TEST_CASE("dropout at the threshold") {
  seed(11);
  const double word = generator().next().word(7);
  against_the_formula({1, 1, 1, 4, 5, 2, 2}, {}, {.dropout = word / 4294967296.0}, "a threshold");
}

/// One head whose work is done in parts, each of which sees a window of the keys.
TEST_CASE("parts of a window") {
  against_the_formula({1, 1, 1, 600, 600, 64, 64}, window_mask(100), {}, "parts in windows");
  against_the_formula({1, 2, 1, 400, 400, 64, 64}, window_mask(120), {}, "with shared keys");
}

/// Two parts of each of four heads, whose sums are added where a gradient is wanted.
TEST_CASE("parts of some gradients") {
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

/// Hides one key from all queries.
Mask without(std::int64_t T, std::int64_t S, std::int64_t key) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < T * S; ++i) allowed.push_back(i % S != key);
  return dense_mask(tensor(allowed, {T, S}));
}

/// x with `value` at one place.
Tensor with(const Tensor& x, std::vector<std::int64_t> place, double value) {
  Tensor y = x.clone();
  Tensor at = slice(y[{place[0], place[1], place[2]}], 0, place[3], place[3] + 1).detach();
  at.fill_(value);
  return y;
}

/// A NaN in any one number of a key at either end that no query sees, or of its value, changes
/// nothing.
TEST_CASE("NaN in any number of padding") {
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

/// A NaN in one number of a query, or of an upstream gradient with gaps, reaches no hidden key.
TEST_CASE("NaN in any query") {
  const Inputs x(2, 2, 2, 6, 5, 2, 2);
  const Mask mask = without(6, 5, 4);
  for (std::int64_t place = 0; place < 16; ++place) {
    const std::int64_t b = place & 1, h = place >> 1 & 1, row = place >> 2 & 1 ? 5 : 0;
    const Tensor q = with(x.q, {b, h, row, place >> 3}, kNan);
    const Tensor dout = with(x.dout, {b, h, row, place >> 3}, kNan);
    const Tensor apart = transpose(transpose(dout).contiguous());  // numbers of a row lie apart
    for (const std::vector<Numbers>& dx :
         {all_of(q, x.k, x.v, x.dout, mask), all_of(x.q, x.k, x.v, dout, mask),
          all_of(x.q, x.k, x.v, apart, mask)})
      for (const std::size_t input : {2u, 3u})
        for (std::size_t i = 0; i < dx[input].size(); ++i)
          expect(i / 2 % 5 != 4 || dx[input][i] == 0, "a hidden key gets gradient 0");
  }
}

/// Numbers of a row with gaps between them.
Tensor gaps(const Tensor& x) { return slice(cat({x, x}, 3), 3, 0, 1).detach(); }

/// A NaN in a hidden key or value that lies in gaps, whichever it is.
TEST_CASE("NaN in gaps") {
  const Inputs x(1, 1, 1, 6, 3, 1, 1);
  for (const std::int64_t key : {0, 2}) {
    const auto run = [&](double k, double v) {
      return all_of(x.q, gaps(with(x.k, {0, 0, key, 0}, k)), gaps(with(x.v, {0, 0, key, 0}, v)),
                    x.dout, without(6, 3, key));
    };
    same(run(kNan, 0), run(0, 0), "NaN in a hidden key between gaps");
    same(run(0, kNan), run(0, 0), "NaN in a hidden value between gaps");
  }
}

/// Where nothing at all is finite, a query that sees no key still has output and gradient 0.
void nothing_finite(std::int64_t T) {
  std::vector<bool> allowed(static_cast<std::size_t>(T), true);
  allowed.back() = false;
  const Mask mask = dense_mask(tensor(allowed, {T, 1}));
  const auto check = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout) {
    const std::vector<Numbers> found = all_of(q, k, v, dout, mask);
    const std::size_t end = found[0].size(), width = end / static_cast<std::size_t>(T);
    for (std::size_t i = end - width; i < end; ++i)
      expect(found[0][i] == 0 && found[1][i] == 0, "the query that sees nothing");
  };
  const auto nans = [](std::int64_t rows, std::int64_t width) {
    return full({1, 1, rows, width}, kNan, Dtype::f64);
  };
  check(nans(T, 3), nans(1, 3), nans(1, 3), values({1, 1, T, 3}));
  check(nans(T, 3), nans(1, 3), nans(1, 3), nans(T, 3));
  check(gaps(nans(T, 1)), gaps(nans(1, 1)), gaps(nans(1, 1)), values({1, 1, T, 1}));
  check(values({1, 1, T, 3}), values({1, 1, 1, 3}), values({1, 1, 1, 3}), nans(T, 3));
}

TEST_CASE("NaN everywhere, few queries") { nothing_finite(2); }

TEST_CASE("NaN everywhere") { nothing_finite(6); }

/// The first query sees nothing, the others all keys but the last.
TEST_CASE("NaN behind a first query that sees nothing") {
  for (const std::int64_t T : {3, 6}) {
    const Inputs x(1, 1, 1, T, 3, 1, 1);
    std::vector<bool> allowed;
    for (std::int64_t i = 0; i < T * 3; ++i) allowed.push_back(i >= 3 && i % 3 != 2);
    const auto run = [&](double k, double v) {
      return all_of(x.q, with(x.k, {0, 0, 2, 0}, k), with(x.v, {0, 0, 2, 0}, v), x.dout,
                    dense_mask(tensor(allowed, {T, 3})));
    };
    same(run(kNan, 0), run(0, 0), "NaN in a hidden key");
    same(run(0, kNan), run(0, 0), "NaN in a hidden value");
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A bias can hide all keys of a query where no mask is: output and gradients are 0 then.
TEST_CASE("a bias of −∞ for all keys of a query") {
  const Inputs x(1, 1, 1, 6, 4, 3, 2);
  Tensor bias = values({1, 1, 6, 4}, 5).clone();
  bias[{0, 0, 1}].detach().fill_(-kInfinity);
  const std::vector<Numbers> found = x.run({}, {.bias = bias});
  Tensor dout = x.dout.clone();
  dout[{0, 0, 1}].detach().fill_(0);
  for (std::size_t c = 0; c < 2; ++c) expect(found[0][2 + c] == 0, "the query's output");
  for (std::size_t c = 0; c < 3; ++c) expect(found[1][3 + c] == 0, "the query's gradient");
  const std::vector<Numbers> right = all_of(x.q, x.k, x.v, dout, {}, {.bias = bias});
  for (std::size_t i = 2; i < 4; ++i) expect(near(found[i], right[i]), "keys and values");
}

/// Without a mask nothing is hidden: beside a value that is not finite a weight that underflows to
/// 0 gives NaN, in derivatives too, as by the formula.
TEST_CASE("without a mask a weight of 0 hides nothing") {
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
}  // namespace gradus::testing
