// The borders at which steps and slopes are judged: what is just inside of them, and just outside.
#include "gradus/check/raw/differences.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

/// A straight line through y with this rise over each step of 2 from 1 on, `off` beside the step.
Slope beside_a_line(double rise, double y, double ulp, double noise, double off) {
  const Values noises{noise};
  Goal goal;
  goal.ulp = ulp;
  goal.noise = &noises;
  const Line f = [&](double t) {
    const double k = (t - 1) / 2;
    return Values{y + rise * k + (k == std::floor(k) ? 0 : off)};
  };
  return slopes_at(f, 1, 2, {y}, goal)[0];
}

Slope slope_of(double value, double change, double noise) {
  return {.value = value, .change = change, .noise = noise, .left = value, .right = value};
}

Slope measured_at(const std::function<double(double)>& f, double x, double unit, const Goal& goal) {
  const Line line = [&](double t) { return Values{f(t)}; };
  return Column(line, x, unit, {f(x)}, goal).measure()[0];
}

}  // namespace

TEST_CASE("a long step is taken as far as the point between bears it out") {
  for (const auto& [rise, y, ulp, noise] : {std::tuple{1.0, -3.0, 0x1p-10, 0x1p-8},
                                            {1.0, 0.0, 0.0, 0.0},
                                            {0.0, -3.0, 0x1p-10, 0.0},
                                            {-2.0, 0.5, 0.0, 0x1p-6},
                                            {0.0, 0.0, 0x1p-10, 0x1p-8}}) {
    const double allowed = 0.06 * std::abs(rise) + 16 * ulp * std::abs(y) + 16 * noise;
    for (const double sign : {-1.0, 1.0}) {
      CAPTURE(rise, y, ulp, noise, sign);
      CHECK(beside_a_line(rise, y, ulp, noise, sign * allowed * (1 - 1e-5)).finite());
      CHECK_FALSE(beside_a_line(rise, y, ulp, noise, sign * allowed * (1 + 1e-5)).finite());
    }
  }
}

TEST_CASE("a slope is settled within its tolerance, or within three times its noise") {
  Goal goal;
  goal.tolerance.rtol = goal.tolerance.atol = 0x1p-10;
  goal.tolerance.safety = 16;
  goal.scale = 1;
  CHECK(settled(slope_of(1, 0x1p-13, 0), goal));
  CHECK_FALSE(settled(slope_of(1, 0x1p-13 * 1.001, 0), goal));
  CHECK(settled(slope_of(1, 3 * 0x1p-8, 0x1p-8), goal));
  CHECK(settled(slope_of(1, -2.5 * 0x1p-8, 0x1p-8), goal));
  CHECK_FALSE(settled(slope_of(1, 3.01 * 0x1p-8, 0x1p-8), goal));
  CHECK(hidden(slope_of(1, 0.05, 1e-3), {}));
  CHECK_FALSE(hidden(slope_of(1, 0.05, 1e-6), {}));
}

TEST_CASE("of slopes tried a resolved one is kept, or the best smooth one, whatever came first") {
  const Slope resolved_one = slope_of(1000, 1, 0), unresolved = slope_of(0.5, 1, 0);
  CHECK(best_of({slope_of(1, 0.5, 0), resolved_one}, {}).value == 1000);
  CHECK(best_of({resolved_one, slope_of(1, 0.5, 0)}, {}).value == 1000);
  Slope gap = slope_of(500, 10, 0);
  gap.left = 0;
  gap.right = 1000;
  CHECK(best_of({gap, gap}, {}).kink);
  CHECK(best_of({{}, gap, gap, unresolved}, {}).value == 0.5);
}

TEST_CASE("one-sided slopes that differ are rounding up to ten thousand ulps") {
  const double ulp = 0x1p-40;
  for (const double share : {0.5, 1.0, 1.0005, 2.0}) {
    Slope s = slope_of(1, 0, 0), best = s;
    s.step = 0x1p-4;
    s.left = 0;
    s.right = share * 3e4 * 0x1p-36;
    best.step = 1;
    allow_for_rounding({s, s, s}, ulp, {}, best);
    CAPTURE(share);
    CHECK(best.noise == Approx(share <= 1 ? share * 1e4 * ulp : 0.0));
  }
}

TEST_CASE("a column without a unit is not measured") {
  for (const double unit : {HUGE_VAL, std::nan("")}) {
    CHECK_FALSE(measured_at([](double t) { return 2 * t; }, 1, unit, {}).finite());
    CHECK_FALSE(measured_at([](double t) { return 2 * t; }, unit, 1, {}).finite());
  }
}

TEST_CASE("what stands still and is as small as the rounding of terms is known no better") {
  Goal goal;
  goal.terms = 0x1p-20;
  for (const double share : {0.5, 2.0, -3.5, 3.9, 4.0, -4.0, 4.1, -4.1, 4.9, 8.0}) {
    const double y = share * goal.terms;
    const Slope s = measured_at([y](double) { return y; }, 1, 1, goal);
    CAPTURE(share);
    CHECK((s.noise * s.step == goal.terms) == (std::abs(share) <= 4));
  }
}

TEST_CASE("stairs that terms may explain are what an output is known by, up to the terms") {
  const double off = 0x1p-36, stairs = 2.5 * off;  // eight times its fifth difference, over 32
  const auto f = [off](double t) { return t + (t == 1 + 0x1p-9 ? off : 0); };
  for (const bool thorough : {false, true})
    for (const double share : {0.5, 1.5, 2.0, 8.0, 15.9, 16.0, 16.1, 17.0, 100.0}) {
      Goal goal;
      goal.thorough = thorough;
      goal.terms = share * stairs;
      const Slope s = measured_at(f, 1, 1, goal);
      CAPTURE(thorough, share);
      CHECK(s.value == Approx(1));
      const double known = share > 16 ? 0 : std::min(stairs, goal.terms);
      CHECK(std::abs(s.noise * s.step - known) <= 1e-14);
    }
}

TEST_CASE("where f is flat at the unit two calls tell if it is at its natural size") {
  const double first = 0x1p-21, natural = 0x1p-9;
  for (const bool up : {false, true})
    for (const bool down : {false, true}) {
      double farthest = 0;
      const auto f = [&](double t) {
        farthest = std::max(farthest, std::abs(t));
        return 3 + ((t > 1e-4 && up) || (t < -1e-4 && down) ? t : 0);
      };
      const Slope s = measured_at(f, 0, 0x1p-12, {});
      CAPTURE(up, down);
      CHECK(s.value == Approx(up && down ? 1 : 0));
      CHECK((farthest > 1.5 * natural) == (up && down));
      if (up != down) CHECK(s.step == first);
      if (up || down) continue;
      CHECK(s.step == natural);
      CHECK(s.noise == measured({3, 3, 3, 3, 3, 3, 3}, 0, natural, Goal().ulp, 0).noise);
    }
}

}  // namespace gradus::check
