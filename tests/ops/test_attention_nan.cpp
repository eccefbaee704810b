// Attention: what a mask hides holds NaN, so heads go pair by pair; that must give
// what the tiles give where the same places hold 0.
#include <cmath>
#include <limits>
#include <utility>

#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Sizes {
  std::int64_t B, H, T, S, D, Dv;
};

/// x with `value` in row `row` of each head, or of head (1, 1) alone.
Tensor with_row(const Tensor& x, std::int64_t row, double value, bool everywhere) {
  Tensor y = x.clone();
  for (std::int64_t b = 0; b < y.size(0); ++b)
    for (std::int64_t h = 0; h < y.size(1); ++h) {
      Tensor place = y[{b, h, row}].detach();
      if (everywhere || (b == 1 && h == 1)) place.fill_(value);
    }
  return y;
}

/// Hides the last key from all, all keys from query 1 of head (0, 1), and every third pair.
Tensor allowed_pairs(const Sizes& n) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < n.B * n.H * n.T * n.S; ++i) {
    const std::int64_t key = i % n.S, query = i / n.S % n.T, head = i / (n.S * n.T);
    allowed.push_back(key != n.S - 1 && (head != 1 || query != 1) && (i % 3 != 0 || key == 0));
  }
  return tensor(allowed, {n.B, n.H, n.T, n.S});
}

struct Run {
  Numbers y, dq, dk, dv;
};

Run run_on(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout, const Mask& mask,
           const AttentionOptions& options) {
  const Tensor a = q.detach().requires_grad_(), b = k.detach().requires_grad_(),
               c = v.detach().requires_grad_();
  seed(11);  // dropout draws the same in each run
  const Tensor y = scaled_dot_product_attention(a, b, c, mask, options);
  y.backward(dout);
  return {numbers(y), numbers(a.grad()), numbers(b.grad()), numbers(c.grad())};
}

Run run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout, const Mask& mask,
        const AttentionOptions& options, Layout layout) {
  const auto lie = [layout](const Tensor& x) { return laid_out(x, layout); };
  return run_on(lie(q), lie(k), lie(v), lie(dout), mask, options);
}

/// Equal but for rounding: sums of about ten terms of order 1, backward of those again.
void expect_same(const Numbers& a, const Numbers& b, const std::string& what) {
  for (std::size_t i = 0; i < a.size(); ++i) expect(std::abs(a[i] - b[i]) <= 1e-12 * 10, what);
}

void same_run(const Run& a, const Run& b, const std::string& what) {
  expect_same(a.y, b.y, what + ": output");
  expect_same(a.dq, b.dq, what + ": dq");
  expect_same(a.dk, b.dk, what + ": dk");
  expect_same(a.dv, b.dv, what + ": dv");
}

/// NaN in the last key, which is hidden from all, and in a key that a bias of −∞ hides.
void pairs(const Sizes& n, const AttentionOptions& options, Layout layout,
           const std::string& what) {
  const Tensor q = values({n.B, n.H, n.T, n.D}), k = values({n.B, n.H, n.S, n.D}, 1);
  const Tensor v = values({n.B, n.H, n.S, n.Dv}, 2), dout = values({n.B, n.H, n.T, n.Dv}, 3);
  const Mask mask = dense_mask(allowed_pairs(n));
  for (const bool everywhere : {true, false}) {
    const auto filled = [&](double value, const Tensor& x) {
      return with_row(x, n.S - 1, value, everywhere);
    };
    const Run zeros = run(q, filled(0, k), filled(0, v), dout, mask, options, layout);
    same_run(run(q, filled(kNan, k), filled(0, v), dout, mask, options, layout), zeros,
             what + ", k");
    same_run(run(q, filled(0, k), filled(kNan, v), dout, mask, options, layout), zeros,
             what + ", v");
  }
}

/// An upstream gradient that is NaN for one query reaches only what that query sees.
void upstream_nan(std::int64_t query) {
  const Sizes n{2, 2, 4, 5, 3, 2};
  const Tensor q = values({n.B, n.H, n.T, n.D}), k = values({n.B, n.H, n.S, n.D}, 1);
  const Tensor v = values({n.B, n.H, n.S, n.Dv}, 2), dout = values({n.B, n.H, n.T, n.Dv}, 3);
  const Tensor allowed = allowed_pairs(n);
  const std::vector<bool> sees = allowed.to_vector<bool>();
  const Run whole =
      run(q, k, v, with_row(dout, query, 0, false), dense_mask(allowed), {}, Layout::packed);
  const Run holed =
      run(q, k, v, with_row(dout, query, kNan, false), dense_mask(allowed), {}, Layout::packed);
  for (std::int64_t head = 0; head < n.B * n.H; ++head)
    for (std::int64_t key = 0; key < n.S; ++key)
      for (std::int64_t c = 0; c < n.Dv; ++c) {
        const auto at = static_cast<std::size_t>((head * n.S + key) * n.Dv + c);
        const bool seen =
            head == 3 && sees[static_cast<std::size_t>((head * n.T + query) * n.S + key)];
        expect(std::isnan(holed.dv[at]) == seen, "NaN reaches the values that its query sees");
        expect(seen || std::abs(holed.dv[at] - whole.dv[at]) <= 1e-12, "and the others not at all");
      }
}

TEST_CASE("NaN upstream") { upstream_nan(2), upstream_nan(3); }

/// As layers split heads, in the second half of a larger tensor; of width 1 with gaps.
Tensor inside(const Tensor& x) {
  Tensor y = transpose(x, 1, 2);
  if (x.size(3) == 1) y = cat({y, zeros_like(y)}, 3);
  const Tensor whole = cat({zeros_like(y), y}, 0);
  const Tensor half = slice(whole, 0, x.size(0), 2 * x.size(0));
  return transpose(slice(half, 3, 0, x.size(3)), 1, 2).detach();
}

/// What is not finite is found wherever it lies, in k and v that are not equally wide, too.
TEST_CASE("found anywhere") {
  for (const auto& [D, Dv] : {std::pair(3, 3), {1, 1}, {3, 2}, {2, 3}}) {
    const Sizes n{2, 2, 4, 5, D, Dv};
    const Tensor q = inside(values({n.B, n.H, n.T, n.D}));
    const Tensor k = values({n.B, n.H, n.S, n.D}, 1), v = values({n.B, n.H, n.S, n.Dv}, 2);
    const Tensor dout = inside(values({n.B, n.H, n.T, n.Dv}, 3));
    const Mask mask = dense_mask(allowed_pairs(n));
    const auto cornered = [&](const Tensor& x, double value) {
      Tensor y = with_row(x, n.S - 1, 0, true);
      Tensor last = y[{1, 1, n.S - 1, x.size(3) - 1}].detach();
      last.fill_(value);
      return inside(y);
    };
    const Run zeros = run_on(q, cornered(k, 0), cornered(v, 0), dout, mask, {});
    same_run(run_on(q, cornered(k, kNan), cornered(v, 0), dout, mask, {}), zeros, "NaN inside k");
    same_run(run_on(q, cornered(k, 0), cornered(v, kNan), dout, mask, {}), zeros, "NaN inside v");
  }
}

/// All numbers in one row with gaps, and one of each tensor not finite.
TEST_CASE("found in gaps") {
  const auto gaps = [](const Tensor& x) {
    return slice(cat({x, zeros_like(x)}, 3), 3, 0, 1).detach();
  };
  const Tensor k = values({2, 2, 5, 1}, 1), v = values({2, 2, 5, 1}, 2);
  const Mask mask = dense_mask(allowed_pairs({2, 2, 4, 5, 1, 1}));
  for (const double first : {1.0, kNan}) {
    Tensor q = values({2, 2, 4, 1}).clone(), place = q[{0, 0, 0}].detach();
    place.fill_(first);
    const auto output = [&](double hidden) {
      return numbers(scaled_dot_product_attention(gaps(q), gaps(with_row(k, 4, hidden, false)),
                                                  gaps(with_row(v, 4, hidden, false)), mask));
    };
    const Numbers zeros = output(0), nans = output(kNan);
    for (std::size_t i = 12; i < 16; ++i)
      expect(std::abs(zeros[i] - nans[i]) <= 1e-12, "head (1, 1)");
  }
}

Tensor bias_of(const Shape& shape, bool hides_key_two) {
  Tensor bias = values(shape, 5).clone();
  for (std::int64_t b = 0; hides_key_two && b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        Tensor place = bias[{b, h, i, 2}].detach();
        place.fill_(-kInfinity);
      }
  return bias;
}

TEST_CASE("pair by pair") {
  const Sizes n{2, 3, 6, 5, 3, 2};
  pairs(n, {}, Layout::packed, "plain");
  pairs({2, 3, 4, 5, 3, 2}, {}, Layout::packed, "few queries");
  pairs(n, {}, Layout::column_major, "columns first");
  pairs(n, {.scale = 0.3}, Layout::padded, "a scale, padded rows");
  pairs(n, {.dropout = 0.4}, Layout::packed, "dropout");
  pairs(n, {.bias = bias_of({2, 3, 6, 5}, false)}, Layout::packed, "a bias for each pair");
  pairs(n, {.bias = bias_of({2, 3, 6, 5}, false) - 9.0}, Layout::packed, "weights far below 1");
  pairs(n, {.bias = bias_of({2, 1, 6, 5}, true), .dropout = 0.3}, Layout::packed,
        "bias and dropout");
  pairs(n, {.bias = laid_out(bias_of({2, 3, 6, 5}, true), Layout::column_major)}, Layout::packed,
        "a bias by columns");
  pairs({2, 2, 3, 4, 1, 1}, {}, Layout::every_second, "width 1, with gaps");
  pairs({2, 2, 1, 4, 3, 2}, {}, Layout::every_second, "one query");
}

/// NaN in one of two keys that are hidden from all, among more than are looked at in one piece.
TEST_CASE("far apart") {
  const Sizes n{1, 1, 6, 600, 2, 3};
  const Tensor q = values({1, 1, n.T, n.D}), k = values({1, 1, n.S, n.D}, 1);
  const Tensor v = values({1, 1, n.S, n.Dv}, 2), dout = values({1, 1, n.T, n.Dv}, 3);
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < n.T * n.S; ++i)
    allowed.push_back(i % n.S != 3 && i % n.S != n.S - 3);
  const Mask mask = dense_mask(tensor(allowed, {n.T, n.S}));
  const Run zeros = run(q, k, v, dout, mask, {}, Layout::packed);
  for (const std::int64_t key : {std::int64_t{3}, n.S - 3}) {
    same_run(run(q, with_row(k, key, kNan, true), v, dout, mask, {}, Layout::packed), zeros, "k");
    same_run(run(q, k, with_row(v, key, kNan, true), dout, mask, {}, Layout::packed), zeros, "v");
  }
}

/// A key that is allowed but has the score −∞ counts as hidden: its NaN stays where it is.
TEST_CASE("minus infinity") {
  const Sizes n{2, 3, 4, 5, 3, 2};
  const Tensor q = values({n.B, n.H, n.T, n.D}), k = values({n.B, n.H, n.S, n.D}, 1);
  const Tensor v = values({n.B, n.H, n.S, n.Dv}, 2), dout = values({n.B, n.H, n.T, n.Dv}, 3);
  Tensor bias = bias_of({n.B, n.H, n.T, n.S}, true);
  Tensor all = bias[{1, 1, 3}].detach();
  all.fill_(-kInfinity);  // a query whose keys all have −∞
  const AttentionOptions options{.bias = bias};
  const Mask mask = dense_mask(allowed_pairs(n));
  const auto filled = [](double value, const Tensor& x) { return with_row(x, 2, value, true); };
  const Run zeros = run(q, k, filled(0, v), dout, mask, options, Layout::packed);
  same_run(run(q, k, filled(kNan, v), dout, mask, options, Layout::packed), zeros, "NaN behind −∞");
  // The same score by a key at −∞.
  Tensor ahead = q.clone(), far = filled(0, k);
  Tensor positive = slice(ahead, 3, 0, 1).detach();
  Tensor infinite = slice(slice(far, 2, 2, 3), 3, 0, 1).detach();
  positive.fill_(0.5), infinite.fill_(-kInfinity);
  same_run(run(ahead, far, v, dout, mask, options, Layout::packed),
           run(ahead, filled(0, k), v, dout, mask, options, Layout::packed), "a key at −∞");
}

/// The kernel against the formula, where blocks are full and keys need several spans.
void against_the_formula(const Sizes& n, const Mask& mask, const AttentionOptions& options) {
  const Tensor q = values({n.B, n.H, n.T, n.D}), k = values({n.B, n.H, n.S, n.D}, 1);
  const Tensor v = values({n.B, n.H, n.S, n.Dv}, 2), dout = values({n.B, n.H, n.T, n.Dv}, 3);
  const Run fused = run(q, k, v, dout, mask, options, Layout::packed);
  const FormulaScope formula;
  const Run composed = run(q, k, v, dout, mask, options, Layout::packed);
  for (const auto& [a, b] : {std::pair(&fused.y, &composed.y),
                             {&fused.dq, &composed.dq},
                             {&fused.dk, &composed.dk},
                             {&fused.dv, &composed.dv}})
    for (std::size_t i = 0; i < a->size(); ++i)
      expect(std::abs((*a)[i] - (*b)[i]) <= 1e-10, "large attention, kernel and formula");
}

TEST_CASE("dropout in blocks that fill their buffers") {
  against_the_formula({1, 1, 64, 32, 2, 2}, {}, {.dropout = 0.3});
}

TEST_CASE("large attention") {
  against_the_formula({1, 1, 64, 64, 2, 2}, causal_mask(), {.bias = values({1, 1, 64, 64}, 5)});
  against_the_formula({1, 1, 64, 64, 2, 2}, {}, {.bias = values({1, 1, 64, 64}, 5)});
  against_the_formula({1, 2, 3, 600, 2, 2}, {},
                      {.bias = values({1, 2, 3, 600}, 5), .dropout = 0.3});
  against_the_formula({1, 1, 70, 600, 2, 2}, causal_mask(500), {.dropout = 0.3});
  against_the_formula({1, 1, 3, 600, 2, 2}, {}, {.bias = transpose(values({1, 1, 600, 3}, 5))});
  std::vector<bool> two_of_three;
  for (int i = 0; i < 70 * 520; ++i) two_of_three.push_back(i % 3 != 0);
  against_the_formula({1, 1, 70, 520, 1, 1}, dense_mask(tensor(two_of_three, {70, 520})),
                      {.bias = values({1, 1, 70, 520}, 5)});
  std::vector<bool> gap;  // of whole tiles, after almost a whole span
  for (int i = 0; i < 64 * 1000; ++i) gap.push_back(i % 1000 < 480 || i % 1000 >= 960);
  against_the_formula({1, 1, 64, 1000, 1, 1}, dense_mask(tensor(gap, {64, 1000})), {});
}

/// The pair whose random word is the threshold keeps its weight.
TEST_CASE("at the threshold") {
  seed(11);
  const double word = generator().next().word(7);
  against_the_formula({1, 1, 4, 5, 2, 2}, {}, {.dropout = word / 4294967296.0});
  const Sizes n{2, 2, 4, 5, 3, 2};
  pairs(n, {.dropout = word / 4294967296.0}, Layout::packed, "a word at the threshold");
}

/// Packed projections: NaN in the padding, and in the upstream gradient of one query.
TEST_CASE("packed") {
  const std::int64_t B = 2, T = 4, C = 6;
  const Mask mask = padding_mask({3, 4});  // key 3 of example 0 is padding
  const auto run_with = [&](double padding, double upstream) {
    Tensor qkv = values({B, T, 3 * C}).clone(), dout = values({B, T, C}, 1).clone();
    Tensor keys_and_values = slice(qkv[{0, 3}], 0, C, 3 * C).detach();
    Tensor query = dout[{0, 1}].detach();
    keys_and_values.fill_(padding), query.fill_(upstream);
    const Tensor x = qkv.requires_grad_(), y = packed_self_attention(x, 2, mask);
    y.backward(dout);
    return std::pair(numbers(y), numbers(x.grad()));
  };
  const auto [y, dx] = run_with(0, 0);
  const auto [padded_y, padded_dx] = run_with(kNan, 0);
  expect_same(padded_y, y, "NaN in the padding: output");
  expect_same(padded_dx, dx, "NaN in the padding: gradient");
  const Numbers holed = run_with(0, kNan).second;
  for (std::size_t c = 3 * 18 + 6; c < 4 * 18; ++c)
    expect(holed[c] == 0, "NaN upstream does not reach the padding");
  for (std::size_t c = 4 * 18; c < holed.size(); ++c)
    expect(std::abs(holed[c] - dx[c]) <= 1e-12, "nor another example");
}

}  // namespace
}  // namespace gradus::testing
