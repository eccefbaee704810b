#include <cstdint>
#include <limits>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_integers {
namespace {

constexpr std::int64_t kBig = (std::int64_t{1} << 53) + 1;  // not representable in f64
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();

using Integers = std::vector<std::int64_t>;

Integers of(const Tensor& x) { return x.to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("i64 tensors store and return values exactly") {
  for (const std::int64_t value : {kBig, -kBig, kMost, kLeast}) {
    const Tensor x = tensor(Integers{value});
    CHECK(x.item<std::int64_t>() == value);
    CHECK(of(full({2}, value, Dtype::i64)) == Integers{value, value});
    CHECK(of(tensor(value, Dtype::i64)) == Integers{value});
    CHECK(of(zeros({1}, Dtype::i64).fill_(value)) == Integers{value});
    CHECK(of(zeros({1}, Dtype::i64).masked_fill(full({1}, true, Dtype::bool_), value)) ==
          Integers{value});
  }
  CHECK(of(full({1}, std::uint64_t{7}, Dtype::i64)) == Integers{7});
  CHECK(full({1}, kBig, Dtype::f64).item() == 0x1p53);  // rounded to even, as in C++
  CHECK(tensor({2.5}).item<int>() == 2);
}

TEST_CASE("arithmetic of i64 tensors and integers is exact") {
  const Tensor zero = zeros({1}, Dtype::i64), one = ones({1}, Dtype::i64);
  CHECK(of(zero + kBig) == Integers{kBig});
  CHECK(of(zero - kBig) == Integers{-kBig});
  CHECK(of(kBig - one) == Integers{kBig - 1});
  CHECK(of(one * kBig) == Integers{kBig});
  CHECK_THROWS_AS(one + 0.5, DtypeError);
  CHECK_THROWS_AS(one - std::numeric_limits<std::uint64_t>::max(), DtypeError);
}

TEST_CASE("comparisons of i64 tensors with numbers are exact") {
  const Tensor x = tensor(Integers{kBig, kMost, kLeast, 2});
  const auto which = [](const Tensor& y) { return y.to_vector<bool>(); };
  using Bools = std::vector<bool>;
  CHECK(which(x == kBig) == Bools{true, false, false, false});
  CHECK(which(x == kBig - 1) == Bools{false, false, false, false});
  CHECK(which(x == 0x1p53) == Bools{false, false, false, false});
  CHECK(which(x < 0x1p63) == Bools{true, true, true, true});
  CHECK(which(x == 0x1p63) == Bools{false, false, false, false});
  CHECK(which(x <= -0x1p63) == Bools{false, false, true, false});
  CHECK(which(x < 2.5) == Bools{false, false, true, true});
  CHECK(which(x == 2.5) == Bools{false, false, false, false});
  CHECK(which(x < std::numeric_limits<double>::quiet_NaN()) == Bools{false, false, false, false});
}

TEST_CASE("arange of integers is exact up to the limits of i64") {
  CHECK(of(arange(kBig, kBig + 4)) == Integers{kBig, kBig + 1, kBig + 2, kBig + 3});
  CHECK(of(arange(kMost - 1, kMost)) == Integers{kMost - 1});
  CHECK(of(arange(kLeast, kMost, kMost)) == Integers{kLeast, -1, kMost - 1});
  CHECK(of(arange(kMost, kLeast, kLeast)) == Integers{kMost, -1});
  CHECK(of(arange(5, 0, -2)) == Integers{5, 3, 1});
  CHECK(arange(3, 3).numel() == 0);
  CHECK(arange(3, 1).numel() == 0);
  CHECK_THROWS_AS(arange(1, 2, 0), ValueError);
  CHECK_THROWS_AS(arange(kLeast, kMost), MemoryError);
}

}  // namespace gradus::testing::test_integers
