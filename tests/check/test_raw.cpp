// The raw checker: right gradients pass, also at kinks; what cannot be seen is inconclusive.
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {

TEST_CASE("raw: right gradients pass", "[check][raw]") {
  for (const Case& c : {softmax(2, 5, random_values(10, 1)), layer_norm(3, 5, 1), matmul(2, 3, 5),
                        softmax(2, 3, random_values(6, 2, 0.005)), layer_norm(2, 7, 0.005),
                        elementwise("gelu", {-3, -1, 0, 1e-3, 0.7, 4}, gelu, d_gelu),
                        elementwise("cube", {-1.5, -1e-4, 0, 0.01, 2}, cube, d_cube),
                        elementwise("cube of zeros", {0, 0}, cube, d_cube),
                        elementwise("log near 0", {1e-5, 3e-3, 1, 1}, logarithm, reciprocal),
                        elementwise("sqrt near 0", {1e-6, 1, 2}, root, d_root),
                        elementwise("fast wave", {0.3, 1, -2}, wave, d_wave),
                        elementwise("relu near 0", {1e-4, -1e-6, 1, -1}, relu, sigma)}) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report);
    CHECK(report.findings.empty());
    CHECK(report.counts.forward > 0);
    CHECK(longest_line(report.text()) <= 76);
  }
}

TEST_CASE("raw: no false alarm on many random right cases", "[check][raw]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Options options;
    options.seed = seed;
    // 0.001 … 100, where a softmax saturates until all its derivatives are the rounding of 1.
    const double scale = std::pow(10.0, static_cast<double>(seed % 6) - 3);
    for (const Case& c : {softmax(2, 4, random_values(8, seed, scale)),
                          layer_norm(2, 3, scale, seed), matmul(2, 1, 3, seed),
                          elementwise("gelu", random_values(4, seed, scale), gelu, d_gelu)}) {
      const Report report = run(c, options);
      CAPTURE(seed, scale, report.text());
      CHECK(report);
    }
  }
}

TEST_CASE("raw: smooth points cost six calls an element", "[check][raw]") {
  const Report report = run(matmul(2, 3, 5));
  CHECK(report.counts.forward == 2 + 6 * (6 + 15));
  // Zeros, all rows, three weighted sums; again, and twice to see that it is linear.
  CHECK(report.counts.vjp == 1 + 10 + 3 + 3);
}

TEST_CASE("raw: kinks", "[check][raw]") {
  const Values x{0, 1, -1};
  for (const Case& c :
       {elementwise("relu", x, relu, sigma), elementwise("relu", x, relu, half_at_zero),
        elementwise("abs", x, absolute, sign), elementwise("abs", {0, 0, 0}, absolute, sign)}) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report);
    CHECK(report.inputs[0].kinks >= 1);
    CHECK(mentions(report, "lie at a kink, the first at [0]"));
  }
  const Report outside = run(elementwise("relu", x, relu, two_at_zero));
  CAPTURE(outside.text());
  CHECK(outside.verdict == Verdict::fail);
  CHECK(outside.inputs[0].wrong == 1);
  REQUIRE(outside.findings.size() == 1);
  CHECK(outside.findings[0].at == At{0});
  CHECK(mentions(outside, "from 0 to 1 would be right"));

  SECTION("a kink nearby is not a kink") {
    const Report half_near = run(elementwise("relu", {1e-5, 1}, relu, half));
    CHECK(half_near.inputs[0].wrong == 2);
    CHECK(half_near.inputs[0].kinks == 0);
  }
}

TEST_CASE("raw: a slope on top of a large value is seen with larger steps", "[check][raw]") {
  const Report right = run(elementwise("on a hill", {1, 2}, on_a_hill, one));
  INFO(right.text());
  CHECK(right);
  REQUIRE(right.notes.size() == 1);
  CHECK(right.notes[0].find("first digits only") != std::string::npos);
  const auto off = [](double) { return 1.1; };
  CHECK(run(elementwise("on a hill", {1, 2}, on_a_hill, off)).verdict == Verdict::fail);
}

TEST_CASE("raw: what cannot be seen is inconclusive", "[check][raw]") {
  const auto inconclusive = [](const Case& c) {
    const Report report = run(c);
    CAPTURE(report.text());
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK_FALSE(report);
    CHECK(longest_line(report.text()) <= 76);
    return report;
  };
  CHECK(
      mentions(inconclusive(elementwise("log", {-1, 2}, logarithm, reciprocal)), "forward gives"));
  inconclusive(elementwise("sqrt at the edge", {0, 1}, root, d_root));
  inconclusive(elementwise("jump", {0, 1}, heaviside, flat));
  inconclusive(elementwise("NaN given", {nan_value, 1}, cube, d_cube));
  inconclusive(elementwise("infinity given", {infinity, 1}, relu, sigma));

  Case c = elementwise("random", {1, 2}, cube, d_cube);
  auto calls = std::make_shared<int>(0);
  c.forward = [calls](const Arguments& in) { return Values{in[0][0] + 1e-9 * ++*calls}; };
  CHECK(mentions(inconclusive(c), "different values"));
  c.forward = [](const Arguments&) -> Values { throw std::runtime_error("out of cheese"); };
  CHECK(mentions(inconclusive(c), "forward throws: out of cheese"));
  c.forward = [](const Arguments& in) { return Values(in[0][0] > 1 ? 3U : 2U, 0.0); };
  CHECK(mentions(inconclusive(c), "close by"));

  SECTION("a failure elsewhere is still a failure") {
    CHECK(run(elementwise("log", {-1, 2}, logarithm, one)).verdict == Verdict::fail);
  }
}

TEST_CASE("raw: a function that does not depend on its input", "[check][raw]") {
  const auto constant = [](const Arguments&) { return Values{5, 1e6}; };
  const auto none = [](const Arguments&, const Values&) { return Arguments{{0, 0, 0}}; };
  const Report report = check_vjp("constant", {constant, none}, {{"x", {3}, {1, 2, 3}}});
  CAPTURE(report.text());
  CHECK(report);
  CHECK(mentions(report, "every measured derivative is 0"));
  const auto some = [](const Arguments&, const Values& dy) { return Arguments{{0, dy[0], 0}}; };
  CHECK(check_vjp("constant", {constant, some}, {{"x", {3}, {1, 2, 3}}}).verdict == Verdict::fail);
  // Exactly 0 to the left of -9, where the derivative is not yet.
  const Case underflow = elementwise("gelu", {-10, -12}, gelu, d_gelu);
  CHECK(underflow.forward({{-10, -12}}) == Values{0, 0});
  CHECK(run(underflow));
  const auto all_ones = [](const Arguments&, const Values& dy) { return Arguments{dy}; };
  CHECK(check_vjp("gelu", {underflow.forward, all_ones}, underflow.inputs).inputs[0].wrong == 2);
  // The sum of a softmax is 1 but for rounding.
  Case c = softmax(1, 4, random_values(4, 9));
  c.forward = [](const Arguments& in) {
    const Values y = softmax_rows(in[0], in[0].size());
    return Values{y[0] + y[1] + y[2] + y[3]};
  };
  c.vjp = [](const Arguments& in, const Values&) { return Arguments{Values(in[0].size())}; };
  CHECK(run(c));
  CHECK(mentions(run(c), "every measured derivative is 0"));
}

/// Attention of one query to four keys k + c, c all zeros: a shift of all scores by q·c, so the
/// derivative by c is 0. The value keeps what rounding leaves, the more the larger the scores.
Case shifted_attention(double size, std::uint64_t seed) {
  constexpr Index keys = 4, width = 2;
  const Values q = random_values(width, seed, size), k = random_values(keys * width, seed + 1, 1);
  const Values v = random_values(keys, seed + 2);
  const auto forward = [=](const Arguments& in) {
    Values scores(keys, 0.0);
    for (Index j = 0; j < keys; ++j)
      for (Index d = 0; d < width; ++d) scores[j] += q[d] * (k[j * width + d] + in[0][d]);
    const Values weights = softmax_rows(scores, keys);
    return Values{std::inner_product(v.begin(), v.end(), weights.begin(), 0.0)};
  };
  const auto none = [](const Arguments&, const Values& dy) {
    return Arguments{Values(width, 1e-17 * dy[0])};
  };
  return {"a shift of all scores", {{"c", {width}, Values(width, 0.0)}}, forward, none};
}

TEST_CASE("raw: a derivative of 0 is seen through rounding that is more than one ulp") {
  int inconclusive = 0, wrong = 0, missed = 0;
  for (const double size : {0.01, 0.3, 1.0, 4.0, 16.0, 100.0}) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Case c = shifted_attention(size, 3 * seed);
      const Report report = run(c);
      inconclusive += report.verdict == Verdict::inconclusive ? 1 : 0;
      wrong += report.verdict == Verdict::fail ? 1 : 0;
      const Spoil spoil = [](Arguments& d, const Arguments&, const Values&) { d[0][1] += 1e-6; };
      missed += run_spoiled(c, spoil).verdict == Verdict::fail ? 0 : 1;
    }
  }
  CHECK(inconclusive == 0);
  CHECK(wrong == 0);
  CHECK(missed == 0);
}

TEST_CASE("raw: inputs that are not differentiable, empty, single", "[check][raw]") {
  const Case pick{"pick",
                  {{"x", {3}, {1, 2, 3}}, {"index", {}, {2}, false}},
                  [](const Arguments& in) { return Values{in[0][static_cast<Index>(in[1][0])]}; },
                  [](const Arguments&, const Values& dy) {
                    return Arguments{{0, 0, dy[0]}, {}};
                  }};
  const Report report = run(pick);
  CAPTURE(report.text());
  CHECK(report);
  CHECK(mentions(report, "not differentiable, left out"));

  const Case empty{"empty",
                   {{"x", {0, 4}, {}}},
                   [](const Arguments&) { return Values{}; },
                   [](const Arguments&, const Values&) { return Arguments{Values{}}; }};
  CHECK(run(empty));
  CHECK(mentions(run(empty), "nothing to compare"));
}

}  // namespace gradus::raw_cases
