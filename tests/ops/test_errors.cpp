// Arguments that operations refuse, and the nearest ones that they accept.
#include <functional>
#include <iomanip>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear_attention.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/position_bias.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

/// Shape and numbers.
std::string text(const Tensor& x) {
  std::string out = str_cat(x.shape(), ":");
  for (const double each : x.to(Dtype::f64).to_vector<double>())
    out += str_cat(" ", std::setprecision(7), each);
  return out;
}

Tensor bools(const Shape& shape, std::int64_t last_true) {
  std::vector<bool> all;
  for (std::int64_t i = 0; i < numel(shape); ++i) all.push_back(i <= last_true);
  return tensor(all, shape);
}

}  // namespace

TEST_CASE("one_hot, sorting and selection accept exactly the documented arguments") {
  const Tensor none, x = tensor({3, 1, 2}), empty = zeros({0}), i = arange(3), yes = bools({3}, 1),
                     table = tensor({{1, 2, 3}, {4, 0, 6}});
  const Tensor deep = reshape(bools({12}, 7), {2, 3, 2});
  CHECK_REFUSES(ValueError, text(one_hot(none, 3)), "one_hot", "undefined");
  CHECK_REFUSES(DtypeError, text(one_hot(x, 3)), "one_hot", "f32");
  CHECK_REFUSES(ValueError, text(one_hot(i, 0)), "one_hot", "0");
  CHECK_REFUSES(IndexError, text(one_hot(i, 2)), "one_hot", "2");
  CHECK(text(one_hot(i, 3)) == "[3, 3]: 1 0 0 0 1 0 0 0 1");
  CHECK_REFUSES(IndexError, text(one_hot(tensor(std::vector<int>{-1}), 3)), "one_hot", "-1");
  CHECK_REFUSES(ValueError, text(argsort(none)), "argsort", "undefined");
  CHECK_REFUSES(ValueError, text(sort(none).values), "sort", "undefined");
  CHECK(text(sort(x).values) == "[3]: 1 2 3");
  CHECK(text(sort(x, -1, true).indices) == "[3]: 0 2 1");
  CHECK_REFUSES(IndexError, text(sort(x, 1).values), "sort", "-1");
  CHECK_REFUSES(ValueError, text(topk(none, 1).values), "topk", "undefined");
  CHECK_REFUSES(ValueError, text(topk(x, -1).values), "topk", "-1");
  CHECK_REFUSES(ValueError, text(topk(x, 4).values), "topk", "4");
  CHECK(text(topk(x, 0).values) == "[0]:");
  CHECK(text(topk(x, 3).values) == "[3]: 3 2 1");
  CHECK_REFUSES(ShapeError, text(max(empty)), "max", "[0]");
  CHECK_REFUSES(ShapeError, text(min(empty)), "min", "[0]");
  CHECK_REFUSES(DtypeError, text(min(yes)), "min", "f32");
  CHECK_REFUSES(DtypeError, text(max(yes)), "max", "f32");
  CHECK(text(max(zeros({0, 2}), {1})) == "[0]:");
  CHECK_REFUSES(ShapeError, text(min(zeros({0, 2}), {0})), "min", "[0, 2]");
  CHECK_REFUSES(ShapeError, text(argmax(empty, 0, false)), "argmax", "[0]");
  CHECK(text(argmin(zeros({2, 0}), 0, false)) == "[0]:");
  CHECK_REFUSES(ShapeError, text(argmin(zeros({2, 0}), 1, false)), "argmin", "[2, 0]");
  CHECK(text(table.argmin(0, true)) == "[1, 3]: 0 1 0");
  CHECK(text(table.argmin(1)) == "[2]: 0 1");
  CHECK(text(table.argmax(0, true)) == "[1, 3]: 1 0 1");
  CHECK(text(table.min(1, true)) == "[2, 1]: 1 0");
  CHECK(text(all(deep, 1)) == "[2, 2]: 1 1 0 0");
  CHECK(text(any(deep, 1)) == "[2, 2]: 1 1 1 1");
  CHECK(text(all(deep, 0, true)) == "[1, 3, 2]: 1 1 0 0 0 0");
  CHECK(text(any(deep, 2)) == "[2, 3]: 1 1 1 1 0 0");
  CHECK(text(all(deep, 2)) == "[2, 3]: 1 1 1 1 0 0");
  CHECK(text(any(deep, 0)) == "[3, 2]: 1 1 1 1 1 1");
  CHECK(text(all(zeros({2, 0}, Dtype::bool_), 1)) == "[2]: 1 1");
  CHECK(text(any(zeros({2, 0}, Dtype::bool_), 1)) == "[2]: 0 0");
  CHECK_REFUSES(DtypeError, text(logical_and(x, yes)), "logical_and", "bool");
  CHECK_REFUSES(DtypeError, text(logical_and(yes, x)), "logical_and", "bool");
  CHECK_REFUSES(DtypeError, text(logical_or(i, yes)), "logical_or", "bool");
  CHECK_REFUSES(DtypeError, text(logical_xor(yes, i)), "logical_xor", "bool");
  CHECK_REFUSES(DtypeError, text(logical_not(x)), "logical_not", "bool");
  CHECK_REFUSES(ValueError, text(logical_and(none, yes)), "logical_and", "undefined");
  CHECK_REFUSES(ValueError, text(logical_and(yes, none)), "logical_and", "undefined");
  CHECK(text(logical_and(yes, yes)) == "[3]: 1 1 0");
  CHECK(chunk(zeros({0, 2}), 3).size() == 1);
  CHECK_REFUSES(ValueError, chunk(x, 0).size(), "chunk", "0");
  CHECK(chunk(x, 2).size() == 2);
  CHECK(chunk(x, 5).size() == 3);
  CHECK_REFUSES(ValueError, split(x, 0).size(), "split", "0");
  CHECK(split(zeros({0}), 2).size() == 1);
  CHECK(text(clamp(i, -1e300, 1e300)) == "[3]: 0 1 2");
  CHECK(text(clamp(i, 1, 1)) == "[3]: 1 1 1");
  CHECK(text(clamp(i, -0x1p63, 0x1p62)) == "[3]: 0 1 2");
  CHECK_REFUSES(ValueError, text(clamp(x, 2, 1)), "clamp", "2");
}

TEST_CASE("masks accept exactly the documented arguments") {
  const auto dense = [](const Shape& shape, std::int64_t last, const MaskSizes& sizes) {
    return text(dense_mask(bools(shape, last)).dense(sizes));
  };
  const auto made = [](const BlockSparse& pattern) {
    return block_sparse_mask(pattern).describe();
  };
  const auto blocks = [](std::int64_t heads, const MaskSizes& sizes, bool whole = true) {
    const Mask mask = block_sparse_mask({.length = 8, .block = 2, .heads = heads});
    mask.check_sizes(sizes, whole);
    return mask.describe();
  };
  const auto moved = [](const Positions& queries, const Positions& keys, const MaskSizes& sizes) {
    return text(remap_positions(causal_mask(), queries, keys).dense(sizes));
  };
  const Tensor later = tensor(std::vector<bool>{0, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 3});
  CHECK(dense({2, 3}, 3, {1, 1, 2, 3}) == "[1, 1, 2, 3]: 1 1 1 1 0 0");
  CHECK_REFUSES(ShapeError, dense({2, 3}, 3, {1, 1, 3, 2}), "dense_mask", "[1, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({2, 3}, 3, {2, 1, 4, 3}), "dense_mask", "[1, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({2, 3}, 3, {3, 1, 4, 3}), "dense_mask", "[1, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({1, 3}, 1, {2, 1, 4, 3}), "dense_mask", "[1, 1, 1, 3]");
  CHECK_REFUSES(ShapeError, dense({2, 3}, 3, {1, 1, 2, 4}), "dense_mask", "[1, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({2, 3}, 3, {2, 1, 4, 5}), "dense_mask", "[1, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({2, 2, 3}, 7, {3, 1, 2, 3}), "dense_mask", "[2, 1, 2, 3]");
  CHECK_REFUSES(ShapeError, dense({1, 2, 2, 2}, 5, {1, 3, 2, 2}), "dense_mask", "[1, 2, 2, 2]");
  CHECK(dense({1, 2, 2, 2}, 5, {2, 2, 2, 2}) == "[2, 2, 2, 2]: 1 1 1 1 1 1 0 0 1 1 1 1 1 1 0 0");
  CHECK_REFUSES(ShapeError, dense({3}, 1, {1, 1, 1, 3}), "dense_mask", "[3]");
  CHECK_REFUSES(ShapeError, dense({1, 1, 1, 1, 1}, 0, {1, 1, 1, 1}), "dense_mask",
                "[1, 1, 1, 1, 1]");
  CHECK_REFUSES(ValueError, text(dense_mask(later).dense({1, 1, 3, 3})), "dense_mask", "attend");
  CHECK(text(dense_mask(transpose(later)).dense({1, 1, 3, 3})) ==
        "[1, 1, 3, 3]: 0 0 0 1 0 0 1 1 0");
  CHECK_REFUSES(ValueError,
                text(dense_mask(transpose(transpose(later).contiguous())).dense({1, 1, 3, 3})),
                "dense_mask", "attend");
  CHECK(text(dense_mask(slice(slice(later, 0, 0, 2), 1, 0, 2)).dense({1, 1, 2, 2})) ==
        "[1, 1, 2, 2]: 0 1 0 0");
  CHECK(text(dense_mask(reshape(later, {1, 3, 3})).dense({1, 1, 3, 3})) ==
        "[1, 1, 3, 3]: 0 1 1 0 0 1 0 0 0");
  CHECK_REFUSES(ValueError, causal_lower_right(-1, 2).describe(), "causal_lower_right", "-1");
  CHECK_REFUSES(ValueError, causal_lower_right(2, -1).describe(), "causal_lower_right", "-1");
  CHECK(causal_lower_right(0, 2).describe() == "causal, offset 2");
  CHECK(causal_lower_right(2, 0).describe() == "causal, offset -2");
  CHECK_REFUSES(ValueError, window_mask(-1).describe(), "window_mask", "-1");
  CHECK_REFUSES(ValueError, window_mask(0, -1).describe(), "window_mask", "-1");
  CHECK(window_mask(0, 0).describe() == "window 0");
  CHECK_REFUSES(ValueError, made({.length = -1}), "block_sparse_mask", "-1");
  CHECK_REFUSES(ValueError, made({.length = 4, .window = -1}), "block_sparse_mask", "-1");
  CHECK_REFUSES(ValueError, made({.length = 4, .global = -1}), "block_sparse_mask", "-1");
  CHECK_REFUSES(ValueError, made({.length = 4, .random = -1}), "block_sparse_mask", "-1");
  CHECK_REFUSES(ValueError, made({.length = 4, .block = 0}), "block_sparse_mask", "0");
  CHECK_REFUSES(ValueError, made({.length = 4, .heads = 0}), "block_sparse_mask", "64");
  CHECK(made({.length = 0, .block = 1, .window = 0, .global = 0, .random = 0, .heads = 1}) ==
        "blocks of 1, window 0, global 0, random 0");
  CHECK(blocks(1, {1, 5, 8, 8}) == "blocks of 2, window 1, global 1, random 2");
  CHECK_REFUSES(ShapeError, blocks(1, {1, 1, 9, 8}), "block_sparse_mask", "8");
  CHECK_REFUSES(ShapeError, blocks(1, {1, 1, 8, 9}), "block_sparse_mask", "8");
  CHECK_REFUSES(ShapeError, blocks(3, {1, 2, 8, 8}), "block_sparse_mask", "3");
  CHECK(blocks(3, {1, 2, 8, 8}, false) == "blocks of 2, window 1, global 1, random 2");
  CHECK_REFUSES(ShapeError, blocks(3, {1, 4, 8, 8}, false), "block_sparse_mask", "3");
  CHECK(blocks(3, {1, 3, 8, 8}) == "blocks of 2, window 1, global 1, random 2");
  CHECK_REFUSES(ValueError, moved({}, {{0}}, {1, 1, 1, 1}), "remap_positions", "positions");
  CHECK_REFUSES(ValueError, moved({{0}}, {}, {1, 1, 1, 1}), "remap_positions", "positions");
  CHECK_REFUSES(ValueError, moved({{-2}}, {{0}}, {1, 1, 1, 1}), "remap_positions", "-2");
  CHECK(moved({{5, 5, 1}}, {{1, 5, 6, 6, 5}}, {1, 1, 3, 5}) ==
        "[1, 1, 3, 5]: 1 1 0 0 1 1 1 0 0 1 1 0 0 0 0");
  CHECK(moved({{-1, 2, -1, -1}}, {{0, -1, 2, 3}}, {1, 1, 4, 4}) ==
        "[1, 1, 4, 4]: 0 0 0 0 1 0 1 0 0 0 0 0 0 0 0 0");
  CHECK(moved({{0, 1}}, {{0}, {1}}, {2, 1, 2, 1}) == "[2, 1, 2, 1]: 1 1 0 1");
  CHECK_REFUSES(ShapeError, moved({{0, 1}}, {{0}, {1}}, {3, 1, 2, 1}), "remap_positions", "2");
  CHECK_REFUSES(ShapeError, moved({{0, 1}}, {{0, 1}}, {1, 1, 3, 2}), "remap_positions", "2");
  CHECK_REFUSES(ShapeError, moved({{0}}, {{0, 1}}, {1, 1, 1, 1}), "remap_positions", "2");
}

TEST_CASE("positions, buckets and projections accept exactly the documented arguments") {
  const std::vector<std::int64_t> three = {0, 1, 5}, four = {0, 1, 2, 3};
  const auto bucket = [](std::int64_t distance, const RelativeBuckets& options) {
    return relative_bucket(distance, options);
  };
  const auto all = [](const RelativeBuckets& options) {
    std::string out;
    for (const std::int64_t d : {-200, -129, -128, -127, -60, -33, -20, -17, -15, -9,  -8,  -7, -4,
                                 -1,   0,    1,    4,    7,   8,   9,   17,  40,  127, 128, 300})
      out += str_cat(relative_bucket(d, options), " ");
    return out;
  };
  const RandomStream stream{3, 1, 0};
  CHECK(text(position_distances(three, four)) == "[3, 4]: 0 1 2 3 1 0 1 2 5 4 3 2");
  CHECK_REFUSES(ShapeError, text(position_distances(four, three, 2)), "position_distances", "4");
  CHECK_REFUSES(ShapeError, text(position_distances(three, four, 2)), "position_distances", "3");
  CHECK(text(position_distances(four, four, 2)) == "[2, 1, 2, 2]: 0 1 1 0 0 1 1 0");
  CHECK_REFUSES(ValueError, text(position_distances(four, four, -1)), "position_distances", "-1");
  CHECK_REFUSES(ValueError, text(alibi_slopes(0)), "alibi_slopes", "0");
  CHECK_REFUSES(ValueError, text(alibi_slopes(-1)), "alibi_slopes", "-1");
  CHECK(text(alibi_slopes(1)) == "[1]: 0.00390625");
  CHECK(text(alibi_slopes(4)) == "[4]: 0.25 0.0625 0.015625 0.00390625");
  CHECK(text(alibi_slopes(6)) == "[6]: 0.25 0.0625 0.015625 0.00390625 0.5 0.125");
  CHECK(text(alibi_bias(2, three, three)) ==
        "[2, 3, 3]: -0 -0.0625 -0.3125 -0.0625 -0 -0.25 -0.3125 -0.25 -0 -0 -0.00390625 "
        "-0.01953125 -0.00390625 -0 -0.015625 -0.01953125 -0.015625 -0");
  CHECK_REFUSES(ValueError, bucket(1, {.count = 2}), "relative_bucket", "2");
  CHECK(bucket(1, {.count = 4}) == 3);
  CHECK_REFUSES(ValueError, bucket(1, {.count = 6}), "relative_bucket", "6");
  CHECK_REFUSES(ValueError, bucket(1, {.count = 5}), "relative_bucket", "5");
  CHECK_REFUSES(ValueError, bucket(1, {.count = 0}), "relative_bucket", "0");
  CHECK(bucket(1, {.count = 2, .bidirectional = false}) == 0);
  CHECK_REFUSES(ValueError, bucket(1, {.count = 3, .bidirectional = false}), "relative_bucket",
                "3");
  CHECK_REFUSES(ValueError, bucket(1, {.count = 8, .max_distance = 2}), "relative_bucket", "2");
  CHECK(bucket(1, {.count = 8, .max_distance = 3}) == 5);
  CHECK(all({}) == "15 15 15 15 13 12 10 10 9 8 8 7 4 1 0 17 20 23 24 24 26 28 31 31 31 ");
  CHECK(all({.bidirectional = false}) ==
        "31 31 31 31 26 21 17 16 15 9 8 7 4 1 0 0 0 0 0 0 0 0 0 0 0 ");
  CHECK(all({.count = 16, .max_distance = 40}) ==
        "7 7 7 7 7 7 6 6 6 5 5 4 4 1 0 9 12 12 13 13 14 15 15 15 15 ");
  CHECK_REFUSES(ValueError, text(orthogonal_projection(0, 2, stream)), "orthogonal_projection",
                "0");
  CHECK_REFUSES(ValueError, text(orthogonal_projection(2, 0, stream)), "orthogonal_projection",
                "2");
  CHECK(text(orthogonal_projection(1, 1, stream)) == "[1, 1]: 0.5090033");
  CHECK(text(orthogonal_projection(5, 3, stream)) ==
        "[5, 3]: 0.9184949 -1.048423 -1.770251 1.014728 0.1171029 0.4571383 0.2961506 2.413219 "
        "-1.27556 0.5208803 -0.2562822 -0.8133355 -0.7641265 -0.04455262 -0.4753271");
}

TEST_CASE("multinomial draws follow their formula, row by row") {
  const std::vector<std::vector<double>> weights = {
      {1, 0, 3, 0.25}, {1e200, 3e200, 0, 1e200}, {1e-300, 2e-300, 0, 1e-300}, {0, 0, 0, 7}};
  constexpr std::int64_t kCount = 200;
  for (std::size_t rows = 1; rows <= weights.size(); ++rows) {
    std::vector<double> flat;
    for (std::size_t r = 0; r < rows; ++r)
      flat.insert(flat.end(), weights[r].begin(), weights[r].end());
    const Tensor w = tensor(flat, {static_cast<std::int64_t>(rows), 4});
    seed(50 + rows);
    const Tensor with = multinomial(w, kCount), one = multinomial(w, 1, false);
    const RandomStream a{50 + rows, 0, 0}, b{50 + rows, 1, 0};
    std::vector<std::int64_t> want, want_one;
    for (std::size_t r = 0; r < rows; ++r) {
      double largest = 0, total = 0;
      for (const double x : weights[r]) largest = std::max(largest, x);
      for (const double x : weights[r]) total += x / largest;
      for (std::int64_t i = 0; i < kCount; ++i) {
        const double u = a.uniform(static_cast<std::int64_t>(r) * kCount + i) * total;
        double sum = weights[r][0] / largest;
        std::int64_t at = 0;
        while (sum <= u) sum += weights[r][std::size_t(++at)] / largest;
        want.push_back(at);
      }
      double first = std::numeric_limits<double>::infinity();
      std::int64_t best = -1;
      for (std::int64_t i = 0; i < 4; ++i) {
        const double x = weights[r][std::size_t(i)];
        const double key = -std::log1p(-b.uniform(static_cast<std::int64_t>(r) * 4 + i)) / x;
        if (x > 0 && (best < 0 || key < first)) first = key, best = i;
      }
      want_one.push_back(best);
    }
    CHECK(with.to_vector<std::int64_t>() == want);
    CHECK(one.to_vector<std::int64_t>() == want_one);
  }
  CHECK_REFUSES(ValueError, text(multinomial(ones({3}), 0)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(ones({3}), -1)), "multinomial", "-1");
  CHECK(text(multinomial(ones({1}), 2)) == "[2]: 0 0");
  CHECK_REFUSES(ValueError, text(multinomial(ones({1}), 2, false)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(zeros({2}), 1)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({1, -1}), 1)), "multinomial", "-1");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({1.0, NAN}), 1)), "multinomial", "nan");
  CHECK_REFUSES(ValueError, text(multinomial(zeros({2, 0}), 1)), "multinomial", "0");
  CHECK(text(multinomial(zeros({0, 3}), 2)) == "[0, 2]:");
  CHECK_REFUSES(ShapeError, text(multinomial(ones({}), 1)), "multinomial", "[]");
}

TEST_CASE("each head and row of a block pattern draws from its own stream") {
  for (const std::int64_t heads : {1, 3}) {
    const BlockSparse p{
        .length = 13, .block = 2, .window = 1, .global = 1, .random = 2, .seed = 5, .heads = heads};
    const std::vector<double> got =
        block_sparse_mask(p).dense({1, heads, 13, 13}).to(Dtype::f64).to_vector<double>();
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t row = 0; row < 7; ++row) {
        std::vector<bool> seen(7);
        std::vector<std::int64_t> others;
        for (std::int64_t key = 0; key < 7; ++key) {
          seen[std::size_t(key)] = row < 1 || key < 1 || std::abs(key - row) <= 1;
          if (!seen[std::size_t(key)]) others.push_back(key);
        }
        const RandomStream random{5, static_cast<std::uint32_t>(h * 7 + row), 0};
        for (std::int64_t i = 0; i < std::min<std::int64_t>(2, std::ssize(others)); ++i) {
          std::swap(others[std::size_t(i)],
                    others[std::size_t(i + random.below(i, std::ssize(others) - i))]);
          seen[std::size_t(others[std::size_t(i)])] = true;
        }
        for (std::int64_t i = 2 * row; i < std::min<std::int64_t>(13, 2 * row + 2); ++i)
          for (std::int64_t j = 0; j < 13; ++j)
            REQUIRE((got[std::size_t((h * 13 + i) * 13 + j)] == 1) == seen[std::size_t(j / 2)]);
      }
  }
}

}  // namespace gradus::testing

namespace gradus::testing::undefined {
namespace {

using Call = std::function<void(const Tensor&)>;
using Calls = std::vector<std::pair<std::string, Call>>;
using Pair = std::function<Tensor(const Tensor&, const Tensor&)>;
using Pairs = std::vector<std::pair<std::string, Pair>>;

const std::string kUndefined = ": the tensor is undefined (no numbers were ever put in it)";

Tensor bools(const Shape& shape) { return full(shape, 1, Dtype::bool_); }

Calls of_numbers() {
  return {{"scale", [](const Tensor& x) { scale(x, 2); }},
          {"shift", [](const Tensor& x) { shift(x, 2); }},
          {"negative", [](const Tensor& x) { negative(x); }},
          {"to", [](const Tensor& x) { to(x, Dtype::f64); }},
          {"equal", [](const Tensor& x) { equal(x, 1); }},
          {"less", [](const Tensor& x) { less(x, 1); }},
          {"isnan", [](const Tensor& x) { isnan(x); }},
          {"isfinite", [](const Tensor& x) { isfinite(x); }}};
}

Calls of_truth() {
  return {{"logical_not", [](const Tensor& x) { logical_not(x); }},
          {"logical_and", [](const Tensor& x) { logical_and(bools({2}), x); }},
          {"logical_or", [](const Tensor& x) { logical_or(x, bools({2})); }},
          {"all", [](const Tensor& x) { all(x); }},
          {"any", [](const Tensor& x) { any(x); }},
          {"all", [](const Tensor& x) { all(x, 0); }},
          {"any", [](const Tensor& x) { any(x, 0); }},
          {"masked_fill", [](const Tensor& x) { masked_fill(ones({2}), x, 0); }},
          {"where", [](const Tensor& x) { where(x, ones({2}), ones({2})); }}};
}

Calls of_places() {
  return {{"cat",
           [](const Tensor& x) {
             cat({ones({2}), x}, 0);
           }},
          {"stack",
           [](const Tensor& x) {
             stack({ones({2}), x}, 0);
           }},
          {"pad", [](const Tensor& x) { pad(x, 0, 1, 1); }},
          {"tril", [](const Tensor& x) { tril(x); }},
          {"flip", [](const Tensor& x) { flip(x, {0}); }},
          {"repeat", [](const Tensor& x) { repeat(x, {2}); }},
          {"select", [](const Tensor& x) { select(x, 0, 0); }},
          {"slice", [](const Tensor& x) { slice(x, 0, 0, 1); }},
          {"split", [](const Tensor& x) { split(x, 1, 0); }},
          {"split",
           [](const Tensor& x) {
             split(x, {1, 1}, 0);
           }},
          {"chunk", [](const Tensor& x) { chunk(x, 2, 0); }},
          {"[]", [](const Tensor& x) { x[{Index(0)}]; }},
          {"[]", [](const Tensor& x) { x[indices({0})]; }},
          {"[]", [](const Tensor& x) { ones({2})[x]; }},
          {"sort", [](const Tensor& x) { sort(x); }},
          {"argsort", [](const Tensor& x) { argsort(x); }},
          {"topk", [](const Tensor& x) { topk(x, 1); }}};
}

}  // namespace

TEST_CASE("an undefined tensor throws an error that names the called operation") {
  for (const Calls& calls : {of_numbers(), of_truth(), of_places()})
    for (const auto& [name, call] : calls) {
      const Call& f = call;
      CAPTURE(name);
      CHECK(message_of<ValueError>([&] { f(Tensor()); }) == name + kUndefined);
    }
  CHECK_REFUSES(ValueError, embedding(Tensor(), indices({0})), "embedding", "undefined");
  CHECK_REFUSES(ValueError, multinomial(Tensor(), 1), "multinomial", "undefined");
  CHECK_REFUSES(ValueError, pack(Tensor(), products::Precision::int8), "pack", "undefined");
  CHECK_REFUSES(ValueError, stack(std::vector<Tensor>()), "stack", "tensors");
}

TEST_CASE("logic operations require bool tensors and report the operation") {
  for (const auto& [name, call] : of_truth()) {
    const Call& f = call;
    CAPTURE(name);
    CHECK(message_of<DtypeError>([&] { f(zeros({2})); }) ==
          name + ": wants bool tensors, not f32 [2]: compare first, as in not_equal(x, 0)");
  }
  for (const char* name : {"isnan", "isfinite"})
    CHECK(message_of<DtypeError>([&] {
            *name == 'i' && name[2] == 'n' ? isnan(indices({1})) : isfinite(indices({1}));
          }) == std::string(name) + ": wants f32 or f64, not i64: convert with to(x, Dtype::f32)");
}

TEST_CASE("binary operations report their operands in the given order") {
  const Pairs of_floats = {
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
      {"add", [](const Tensor& a, const Tensor& b) { return a + b.clone(); }},
      {"subtract", [](const Tensor& a, const Tensor& b) { return a - b; }},
      {"multiply", [](const Tensor& a, const Tensor& b) { return a * b; }},
      {"divide", [](const Tensor& a, const Tensor& b) { return a / b; }},
      {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
      {"equal", [](const Tensor& a, const Tensor& b) { return a == b; }},
      {"not_equal", [](const Tensor& a, const Tensor& b) { return a != b; }},
      {"less", [](const Tensor& a, const Tensor& b) { return a < b; }},
      {"greater_equal", [](const Tensor& a, const Tensor& b) { return a >= b; }}};
  const Pairs of_bools = {
      {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor}};
  const auto check = [](const Pairs& all, const Tensor& a, const Tensor& b) {
    for (const auto& [name, call] : all) {
      const Pair& f = call;
      CAPTURE(name);
      const std::string said = message_of<ShapeError>([&] { f(a, b); });
      CHECK(said.starts_with(name + ": shapes [2, 3] and [4] do not "));
    }
  };
  check(of_floats, ones({2, 3}), ones({4}));
  check(of_bools, bools({2, 3}), bools({4}));
  for (const auto& [name, call] : of_floats) {
    const Pair& f = call;
    CAPTURE(name);
    CHECK(message_of<DtypeError>([&] { f(ones({2}), ones({2}, Dtype::f64)); }) ==
          name + ": the operands are f32 [2] and f64 [2]: convert one with to(x, dtype)");
    CHECK(message_of<ValueError>([&] { f(Tensor(), ones({})); }) == name + kUndefined);
  }
  CHECK(message_of<ValueError>([] { ones({}) + Tensor(); }) == "add" + kUndefined);
}

TEST_CASE("a wrong axis throws an error that names the called operation") {
  const Tensor x = ones({2, 3});
  const Calls calls = {{"argsort: axis 5", [](const Tensor& a) { argsort(a, 5); }},
                       {"pad: axis 5", [](const Tensor& a) { pad(a, 5, 1, 1); }},
                       {"split: axis 5", [](const Tensor& a) { split(a, 1, 5); }},
                       {"split: axis 5",
                        [](const Tensor& a) {
                          split(a, {1, 1}, 5);
                        }},
                       {"chunk: axis 5", [](const Tensor& a) { chunk(a, 2, 5); }},
                       {"stack: axis 5",
                        [](const Tensor& a) {
                          stack({a, a}, 5);
                        }},
                       {"stack: axis 3",
                        [](const Tensor& a) {
                          stack({a, ones({1, 2, 3})}, 3);
                        }},
                       {"transpose: axis 5", [](const Tensor& a) { transpose(a, 5, 7); }},
                       {"transpose: axis 5", [](const Tensor& a) { a.transpose(5, 7); }}};
  for (const auto& [words, call] : calls) {
    const Call& f = call;
    CAPTURE(words);
    CHECK(message_of<IndexError>([&] { f(x); }).starts_with(words + " of a tensor with "));
  }
}

TEST_CASE("select, split, pad, embedding and cat refuse the first value out of range") {
  const Tensor x = ones({2, 3});
  CHECK_REFUSES(IndexError, select(x, 1, -4), "select", "-4");
  CHECK(select(x, 1, -3).shape() == Shape{2});
  CHECK_REFUSES(ShapeError, split(x, {-1, 4}, 1), "split", "0");
  CHECK_REFUSES(ShapeError, split(x, {1, -2, 4}, 1), "split", "1");
  CHECK(chunk(x, 1, 1).size() == 1);
  CHECK(x.split(2, 1).size() == 2);
  CHECK(x.split(2, 0).size() == 1);
  CHECK_REFUSES(ValueError, pad(x, 0, 1, -1), "pad", "-1", "1");
  CHECK_REFUSES(ValueError, pad(x, 0, -1, 1), "pad", "-1", "1");
  CHECK(one_hot(indices({0, 0}), 1).to_vector<float>() == std::vector<float>{1, 1});
  CHECK_REFUSES(ValueError, embedding(x, indices({0}), -1), "embedding", "[2, 3]", "-1");
  CHECK_REFUSES(ShapeError, stack({ones({2, 3}), ones({4, 3})}), "stack", "[2, 3]", "[4, 3]");
  CHECK_REFUSES(ShapeError, cat({ones({2, 3}), ones({4, 3})}, 1), "cat", "[2, 3]", "[4, 3]");
  const std::vector<double> none = {0x1p63, -0x1p63, 1e19, -1e19, 1e300, -1e300};
  for (const double c : none) CHECK_REFUSES(DtypeError, scale(indices({1}), c), "integer");
}

}  // namespace gradus::testing::undefined
