// How attention backward divides its work: everything once, in equal parts, with all keys that they
// see.
#include <vector>

#include "gradus/ops/attention/tiling.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

using kernel::AttentionProblem;
using kernel::Part;
using kernel::Range;
using Counts = std::vector<std::int64_t>;

AttentionProblem problem(const Shape& sizes, std::int64_t T, std::int64_t S,
                         const Mask& mask = {}) {  // sizes: B, H, Hk
  return {.B = sizes[0],
          .H = sizes[1],
          .Hk = sizes[2],
          .T = T,
          .S = S,
          .D = 3,
          .Dv = 5,
          .scale = 1,
          .mask = mask};
}

/// Blocks of queries are of 32 where there are so few keys.
constexpr std::int64_t kBlock = 32;

/// The keys from the first to the last that an item may see, asked place by place.
Range seen_by(const AttentionProblem& p, const Part& part, std::int64_t item) {
  const std::int64_t group = p.H / p.Hk, h = part.hk * group + item % group;
  const std::int64_t first = item / group * kBlock, last = std::min(first + kBlock, p.T);
  Range keys{p.S, 0};
  for (std::int64_t i = first; i < last; ++i)
    for (std::int64_t j = 0; j < p.S; ++j)
      if (p.mask.allows({part.b, h, i, j}))
        keys = {std::min(keys.first, j), std::max(keys.last, j + 1)};
  return keys;
}

/// How many parts each key head has, after looking whether they hold every item once, in order and
/// in equal parts, and the keys that those see, in whole tiles.
Counts checked(const AttentionProblem& p, const std::vector<Part>& parts) {
  const std::int64_t items = (p.T + kBlock - 1) / kBlock * (p.H / p.Hk);
  Counts counts;
  std::size_t i = 0;
  for (std::int64_t head = 0; head < p.B * p.Hk; ++head) {
    std::int64_t next = 0, count = 0, least = items, most = 0;
    for (; i < parts.size() && parts[i].b * p.Hk + parts[i].hk == head; ++i, ++count) {
      const Part& part = parts[i];
      CHECK(part.first == next);
      next = part.last;
      least = std::min(least, part.last - part.first);
      most = std::max(most, part.last - part.first);
      Range keys{p.S, 0};
      for (std::int64_t item = part.first; item < part.last; ++item) {
        const Range seen = seen_by(p, part, item);
        keys = {std::min(keys.first, seen.first), std::max(keys.last, seen.last)};
      }
      if (keys.size() <= 0) {
        CHECK(part.keys.size() == 0);
        continue;
      }
      CHECK(part.keys.first <= keys.first);
      CHECK(part.keys.first > keys.first - kernel::kTile);
      CHECK(part.keys.last >= keys.last);
      CHECK(part.keys.last < keys.last + kernel::kTile);
    }
    CHECK(next == items);
    CHECK(most - least <= 1);
    counts.push_back(count);
  }
  CHECK(i == parts.size());
  return counts;
}

/// Hides everything from query `first` on.
Mask sees_until(std::int64_t T, std::int64_t S, std::int64_t first) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < T * S; ++i) allowed.push_back(i / S < first);
  return dense_mask(tensor(allowed, {T, S}));
}

}  // namespace

TEST_CASE("few heads are cut into equal parts, with every item once and the keys it sees") {
  for (const Mask& mask : {Mask(), causal_mask(), window_mask(40)}) {
    const AttentionProblem one = problem({1, 1, 1}, 500, 500, mask);
    CHECK(checked(one, kernel::parts_of(one, 1)) == Counts{8});
    const AttentionProblem shared = problem({1, 3, 1}, 300, 450, mask);
    CHECK(checked(shared, kernel::parts_of(shared, 1)) == Counts{8});
    const AttentionProblem three = problem({3, 1, 1}, 300, 300, mask);
    CHECK(checked(three, kernel::parts_of(three, 1)) == Counts{3, 3, 3});
    const AttentionProblem six = problem({2, 6, 3}, 99, 99, mask);
    CHECK(checked(six, kernel::parts_of(six, 1)) == Counts(6, 2));
  }
}

TEST_CASE("there are no more parts than the work is worth") {
  const AttentionProblem p = problem({1, 2, 1}, 320, 320);
  const std::int64_t work = 2 * 320 * 320 * 8;
  for (const std::int64_t count : {1, 2, 3, 7, 8}) {
    CHECK(checked(p, kernel::parts_of(p, work / count)) == Counts{count});
    if (count < 8) CHECK(checked(p, kernel::parts_of(p, work / (count + 1) + 1)) == Counts{count});
  }
  CHECK(kernel::parts_of(p).size() == 1);  // 1.6 million
}

TEST_CASE("a part has the keys of its own query heads, however they lie") {
  std::vector<bool> allowed;  // head h of four sees keys [64 h, 64 h + 64)
  for (std::int64_t i = 0; i < 4 * 64 * 256; ++i) allowed.push_back(i / (64 * 256) == i % 256 / 64);
  const Mask mask = dense_mask(tensor(allowed, {1, 4, 64, 256}));
  const AttentionProblem p = problem({1, 4, 2}, 64, 256, mask);
  CHECK(checked(p, kernel::parts_of(p, 1)) == Counts{4, 4});
}

TEST_CASE("a part of queries that see nothing has no keys") {
  const AttentionProblem half = problem({1, 1, 1}, 512, 512, sees_until(512, 512, 256));
  CHECK(checked(half, kernel::parts_of(half, 1)) == Counts{8});
  CHECK(kernel::parts_of(half, 1)[7].keys.size() == 0);
  const AttentionProblem blind = problem({2, 2, 1}, 64, 5, sees_until(64, 5, 0));
  CHECK(checked(blind, kernel::parts_of(blind, 1)) == Counts{4, 4});
  const AttentionProblem none = problem({2, 1, 1}, 0, 5);
  CHECK(checked(none, kernel::parts_of(none, 1)) == Counts{1, 1});
  CHECK(kernel::parts_of(problem({2, 0, 0}, 5, 5), 1).empty());
}

TEST_CASE("many heads are not looked into: each is one part with all keys") {
  const AttentionProblem p = problem({4, 2, 2}, 99, 99, sees_until(99, 99, 0));
  const std::vector<Part> parts = kernel::parts_of(p, 1);
  REQUIRE(parts.size() == 8);
  for (std::int64_t i = 0; i < 8; ++i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    CHECK((part.b == i / 2 && part.hk == i % 2 && part.first == 0 && part.last == 4));
    CHECK((part.keys.first == 0 && part.keys.last == 99));
  }
}

}  // namespace gradus::testing
