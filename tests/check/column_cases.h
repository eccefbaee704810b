// Functions of one number, of plain arithmetic alone so that each machine gives the same numbers,
// and what a column of differences asks of them: every place, in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/check/raw/differences.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check::column_cases {

struct Curve {
  std::string name;
  std::function<Values(double)> f;
  std::vector<double> places;
};

/// 1, 3 or 5 in the last places of a number near 1, without a pattern: how a function jitters.
inline double jitter(double x, double size) {
  const double many = x * 7919.0 * 1024;
  return size * (many - std::floor(many) - 0.5);
}

/// T₄₀ of Chebyshev on [-1, 1]: a wave of twenty periods.
inline double wave(double x) {
  double before = 1, now = x;
  for (int n = 1; n < 40; ++n) {
    const double next = 2 * x * now - before;
    before = now;
    now = next;
  }
  return now;
}

inline double saturating(double x) {
  const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
  return x8 * x8 / (1 + x8 * x8);
}

inline std::vector<Curve> curves() {
  const double inf = HUGE_VAL, nan = std::nan("");
  const auto root = [nan](double v) { return v < 0 ? nan : std::sqrt(v); };
  return {
      {"constant", [](double) { return Values{3}; }, {0, 1, 1e-30, 1e20}},
      {"zero", [](double) { return Values{0}; }, {0, 2}},
      {"line",
       [](double x) {
         return Values{2 * x, x - 4};
       },
       {0, 0.75, -3, 1e-9, 1e9}},
      {"square", [](double x) { return Values{x * x}; }, {0, 0.5, -2, 1e-6, 1e5}},
      {"cube",
       [](double x) {
         return Values{x * x * x, 1 - x};
       },
       {0, 1.5, 1e-4}},
      {"seventh", [](double x) { return Values{x * x * x * x * x * x * x}; }, {0, 1, 0.125}},
      {"1/x", [](double x) { return Values{1 / x}; }, {1, -0.5, 1e-6, 1e6, 0}},
      {"1/(1+x²)", [](double x) { return Values{1 / (1 + x * x)}; }, {0, 0.5, 30, 1e4}},
      {"root", [root](double x) { return Values{root(x)}; }, {0, 1e-8, 1, 4}},
      {"root of 1-x",
       [root](double x) {
         return Values{root(1 - x), x};
       },
       {1, 1 - 1e-5, 0.5}},
      {"half a square", [nan](double x) { return Values{x < 2 ? nan : x * x}; }, {2, 2 + 1e-6, 3}},
      {"abs",
       [](double x) {
         return Values{std::abs(x), std::abs(x - 1)};
       },
       {0, 1, 1 + 1e-5, 2}},
      {"relu",
       [](double x) {
         return Values{x > 0 ? x : 0, 2 * x};
       },
       {0, 1e-4, -1e-7, 3}},
      {"kink and curve", [](double x) { return Values{std::abs(x - 1) + x * x * x}; }, {1, 0.999}},
      {"step", [](double x) { return Values{x >= 1 ? 1.0 : 0.0}; }, {1, 0.5, 1 - 1e-6}},
      {"stairs", [](double x) { return Values{std::floor(x * 4096) / 4096}; }, {0.3, 2, -5}},
      {"on a hill",
       [](double x) {
         return Values{1e12 + x, 1e9 + x * x};
       },
       {0.5, 3, 0}},
      {"jittering", [](double x) { return Values{x * x + jitter(x, 1e-11)}; }, {0.5, 3, 0}},
      {"jittering more", [](double x) { return Values{x + jitter(x, 1e-7)}; }, {0.7, 20}},
      {"noise alone",
       [](double x) {
         return Values{jitter(x, 1e-13), 1 + jitter(x, 1e-13)};
       },
       {0.7}},
      {"wave",
       [](double x) {
         return Values{wave(x), x};
       },
       {0.3, 0.05, 0}},
      {"saturating",
       [](double x) {
         return Values{saturating(x), 1 - saturating(x)};
       },
       {0.01, 1, 8, 0}},
      {"tiny unit", [](double x) { return Values{1 / (1 + x * x * 1e16)}; }, {1e-8, 0, 1e-5}},
      {"huge unit", [](double x) { return Values{x / (1 + x * x * 1e-16)}; }, {1e8, 3e7, 0}},
      {"infinite",
       [inf](double x) {
         return Values{x > 1 ? inf : x, x};
       },
       {1, 0.999, 2}},
      {"nan in one",
       [nan](double x) {
         return Values{nan, x * x};
       },
       {1, 0}},
      {"cancelling",
       [](double x) {
         return Values{(x + 1e6) - 1e6, (x + 1e3) - 1e3};
       },
       {1e-4, 0, 1}},
      {"not a number", [](double x) { return Values{x}; }, {nan, inf}},
  };
}

/// Calls as steps: "2^-9" for x - 3h … x + 3h around x (x itself is known), or else places.
class Steps {
 public:
  explicit Steps(double x) : x_(x) {}
  void add(double t) { calls_.push_back(t - x_); }
  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < calls_.size();) {
      const double h = -calls_[i] / 3;
      bool six = i + 6 <= calls_.size() && h != 0;
      for (std::size_t k = 0; k < 6 && six; ++k)
        six = std::abs(calls_[i + k] / h - (static_cast<double>(k) - (k < 3 ? 3 : 2))) < 1e-3;
      result += six ? (h < 0 ? " -6x" : " 6x") +
                          golden::shown(std::round(100 * std::log2(std::abs(h))) / 100)
                    : " @" + golden::shown(calls_[i], 4);
      i += six ? 6 : 1;
    }
    return result;
  }

 private:
  double x_;
  std::vector<double> calls_;
};

/// What was measured; where it is exact but for rounding the error is not shown.
inline std::string seen(const Slope& s) {
  const bool rounded = s.only_rounding();
  const double floor = rounded ? 1e3 * s.noise : 0;
  const auto word = [floor](double v) { return std::abs(v) <= floor ? "~" : golden::shown(v, 4); };
  std::string text = word(s.value) + " h " + golden::shown(std::log2(s.step), 4);
  if (s.finite() && (s.left != s.right || s.kink))
    text += " [" + word(s.left) + ", " + word(s.right) + "]";
  text += rounded ? " rounding" : " error " + golden::shown(s.estimate(), 1);
  if (!s.finite()) text += " lost";
  if (s.looks_zero()) text += " zero";
  return text + (s.kink ? " kink" : "") +
         (s.bend > 1e-6 ? " bend " + golden::shown(s.bend, 3) : "");
}

}  // namespace gradus::check::column_cases
