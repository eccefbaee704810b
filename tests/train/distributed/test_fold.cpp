#include <vector>

#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/distributed/fold.h"

namespace gradus::testing::test_fold {
namespace {

using distributed::ShardRange;

/// Returns the nodes that cover a range: repeatedly takes the largest node that begins at `begin`
/// and does not exceed `end`.
std::vector<ShardRange> plain_nodes(std::int64_t begin, std::int64_t end) {
  std::vector<ShardRange> nodes;
  while (begin < end) {
    std::int64_t size = 1;
    while (begin % (2 * size) == 0 && begin + 2 * size <= end) size *= 2;
    nodes.push_back({begin, begin + size});
    begin += size;
  }
  return nodes;
}

/// In f32, 2^24 absorbs an added 1, but not an added 2, so the order of additions affects the sum.
float number(std::int64_t shard) {
  const float some[] = {16777216.0F, 1.0F, 3.0F, -16777216.0F, 1.0F, 1.0F, 0.5F};
  return some[shard * shard % 7];
}

float plain_sum(const ShardRange& node) {
  const std::int64_t middle = (node.begin + node.end) / 2;
  if (middle == node.begin) return number(node.begin);
  return plain_sum({node.begin, middle}) + plain_sum({middle, node.end});
}

}  // namespace

TEST_CASE("a fold stores its complete nodes, summed in the order of the tree") {
  for (std::int64_t begin = 0; begin < 18; ++begin)
    for (std::int64_t end = begin + 1; end <= 18; ++end) {
      CAPTURE(begin, end);
      const std::vector<ShardRange> wanted = plain_nodes(begin, end);
      REQUIRE(distributed::nodes_of({begin, end}) == wanted);
      distributed::Fold fold;
      for (std::int64_t s = begin; s < end; ++s) fold.push({s, s + 1}, full({1}, number(s)));
      REQUIRE(fold.nodes().size() == wanted.size());
      float sum = plain_sum(wanted.back());
      for (std::size_t i = wanted.size(); i-- > 0;) {
        REQUIRE(fold.nodes()[i].shards == wanted[i]);
        REQUIRE(fold.nodes()[i].sum.item() == plain_sum(wanted[i]));
        if (i + 1 < wanted.size()) sum = plain_sum(wanted[i]) + sum;
      }
      REQUIRE(fold.finish().item() == sum);
      REQUIRE(fold.nodes().empty());
      fold.push({begin, begin + 1}, full({1}, 2));
      fold.clear();
      REQUIRE(fold.nodes().empty());
    }
  CHECK(distributed::nodes_of({3, 3}).empty());
}

TEST_CASE("each process gets an equal share of the shards, rounded down") {
  for (std::int64_t shards = 1; shards <= 12; ++shards)
    for (int size = 1; size <= 5; ++size)
      for (int rank = 0; rank < size; ++rank) {
        const distributed::ShardRange own = distributed::shards_of(rank, size, shards);
        CHECK(own.begin == shards * rank / size);
        CHECK(own.end == shards * (rank + 1) / size);
      }
}

}  // namespace gradus::testing::test_fold
