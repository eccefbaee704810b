// Masks: what they allow, what they say about blocks, how they combine, and what they refuse.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

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

TEST_CASE("masks are drawn as they are meant") {
  CHECK(causal_mask().picture(3, 4) == "#...\n##..\n###.\n");
  CHECK(causal_mask(1).picture(3, 4) == "##..\n###.\n####\n");
  CHECK(causal_mask(-1).picture(3, 2) == "..\n#.\n##\n");
  CHECK(padding_mask({2, 0}).picture(2, 3, 0) == "##.\n##.\n");
  CHECK(padding_mask({2, 0}).picture(2, 3, 1) == "...\n...\n");
  CHECK(dense_mask(bools({true, false, true, true}, {2, 2})).picture(2, 2) == "#.\n##\n");
  CHECK(Mask().picture(1, 2) == "##\n");
  CHECK(Mask().picture(0, 2).empty());
}

TEST_CASE("a dense mask speaks for all heads, each example, or each head of each") {
  const Tensor three = bools({true, false, false, true, true, true, false, false}, {2, 2, 2});
  CHECK(dense_mask(three).picture(2, 2, 0, 5) == "#.\n.#\n");
  CHECK(dense_mask(three).picture(2, 2, 1, 5) == "##\n..\n");
  const Tensor heads = bools({true, false, false, true, true, true, false, false}, {1, 2, 2, 2});
  CHECK(dense_mask(heads).picture(2, 2, 7, 0) == "#.\n.#\n");
  CHECK(dense_mask(heads).picture(2, 2, 7, 1) == "##\n..\n");
}

TEST_CASE("a dense mask keeps the values it was made of, whatever their strides") {
  Tensor allowed = bools({true, false, true, true, true, false}, {2, 3});
  const Mask turned = dense_mask(kernel::strided_view(allowed, {3, 2}, {1, 3}, 0));
  const Mask straight = dense_mask(allowed);
  allowed.fill_(0);
  CHECK(turned.picture(3, 2) == "##\n.#\n#.\n");
  CHECK(straight.picture(2, 3) == "#.#\n##.\n");
}

TEST_CASE("both and either") {
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

TEST_CASE("coverage of every block agrees with its places") {
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

TEST_CASE("rows are the same in pieces, and longer than any buffer") {
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

TEST_CASE("a mask as a tensor") {
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

TEST_CASE("masks refuse what they were not made for") {
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

}  // namespace gradus::testing
