// Compares every type of mask (single, combined and remapped) with its definition, and attention
// with naive loops.
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "gradus/tests/ops/attention_case.h"

namespace gradus::testing::attending {
namespace {

using May = std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

struct Kind {
  Mask mask;
  May may;
};

bool drawn(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return (b * 31 + h * 17 + i * i * 7 + j * j * 3 + i * j) % 5 < 2;
}

/// Returns a dense mask with the pattern drawn(). Axes of size 1 broadcast.
Kind dense(const Shape& shape) {
  Shape four = shape;
  if (four.rank() == 3) four.insert(1, 1);
  while (four.rank() < 4) four.insert(0, 1);
  Tensor allowed = Tensor::empty(shape, Dtype::bool_);
  bool* to = allowed.mutable_data<bool>();
  for (std::int64_t n = 0; n < allowed.numel(); ++n) {
    const std::int64_t j = n % four[3], i = n / four[3] % four[2], bh = n / four[3] / four[2];
    to[n] = drawn(bh / four[1], bh % four[1], i, j);
  }
  const bool b1 = four[0] == 1, h1 = four[1] == 1;
  return {dense_mask(allowed),
          [=](auto b, auto h, auto i, auto j) { return drawn(b1 ? 0 : b, h1 ? 0 : h, i, j); }};
}

Kind lengths(bool padding, const std::vector<std::int64_t>& n) {
  return {padding ? padding_mask(n) : prefix_mask(n),
          [=](auto b, auto, auto, auto j) { return j < n[static_cast<std::size_t>(b)]; }};
}

Kind window(std::int64_t before, std::int64_t after) {
  return {window_mask(before, after),
          [=](auto, auto, auto i, auto j) { return j >= i - before && j <= i + after; }};
}

Kind causal(const Mask& mask, std::int64_t offset) {
  return {mask, [=](auto, auto, auto i, auto j) { return j <= i + offset; }};
}

Kind blocks(std::int64_t length, std::int64_t size, std::int64_t near, std::int64_t global) {
  return {block_sparse_mask(
              {.length = length, .block = size, .window = near, .global = global, .random = 0}),
          [=](auto, auto, auto i, auto j) {
            const std::int64_t p = i / size, q = j / size;
            return p < global || q < global || std::abs(p - q) <= near;
          }};
}

Kind combined(const Kind& a, const Kind& b, bool both) {
  return {both ? a.mask & b.mask : a.mask | b.mask,
          [=, x = a.may, y = b.may](auto e, auto h, auto i, auto j) {
            return both ? x(e, h, i, j) && y(e, h, i, j) : x(e, h, i, j) || y(e, h, i, j);
          }};
}

Kind placed(const Kind& a, const Positions& queries, const Positions& keys) {
  return {remap_positions(a.mask, queries, keys), [=, may = a.may](auto b, auto h, auto i, auto j) {
            const auto at = [&](const Positions& all, std::int64_t row) {
              return all[all.size() == 1 ? 0 : std::size_t(b)][std::size_t(row)];
            };
            const std::int64_t query = at(queries, i), key = at(keys, j);
            return query >= 0 && key >= 0 && may(b, h, query, key);
          }};
}

struct Extent {
  std::int64_t B, H, T, S;
};

std::vector<Kind> simple(const Extent& n) {
  const auto [B, H, T, S] = n;
  return {{Mask(), [](auto, auto, auto, auto) { return true; }},
          causal(causal_mask(), 0),
          causal(causal_mask(-T / 2), -T / 2),
          causal(causal_lower_right(T, S), S - T),
          window(T / 3, 0),
          window(0, 2),
          window(1, T / 2),
          lengths(true, {S, S / 2}),
          lengths(true, {0, S - 1}),
          lengths(false, {2, S / 3}),
          {prefix_mask(S / 2), [s = S](auto, auto, auto, auto j) { return j < s / 2; }},
          blocks(std::max(T, S), std::max<std::int64_t>(2, S / 8), 1, 1),
          blocks(std::max(T, S) + 1, std::max<std::int64_t>(2, S / 6), 0, 0),
          dense({T, S}),
          dense({B, T, S}),
          dense({1, H, T, S}),
          dense({B, H, T, S})};
}

/// Remaps a mask to positions in a ring buffer that has wrapped around, with some empty rows. If
/// `each` is true, every example has its own positions.
Kind in_a_ring(const Kind& a, const Extent& n, bool each) {
  Positions queries(each ? 2 : 1), keys(each ? 2 : 1);
  for (std::size_t b = 0; b < queries.size(); ++b) {
    const std::int64_t turn = n.S / 2 + std::int64_t(b), behind = 2 * std::int64_t(b);
    for (std::int64_t i = 0; i < n.T; ++i) queries[b].push_back(i < behind ? -1 : i - behind);
    for (std::int64_t j = 0; j < n.S; ++j)
      keys[b].push_back(j % 7 == 6 && each ? -1 : (j + turn) % n.S);
  }
  return placed(a, queries, keys);
}

void check_dense(const Kind& kind, const Extent& n) {
  const std::vector<bool> got = kind.mask.dense({n.B, n.H, n.T, n.S}).to_vector<bool>();
  std::size_t at = 0, wrong = 0;
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t h = 0; h < n.H; ++h)
      for (std::int64_t i = 0; i < n.T; ++i)
        for (std::int64_t j = 0; j < n.S; ++j) wrong += got[at++] != kind.may(b, h, i, j);
  CHECK(wrong == 0);
}

/// Attention in loops over the allowed pairs.
struct Plain {
  const Case& c;
  const May& may;
  Numbers q = numbers(c.q), k = numbers(c.k), v = numbers(c.v), dout = numbers(c.dout);
  Numbers o = Numbers(dout.size()), dq = Numbers(q.size()), dk = Numbers(k.size()),
          dv = Numbers(v.size());

  void run() {
    for (std::int64_t b = 0; b < c.B; ++b)
      for (std::int64_t h = 0; h < c.H; ++h)
        for (std::int64_t i = 0; i < c.T; ++i) query(b, h, i);
  }
  double added(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t at[] = {b, h, i, j};
    std::int64_t place = 0;
    const int rank = c.bias.defined() ? c.bias.rank() : 0;
    for (int axis = 0; axis < rank; ++axis)  // missing axes and axes of size 1 broadcast
      place = place * c.bias.size(axis) + (c.bias.size(axis) == 1 ? 0 : at[4 - rank + axis]);
    return rank == 0 ? 0 : c.bias.data<double>()[place];
  }
  static double dot(const double* x, const double* y, std::int64_t n) {
    return std::inner_product(x, x + n, y, 0.0);
  }
  static void add(double* to, double times, const double* x, std::int64_t n) {
    for (std::int64_t m = 0; m < n; ++m) to[m] += times * x[m];
  }
  void query(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t row = (b * c.H + h) * c.T + i, first = (b * c.Hk + h / (c.H / c.Hk)) * c.S;
    const double scale = 1 / std::sqrt(static_cast<double>(c.D));
    const double *qi = &q[std::size_t(row * c.D)], *doi = &dout[std::size_t(row * c.Dv)];
    double *oi = &o[std::size_t(row * c.Dv)], *dqi = &dq[std::size_t(row * c.D)];
    Numbers p(std::size_t(c.S), 0);
    double total = 0;
    for (std::int64_t j = 0; j < c.S; ++j)
      if (may(b, h, i, j)) {
        const double score = scale * dot(qi, &k[std::size_t((first + j) * c.D)], c.D);
        total += p[std::size_t(j)] = std::exp(score + added(b, h, i, j));
      }
    for (std::int64_t j = 0; j < c.S && total > 0; ++j)
      add(oi, p[std::size_t(j)] /= total, &v[std::size_t((first + j) * c.Dv)], c.Dv);
    const double mean = dot(oi, doi, c.Dv);
    for (std::int64_t j = 0; j < c.S; ++j) {
      const std::size_t key = std::size_t((first + j) * c.D),
                        value = std::size_t((first + j) * c.Dv);
      const double ds = p[std::size_t(j)] * (dot(doi, &v[value], c.Dv) - mean) * scale;
      add(dqi, ds, &k[key], c.D), add(&dk[key], ds, qi, c.D);
      add(&dv[value], p[std::size_t(j)], doi, c.Dv);
    }
  }
};

/// Fills keys and values with NaN before the first and after the last key to which any query
/// attends. Does not support masks a & b: their padding includes only keys that a or b hides from
/// every query.
void poison(Case& c, const May& may) {
  for (std::int64_t b = 0; b < c.B; ++b)
    for (std::int64_t hk = 0; hk < c.Hk; ++hk) {
      const auto seen = [&](std::int64_t j) {
        for (std::int64_t h = hk * (c.H / c.Hk); h < (hk + 1) * (c.H / c.Hk); ++h)
          for (std::int64_t i = 0; i < c.T; ++i)
            if (may(b, h, i, j)) return true;
        return false;
      };
      const auto fill = [&](std::int64_t j) {
        const std::int64_t row = (b * c.Hk + hk) * c.S + j;
        std::fill_n(c.k.mutable_data<double>() + row * c.D, c.D, NAN);
        std::fill_n(c.v.mutable_data<double>() + row * c.Dv, c.Dv, NAN);
      };
      for (std::int64_t j = 0; j < c.S && !seen(j); ++j) fill(j);
      for (std::int64_t j = c.S - 1; j >= 0 && !seen(j); --j) fill(j);
    }
}

struct Options {
  std::int64_t key_heads;
  Way way;
  bool poisoned = false;
  Tensor bias = {};
};

void check_attention(const Kind& kind, const Extent& n, const Options& how) {
  Case c{n.B, n.H, n.T, n.S, 3, 2, Dtype::f64, kind.mask, 0, how.key_heads};
  c.bias = how.bias;
  Plain plain{c, kind.may};
  plain.run();
  if (how.poisoned) poison(c, kind.may);
  const Results got = attending::run(c, how.way);
  // Errors are relative to the largest value, because dq and dk are only rounding errors if a query
  // has a single key.
  double worst = 0, most = 1;
  const auto compare = [&](const Tensor& x, const Numbers& y) {
    const Numbers found = numbers(x);
    REQUIRE(found.size() == y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double off = std::abs(found[i] - y[i]);
      worst = std::max(worst, std::isfinite(off) ? off : 1e300);
    }
    most = std::max(most, largest(y));
  };
  compare(got.o, plain.o), compare(got.dq, plain.dq);
  compare(got.dk, plain.dk), compare(got.dv, plain.dv);
  CHECK(worst < tolerance(c.dtype) * most);
}

}  // namespace

TEST_CASE("every mask and pair of masks matches its definition, and attention matches loops",
          "[kernel]") {
  Generator own(31);
  const GeneratorScope scope(own);
  int turn = 0;
  const auto check = [&](const Kind& kind, const Extent& n, bool poisoned) {
    CAPTURE(kind.mask.describe(), n.T, turn);
    check_dense(kind, n);
    const std::int64_t key_heads[] = {4, 2, 1};
    check_attention(kind, n, {key_heads[turn % 3], kWays[turn % 4], poisoned && turn % 5 < 2});
    ++turn;
  };
  // The second size has fewer queries than keys, as in decoding.
  for (const Extent& n : {Extent{2, 4, 7, 9}, Extent{2, 4, 2, 9}})
    for (const Kind& a : simple(n))
      for (const Kind& b : simple(n))
        for (const bool both : {true, false}) check(combined(a, b, both), n, !both);
}

TEST_CASE("masks of rows in a ring buffer with empty slots match their definition", "[kernel]") {
  Generator own(32);
  const GeneratorScope scope(own);
  const Extent n{2, 2, 9, 9};
  for (const Kind& a : simple(n))
    for (const bool each : {false, true})
      for (const bool alone : {true, false})
        for (const Way way : kWays) {
          const Kind kind = in_a_ring(alone ? a : combined(a, window(3, 1), true), n, each);
          CAPTURE(kind.mask.describe(), each, int(way));
          check_dense(kind, n);
          check_attention(kind, n, {2, way, each && alone});
        }
}

TEST_CASE("attention over several blocks, tiles and spans is right under each mask", "[kernel]") {
  Generator own(33);
  const GeneratorScope scope(own);
  for (const Extent& n : {Extent{2, 2, 70, 135}, Extent{2, 2, 34, 600}}) {
    const std::vector<Kind> all = simple(n);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Kind pair = combined(all[i], all[(i + 5) % all.size()], i % 2 == 0);
      for (const Kind& kind : {all[i], pair}) {
        CAPTURE(kind.mask.describe(), n.S);
        check_dense(kind, n);
        check_attention(kind, n, {std::int64_t(i % 2 + 1), Way::fused});
      }
    }
  }
}

TEST_CASE("a bias is added under masks too, and −∞ hides a key", "[kernel]") {
  Generator own(34);
  const GeneratorScope scope(own);
  for (const Extent& n : {Extent{2, 4, 7, 9}, Extent{2, 2, 34, 530}}) {
    const auto [B, H, T, S] = n;
    const std::vector<Kind> kinds = {simple(n)[0], simple(n)[1], simple(n).back()};
    for (const Shape& shape : {Shape{T, S}, Shape{H, T, S}, Shape{B, 1, T, S}, Shape{1, H, 1, S},
                               Shape{B, H, T, 1}, Shape{B, H, T, S}, Shape{1}})
      for (const bool absent : {false, true})
        for (const Kind& kind : kinds)
          for (const Way way : kWays) {
            if (S > 500 && way != Way::fused) continue;  // only the kernel splits long rows of keys
            CAPTURE(shape, absent, kind.mask.describe(), int(way));
            Tensor bias = randn(shape, Dtype::f64);
            for (std::int64_t i = 0; absent && i < bias.numel(); i += 3)
              bias.mutable_data<double>()[i] = -INFINITY;
            check_attention(kind, n, {2, way, false, bias});
          }
  }
}

}  // namespace gradus::testing::attending
