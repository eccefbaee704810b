// The rule, over all combinations of what it depends on; and the formulas of a slope against
// polynomials, of which they are exact.
#include <array>

#include "gradus/check/raw/verdict.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

/// f(x + k h) for k = -3 … 3, f the polynomial with these coefficients (the constant one first).
std::array<double, 7> around(const Values& polynomial, double x, double h) {
  std::array<double, 7> f{};
  for (int k = -3; k <= 3; ++k)
    for (std::size_t p = polynomial.size(); p-- > 0;) {
      double& now = f[static_cast<std::size_t>(k + 3)];
      now = now * (x + k * h) + polynomial[p];
    }
  return f;
}

void show(Page& page, const std::string& what, const Slope& s) {
  page.line(what, "value", s.value, "change", s.change, "noise", s.noise, "jitter", s.jitter,
            "sides", s.left, s.right, "step", s.step, "turn", s.turn, "bend", s.bend);
}

/// Slopes of all kinds: sizes of value, change, noise and jitter; kinks, declared or not.
std::vector<Slope> some_slopes() {
  std::vector<Slope> all;
  for (const double value : {0.0, 2.0, -3.0, 5e-11, nan(""), HUGE_VAL})
    for (const double change : {0.0, -2e-9, 0.004, 0.5})
      for (const double noise : {0.0, 1e-12, 3e-12, 1e-3})
        for (const int kind : {0, 1, 2, 3}) {
          Slope s{.value = value, .change = change, .noise = noise};
          s.jitter = kind == 1 ? 0.006 : 0;
          s.bend = kind == 1 ? 7e4 : 0;
          s.kink = kind >= 2;
          s.declared = kind == 3;
          s.left = value - 1;
          s.right = kind == 3 ? HUGE_VAL : value + 0.5;
          all.push_back(s);
        }
  return all;
}

Tolerance tolerance_of(int kind) {
  Tolerance t;
  if (kind == 1) t = {.rtol = 1e-3, .atol = 1e-2, .safety = 5, .seen = 0.3, .floor = 1e-2};
  if (kind == 2) t.exact = false;
  return t;
}

}  // namespace

TEST_CASE("what slopes say of themselves is in golden/check/slopes.txt") {
  Page page;
  for (const Slope& s : some_slopes())
    page.line(s.value, s.change, s.noise, s.jitter, s.kink, s.declared, "estimate", s.estimate(),
              "gap", s.gap(), "from", s.lower(), "to", s.upper(), "size", s.size(), "finite",
              s.finite(), "zero", s.looks_zero(), "rounding", s.only_rounding());
  page.compare("slopes.txt");
}

TEST_CASE("the rule, over all combinations, is golden/check/rule.txt") {
  Page page;
  std::string row;
  for (const int kind : {0, 1, 2}) {
    const Tolerance t = tolerance_of(kind);
    for (const Slope& s : some_slopes())
      for (const double scale : {0.0, 1.0, 4e3}) {
        row.clear();
        for (const double a : {0.0, 2.0, 1.0, 2 + 1e-11, 2 + 3e-7, -3.0, -3 - 4e-9, 2e-10, 0.5,
                               1e-16, 9e-15, HUGE_VAL, nan("")}) {
          const Judgement j = judge(a, s, scale, t);
          row += "PF?"[static_cast<int>(j.verdict)];
          if (a == 1) row += golden::shown(j.error, 4) + "/" + golden::shown(j.allowed, 5);
          row += agree_to_rounding(a, s, t) ? "a" : "";
        }
        page.line(row, within(s, 1e-4, scale, t), resolved(s, scale, t));
      }
  }
  page.compare("rule.txt");
}

TEST_CASE(
    "slopes of polynomials, and of what is no number on one side, are golden/check/stencils.txt") {
  Page page;
  const std::vector<Values> all = {{3},
                                   {-1, 2},
                                   {0, 1, -4},
                                   {1, 0, 0, 2},
                                   {0, 0, 0, 0, 1},
                                   {1, -1, 1, -1, 1, 3},
                                   {0, 0, 0, 0, 0, 0, 0, 1},
                                   {1e9, 1}};
  for (const Values& p : all)
    for (const double x : {0.0, -2.0, 0.75})
      for (const double h : {1.0, 0.125}) {
        std::array<double, 7> f = around(p, x, h);
        show(page, golden::word(p), measured(f, x, h, 0x1p-40, 0));
        show(page, "noisy", measured(f, x, h, 0x1p-52, 3e-5));
        show(page, "right",
             one_sided({HUGE_VAL, nan(""), 0, f[3], f[4], f[5], f[6]}, x, h, 0x1p-40, 0));
        show(page, "left", one_sided({f[0], f[1], f[2], f[3], 0, 9, nan("")}, x, h, 0x1p-40, 1e-3));
      }
  page.compare("stencils.txt");
}

TEST_CASE("the six-point formula and the sides are exact for polynomials of their degrees") {
  for (std::size_t degree = 0; degree <= 6; ++degree) {
    Values p(degree + 1, 0.0);
    p[degree] = 1;
    const Slope s = measured(around(p, 2, 0.25), 2, 0.25, 0x1p-52, 0);
    const double right =
        degree == 0 ? 0
                    : static_cast<double>(degree) * std::pow(2.0, static_cast<double>(degree) - 1);
    CAPTURE(degree);
    CHECK(std::abs(s.value - right) <= 1e-11);
    CHECK((degree > 4) == (std::abs(s.change) > 1e-9));
    CHECK((degree > 3) == (std::abs(s.left - right) > 1e-9));
    CHECK((degree > 3) == (std::abs(s.right - right) > 1e-9));
    if (degree == 5) CHECK(std::abs(s.jitter - 120 * std::pow(0.25, 5) / 32 / 0.25) <= 1e-9);
  }
}

TEST_CASE("the worse of two verdicts: fail before inconclusive before pass") {
  const Verdict all[] = {Verdict::pass, Verdict::inconclusive, Verdict::fail};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) CHECK(worse(all[i], all[j]) == all[std::max(i, j)]);
  CHECK(std::string(to_string(Verdict::fail)) == "FAIL");
}

}  // namespace gradus::check
