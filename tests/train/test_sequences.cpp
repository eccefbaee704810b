// Sequences of unequal length: padding, batches by length, pairs for translation.
#include <algorithm>
#include <set>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/data.h"

namespace gradus::testing {
namespace {

using Ids = std::vector<std::int64_t>;

TEST_CASE("left padding goes before the sequences, as caches need it") {
  const PaddedBatch padded = pad_sequences({{5, 6}, {7}, {8, 9, 10}}, 3, PaddingSide::left);
  CHECK(padded.ids.to_vector<std::int64_t>() == Ids{3, 5, 6, 3, 3, 7, 8, 9, 10});
  CHECK(padded.lengths == Ids{2, 1, 3});
  CHECK(padded.side == PaddingSide::left);
}

TEST_CASE("right padding goes after the sequences, and empty input is refused") {
  const PaddedBatch padded = pad_sequences({{5, 6}, {7}, {8, 9, 10}}, 3);
  CHECK(padded.ids.shape() == Shape{3, 3});
  CHECK(padded.ids.to_vector<std::int64_t>() == Ids{5, 6, 3, 7, 3, 3, 8, 9, 10});
  CHECK(padded.lengths == Ids{2, 1, 3});
  CHECK(padded.side == PaddingSide::right);
  CHECK_REFUSES(ValueError, pad_sequences({}), "pad_sequences", "sequences");
  CHECK_REFUSES(ValueError, pad_sequences({{1}, {}}), "pad_sequences", "1");
}

/// Padding of all batches of one pass.
std::int64_t padding(const LengthBuckets& buckets, const Ids& lengths) {
  std::int64_t total = 0;
  for (std::int64_t step = 0; step < buckets.batches_per_pass(); ++step) {
    std::int64_t longest = 0;
    const Ids batch = buckets.at(step);
    for (const std::int64_t i : batch)
      longest = std::max(longest, lengths[static_cast<std::size_t>(i)]);
    for (const std::int64_t i : batch) total += longest - lengths[static_cast<std::size_t>(i)];
  }
  return total;
}

TEST_CASE("length buckets visit each sequence once per pass, in an order of seed and pass") {
  Ids lengths;
  for (std::int64_t i = 0; i < 203; ++i) lengths.push_back(1 + i * i % 37);
  const LengthBuckets buckets(lengths, 8, 5, 4);
  REQUIRE(buckets.batches_per_pass() == 26);
  std::vector<Ids> orders(2);
  for (std::int64_t pass = 0; pass < 2; ++pass) {
    std::multiset<std::int64_t> seen;
    std::size_t small = 0;
    for (std::int64_t step = 0; step < 26; ++step) {
      const Ids batch = buckets.at(26 * pass + step);
      if (batch.size() == 203 % 8)
        ++small;
      else
        CHECK(batch.size() == 8);
      seen.insert(batch.begin(), batch.end());
      Ids& order = orders[static_cast<std::size_t>(pass)];
      order.insert(order.end(), batch.begin(), batch.end());
    }
    CHECK(small == 1);
    CHECK(seen.size() == 203);
    CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 203);
  }
  CHECK(orders[0] != orders[1]);
  // a step's batch does not depend on what was asked before
  CHECK(LengthBuckets(lengths, 8, 5, 4).at(31) == buckets.at(31));
  CHECK(buckets.at(3) == LengthBuckets(lengths, 8, 5, 4).at(3));
  CHECK(LengthBuckets(lengths, 8, 6, 4).at(31) != buckets.at(31));
  // what it is for: a fraction of the padding that shuffling alone has
  CHECK(2 * padding(buckets, lengths) < padding(LengthBuckets(lengths, 8, 5, 1), lengths));
  CHECK_THROWS_AS(LengthBuckets({}, 8, 5), ValueError);
  CHECK_THROWS_AS(LengthBuckets(lengths, 0, 5), ValueError);
  CHECK_THROWS_AS(buckets.at(-1), ValueError);
}

TEST_CASE("pairs: the target is shifted by one, between its begin and end tokens") {
  const std::vector<std::pair<Sequence, Sequence>> pairs = {
      {{10, 11, 12}, {20}}, {{13}, {21, 22}}, {{14, 15}, {}}};
  const PairBatches data(pairs, 2, 1, {.pad = 0, .begin = 1, .end = 2});
  CHECK(data.size() == 3);
  const std::vector<PairBatch> all = data.once();
  REQUIRE(all.size() == 2);
  CHECK(all[0].source.ids.to_vector<std::int64_t>() == Ids{10, 11, 12, 13, 0, 0});
  CHECK(all[0].source.lengths == Ids{3, 1});
  CHECK(all[0].input.ids.to_vector<std::int64_t>() == Ids{1, 20, 0, 1, 21, 22});
  CHECK(all[0].input.lengths == Ids{2, 3});
  CHECK(all[0].output.to_vector<std::int64_t>() == Ids{20, 2, 0, 21, 22, 2});
  CHECK(all[0].tokens == 5);
  CHECK(all[1].input.ids.to_vector<std::int64_t>() == Ids{1});
  CHECK(all[1].output.to_vector<std::int64_t>() == Ids{2});

  std::multiset<std::int64_t> first;
  for (std::int64_t step = 0; step < 2; ++step) {
    const Tensor ids = data.at(step).source.ids;
    for (std::int64_t row = 0; row < ids.size(0); ++row)
      first.insert(ids[{row, 0}].to_vector<std::int64_t>()[0]);
  }
  CHECK(first == std::multiset<std::int64_t>{10, 13, 14});
  CHECK_REFUSES(ValueError, PairBatches({{{1}, {1}}, {{}, {1}}}, 2, 1), "PairBatches", "1");
  CHECK_THROWS_AS(PairBatches({}, 2, 1), ValueError);
}

}  // namespace
}  // namespace gradus::testing
