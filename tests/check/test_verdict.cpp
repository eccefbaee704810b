#include <array>

#include "gradus/check/raw/options.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check::test_verdict {
namespace {

/// Returns smooth slopes and slopes at kinks, some exact and some uncertain.
std::vector<Slope> slopes() {
  std::vector<Slope> all;
  for (const double value : {0.0, 2.0, -3.0, 5e-11, nan(""), HUGE_VAL})
    for (const double change : {0.0, -2e-9, 0.004, 0.5})
      for (const double noise : {0.0, 1e-12, 1e-3})
        for (const int kind : {0, 1, 2, 3}) {
          Slope s{.value = value, .change = change, .noise = noise};
          s.jitter = kind == 1 ? 0.006 : 0;
          s.bend = kind == 1 ? 7e4 : 0;
          s.kink = kind >= 2;
          s.declared = kind == 3;
          s.left = value - 1;
          s.right = value + 0.5;
          all.push_back(s);
        }
  return all;
}

const Values kDerivatives{0,   2,     1,     2 + 1e-11, 2 + 3e-7,  -3, -3 - 4e-9, 0.5,  2e-10,
                          7e4, 9e-15, 1e-16, HUGE_VAL,  -HUGE_VAL, -2, 6e-11,     -2.5, nan("")};

/// A comparison of the derivative `a` with the slope `n`. `scale` is the largest derivative.
struct Judged {
  double a;
  Slope n;
  double scale;
  Tolerance tolerance;
  Judgement judgement() const { return judge(a, n, scale, tolerance); }
};

std::vector<Judged> all_judged() {
  std::vector<Judged> all;
  const Tolerance coarse{.rtol = 1e-3, .atol = 1e-2, .safety = 5, .seen = 0.3, .floor = 1e-2};
  Tolerance noisy;
  noisy.exact = false;
  for (const Tolerance& t : {Tolerance(), coarse, noisy})
    for (const Slope& n : slopes())
      for (const double scale : {0.0, 1.0, 4e3})
        for (const double a : kDerivatives) all.push_back({a, n, scale, t});
  return all;
}

int rank(const Judgement& j) {
  return j.verdict == Verdict::pass ? 2 : j.verdict == Verdict::inconclusive ? 1 : 0;
}

template <class Law>
void for_each_judged(Law law) {
  const std::vector<Judged> all = all_judged();
  REQUIRE(all.size() > 10'000);
  for (const Judged& each : all) {
    if (law(each, each.judgement())) continue;
    const Slope& n = each.n;
    CAPTURE(each.a, n.value, n.change, n.noise, n.jitter, n.kink, n.declared, each.scale);
    FAIL_CHECK("the property does not hold");
    return;
  }
}

/// Scales all members that have the unit of the derivative.
Slope times(Slope s, double c) {
  for (double* const each : {&s.value, &s.change, &s.left, &s.right}) *each *= c;
  for (double* const each : {&s.noise, &s.jitter, &s.turn, &s.bend}) *each *= std::abs(c);
  return s;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE("verdict: NaN and infinity never pass, and a pass is within the allowed error") {
  for_each_judged([](const Judged& each, const Judgement& j) {
    if (!each.n.finite()) return j.verdict == Verdict::inconclusive;
    if (!std::isfinite(each.a)) return j.verdict == Verdict::fail;
    return (j.verdict == Verdict::fail) == !(j.error <= j.allowed);
  });
}

TEST_CASE("verdict: a larger tolerance or estimate never turns a result into a failure") {
  for_each_judged([](const Judged& each, const Judgement& j) {
    Judged rtol = each, atol = each, noise = each, scale = each;
    rtol.tolerance.rtol *= 10;
    atol.tolerance.atol *= 10;
    noise.n.noise = 10 * noise.n.noise + 1e-9;
    scale.scale = 10 * scale.scale + 1;
    return rank(rtol.judgement()) >= rank(j) && rank(atol.judgement()) >= rank(j) &&
           (rank(j) == 0 || (rank(noise.judgement()) > 0 && rank(scale.judgement()) > 0));
  });
}

TEST_CASE("verdict: a failing result also fails at a larger distance") {
  for_each_judged([](const Judged& each, const Judgement& j) {
    if (j.verdict != Verdict::fail || !std::isfinite(each.a)) return true;
    Judged farther = each;
    farther.a += 2 * (each.a < each.n.lower() ? -j.error : j.error);
    return farther.judgement().verdict == Verdict::fail;
  });
}

TEST_CASE("verdict: the sign of all derivatives does not matter") {
  for_each_judged([](const Judged& each, const Judgement& j) {
    const Judged other{-each.a, times(each.n, -1), each.scale, each.tolerance};
    const Judgement mirrored = other.judgement();
    return mirrored.verdict == j.verdict && same(mirrored.error, j.error) &&
           same(mirrored.allowed, j.allowed);
  });
}

TEST_CASE("verdict: scaling by powers of two changes nothing") {
  for_each_judged([](const Judged& each, const Judgement& j) {
    // Without values, the unit of f is unknown.
    if (each.n.size() == 0 && each.n.noise == 0) return true;
    for (const double unit : {0x1p-60, 0x1p60}) {
      const Judged other{unit * each.a, times(each.n, unit), unit * each.scale, each.tolerance};
      const Judgement scaled = other.judgement();
      if (scaled.verdict != j.verdict || !same(scaled.error, unit * j.error)) return false;
    }
    return true;
  });
}

TEST_CASE("verdict: the documented tolerances are rtol 1e-7, atol 1e-9 and 20 estimates") {
  const auto verdict = [](double a, const Slope& n, double scale = 0, const RawOptions& o = {}) {
    return judge(a, n, scale, o.tolerance()).verdict;
  };
  const Slope two{.value = 2};
  CHECK(verdict(2 + 0.999 * 2e-7, two) == Verdict::pass);
  CHECK(verdict(2 + 1.001 * 2e-7, two) == Verdict::fail);
  CHECK(verdict(2 + 0.999 * (2e-7 + 5e-6), two, 5000) == Verdict::pass);
  CHECK(verdict(2 + 1.001 * (2e-7 + 5e-6), two, 5000) == Verdict::fail);
  const Slope unsure{.value = 2, .change = 1e-4};
  CHECK(verdict(2 + 0.999 * (2e-7 + 2e-3), unsure) == Verdict::pass);
  CHECK(verdict(2 + 1.001 * (2e-7 + 2e-3), unsure) == Verdict::fail);
  // 20 · 0.01 is a tenth of the slope 2.
  CHECK(verdict(2, {.value = 2, .change = 0.0099}) == Verdict::pass);
  CHECK(verdict(2, {.value = 2, .change = 0.0101}) == Verdict::inconclusive);
  CHECK(verdict(2, {.value = 2, .change = 0.0101}, 1e5) == Verdict::pass);
  RawOptions mine;
  mine.rtol = 1e-3;
  mine.atol = 1e-4;
  CHECK(verdict(2.0021, two, 2, mine) == Verdict::pass);
  CHECK(verdict(2.0023, two, 2, mine) == Verdict::fail);
  mine.resolution = 0.05;
  CHECK(verdict(2.19, two, 2, mine) == Verdict::pass);
  CHECK(verdict(2.21, two, 2, mine) == Verdict::fail);
}

TEST_CASE("verdict: if only rounding is visible, agreement within five estimates passes") {
  const Slope hill{.value = 1, .noise = 1e-2};
  CHECK(judge(1.04, hill, 1, {}).verdict == Verdict::pass);
  CHECK(judge(1.06, hill, 1, {}).verdict == Verdict::inconclusive);
  CHECK(judge(1.3, hill, 1, {}).verdict == Verdict::fail);
  Tolerance noisy;
  noisy.exact = false;  // f has noise beyond rounding
  CHECK(judge(1, hill, 1, noisy).verdict == Verdict::inconclusive);
}

TEST_CASE("verdict: one failure fails a report, and one inconclusive part prevents a pass") {
  const Verdict all[] = {Verdict::pass, Verdict::inconclusive, Verdict::fail};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) CHECK(worse(all[i], all[j]) == all[std::max(i, j)]);
}

TEST_CASE("slopes: six points are exact to degree six, four to degree four, one side to three") {
  const double x = 2, h = 0.25;
  for (std::size_t degree = 0; degree <= 7; ++degree) {
    const auto power = [](double base, std::size_t n) {
      return std::pow(base, static_cast<double>(n));
    };
    std::array<double, 7> f{};
    for (int k = -3; k <= 3; ++k) f[static_cast<std::size_t>(k + 3)] = power(x + k * h, degree);
    const double right = degree == 0 ? 0 : static_cast<double>(degree) * power(x, degree - 1);
    const auto exact = [right](double v) { return std::abs(v - right) <= 1e-10; };
    const Slope s = measured(f, x, h, 0x1p-52, 0);
    CAPTURE(degree);
    CHECK(exact(s.value) == (degree <= 6));
    CHECK(exact(s.value - s.change) == (degree <= 4));
    CHECK(exact(s.left) == (degree <= 3));
    CHECK(exact(s.right) == (degree <= 3));
    CHECK(std::abs(s.value - right) <= 20 * s.estimate());
    const Slope left = one_sided({f[0], f[1], f[2], f[3], 0, 9, nan("")}, x, h, 0x1p-52, 0);
    const Slope other = one_sided({HUGE_VAL, 1, 0, f[3], f[4], f[5], f[6]}, x, h, 0x1p-52, 0);
    CHECK(exact(left.value) == (degree <= 3));
    CHECK(exact(other.value) == (degree <= 3));
  }
}

}  // namespace gradus::check::test_verdict
