// Every beast of the zoo fails and most are named; thousands of right derivatives pass.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/tests/check/zoo.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {
namespace {

std::vector<Beast> all_beasts() {
  std::vector<Beast> all;
  for (const auto& part :
       {elementwise_beasts(), norm_beasts(), product_beasts(), indexing_beasts()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A random right derivative: of any family, size and scale.
Case random_case(std::uint64_t seed) {
  Random random(seed);
  const auto side = [&random] { return static_cast<Index>(1 + random.below(4)); };
  const double scale = std::pow(10.0, random.between(-3, 1));
  const Index rows = side(), width = side() + 1;
  switch (random.below(7)) {
    case 0:  // Further apart than 20 it saturates: what is left of its derivatives is rounding.
      return softmax(rows, width, random_values(rows * width, seed, std::min(scale, 5.0)));
    case 1:
      return layer_norm(rows, width + 1, scale, seed);
    case 2:
      return matmul(rows, width, side(), seed);
    case 3:
      return elementwise("gelu", random_values(width, seed, scale), gelu, d_gelu);
    case 4:
      return elementwise("cube", random_values(width, seed, scale), cube, d_cube);
    case 5:
      return elementwise("relu", random_values(width, seed, scale), relu, sigma);
    default:
      return elementwise("abs", random_values(width, seed, scale), absolute, sign);
  }
}

}  // namespace

TEST_CASE("raw: the fault zoo fails, with the right causes named; right cases pass",
          "[check][raw]") {
  int beasts = 0, failed = 0, named = 0, misnamed = 0;
  for (const Beast& beast : all_beasts()) {
    Options options;
    options.output_shape = beast.output_shape;
    CAPTURE(beast.name);
    REQUIRE(run(beast.subject, options));  // before it was spoilt
    const Report report = run_spoiled(beast.subject, beast.spoil, options);
    const std::string& cause = report.inputs[beast.input].cause.name;
    CAPTURE(report.text());
    CHECK(report.verdict == Verdict::fail);
    CHECK(cause == beast.cause);
    CHECK(longest_line(report.text()) <= 76);
    ++beasts;
    failed += report.verdict == Verdict::fail ? 1 : 0;
    named += !cause.empty() && cause == beast.cause ? 1 : 0;
    misnamed += !cause.empty() && cause != beast.cause ? 1 : 0;
  }
  constexpr int kRight = 4000;
  int alarms = 0, inconclusive = 0;
  for (int seed = 1; seed <= kRight; ++seed) {
    Options options;
    options.seed = static_cast<std::uint64_t>(seed);
    const Report report = run(random_case(options.seed), options);
    alarms += report.verdict == Verdict::fail ? 1 : 0;
    inconclusive += report.verdict == Verdict::inconclusive ? 1 : 0;
    if (!report) UNSCOPED_INFO(report.text());
  }
  std::printf("fault zoo: %d of %d fail, %d with the right cause named, %d with a wrong one\n",
              failed, beasts, named, misnamed);
  std::printf("right derivatives: %d, false alarms %d, inconclusive %d\n", kRight, alarms,
              inconclusive);
  CHECK(beasts >= 60);
  CHECK(failed == beasts);
  CHECK(named * 10 >= beasts * 7);
  CHECK(misnamed == 0);
  CHECK(alarms == 0);
  CHECK(inconclusive == 0);
}

}  // namespace gradus::raw_cases
