#include <functional>
#include <iomanip>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear_attention.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/position_bias.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_errors {
namespace {

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
  CHECK_REFUSES(DtypeError, dense_mask(zeros({2, 2})), "dense_mask", "f32");
  CHECK_REFUSES(DtypeError, dense_mask(Tensor()), "dense_mask", "undefined");
  CHECK_REFUSES(ShapeError, padding_mask({3, 5}).check_sizes({3, 1, 4, 5}), "padding_mask", "2",
                "3");
  CHECK_REFUSES(ValueError, padding_mask({6}).check_sizes({1, 1, 4, 5}), "padding_mask", "6", "5");
  CHECK_REFUSES(ValueError, padding_mask({-1}).check_sizes({1, 1, 4, 5}), "padding_mask", "-1");
  CHECK_REFUSES(ShapeError, prefix_mask({1, 2}).check_sizes({3, 1, 4, 5}), "prefix_mask", "2", "3");
  CHECK_REFUSES(ValueError, prefix_mask(6).check_sizes({1, 1, 4, 5}), "prefix_mask", "6", "5");
  CHECK_REFUSES(ValueError, prefix_mask(-1).picture(2, 2), "prefix_mask", "-1");
  CHECK_NOTHROW(prefix_mask(2).check_sizes({3, 1, 4, 5}));
  CHECK_REFUSES(ShapeError, (causal_mask() & padding_mask({1})).check_sizes({2, 1, 3, 3}), "1");
  CHECK_REFUSES(ShapeError, (padding_mask({1}) | causal_mask()).dense({2, 1, 3, 3}), "1");
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
  const Mask four = dense_mask(bools({4, 4}, 15));  // large enough for the remapped positions
  CHECK_NOTHROW(remap_positions(four, {{3}}, {{0, 3}}).check_sizes({1, 1, 1, 2}));
  for (const auto& [query, key] : {std::pair{4, 3}, {3, 4}})
    CHECK_REFUSES(ShapeError,
                  remap_positions(four, {{query}}, {{0, key}}).check_sizes({1, 1, 1, 2}),
                  "dense_mask");
}

TEST_CASE("positions, buckets and projections accept exactly the documented arguments") {
  const std::vector<std::int64_t> three = {0, 1, 5}, four = {0, 1, 2, 3};
  const auto bucket = [](const RelativeBuckets& options) { return relative_bucket(1, options); };
  const RandomStream stream{3, 1, 0};
  CHECK(text(position_distances(three, four)) == "[3, 4]: 0 1 2 3 1 0 1 2 5 4 3 2");
  CHECK_REFUSES(ShapeError, position_distances(four, three, 2), "position_distances", "4");
  CHECK_REFUSES(ShapeError, position_distances(three, four, 2), "position_distances", "3");
  CHECK(text(position_distances(four, four, 2)) == "[2, 1, 2, 2]: 0 1 1 0 0 1 1 0");
  CHECK_REFUSES(ValueError, position_distances(four, four, -1), "position_distances", "-1");
  CHECK_REFUSES(ValueError, alibi_slopes(-1), "alibi_slopes", "-1");
  CHECK(bucket({.count = 4}) == 3);
  for (const std::int64_t count : {-2, 0, 1, 2, 3, 5, 6}) {
    CHECK_REFUSES(ValueError, bucket({.count = count}), "relative_bucket", std::to_string(count));
    const RelativeBuckets options{.count = count};
    CHECK_REFUSES(ValueError, relative_buckets({}, {}, options), "relative_bucket");
  }
  CHECK(bucket({.count = 2, .bidirectional = false}) == 0);
  for (const std::int64_t count : {0, 1, 3})
    CHECK_REFUSES(ValueError, bucket({.count = count, .bidirectional = false}), "relative_bucket");
  CHECK_REFUSES(ValueError, bucket({.count = 8, .max_distance = 2}), "relative_bucket", "2");
  CHECK(bucket({.count = 8, .max_distance = 3}) == 5);
  CHECK_REFUSES(ValueError, orthogonal_projection(0, 2, stream), "orthogonal_projection", "0");
  CHECK_REFUSES(ValueError, orthogonal_projection(2, 0, stream), "orthogonal_projection", "2");
  CHECK(orthogonal_projection(1, 1, stream).shape() == Shape{1, 1});
}

TEST_CASE("multinomial accepts exactly the documented arguments") {
  CHECK_REFUSES(ValueError, text(multinomial(ones({3}), 0)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(ones({3}), -1)), "multinomial", "-1");
  CHECK(text(multinomial(ones({1}), 2)) == "[2]: 0 0");
  CHECK_REFUSES(ValueError, text(multinomial(ones({1}), 2, false)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(zeros({2}), 1)), "multinomial", "0");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({1, -1}), 1)), "multinomial", "-1");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({1.0, NAN}), 1)), "multinomial", "nan");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({1.0, INFINITY}), 1)), "multinomial", "inf");
  CHECK_REFUSES(ValueError, text(multinomial(tensor({0, 5, 1}), 3, false)), "multinomial", "2",
                "3");
  CHECK_REFUSES(DtypeError, text(multinomial(indices({1, 2}), 1)), "multinomial");
  CHECK_REFUSES(ValueError, text(multinomial(zeros({2, 0}), 1)), "multinomial", "0");
  CHECK(text(multinomial(zeros({0, 3}), 2)) == "[0, 2]:");
  CHECK_REFUSES(ShapeError, text(multinomial(ones({}), 1)), "multinomial", "[]");
}

namespace {

using Call = std::function<void(const Tensor&)>;
using Calls = std::vector<std::pair<std::string, Call>>;
using Pair = Tensor (*)(const Tensor&, const Tensor&);

// Covers functions and overloads that mistakes.h does not list.
const Calls kOfNumbers = {{"equal", [](const Tensor& x) { equal(x, 1); }},
                          {"less", [](const Tensor& x) { less(x, 1); }},
                          {"isnan", [](const Tensor& x) { isnan(x); }},
                          {"isfinite", [](const Tensor& x) { isfinite(x); }},
                          {"scale", [](const Tensor& x) { scale(x, 2); }},
                          {"shift", [](const Tensor& x) { shift(x, 2); }},
                          {"negative", [](const Tensor& x) { negative(x); }}};
const Calls kOfTruth = {{"logical_not", [](const Tensor& x) { logical_not(x); }},
                        {"logical_and", [](const Tensor& x) { logical_and(bools({2}, 1), x); }},
                        {"logical_or", [](const Tensor& x) { logical_or(x, bools({2}, 1)); }},
                        {"all", [](const Tensor& x) { all(x); }},
                        {"any", [](const Tensor& x) { any(x); }},
                        {"all", [](const Tensor& x) { all(x, 0); }},
                        {"any", [](const Tensor& x) { any(x, 0); }},
                        {"masked_fill", [](const Tensor& x) { masked_fill(ones({2}), x, 0); }},
                        {"where", [](const Tensor& x) { where(x, ones({2}), ones({2})); }}};
const Calls kOfPlaces = {{"cat",
                          [](const Tensor& x) {
                            cat(std::vector{ones({2}), x}, 0);
                          }},
                         {"pad", [](const Tensor& x) { pad(x, 0, 1, 1); }},
                         {"select", [](const Tensor& x) { select(x, 0, 0); }},
                         {"split", [](const Tensor& x) { split(x, 1, 0); }},
                         {"chunk", [](const Tensor& x) { chunk(x, 2, 0); }},
                         {"[]", [](const Tensor& x) { x[{Index(0)}]; }},
                         {"[]", [](const Tensor& x) { x[indices({0})]; }},
                         {"[]", [](const Tensor& x) { ones({2})[x]; }},
                         {"argsort", [](const Tensor& x) { argsort(x); }}};

}  // namespace

TEST_CASE("an undefined tensor throws an error that names the called operation") {
  for (const Calls* calls : {&kOfNumbers, &kOfTruth, &kOfPlaces})
    for (const auto& [name, call] : *calls)
      CHECK_REFUSES(ValueError, call(Tensor()), name, "undefined");
  CHECK_REFUSES(ValueError, embedding(Tensor(), indices({0})), "embedding", "undefined");
  CHECK_REFUSES(ValueError, multinomial(Tensor(), 1), "multinomial", "undefined");
  CHECK_REFUSES(ValueError, pack(Tensor(), gemm::Precision::int8), "pack", "undefined");
  CHECK_REFUSES(ValueError, stack(std::vector<Tensor>()), "stack", "tensors");
}

TEST_CASE("logic operations require bool tensors and report the operation") {
  for (const auto& [name, call] : kOfTruth)
    CHECK_REFUSES(DtypeError, call(zeros({2})), name, "bool", "f32");
  CHECK_REFUSES(DtypeError, isnan(indices({1})), "isnan", "i64");
  CHECK_REFUSES(DtypeError, isfinite(indices({1})), "isfinite", "i64");
}

TEST_CASE("binary operations report their operands in the given order") {
  const std::pair<const char*, Pair> of_floats[] = {{"add", add},
                                                    {"equal", equal},
                                                    {"not_equal", not_equal},
                                                    {"less", less},
                                                    {"greater_equal", greater_equal}};
  for (const auto& [name, f] : of_floats) {
    CHECK_REFUSES(ShapeError, f(ones({2, 3}), ones({4})), name, "[2, 3] and [4]");
    CHECK_REFUSES(DtypeError, f(ones({2}), ones({1}, Dtype::f64)), name, "f32 [2] and f64 [1]");
    CHECK_REFUSES(ValueError, f(Tensor(), ones({})), name, "undefined");
  }
  const std::pair<const char*, Pair> of_bools[] = {
      {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor}};
  for (const auto& [name, f] : of_bools)
    CHECK_REFUSES(ShapeError, f(bools({2, 3}, 1), bools({4}, 1)), name, "[2, 3] and [4]");
}

TEST_CASE("a wrong axis throws an error that names the called operation") {
  const Tensor x = ones({2, 3}), truth = x > 0.0;
  CHECK_REFUSES(IndexError, argsort(x, 5), "argsort", "axis 5");
  CHECK_REFUSES(IndexError, argmax(x, -3), "argmax", "axis -3");
  CHECK_REFUSES(IndexError, pad(x, 5, 1, 1), "pad", "axis 5");
  CHECK_REFUSES(IndexError, split(x, 1, 5), "split", "axis 5");
  CHECK_REFUSES(IndexError, split(x, {1, 1}, 5), "split", "axis 5");
  CHECK_REFUSES(IndexError, chunk(x, 2, 5), "chunk", "axis 5");
  CHECK_REFUSES(IndexError, stack({x, x}, 5), "stack", "axis 5");
  CHECK_REFUSES(IndexError, stack({x, ones({1, 2, 3})}, 3), "stack", "axis 3");
  CHECK_REFUSES(IndexError, x.transpose(5, 7), "transpose", "axis 5");
  CHECK_REFUSES(IndexError, all(truth, 2), "all", "axis 2");
}

TEST_CASE("select, split, pad, embedding and cat reject the first value out of range") {
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

}  // namespace gradus::testing::test_errors
