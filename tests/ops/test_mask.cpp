#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_mask {
namespace {

Tensor bools(const std::vector<bool>& values, const Shape& shape) {
  Tensor x = Tensor::empty(shape, Dtype::bool_);
  bool* to = x.mutable_data<bool>();
  for (const bool value : values) *to++ = value;
  return x;
}

Tensor bools(const Shape& shape, const std::function<bool(std::int64_t)>& value) {
  std::vector<bool> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(value(i));
  return bools(values, shape);
}

}  // namespace

TEST_CASE("causal, padding and dense masks allow the documented pairs") {
  CHECK(causal_mask().picture(3, 4) == "#...\n##..\n###.\n");
  CHECK(causal_mask(1).picture(3, 4) == "##..\n###.\n####\n");
  CHECK(causal_mask(-1).picture(3, 2) == "..\n#.\n##\n");
  CHECK(padding_mask({2, 0}).picture(2, 3, 0) == "##.\n##.\n");
  CHECK(padding_mask({2, 0}).picture(2, 3, 1) == "...\n...\n");
  CHECK(dense_mask(bools({true, false, true, true}, {2, 2})).picture(2, 2) == "#.\n##\n");
  CHECK(Mask().picture(1, 2) == "##\n");
  CHECK(Mask().picture(0, 2).empty());
}

TEST_CASE("a dense mask may apply to all, to each example, or to each head") {
  const Tensor three = bools({true, false, false, true, true, true, false, false}, {2, 2, 2});
  CHECK(dense_mask(three).picture(2, 2, 0, 5) == "#.\n.#\n");
  CHECK(dense_mask(three).picture(2, 2, 1, 5) == "##\n..\n");
  const Tensor heads = bools({true, false, false, true, true, true, false, false}, {1, 2, 2, 2});
  CHECK(dense_mask(heads).picture(2, 2, 7, 0) == "#.\n.#\n");
  CHECK(dense_mask(heads).picture(2, 2, 7, 1) == "##\n..\n");
}

TEST_CASE("a dense mask keeps its values when the tensor changes, for any strides") {
  Tensor allowed = bools({true, false, true, true, true, false}, {2, 3});
  const Mask turned = dense_mask(kernel::strided_view(allowed, {3, 2}, {1, 3}, 0));
  const Mask straight = dense_mask(allowed);
  allowed.fill_(0);
  CHECK(turned.picture(3, 2) == "##\n.#\n#.\n");
  CHECK(straight.picture(2, 3) == "#.#\n##.\n");
}

TEST_CASE("masks combine with & and |") {
  const Mask both = causal_mask() & padding_mask({2, 3});
  CHECK(both.picture(3, 3, 0) == "#..\n##.\n##.\n");
  CHECK(both.picture(3, 3, 1) == "#..\n##.\n###\n");
  const Mask either = causal_mask() | padding_mask({2, 0});
  CHECK(either.picture(3, 3, 0) == "##.\n##.\n###\n");
  CHECK(either.picture(3, 3, 1) == "#..\n##.\n###\n");
  CHECK((causal_mask() & Mask()).picture(2, 2) == "#.\n##\n");
  CHECK((Mask() & causal_mask()).picture(2, 2) == "#.\n##\n");
  CHECK((causal_mask() | Mask()).allows_everything());
  CHECK((Mask() & Mask()).allows_everything());
  CHECK(!both.allows_everything());
}

TEST_CASE("rows of a mask are equal in pieces, and can exceed any buffer") {
  const std::int64_t n = 1000;
  std::vector<bool> pattern;
  for (std::int64_t j = 0; j < n; ++j) pattern.push_back(j % 3 != 1);
  const Mask mask = causal_mask(700) & dense_mask(bools(pattern, {1, n}));
  const std::unique_ptr<bool[]> row(new bool[static_cast<std::size_t>(n)]);
  mask.row({0, 0, 0, 0}, n, row.get());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < n; ++j)
    wrong += row[static_cast<std::size_t>(j)] != (j <= 700 && j % 3 != 1);
  CHECK(wrong == 0);
  mask.row({0, 0, 0, 699}, 3, row.get());
  CHECK(row[0]);
  CHECK(!row[1]);
  CHECK(!row[2]);
}

TEST_CASE("dense() returns a bool tensor for every example and head") {
  const Tensor dense = (causal_mask() & padding_mask({1, 2})).dense({2, 3, 2, 2});
  CHECK(dense.shape() == Shape{2, 3, 2, 2});
  CHECK(dense.dtype() == Dtype::bool_);
  const std::vector<bool> values = dense.to_vector<bool>();
  const std::vector<bool> first = {true, false, true, false}, second = {true, false, true, true};
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(values[i] == first[i % 4]);
    CHECK(values[12 + i] == second[i % 4]);
  }
}

TEST_CASE("describe() lists the parts of a mask") {
  CHECK(Mask().describe() == "everything");
  CHECK(causal_mask().describe() == "causal");
  CHECK(causal_mask(3).describe() == "causal, offset 3");
  CHECK(padding_mask({3, 5}).describe() == "lengths [3, 5]");
  std::ostringstream out;
  out << (causal_mask() & padding_mask({3, 5}));
  CHECK(out.str() == "(causal & lengths [3, 5])");
  CHECK(has(padding_mask(std::vector<std::int64_t>(100, 4)).describe(), "4, 4"));
}

namespace {

/// Compares coverage() and row() with allows() for the pairs in a block.
void check_block(const Mask& mask, const MaskBlock& b, bool exact) {
  const std::int64_t n = b.last_key - b.first_key;
  const std::unique_ptr<bool[]> row(new bool[static_cast<std::size_t>(n)]);
  std::int64_t allowed = 0, wrong = 0;
  for (std::int64_t i = b.first_query; i < b.last_query; ++i) {
    const QueryKey first{b.example, b.head, i, b.first_key};
    mask.row(first, n, row.get());
    for (std::int64_t j = 0; j < n; ++j) {
      const bool may = mask.allows({b.example, b.head, i, b.first_key + j});
      allowed += may;
      wrong += may != row[static_cast<std::size_t>(j)];
    }
  }
  const std::int64_t places = n * (b.last_query - b.first_query);
  const Coverage right = allowed == 0        ? Coverage::none
                         : allowed == places ? Coverage::all
                                             : Coverage::some;
  INFO(mask << ": example " << b.example << ", head " << b.head << ", queries " << b.first_query
            << " to " << b.last_query << ", keys " << b.first_key << " to " << b.last_key);
  CHECK(wrong == 0);
  if (exact || mask.coverage(b) != Coverage::some) CHECK(mask.coverage(b) == right);
}

void check_blocks(const Mask& mask, const MaskSizes& sizes, bool exact) {
  mask.check_sizes(sizes);
  const RandomStream random{5, 3};
  std::int64_t at = 0;
  const auto below = [&](std::int64_t n) { return random.below(at++, n); };
  for (int i = 0; i < 200; ++i) {
    const std::int64_t query = below(sizes.queries), key = below(sizes.keys);
    const std::int64_t more_queries = below(sizes.queries - query),
                       more_keys = below(sizes.keys - key);
    check_block(mask,
                {below(sizes.examples), below(sizes.heads), query, query + 1 + more_queries, key,
                 key + 1 + more_keys},
                exact);
  }
}

constexpr MaskSizes kSizes{2, 3, 19, 23};

/// Example 0: a ring of 23 keys, in which keys 23 to 41 have replaced keys 0 to 18, and queries 22
/// to 40. Example 1: 7 keys, and queries 4 to 10 followed by empty rows.
Mask placed(const Mask& mask) {
  Positions queries(2), keys(2);
  for (std::int64_t i = 0; i < 19; ++i)
    queries[0].push_back(22 + i), queries[1].push_back(i < 7 ? 4 + i : -1);
  for (std::int64_t j = 0; j < 23; ++j)
    keys[0].push_back(j < 19 ? 23 + j : j), keys[1].push_back(j < 7 ? j : -1);
  return remap_positions(mask, queries, keys);
}

std::vector<Mask> kinds() {
  return {
      window_mask(4),
      window_mask(0),
      window_mask(3, 5),
      window_mask(0, 2),
      window_mask(100, 100),
      causal_lower_right(19, 23),
      causal_lower_right(23, 19),
      prefix_mask(7),
      prefix_mask({0, 23}),
      block_sparse_mask({.length = 23, .block = 4}),
      block_sparse_mask(
          {.length = 23, .block = 3, .window = 0, .global = 0, .random = 2, .heads = 3}),
      block_sparse_mask({.length = 29, .block = 2, .window = 1, .global = 2, .random = 0}),
      placed(window_mask(6)),
      placed(causal_mask()),
      placed(Mask()),
      window_mask(3) & causal_mask(-1),
      window_mask(3, 2) | prefix_mask(6),
      placed(window_mask(3) | prefix_mask(25)),
      remap_positions(window_mask(2, 2), {std::vector<std::int64_t>(19, 4)},
                      {{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, 0, 2, 4, 6, 8, 10, 1, 2, 3, -1, -1, 5}})};
}

}  // namespace

TEST_CASE("window, prefix and lower-right masks allow the documented pairs") {
  CHECK(window_mask(1).picture(4, 4) == "#...\n##..\n.##.\n..##\n");
  CHECK(window_mask(0, 1).picture(3, 4) == "##..\n.##.\n..##\n");
  CHECK(prefix_mask(2).picture(2, 3) == "##.\n##.\n");
  CHECK(prefix_mask({1, 3}).picture(2, 3, 1) == "###\n###\n");
  CHECK((causal_mask() | prefix_mask(2)).picture(4, 4) == "##..\n##..\n###.\n####\n");
  CHECK(causal_lower_right(2, 4).picture(2, 4) == "###.\n####\n");
  CHECK(causal_lower_right(4, 2).picture(4, 2) == "..\n..\n#.\n##\n");
  CHECK(causal_lower_right(3, 3).picture(3, 3) == causal_mask().picture(3, 3));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(window_mask(most, most).picture(2, 2) == "##\n##\n");
}

TEST_CASE("block patterns have global, window and the requested number of random blocks") {
  const BlockSparse fixed{.length = 10, .block = 2, .window = 1, .global = 1, .random = 0};
  CHECK(block_sparse_mask(fixed).picture(10, 10) ==
        "##########\n##########\n"
        "######....\n######....\n"
        "########..\n########..\n"
        "##..######\n##..######\n"
        "##....####\n##....####\n");
  BlockSparse drawn{.length = 24, .block = 1, .window = 1, .global = 2, .random = 3};
  const Mask mask = block_sparse_mask(drawn);
  CHECK(mask.picture(24, 24) == block_sparse_mask(drawn).picture(24, 24));
  for (std::int64_t row = 3; row < 23; ++row) {
    std::int64_t seen = 0;
    for (std::int64_t key = 0; key < 24; ++key) seen += mask.allows({0, 0, row, key});
    CHECK(seen == 2 + 3 + 3);  // global, window and random keys are disjoint in these rows
  }
  CHECK(mask.picture(24, 24, 0, 0) == mask.picture(24, 24, 5, 9));  // all heads are equal
  drawn.seed = 1;
  CHECK(mask.picture(24, 24) != block_sparse_mask(drawn).picture(24, 24));
  drawn.heads = 2;
  const Mask heads = block_sparse_mask(drawn);
  CHECK(heads.picture(24, 24, 0, 0) != heads.picture(24, 24, 0, 1));
  drawn.random = 100;  // more keys than exist
  CHECK(block_sparse_mask(drawn).coverage({0, 0, 0, 24, 0, 24}) == Coverage::all);
  CHECK(block_sparse_mask({.length = 0}).picture(0, 0).empty());
}

TEST_CASE("remapped masks use positions, and negative positions are hidden") {
  CHECK(remap_positions(causal_mask(), {{4, 5}}, {{4, 5, 2, 3}}).picture(2, 4) == "#.##\n####\n");
  CHECK(remap_positions(window_mask(1), {{4, 5}}, {{4, 5, 2, 3}}).picture(2, 4) == "#..#\n##..\n");
  CHECK(remap_positions(causal_mask(), {{1, -1}}, {{0, 1, -1}}).picture(2, 3) == "##.\n...\n");
  CHECK(remap_positions(Mask(), {{0, -1}}, {{-1, 7}}).picture(2, 2) == ".#\n..\n");
  const Mask unequal = remap_positions(causal_mask(), {{3}, {1}}, {{0, 1, 2, 3}, {0, 1, -1, -1}});
  CHECK(unequal.picture(1, 4, 0) == "####\n");
  CHECK(unequal.picture(1, 4, 1) == "##..\n");
  // The lists of the second call index the lists of the first call.
  const Mask twice =
      remap_positions(remap_positions(causal_mask(), {{5, 6, 7}}, {{5, 6, 7}}), {{2}}, {{0, 2}});
  CHECK(twice.picture(1, 2) == "##\n");
  // Both examples share one query list. Lengths may exceed the number of keys.
  const Mask padded = remap_positions(causal_mask() & padding_mask({9, 2}), {{2}}, {{0, 1, 2}});
  CHECK(padded.picture(1, 3, 0) == "###\n");
  CHECK(padded.picture(1, 3, 1) == "##.\n");
}

TEST_CASE("every mask type has exact blocks, and rows that agree with its pairs") {
  const std::vector<Mask> all = kinds();
  for (const Mask& mask : all) check_blocks(mask, kSizes, true);
  check_blocks(placed(causal_mask() & (window_mask(5) | prefix_mask(3))), kSizes, false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mask& other = all[(i + 5) % all.size()];
    check_blocks(all[i] & other, kSizes, false);
    check_blocks(all[i] | other, kSizes, false);
  }
}

TEST_CASE("dense_mask rejects a transposed causal mask and nothing similar") {
  const auto later = [](std::int64_t columns) {
    return [columns](std::int64_t i) { return i % columns > i / columns; };
  };
  const auto taken = [](const Tensor& x) {
    return message_of<ValueError>([&] { dense_mask(x); }) == "nothing was thrown";
  };
  CHECK(!taken(bools({3, 3}, later(3))));
  CHECK(!taken(bools({5, 5}, later(5))));
  CHECK(taken(bools({2, 2}, later(2))));
  CHECK(taken(bools({3, 4}, later(4))));
  CHECK(taken(bools({4, 3}, later(3))));
  CHECK(taken(bools({1, 3, 3}, later(3))));
  CHECK(taken(bools({3, 3, 3}, [](std::int64_t i) { return i / 3 % 3 > i / 9; })));
  for (std::int64_t place = 0; place < 9; ++place)
    CHECK(taken(bools({3, 3}, [&](std::int64_t i) { return later(3)(i) != (i == place); })));
  CHECK_REFUSES(DtypeError, dense_mask(Tensor()), "undefined");
}

TEST_CASE("picture rejects examples and heads that the mask does not have") {
  const auto open = [](const Shape& shape) { return dense_mask(full(shape, 1, Dtype::bool_)); };
  const Mask examples = padding_mask({2, 0}), heads = open({1, 2, 3, 3});
  CHECK(examples.picture(1, 3, 1) == "...\n");
  CHECK_THROWS_AS(examples.picture(1, 3, 2), ShapeError);
  CHECK(heads.picture(1, 3, 0, 1) == "###\n");
  CHECK_THROWS_AS(heads.picture(1, 3, 0, 2), ShapeError);
  CHECK_THROWS_AS(open({2, 1, 3, 3}).picture(1, 3, 2, 0), ShapeError);
  CHECK(open({2, 1, 3, 3}).picture(1, 3, 1, 4) == "###\n");
}

}  // namespace gradus::testing::test_mask
