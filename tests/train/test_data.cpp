#include <algorithm>
#include <numeric>
#include <set>

#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/data.h"

namespace gradus::testing::test_data {
namespace {

using List = std::vector<std::int64_t>;

TEST_CASE("next-token targets are the window shifted by one") {
  std::vector<std::int64_t> tokens(100);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(i);
  const train::TokenBatches data(tokens, 8, 5, 3);
  for (int step = 0; step < 20; ++step) {
    const train::Batch batch = data.at(step);
    CHECK(batch.x.shape() == Shape{5, 8});
    const std::vector<std::int64_t> x = batch.x.to_vector<std::int64_t>(),
                                    y = batch.y.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(y[i] == x[i] + 1);
      if (i % 8) CHECK(x[i] == x[i - 1] + 1);
    }
    CHECK(data.at(step).x.to_vector<std::int64_t>() == x);
  }
  CHECK(data.at(0).x.to_vector<std::int64_t>() != data.at(1).x.to_vector<std::int64_t>());
}

TEST_CASE("every window of a text is drawn, and none beyond its end") {
  std::vector<std::int64_t> tokens(13);
  std::iota(tokens.begin(), tokens.end(), 0);
  for (const std::int64_t context : {1, 5, 12}) {
    const train::TokenBatches data(tokens, context, 16, 3);
    std::set<std::int64_t> starts, expected;
    for (std::int64_t start = 0; start + context < 13; ++start) expected.insert(start);
    for (int step = 0; step < 40; ++step)  // 640 draws miss one of 12 values with probability 10⁻²³
      for (const std::int64_t id : select(data.at(step).x, 1, 0).to_vector<std::int64_t>())
        starts.insert(id);
    CHECK(starts == expected);
  }
}

TEST_CASE("batches visit each row once, x and y together, in an order given by the seed") {
  const Tensor line = arange(0, 7), table = reshape(arange(0, 14), {7, 2});
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {line, line}, {line, table}, {table, line}, {table, table}}) {
    List seen;
    for (const train::Batch& batch : train::batches(x, y, 3, 5)) {
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
  const auto order = [&](std::uint64_t seed) {
    List all;
    for (const train::Batch& batch : train::batches(line, line, 3, seed))
      for (const std::int64_t row : batch.y.to_vector<std::int64_t>()) all.push_back(row);
    return all;
  };
  CHECK(order(5) == order(5));
  CHECK(order(5) != order(6));
}

TEST_CASE("padding follows the sequences, or precedes them for caches") {
  const std::vector<train::Sequence> sequences = {{5, 6}, {7}, {8, 9, 10}};
  const PaddedBatch right = pad_sequences(sequences, 3),
                    left = pad_sequences(sequences, 3, PaddingSide::left);
  CHECK(right.ids.shape() == Shape{3, 3});
  CHECK(right.ids.to_vector<std::int64_t>() == List{5, 6, 3, 7, 3, 3, 8, 9, 10});
  CHECK(left.ids.to_vector<std::int64_t>() == List{3, 5, 6, 3, 3, 7, 8, 9, 10});
  for (const PaddedBatch& each : {right, left}) CHECK(each.lengths == List{2, 1, 3});
  CHECK((right.side == PaddingSide::right && left.side == PaddingSide::left));
}

std::int64_t padding(const train::LengthBuckets& buckets, const List& lengths) {
  std::int64_t total = 0;
  for (std::int64_t step = 0; step < buckets.batches_per_pass(); ++step) {
    std::int64_t longest = 0;
    const List batch = buckets.at(step);
    for (const std::int64_t i : batch)
      longest = std::max(longest, lengths[static_cast<std::size_t>(i)]);
    for (const std::int64_t i : batch) total += longest - lengths[static_cast<std::size_t>(i)];
  }
  return total;
}

TEST_CASE("length buckets visit each sequence once per pass, in an order of seed and pass") {
  List lengths;
  for (std::int64_t i = 0; i < 203; ++i) lengths.push_back(1 + i * i % 37);
  const train::LengthBuckets buckets(lengths, 8, 5, 4);
  REQUIRE(buckets.batches_per_pass() == 26);
  std::vector<List> orders(2);
  for (std::int64_t pass = 0; pass < 2; ++pass) {
    std::multiset<std::int64_t> seen;
    std::size_t small = 0;
    for (std::int64_t step = 0; step < 26; ++step) {
      const List batch = buckets.at(26 * pass + step);
      if (batch.size() == 203 % 8)
        ++small;
      else
        CHECK(batch.size() == 8);
      seen.insert(batch.begin(), batch.end());
      List& order = orders[static_cast<std::size_t>(pass)];
      order.insert(order.end(), batch.begin(), batch.end());
    }
    CHECK(small == 1);
    CHECK(seen.size() == 203);
    CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 203);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(train::LengthBuckets(lengths, 8, 5, 4).at(31) == buckets.at(31));
  CHECK(buckets.at(3) == train::LengthBuckets(lengths, 8, 5, 4).at(3));
  CHECK(train::LengthBuckets(lengths, 8, 6, 4).at(31) != buckets.at(31));
  CHECK(2 * padding(buckets, lengths) < padding(train::LengthBuckets(lengths, 8, 5, 1), lengths));
}

}  // namespace
}  // namespace gradus::testing::test_data
