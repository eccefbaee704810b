// Windows, prefixes, block patterns and placed masks: pictures, blocks, rows, what they refuse.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/random.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

/// What a mask says of a block, and of its rows in one piece, against its places one by one.
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

/// 200 random blocks within `sizes`.
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

/// A ring of 23 keys that has gone round (19 … 22 stand before 0 … 18, which were overwritten by
/// 23 …), and one that holds 7 keys; queries 22 … 40, and 4 … 10 with absent rows behind.
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

TEST_CASE("windows, prefixes and lower-right alignment are drawn as they are meant") {
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

TEST_CASE("block patterns: global, window, and as many random blocks as asked for") {
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
    CHECK(seen == 2 + 3 + 3);  // global, window, random: these rows' do not meet
  }
  CHECK(mask.picture(24, 24, 0, 0) == mask.picture(24, 24, 5, 9));  // the same for all
  drawn.seed = 1;
  CHECK(mask.picture(24, 24) != block_sparse_mask(drawn).picture(24, 24));
  drawn.heads = 2;
  const Mask heads = block_sparse_mask(drawn);
  CHECK(heads.picture(24, 24, 0, 0) != heads.picture(24, 24, 0, 1));
  drawn.random = 100;  // more than there are
  CHECK(block_sparse_mask(drawn).coverage({0, 0, 0, 24, 0, 24}) == Coverage::all);
  CHECK(block_sparse_mask({.length = 0}).picture(0, 0).empty());
}

TEST_CASE("a placed mask sees where rows stand, and nothing where nothing is") {
  CHECK(remap_positions(causal_mask(), {{4, 5}}, {{4, 5, 2, 3}}).picture(2, 4) == "#.##\n####\n");
  CHECK(remap_positions(window_mask(1), {{4, 5}}, {{4, 5, 2, 3}}).picture(2, 4) == "#..#\n##..\n");
  CHECK(remap_positions(causal_mask(), {{1, -1}}, {{0, 1, -1}}).picture(2, 3) == "##.\n...\n");
  CHECK(remap_positions(Mask(), {{0, -1}}, {{-1, 7}}).picture(2, 2) == ".#\n..\n");
  const Mask unequal = remap_positions(causal_mask(), {{3}, {1}}, {{0, 1, 2, 3}, {0, 1, -1, -1}});
  CHECK(unequal.picture(1, 4, 0) == "####\n");
  CHECK(unequal.picture(1, 4, 1) == "##..\n");
  // Twice: the inner lists are of positions that the outer ones name.
  const Mask twice =
      remap_positions(remap_positions(causal_mask(), {{5, 6, 7}}, {{5, 6, 7}}), {{2}}, {{0, 2}});
  CHECK(twice.picture(1, 2) == "##\n");
  // One list for one query in each example; lengths may be beyond the keys that are there yet.
  const Mask padded = remap_positions(causal_mask() & padding_mask({9, 2}), {{2}}, {{0, 1, 2}});
  CHECK(padded.picture(1, 3, 0) == "###\n");
  CHECK(padded.picture(1, 3, 1) == "##.\n");
}

TEST_CASE("every kind of mask: blocks are exact, rows and prefixes agree with places") {
  const std::vector<Mask> all = kinds();
  for (const Mask& mask : all) check_blocks(mask, kSizes, true);
  check_blocks(placed(causal_mask() & (window_mask(5) | prefix_mask(3))), kSizes, false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mask& other = all[(i + 5) % all.size()];
    check_blocks(all[i] & other, kSizes, false);
    check_blocks(all[i] | other, kSizes, false);
  }
}

TEST_CASE("windows, blocks and placed masks describe themselves") {
  CHECK(window_mask(4).describe() == "window 4");
  CHECK(window_mask(4, 2).describe() == "window 4 before, 2 after");
  CHECK(prefix_mask(3).describe() == "prefix 3");
  CHECK(prefix_mask({3, 4}).describe() == "prefix [3, 4]");
  CHECK(causal_lower_right(2, 5).describe() == "causal, offset 3");
  CHECK(block_sparse_mask({.length = 8}).describe() ==
        "blocks of 64, window 1, global 1, random 2");
  CHECK(remap_positions(causal_mask(), {{0}}, {{0}}).describe() == "causal, remapped");
}

TEST_CASE("windows, prefixes and blocks refuse what they cannot be or were not made for") {
  const auto refused = [](auto&& make) { return message_of<ValueError>(make); };
  CHECK(has(refused([] { window_mask(-1); }), "window_mask: -1 before and 0 after"));
  CHECK(has(refused([] { window_mask(2, -3); }), "2 before and -3 after"));
  CHECK(has(refused([] { causal_lower_right(-2, 3); }), "-2 queries and 3 keys"));
  CHECK(has(refused([] { block_sparse_mask({.length = 8, .random = -1}); }), "random -1"));
  CHECK(has(refused([] { block_sparse_mask({.length = 8, .block = 0}); }), "blocks of 0"));
  CHECK(has(refused([] {
              prefix_mask(6).check_sizes({1, 1, 4, 5});
            }),
            "prefix_mask: a length of 6 where there are 5 keys"));
  CHECK(has(refused([] { prefix_mask(-1).picture(2, 2); }), "a length of -1"));
  const auto unfit = [](const Mask& mask, const MaskSizes& sizes) {
    return message_of<ShapeError>([&] { mask.check_sizes(sizes); });
  };
  CHECK(has(unfit(prefix_mask({1, 2}), {3, 1, 4, 5}), "prefix_mask: 2 lengths for a batch of 3"));
  prefix_mask(2).check_sizes({3, 1, 4, 5});
  const Mask blocks = block_sparse_mask({.length = 8, .heads = 2});
  CHECK(has(unfit(blocks, {1, 2, 8, 9}), "a length of 8, used on 8 queries and 9 keys"));
  CHECK(has(unfit(blocks, {1, 3, 8, 8}), "made for 2 heads, used on 3"));
  CHECK_THROWS_AS(blocks.picture(9, 8), ShapeError);
}

TEST_CASE("placed masks refuse lists that do not fit") {
  CHECK_REFUSES(ValueError, remap_positions(causal_mask(), {{0}}, {{0, -2}}), "remap_positions",
                "-2", "1");
  CHECK_REFUSES(ValueError, remap_positions(causal_mask(), {}, {{0}}), "positions");
  const auto unfit = [](const Mask& mask, const MaskSizes& sizes) {
    return message_of<ShapeError>([&] { mask.check_sizes(sizes); });
  };
  const Mask mask = remap_positions(causal_mask(), {{3}, {1}}, {{0, 1, 2}});
  mask.check_sizes({2, 4, 1, 3});
  CHECK(has(unfit(mask, {3, 4, 1, 3}), "2 lists of positions of queries for a batch of 3"));
  CHECK(has(unfit(mask, {2, 4, 1, 4}), "3 positions for 4 keys"));
  CHECK(has(unfit(mask, {2, 4, 2, 3}), "1 positions for 2 queries"));
  // What it places must reach as far as the positions.
  const Mask four = dense_mask(Tensor::empty({4, 4}, Dtype::bool_).fill_(1));
  remap_positions(four, {{3}}, {{0, 3}}).check_sizes({1, 1, 1, 2});
  CHECK(has(unfit(remap_positions(four, {{4}}, {{0, 3}}), {1, 1, 1, 2}), "beyond its own"));
  CHECK_THROWS_AS(four.picture(5, 4), ShapeError);
}

}  // namespace gradus::testing
