#include <cmath>
#include <vector>

#include "gradus/ops/attention_metrics.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {

TEST_CASE("attention span uses the positions of each example") {
  const Tensor weights = values({2, 3, 2, 4});
  const std::vector<std::int64_t> queries = {5, 6, 1, 9}, keys = {0, 1, 2, 3, 7, 5, 3, 4};
  const Numbers w = numbers(weights);
  Numbers right;
  for (std::size_t row = 0; row < 12; ++row) {
    const std::size_t example = row / 6, query = row % 2;
    double sum = 0;
    for (std::size_t key = 0; key < 4; ++key)
      sum += w[row * 4 + key] *
             std::abs(static_cast<double>(queries[example * 2 + query] - keys[example * 4 + key]));
    right.push_back(sum);
  }
  const Tensor span = mean_attention_distance(weights, queries, keys, 2);
  CHECK(span.shape() == Shape{2, 3, 2});
  CHECK(near(numbers(span), right));
}

}  // namespace gradus::testing
