// Tests sums of integers over multiple blocks and strips (engine/reduce.h). The sums are exact in
// any order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_reduce {
namespace {

struct Folded {
  std::vector<double> sums, largest, squares;  // squares: Σ (x − mean)²
};

/// Reduces the middle axis of x [outer, n, inner].
Folded folded(const std::vector<double>& x, std::int64_t outer, std::int64_t n,
              std::int64_t inner) {
  Folded out;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t j = 0; j < inner; ++j) {
      double sum = 0, largest = -INFINITY, squares = 0;
      const auto at = [&](std::int64_t i) {
        return x[static_cast<std::size_t>((o * n + i) * inner + j)];
      };
      for (std::int64_t i = 0; i < n; ++i) sum += at(i), largest = std::max(largest, at(i));
      const double mean = sum / static_cast<double>(n);
      for (std::int64_t i = 0; i < n; ++i) squares += (at(i) - mean) * (at(i) - mean);
      out.sums.push_back(sum);
      out.largest.push_back(largest);
      out.squares.push_back(squares / static_cast<double>(n));
    }
  return out;
}

/// Returns integers that differ between blocks, rows and columns.
std::vector<double> counted(std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<double>((i * 7919 + i / 1000) % 1013 - 500));
  return out;
}

void check_folds(std::int64_t outer, std::int64_t n, std::int64_t inner) {
  const std::vector<double> numbers = counted(outer * n * inner);
  const Tensor x = tensor(numbers, {outer, n, inner});
  const Folded expected = folded(numbers, outer, n, inner);
  CAPTURE(outer, n, inner);
  CHECK((sum(x, {1}).to_vector<double>() == expected.sums));
  CHECK((max(x, {1}).to_vector<double>() == expected.largest));
  const std::vector<double> variances = var(x, {1}, false, 0).to_vector<double>();
  REQUIRE(variances.size() == expected.squares.size());
  // Rounding n ≤ 131,075 terms by 2⁻⁵³ each causes an error of at most 1.5e-11 of their sum.
  bool near = true;
  for (std::size_t k = 0; k < variances.size(); ++k)
    near =
        near && std::abs(variances[k] - expected.squares[k]) <= 2e-11 * (1 + expected.squares[k]);
  CHECK(near);
}

}  // namespace

TEST_CASE("reduce sums rows that span several blocks", "[kernel]") {
  check_folds(1, 65'536, 1);
  check_folds(1, 65'537, 1);
  check_folds(3, 131'075, 1);
}

TEST_CASE("reduce sums columns that span several blocks and strips", "[kernel]") {
  check_folds(2, 130, 1'030);  // blocks of 64 rows, strips of 1024 columns
  check_folds(3, 64, 1'024);
  check_folds(2, 5, 2'049);
  check_folds(3, 33'000, 2);  // blocks of 32,768 rows
}

}  // namespace gradus::testing::test_reduce
