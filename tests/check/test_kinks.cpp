// Kinks among slopes of shrinking steps, the conventions for them, and tolerances from options.
#include "gradus/check/raw/options.h"
#include "gradus/tests/check/column_cases.h"

namespace gradus::check::column_cases {
namespace {

using golden::Page;

Slope sided(double left, double right, double noise = 1e-12) {
  return {.value = 7,
          .change = 0.25,
          .noise = noise,
          .jitter = 3,
          .left = left,
          .right = right,
          .step = 0.5,
          .bend = 2};
}

std::string all_of(const Slope& s) {
  std::string text;
  for (const double v : {s.value, s.change, s.noise, s.jitter, s.left, s.right, s.step, s.bend})
    text += golden::shown(v) + " ";
  return text + (s.kink ? "kink" : "") + (s.declared ? " declared" : "");
}

}  // namespace

TEST_CASE("kinks among slopes are golden/check/sides.txt") {
  Page page;
  const std::vector<std::vector<Slope>> tried{
      {},
      {sided(0, 1)},
      {sided(0, 1), sided(0, 1)},
      {sided(1, 0), sided(1, 0)},
      {sided(0, 2), sided(0, 1)},
      {sided(0, 1), sided(0, 2.01)},
      {sided(0, 1), sided(0, 0.49)},
      {sided(0, 1), sided(0.05, 1)},
      {sided(0, 1), sided(0.1, 1.1)},
      {sided(0, 1), sided(0.1, 1.10009)},
      {sided(0, 1), sided(0, 1.1)},
      {sided(0, 1), sided(-0.02, 1.09)},
      {sided(0, 1), sided(0.03, 0.97), sided(0.025, 0.97), sided(0.02, 0.96)},
      {sided(0, 1), sided(0.025, 0.97), sided(0.03, 0.97), sided(0.06, 0.9)},
      {sided(0, 0), sided(0, 0)},
      {sided(0, 1), sided(std::nan(""), 1), sided(0, 1), sided(0, 1)},
      {sided(0, HUGE_VAL), sided(0, HUGE_VAL)},
      {sided(0, 64), sided(0, 1)},
      {sided(5, 4, 1e-3), sided(5, 4, 2e-3), sided(5, 4, 4e-3)}};
  for (const std::vector<Slope>& slopes : tried) page.line(slopes.size(), all_of(kink_of(slopes)));
  page.compare("sides.txt");
}

TEST_CASE("declared conventions are golden/check/conventions.txt") {
  Page page;
  const auto slopes = [] {
    Slope kink = sided(-1, 3), other = sided(2, 6);
    kink.kink = true;
    return std::vector{kink, other};
  };
  for (const std::vector<Kink>& kinks : std::vector<std::vector<Kink>>{{},
                                                                       {{0, {}, 0}},
                                                                       {{0, {}, 1}},
                                                                       {{0, {}, 0.25}},
                                                                       {{1, {}, 0.5}},
                                                                       {{0, 2.0, 0.5}},
                                                                       {{0, 2.5, 0.5}},
                                                                       {{1, {}, 0}, {0, 2.0, 0.75}},
                                                                       {{0, 2.0, 0}, {0, {}, 1}}})
    for (const std::size_t input : {0U, 1U}) {
      std::vector<Slope> now = slopes();
      apply_conventions(kinks, input, 2, now);
      page.line(kinks.size(), input, all_of(now[0]), "|", all_of(now[1]), now[0].lower(),
                now[0].upper());
    }
  page.compare("conventions.txt");
}

TEST_CASE("one-sided derivatives that are too far apart: each of the five allowances") {
  Page page;
  for (const double gap : {0.0, 0.99e-5, 1.01e-5, 1e-3, 0.5, HUGE_VAL, std::nan("")})
    for (const double value : {0.0, -1.0})
      for (const double scale : {0.0, 1.0, 30.0})
        for (const int kind : {0, 1, 2, 3}) {
          Slope s{.value = value, .left = 2, .right = 2 - gap};
          s.turn = kind == 1 ? 1 : 0;
          s.change = kind == 2 ? -0.01 : 0;
          s.noise = kind == 3 ? 0.01 : 0;
          const bool far = one_sided_mismatch(s, scale, {});
          page.line(golden::shown(gap), value, scale, kind, far);
        }
  page.compare("mismatches.txt");
}

TEST_CASE("tolerances that options ask for") {
  RawOptions o;
  const Tolerance usual = o.tolerance();
  CHECK((usual.rtol == 1e-7 && usual.atol == 1e-9 && usual.seen == 0.1 && usual.floor == 1e-5 &&
         usual.exact));
  o.rtol = 1e-3;
  o.atol = 1e-2;
  o.resolution = 5e-3;
  const Tolerance coarse = o.tolerance();
  CHECK((coarse.rtol == 5e-3 && coarse.atol == 1e-2 && coarse.seen == 5e-3 &&
         coarse.floor == 5e-3 && !coarse.exact));
}

}  // namespace gradus::check::column_cases
