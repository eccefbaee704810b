// Batches as the numbers that are drawn for them say, and rows of any shape.
#include <algorithm>
#include <functional>

#include "gradus/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/data.h"
#include "gradus/train/groups.h"

namespace gradus::testing {
namespace {

using List = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("rows of x and y are of any shapes, and stay beside each other") {
  const Tensor line = arange(0, 7), table = reshape(arange(0, 14), {7, 2});
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {line, line}, {line, table}, {table, line}, {table, table}}) {
    List seen;
    for (const Batch& batch : batches(x, y, 3, 5)) {
      const List a = batch.x.to_vector<std::int64_t>(), b = batch.y.to_vector<std::int64_t>();
      CHECK(batch.x.rank() == x.rank());
      CHECK(batch.y.rank() == y.rank());
      const std::size_t in_a = x.rank() == 1 ? 1 : 2, in_b = y.rank() == 1 ? 1 : 2;
      REQUIRE(a.size() / in_a == b.size() / in_b);
      for (std::size_t i = 0; i < a.size() / in_a; ++i) {
        const std::int64_t row = in_a == 1 ? a[i] : a[2 * i] / 2;
        CHECK(b[in_b * i] == static_cast<std::int64_t>(in_b) * row);
        if (in_b == 2) CHECK(b[2 * i + 1] == 2 * row + 1);
        seen.push_back(row);
      }
    }
    std::sort(seen.begin(), seen.end());
    CHECK(seen == line.to_vector<std::int64_t>());
  }
  CHECK_THROWS_AS(batches(line, slice(table, 0, 0, 2), 3, 5), ShapeError);
}

TEST_CASE("windows begin where the stream of seed and step says") {
  List tokens(40);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(100 + i);
  const TokenBatches data(tokens, 6, 5, 17);
  for (const std::int64_t step : {0, 1, 9}) {
    const RandomStream random{17, static_cast<std::uint32_t>(step), 0};
    const List x = data.at(step).x.to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < 5; ++i)
      CHECK(x[static_cast<std::size_t>(6 * i)] == 100 + random.below(i, 40 - 6));
  }
}

TEST_CASE("a pool of one batch is plain shuffling, a larger one sorts") {
  constexpr std::int64_t kCount = 24, kBatch = 6;
  List lengths(kCount);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<std::int64_t>(i * 7 % kCount);
  const auto sorted = [&](const List& batch) {
    return std::is_sorted(batch.begin(), batch.end(), [&](std::int64_t a, std::int64_t b) {
      return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
    });
  };
  for (const std::int64_t pool : {1, 2, 16}) {
    const LengthBuckets data(lengths, kBatch, 3, pool);
    int in_order = 0;
    List all;
    for (std::int64_t step = 0; step < 8; ++step) {
      const List batch = data.at(step);
      in_order += sorted(batch) ? 1 : 0;
      all.insert(all.end(), batch.begin(), batch.end());
    }
    CHECK(in_order == (pool == 1 ? 0 : 8));
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)  // two passes
      CHECK(all[i] == static_cast<std::int64_t>(i / 2));
  }
}

TEST_CASE("patterns at their ends") {
  using optim::matches;
  for (const char* pattern : {"", "*", "a", "*a", "a*", "*a*", "a*b", "*a*b", "ab", "**"})
    for (const char* name : {"", "a", "b", "ab", "aab", "abb", "ba", "bab"}) {
      CAPTURE(pattern, name);
      // a * takes any part of the name
      const std::function<bool(std::string_view, std::string_view)> fits =
          [&](std::string_view p, std::string_view n) -> bool {
        if (p.empty()) return n.empty();
        if (p[0] == '*') return fits(p.substr(1), n) || (!n.empty() && fits(p, n.substr(1)));
        return !n.empty() && p[0] == n[0] && fits(p.substr(1), n.substr(1));
      };
      CHECK(matches(pattern, name) == fits(pattern, name));
    }
}

}  // namespace gradus::testing
