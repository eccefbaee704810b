// How attention backward divides its work: everything once, in equal shares, with all keys that it
// sees.
#include "gradus/ops/attention/parts.h"

#include <cmath>
#include <vector>

#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

using kernel::AttentionPlan;
using kernel::Part;
using kernel::Range;
using Counts = std::vector<std::int64_t>;

AttentionPlan plan_of(std::int64_t B, std::int64_t H, std::int64_t Hk, std::int64_t T,
                      std::int64_t S, const Mask& mask = {}) {
  return {B, H, Hk, T, S, 3, 5, 1, mask, {}, {}};
}

/// Blocks of queries are of 32 where there are so few keys.
constexpr std::int64_t kBlock = 32;

/// The keys that an item sees, from the first to the last, and how many pairs · widths that is.
struct Seen {
  Range keys{0, 0};
  std::int64_t work = 0;
  Seen(const AttentionPlan& plan, const Part& part, std::int64_t item) {
    const std::int64_t group = plan.H / plan.Hk, first = item / group * kBlock;
    const Range queries{first, std::min(first + kBlock, plan.T)};
    const auto spans = kernel::visible_spans(plan, part.b, part.hk * group + item % group, queries);
    if (!spans.empty()) keys = {spans.front().first, spans.back().last};
    for (const Range& span : spans) work += span.size() * queries.size() * 8;
  }
};

/// How many parts each key head has, after looking whether they hold every item once, in order, and
/// just the keys that those see.
Counts checked(const AttentionPlan& plan, const std::vector<Part>& parts) {
  Counts counts;
  std::size_t i = 0;
  for (std::int64_t b = 0; b < plan.B; ++b)
    for (std::int64_t hk = 0; hk < plan.Hk; ++hk) {
      std::int64_t item = 0, count = 0;
      do {
        REQUIRE(i < parts.size());
        const Part& part = parts[i++];
        CHECK((part.b == b && part.hk == hk && part.first == item));
        std::int64_t first = plan.S, last = 0;
        for (; item < part.last; ++item) {
          const Range keys = Seen(plan, part, item).keys;
          if (keys.size() == 0) continue;
          first = std::min(first, keys.first), last = std::max(last, keys.last);
        }
        CHECK(item == part.last);
        CHECK(part.keys.first == (last == 0 ? 0 : first));
        CHECK(part.keys.last == last);
        ++count;
      } while (i < parts.size() && parts[i].first > 0);
      CHECK(item == (plan.T + kBlock - 1) / kBlock * (plan.H / plan.Hk));
      counts.push_back(count);
    }
  CHECK(i == parts.size());
  return counts;
}

/// Each part of a single key head but the last ends with the item that completes its share.
void check_shares(const AttentionPlan& plan, const std::vector<Part>& parts) {
  std::int64_t all = 0, done = 0;
  for (std::int64_t item = 0; item < parts.back().last; ++item)
    all += Seen(plan, parts[0], item).work;
  const std::int64_t share = all / std::ssize(parts);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::int64_t last = 0;
    for (std::int64_t item = parts[i].first; item < parts[i].last; ++item)
      done += last = Seen(plan, parts[i], item).work;
    CHECK(done >= share * static_cast<std::int64_t>(i + 1));
    CHECK(done - last < share * static_cast<std::int64_t>(i + 1));
  }
}

/// Hides everything from query `first` on.
Mask sees_until(std::int64_t T, std::int64_t S, std::int64_t first) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < T * S; ++i) allowed.push_back(i / S < first);
  return dense_mask(from(allowed, {T, S}));
}

}  // namespace

TEST_CASE("few heads are cut into parts of equal work, with every item once and the keys it sees") {
  for (const Mask& mask : {Mask(), causal_mask(), window_mask(40)}) {
    const AttentionPlan one = plan_of(1, 1, 1, 500, 500, mask);
    const std::vector<Part> parts = kernel::parts_of(one, 1);
    CHECK(checked(one, parts) == Counts{8});
    check_shares(one, parts);
    const AttentionPlan shared = plan_of(1, 3, 1, 300, 450, mask);
    const std::vector<Part> few = kernel::parts_of(shared, 1);
    CHECK(checked(shared, few) == Counts{8});
    check_shares(shared, few);
    const AttentionPlan three = plan_of(3, 1, 1, 300, 300, mask),
                        six = plan_of(2, 6, 3, 99, 99, mask);
    CHECK(checked(three, kernel::parts_of(three, 1)) == Counts{3, 3, 3});
    CHECK(checked(six, kernel::parts_of(six, 1)) == Counts(6, 2));
  }
}

TEST_CASE("there are no more parts than the work is worth") {
  const AttentionPlan plan = plan_of(1, 2, 1, 320, 320);  // 20 items of 32 · 320 · 8 = 81920
  const std::int64_t item = 81920;
  for (const auto& [least, count] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{20 * item + 1, 1},
                                                          {20 * item, 1},
                                                          {10 * item + 1, 1},
                                                          {10 * item, 2},
                                                          {5 * item + 1, 3},
                                                          {5 * item, 4},
                                                          {2 * item, 8}}) {
    const std::vector<Part> parts = kernel::parts_of(plan, least);
    CHECK(checked(plan, parts) == Counts{count});
    check_shares(plan, parts);
  }
  CHECK(kernel::parts_of(plan).size() == 1);  // 1.6 million
  const AttentionPlan other = plan_of(1, 1, 1, 159, 160);
  const std::int64_t third = 159 * 160 * 8 / 3;
  CHECK(checked(other, kernel::parts_of(other, third)) == Counts{3});
  CHECK(checked(other, kernel::parts_of(other, third + 1)) == Counts{2});
  const AttentionPlan even = plan_of(1, 1, 1, 160, 160);  // 3 · 68267 is one more than its work
  CHECK(checked(even, kernel::parts_of(even, 68267)) == Counts{2});
}

TEST_CASE("a part has the keys of its own query heads, however they lie") {
  std::vector<bool> allowed;  // head h of four sees keys [64 h, 64 h + 64)
  for (std::int64_t i = 0; i < 4 * 64 * 256; ++i) allowed.push_back(i / (64 * 256) == i % 256 / 64);
  const AttentionPlan plan = plan_of(1, 4, 2, 64, 256, dense_mask(from(allowed, {1, 4, 64, 256})));
  CHECK(checked(plan, kernel::parts_of(plan, 1)) == Counts{4, 4});
  const auto is = [](Range keys, std::int64_t first, std::int64_t last) {
    return keys.first == first && keys.last == last;
  };
  CHECK(is(kernel::around({3, 5}, {7, 9}), 3, 9));
  CHECK(is(kernel::around({7, 9}, {3, 5}), 3, 9));
  CHECK(is(kernel::around({2, 9}, {3, 4}), 2, 9));
  CHECK(is(kernel::around({3, 4}, {0, 0}), 3, 4));
  CHECK(is(kernel::around({0, 0}, {3, 4}), 3, 4));
  CHECK(is(kernel::around({3, 4}, {7, 8}), 3, 8));
}

TEST_CASE("where there is little to cut there is still a part for each key head") {
  // One item is worth more than two shares; items at the end, or all of them, see nothing.
  const AttentionPlan lumpy = plan_of(1, 1, 1, 256, 512, sees_until(256, 512, 32));
  CHECK(checked(lumpy, kernel::parts_of(lumpy, 1)) == Counts{2});
  const AttentionPlan steps = plan_of(1, 1, 1, 512, 512, sees_until(512, 512, 256));
  CHECK(checked(steps, kernel::parts_of(steps, 1)) == Counts{8});
  CHECK(kernel::parts_of(steps, 1)[7].first == 7);
  const AttentionPlan blind = plan_of(2, 2, 1, 64, 5, sees_until(64, 5, 0));
  CHECK(checked(blind, kernel::parts_of(blind, 1)) == Counts{1, 1});
  const AttentionPlan none = plan_of(2, 1, 1, 0, 5);
  CHECK(checked(none, kernel::parts_of(none, 1)) == Counts{1, 1});
  CHECK(kernel::parts_of(plan_of(2, 0, 0, 5, 5), 1).empty());
}

TEST_CASE("many heads are not looked into: each is one part with all keys") {
  const AttentionPlan plan = plan_of(4, 2, 2, 99, 99, sees_until(99, 99, 0));
  const std::vector<Part> parts = kernel::parts_of(plan, 1);
  REQUIRE(parts.size() == 8);
  for (std::int64_t i = 0; i < 8; ++i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    CHECK((part.b == i / 2 && part.hk == i % 2 && part.first == 0 && part.last == 4));
    CHECK((part.keys.first == 0 && part.keys.last == 99));
  }
}

}  // namespace gradus::testing
