// The raw checker's parts: its arguments, random numbers, differences and rule.
#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {

TEST_CASE("raw: a wrong call throws", "[check][raw]") {
  const Case c = elementwise("cube", {1, 2}, cube, d_cube);
  const auto with = [&c](const Input& input) {
    return check_vjp("c", {c.forward, c.vjp}, {input});
  };
  CHECK_THROWS_AS(with({"x", {3}, {1, 2}}), BadInput);
  CHECK_THROWS_AS(with({"x", {-1, -2}, {1, 2}}), BadInput);
  CHECK_THROWS_AS(with({"x", {2}, {1, 2}, false}), BadInput);
  CHECK_THROWS_AS(check_vjp("c", {c.forward, c.vjp}, std::vector<Input>{}), BadInput);
  Options options;
  options.output_shape = {3};
  CHECK_THROWS_AS(run(c, options), BadInput);
}

TEST_CASE("raw: a map says how each wrong element is wrong", "[check][raw]") {
  const auto of = map_character;
  CHECK(of(NAN, 1) == '?');
  CHECK((of(0, 1) == '0' && of(1, 0) == '+'));
  CHECK((of(1, -2) == '!' && of(-2, 1) == '!'));
  CHECK((of(1, 2) == '-' && of(-1, -2) == '-' && of(2, 1) == '+' && of(-2, -1) == '+'));
}

TEST_CASE("raw: the same seed gives the same report", "[check][raw]") {
  const Spoil spoil = [](Arguments& dx, const Arguments&, const Values&) { dx[0][1] = 7; };
  const auto text = [&](std::uint64_t seed) {
    Options options;
    options.seed = seed;
    return run_spoiled(layer_norm(2, 3, 1), spoil, options).text();
  };
  CHECK(text(1) == text(1));
  CHECK(text(1) != text(2));
  Random random(1234567);  // the published first value of splitmix64 for this seed
  CHECK(random.next() == 6457827717110365317ULL);
  for (int i = 0; i < 1000; ++i) {
    const double w = std::abs(random.upstream());
    CHECK((w >= 1.5 && w < 2.5));
  }
}

TEST_CASE("raw: differences reach their accuracy and know it", "[check][raw]") {
  // Six points lose 1.8 half-ulps of f over h: 1e-13 for f and x about 1 (h = 2⁻⁹).
  const Line line = [](double t) { return Values{std::exp(t), std::sin(3 * t)}; };
  for (double x : {-1.0, 0.3, 1.7}) {
    const Values y = line(x);
    const std::vector<Slope> slopes = Column(line, x, unit_of(x, 1), y, Goal{}).measure();
    const double right[] = {std::exp(x), 3 * std::cos(3 * x)};
    for (Index i = 0; i < 2; ++i) {
      const double error = std::abs(slopes[i].value - right[i]);
      CHECK(error <= 1e-11);
      CHECK(error <= 20 * slopes[i].estimate());
      CHECK(slopes[i].estimate() <= 1e-9);
      CHECK_FALSE(slopes[i].kink);
    }
  }
}

TEST_CASE("raw: NaN never passes the rule", "[check][raw]") {
  Slope n;
  CHECK(judge(0, n, 1, {}).verdict == Verdict::inconclusive);
  n.value = 1;
  CHECK(judge(1, n, 1, {}).verdict == Verdict::pass);
  CHECK(judge(1 + 2e-7, n, 1, {}).verdict == Verdict::fail);
  CHECK(judge(nan_value, n, 1, {}).verdict == Verdict::fail);
  CHECK(judge(infinity, n, 1, {}).verdict == Verdict::fail);
  n.noise = 1e-2;  // of rounding alone: 5 times that is agreement, 20 times that is none
  CHECK(judge(1.04, n, 1, {}).verdict == Verdict::pass);
  CHECK(judge(1.06, n, 1, {}).verdict == Verdict::inconclusive);
  CHECK(judge(1.3, n, 1, {}).verdict == Verdict::fail);
  Tolerance noisy;
  noisy.exact = false;
  CHECK(judge(1, n, 1, noisy).verdict == Verdict::inconclusive);
  n.noise = infinity;
  CHECK(judge(1, n, 1, {}).verdict == Verdict::inconclusive);
}

}  // namespace gradus::raw_cases
