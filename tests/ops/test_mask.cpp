// Masks: allowed pairs, block coverage, combinations, and refused arguments.
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/tests/ops/mask_coverage.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

Tensor bools(const std::vector<bool>& values, const Shape& shape) {
  Tensor x = Tensor::empty(shape, Dtype::bool_);
  bool* to = x.mutable_data<bool>();
  for (const bool value : values) *to++ = value;
  return x;
}

/// A dense mask whose pattern depends on all four positions.
Mask patterned(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S) {
  std::vector<bool> values;
  for (std::int64_t i = 0; i < B * H * T * S; ++i) values.push_back(i * i % 7 > 2);
  return dense_mask(bools(values, {B, H, T, S}));
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

TEST_CASE("the coverage of every block agrees with its pairs") {
  const std::int64_t T = 4, S = 5;
  const std::vector<Mask> masks = {Mask(),
                                   causal_mask(),
                                   causal_mask(2),
                                   causal_mask(-2),
                                   padding_mask({3, 0}),
                                   patterned(2, 2, T, S),
                                   causal_mask() & padding_mask({3, 5}),
                                   causal_mask() | patterned(1, 2, T, S)};
  for (const Mask& mask : masks) {
    INFO(mask);
    for (std::int64_t example = 0; example < 2; ++example)
      for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t i1 = i + 1; i1 <= T; ++i1)
          for (std::int64_t j = 0; j < S; ++j)
            for (std::int64_t j1 = j + 1; j1 <= S; ++j1) {
              const MaskBlock block{example, 1, i, i1, j, j1};
              const Coverage told = mask.coverage(block), right = counted(mask, block);
              // `some` is allowed everywhere; `none` and `all` are promises.
              if (told != right) CHECK(told == Coverage::some);
            }
  }
  // The kinds that are not combined are exact.
  CHECK(causal_mask().coverage({0, 0, 2, 4, 0, 3}) == Coverage::all);
  CHECK(causal_mask().coverage({0, 0, 2, 4, 0, 4}) == Coverage::some);
  CHECK(causal_mask().coverage({0, 0, 0, 2, 2, 4}) == Coverage::none);
  CHECK(padding_mask({3}).coverage({0, 0, 0, 1, 3, 5}) == Coverage::none);
  CHECK(padding_mask({3}).coverage({0, 0, 0, 1, 0, 3}) == Coverage::all);
  CHECK(Mask().coverage({0, 0, 1, 1, 0, 3}) == Coverage::none);  // nobody is in it
}

TEST_CASE("rows of a mask are the same in pieces, and may exceed any buffer") {
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

TEST_CASE("dense() gives a bool tensor of every example and head") {
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

TEST_CASE("masks describe themselves") {
  CHECK(Mask().describe() == "everything");
  CHECK(causal_mask().describe() == "causal");
  CHECK(causal_mask(3).describe() == "causal, offset 3");
  CHECK(padding_mask({3, 5}).describe() == "lengths [3, 5]");
  std::ostringstream out;
  out << (causal_mask() & padding_mask({3, 5}));
  CHECK(out.str() == "(causal & lengths [3, 5])");
  CHECK(has((causal_mask() | patterned(1, 1, 2, 3)).describe(), "causal | dense [1, 1, 2, 3]"));
  // A long batch is not listed in full, and not thrown over either.
  CHECK(has(padding_mask(std::vector<std::int64_t>(100, 4)).describe(), "4, 4"));
}

TEST_CASE("masks refuse wrong arguments and sizes") {
  const std::string batch = message_of<ShapeError>([] {
    padding_mask({3, 5}).check_sizes({3, 1, 4, 5});
  });
  CHECK(has(batch, "padding_mask"));
  CHECK(has(batch, "2 lengths"));
  CHECK(has(batch, "batch of 3"));
  const std::string length = message_of<ValueError>([] {
    padding_mask({6}).check_sizes({1, 1, 4, 5});
  });
  CHECK(has(length, "6"));
  CHECK(has(length, "5 keys"));
  CHECK_THROWS_AS(padding_mask({-1}).check_sizes({1, 1, 4, 5}), ValueError);

  const std::string sizes = message_of<ShapeError>([] {
    patterned(1, 2, 3, 5).check_sizes({4, 2, 5, 3});
  });
  CHECK(has(sizes, "[1, 2, 3, 5]"));
  CHECK(has(sizes, "[4, 2, 5, 3]"));
  CHECK(has(sizes, "transpose()"));
  const std::string examples = message_of<ShapeError>([] {
    patterned(2, 1, 4, 4).check_sizes({3, 1, 4, 4});
  });
  CHECK(has(examples, "batch and heads may be 1"));  // rows and columns are right
  CHECK_THROWS_AS((causal_mask() & padding_mask({1})).check_sizes({2, 1, 3, 3}), ShapeError);
  CHECK_THROWS_AS((padding_mask({1}) | causal_mask()).dense({2, 1, 3, 3}), ShapeError);
  causal_mask().check_sizes({7, 5, 3, 2});
  patterned(1, 1, 3, 5).check_sizes({7, 5, 3, 5});

  CHECK_REFUSES(DtypeError, dense_mask(zeros({2, 2})), "f32");
  CHECK_THROWS_AS(dense_mask(Tensor()), DtypeError);
  CHECK_REFUSES(ShapeError, dense_mask(bools({true}, {1})), "[1]");
  CHECK_THROWS_AS(dense_mask(Tensor::empty({1, 1, 1, 1, 1}, Dtype::bool_)), ShapeError);
}

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

TEST_CASE("remapped masks use positions, and negative positions are hidden") {
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

TEST_CASE("every kind of mask has exact blocks, and rows that agree with its pairs") {
  const std::vector<Mask> all = kinds();
  for (const Mask& mask : all) check_blocks(mask, kSizes, true);
  check_blocks(placed(causal_mask() & (window_mask(5) | prefix_mask(3))), kSizes, false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mask& other = all[(i + 5) % all.size()];
    check_blocks(all[i] & other, kSizes, false);
    check_blocks(all[i] | other, kSizes, false);
  }
}

TEST_CASE("window, block and remapped masks describe themselves") {
  CHECK(window_mask(4).describe() == "window 4");
  CHECK(window_mask(4, 2).describe() == "window 4 before, 2 after");
  CHECK(prefix_mask(3).describe() == "prefix 3");
  CHECK(prefix_mask({3, 4}).describe() == "prefix [3, 4]");
  CHECK(causal_lower_right(2, 5).describe() == "causal, offset 3");
  CHECK(block_sparse_mask({.length = 8}).describe() ==
        "blocks of 64, window 1, global 1, random 2");
  CHECK(remap_positions(causal_mask(), {{0}}, {{0}}).describe() == "causal, remapped");
}

TEST_CASE("window, prefix and block masks refuse wrong arguments and sizes") {
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

TEST_CASE("remapped masks refuse lists that do not fit") {
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

namespace gradus::testing::errors {
namespace {

Tensor bools(const Shape& shape, const std::function<bool(std::int64_t)>& value) {
  Tensor x = Tensor::empty(shape, Dtype::bool_);
  bool* to = x.mutable_data<bool>();
  for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = value(i);
  return x;
}

Mask open(const Shape& shape) {
  return dense_mask(bools(shape, [](std::int64_t) { return true; }));
}

std::string misfit(const Mask& mask, const MaskSizes& sizes, bool whole = true) {
  return message_of<ShapeError>([&] { mask.check_sizes(sizes, whole); });
}

}  // namespace

TEST_CASE("the error about a dense mask that does not fit suggests the right fix") {
  const std::string turned = "rows are queries, columns are keys: transpose() it",
                    padding = "a row for each example is padding: use padding_mask(lengths)",
                    repeated = "queries are not repeated: use padding_mask(lengths), or expand()",
                    else_ = "batch and heads may be 1 to stand for all, the other sizes must be";
  struct Case {
    Shape shape;
    MaskSizes sizes;
    std::string advice;
  };
  const std::vector<Case> cases = {
      {{5, 4}, {1, 1, 4, 5}, turned},   {{5, 7}, {1, 1, 4, 5}, else_},
      {{7, 4}, {1, 1, 4, 5}, else_},    {{1, 3, 5, 5}, {1, 2, 5, 5}, else_},
      {{3, 5}, {3, 1, 4, 5}, padding},  {{3, 6}, {3, 1, 4, 5}, else_},
      {{2, 5}, {3, 1, 4, 5}, else_},    {{1, 3, 2, 5}, {2, 2, 2, 5}, else_},
      {{1, 5}, {3, 1, 4, 5}, repeated}, {{1, 7}, {3, 1, 4, 5}, else_},
      {{4, 6}, {1, 1, 4, 5}, else_},    {{5, 5}, {1, 1, 4, 5}, else_},
      {{2, 4, 5}, {3, 1, 4, 5}, else_}, {{3, 4, 5}, {2, 1, 4, 5}, else_}};
  for (const Case& each : cases) {
    CAPTURE(each.shape);
    CHECK(has(misfit(open(each.shape), each.sizes), each.advice));
  }
  CHECK(has(misfit(open({4, 4}), {1, 1, 5, 4}, false), "nothing of positions beyond its own"));
  CHECK(misfit(open({5, 6}), {1, 1, 4, 5}, false) == "nothing was thrown");
}

TEST_CASE("dense_mask refuses a transposed causal mask and nothing similar") {
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

TEST_CASE("the coverage of blocks is exact, also for combinations that one mask decides") {
  const std::int64_t T = 5, S = 6;
  const Mask pattern =
      dense_mask(bools({2, 2, T, S}, [](std::int64_t i) { return i * i % 7 > 2; }));
  const std::vector<Mask> masks = {
      Mask(),
      causal_mask(),
      causal_mask(2),
      causal_mask(-2),
      padding_mask({4, 0}),
      prefix_mask(3),
      prefix_mask({1, 6}),
      window_mask(1, 1),
      window_mask(0, 2),
      open({T, S}),
      pattern,
      remap_positions(open({8, 8}), {{4, 5, 6, 0, 1}}, {{7, 0, 1, 2, 5, 6}}),
      remap_positions(causal_mask(), {{4, 5, 0, 1, 2}}, {{5, 0, 1, 2, -1, -1}})};
  for (const Mask& mask : masks) {
    INFO(mask);
    for (std::int64_t example = 0; example < 2; ++example)
      for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t i1 = i; i1 <= T; ++i1)
          for (std::int64_t j = 0; j < S; ++j)
            for (std::int64_t j1 = j; j1 <= S; ++j1) {
              const MaskBlock block{example, 1, i, i1, j, j1};
              REQUIRE(mask.coverage(block) == counted(mask, block));
            }
  }
  // Of two, what one of them decides is decided.
  const MaskBlock block{0, 0, 0, 2, 3, 5};  // causal hides it all
  const Mask some = window_mask(0, 3), all = open({8, 8}), none = causal_mask();
  CHECK(some.coverage(block) == Coverage::some);
  for (const Mask& other : {some, all, none}) {
    CHECK((none & other).coverage(block) == Coverage::none);
    CHECK((other & none).coverage(block) == Coverage::none);
    CHECK((all | other).coverage(block) == Coverage::all);
    CHECK((other | all).coverage(block) == Coverage::all);
  }
  CHECK((some & all).coverage(block) == Coverage::some);
  CHECK((all & some).coverage(block) == Coverage::some);
  CHECK((some | none).coverage(block) == Coverage::some);
  CHECK((none | some).coverage(block) == Coverage::some);
  CHECK((all & all).coverage(block) == Coverage::all);
  CHECK((none | none).coverage(block) == Coverage::none);
}

TEST_CASE("picture refuses examples and heads that the mask does not have") {
  const Mask examples = padding_mask({2, 0}), heads = open({1, 2, 3, 3});
  CHECK(examples.picture(1, 3, 1) == "...\n");
  CHECK_THROWS_AS(examples.picture(1, 3, 2), ShapeError);
  CHECK(heads.picture(1, 3, 0, 1) == "###\n");
  CHECK_THROWS_AS(heads.picture(1, 3, 0, 2), ShapeError);
  CHECK_THROWS_AS(open({2, 1, 3, 3}).picture(1, 3, 2, 0), ShapeError);
  CHECK(open({2, 1, 3, 3}).picture(1, 3, 1, 4) == "###\n");
}

TEST_CASE("remapped masks refuse other numbers of rows or examples") {
  const Mask mask = remap_positions(Mask(), {{0, 1}, {1, 2}}, {{0, 1, 2}, {1, 2, 3}});
  CHECK(misfit(mask, {2, 1, 2, 3}) == "nothing was thrown");
  CHECK(has(misfit(mask, {1, 1, 2, 3}), "2 lists of positions of queries for a batch of 1"));
  CHECK(has(misfit(mask, {3, 1, 2, 3}), "2 lists of positions of queries for a batch of 3"));
  CHECK(has(misfit(mask, {3, 1, 2, 3}, false), "for a batch of 3"));
  CHECK(misfit(mask, {1, 1, 2, 3}, false) == "nothing was thrown");
  CHECK(has(misfit(mask, {2, 1, 1, 3}), "2 positions for 1 queries"));
  CHECK(has(misfit(mask, {2, 1, 2, 2}), "3 positions for 2 keys"));
  CHECK(has(misfit(mask, {2, 1, 3, 3}, false), "2 positions for 3 queries"));
  CHECK(mask.picture(1, 2) == "##\n");
  const auto placed = [](const std::vector<std::int64_t>& keys) {
    return misfit(remap_positions(open({8, 8}), {{0, 1}}, {keys}), {1, 1, 2, 3});
  };
  CHECK(placed({7, 0, 1}) == "nothing was thrown");
  CHECK(has(placed({8, 0, 1}), "dense_mask: made for"));
  CHECK(has(placed({0, 1, 8}), "dense_mask: made for"));
}

}  // namespace gradus::testing::errors
