// What masks advise where they do not fit, at which sizes they do, and blocks that are all or
// nothing.
#include <functional>
#include <string>
#include <vector>

#include "gradus/ops/create.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/tests/ops/mask_coverage.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
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

TEST_CASE("a dense mask that does not fit: the advice is about what is wrong") {
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

TEST_CASE("what looks like a causal mask turned round is refused, what does not is taken") {
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

TEST_CASE("masks that are not combined know their blocks exactly, and empty ones are none") {
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

TEST_CASE("a picture is of an example and a head that the mask knows") {
  const Mask examples = padding_mask({2, 0}), heads = open({1, 2, 3, 3});
  CHECK(examples.picture(1, 3, 1) == "...\n");
  CHECK_THROWS_AS(examples.picture(1, 3, 2), ShapeError);
  CHECK(heads.picture(1, 3, 0, 1) == "###\n");
  CHECK_THROWS_AS(heads.picture(1, 3, 0, 2), ShapeError);
  CHECK_THROWS_AS(open({2, 1, 3, 3}).picture(1, 3, 2, 0), ShapeError);
  CHECK(open({2, 1, 3, 3}).picture(1, 3, 1, 4) == "###\n");
}

TEST_CASE("positions for other numbers of rows or examples are refused") {
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

}  // namespace gradus::testing
