// Functions for the tables of scales: each written once, for double, for long double and for dual
// numbers of either, with what differences in double can show of its derivative at best.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/check/raw/vjp_check.h"

namespace gradus::scale_cases {

using check::Arguments;
using check::Values;
using Index = std::size_t;
using Real = long double;

/// a + b ε with ε² = 0: b is the derivative.
struct Dual {
  Real a = 0, b = 0;
  Dual(Real value = 0, Real derivative = 0) : a(value), b(derivative) {}
};
inline Dual operator+(Dual x, Dual y) { return {x.a + y.a, x.b + y.b}; }
inline Dual operator-(Dual x, Dual y) { return {x.a - y.a, x.b - y.b}; }
inline Dual operator-(Dual x) { return {-x.a, -x.b}; }
inline Dual operator*(Dual x, Dual y) { return {x.a * y.a, x.b * y.a + x.a * y.b}; }
inline Dual operator/(Dual x, Dual y) { return {x.a / y.a, (x.b - x.a / y.a * y.b) / y.a}; }
inline Dual exp(Dual x) { return {std::exp(x.a), std::exp(x.a) * x.b}; }
inline Dual expm1(Dual x) { return {std::expm1(x.a), std::exp(x.a) * x.b}; }
inline Dual log(Dual x) { return {std::log(x.a), x.b / x.a}; }
inline Dual log1p(Dual x) { return {std::log1p(x.a), x.b / (1 + x.a)}; }
inline Dual sqrt(Dual x) { return {std::sqrt(x.a), x.b / (2 * std::sqrt(x.a))}; }
inline Dual cbrt(Dual x) { return {std::cbrt(x.a), x.b / (3 * std::cbrt(x.a) * std::cbrt(x.a))}; }
inline Dual sin(Dual x) { return {std::sin(x.a), std::cos(x.a) * x.b}; }
inline Dual cos(Dual x) { return {std::cos(x.a), -std::sin(x.a) * x.b}; }
inline Dual atan(Dual x) { return {std::atan(x.a), x.b / (1 + x.a * x.a)}; }
inline Dual asinh(Dual x) { return {std::asinh(x.a), x.b / std::sqrt(1 + x.a * x.a)}; }
inline Dual tanh(Dual x) {
  const Real c = std::abs(x.a) > 5000 ? 0 : 1 / std::cosh(x.a);
  return {std::tanh(x.a), c * c * x.b};
}
inline Dual erf(Dual x) {
  return {std::erf(x.a), 1.12837916709551257389615890312154517L * std::exp(-x.a * x.a) * x.b};
}

template <class T>
using Vector = std::vector<T>;

struct Function {
  std::string name;
  std::function<Vector<double>(const Vector<double>&)> f;
  std::function<Vector<Real>(const Vector<Real>&)> exact;
  std::function<Vector<Dual>(const Vector<Dual>&)> dual;
  double largest = 1e12;  // scale; beyond it overflows, or is a constant
  bool positive = false;  // its domain
};

template <class F>
Function function(std::string name, F f, double largest = 1e12, bool positive = false) {
  return {std::move(name), f, f, f, largest, positive};
}

/// y_i = f(x_i).
template <class F>
Function each(std::string name, F f, double largest = 1e12, bool positive = false) {
  return function(
      std::move(name),
      [f](const auto& x) {
        auto y = x;
        for (auto& v : y) v = f(v);
        return y;
      },
      largest, positive);
}

/// J[output][element], as exact as long double is.
inline std::vector<Values> jacobian(const Function& f, const Values& x) {
  std::vector<Values> rows;
  for (Index j = 0; j < x.size(); ++j) {
    Vector<Dual> at(x.begin(), x.end());
    at[j].b = 1;
    const Vector<Dual> y = f.dual(at);
    rows.resize(y.size(), Values(x.size()));
    for (Index i = 0; i < y.size(); ++i) rows[i][j] = static_cast<double>(y[i].b);
  }
  return rows;
}

/// How near a difference of six points, in double and with the best of all steps, comes to each
/// entry of J: what it leaves out, and what the rounding of f and of x may make of it.
inline std::vector<Values> best_errors(const Function& f, const Values& x,
                                       const std::vector<Values>& J) {
  std::vector<Values> best(J.size(), Values(x.size(), INFINITY));
  const Real weights[] = {45, -9, 1};
  for (Index j = 0; j < x.size(); ++j) {
    for (int power = -76; power <= 44; power += 2) {
      const Real h = std::ldexp(1.0L, power);
      if (h < std::abs(x[j]) * 0x1p-48 || h > std::abs(x[j]) + 1) continue;
      std::vector<Real> slope(J.size(), 0), noise(J.size(), 0);
      for (int k = -3; k <= 3; ++k) {
        Vector<Real> at(x.begin(), x.end());
        at[j] += k * h;
        Values near = x;
        near[j] = static_cast<double>(at[j]);
        const Vector<Real> right = f.exact(at);
        const Values rounded = f.f(near);
        for (Index i = 0; i < J.size(); ++i) {
          if (k != 0) slope[i] += (k < 0 ? -1 : 1) * weights[std::abs(k) - 1] * right[i] / (60 * h);
          const Real off = std::abs(rounded[i] - right[i]) + 0x1p-53L * std::abs(right[i]);
          noise[i] = noise[i] >= off ? noise[i] : off;
        }
      }
      for (Index i = 0; i < J.size(); ++i) {
        const auto error = static_cast<double>(std::abs(slope[i] - J[i][j]) + 2 * noise[i] / h);
        if (error < best[i][j]) best[i][j] = error;
      }
    }
  }
  return best;
}

/// What is made of a right Jacobian.
enum class Fault { none, negated, doubled, slightly_off, one_element, zero };
inline constexpr Fault kFaults[] = {Fault::none,         Fault::negated,     Fault::doubled,
                                    Fault::slightly_off, Fault::one_element, Fault::zero};

inline std::vector<Values> spoilt(std::vector<Values> J, Fault fault, Index element) {
  for (Values& row : J)
    for (Index j = 0; j < row.size(); ++j) switch (fault) {
        case Fault::none:
          break;
        case Fault::negated:
          row[j] = -row[j];
          break;
        case Fault::doubled:
          row[j] = 2 * row[j];
          break;
        case Fault::slightly_off:
          row[j] *= 1.001;
          break;
        case Fault::one_element:
          if (j == element) row[j] = -row[j];
          break;
        case Fault::zero:
          row[j] = 0;
          break;
      }
  return J;
}

/// Is there an entry so wrong that differences in double show it, with a margin? Errors of 1e-6 of
/// the entry, and of 1e-8 of the largest by the same element, are within the check's tolerance.
inline bool shows(const std::vector<Values>& right, const std::vector<Values>& wrong,
                  const std::vector<Values>& best) {
  for (Index j = 0; j < right[0].size(); ++j) {
    double largest = 0;
    for (const Values& row : right) largest = std::max(largest, std::abs(row[j]));
    for (Index i = 0; i < right.size(); ++i) {
      const double tolerance = 1e-6 * std::abs(right[i][j]) + 1e-8 * largest;
      if (std::abs(wrong[i][j] - right[i][j]) > 100 * best[i][j] + tolerance) return true;
    }
  }
  return false;
}

/// The checker's report on the Jacobian with this fault.
inline check::Report judged(const Function& f, const Values& x, Fault fault, Index element,
                            const check::RawOptions& options = {}) {
  const auto vjp = [&](const Arguments& in, const Values& dy) {
    const std::vector<Values> J = spoilt(jacobian(f, in[0]), fault, element);
    Arguments dx{Values(in[0].size(), 0.0)};
    for (Index i = 0; i < dy.size(); ++i)
      for (Index j = 0; j < dx[0].size(); ++j) dx[0][j] += dy[i] * J[i][j];
    return dx;
  };
  return check_vjp(f.name, {[&f](const Arguments& in) { return f.f(in[0]); }, vjp}, {{"x", {}, x}},
                   options);
}

inline bool finite(const std::vector<Values>& J) {
  for (const Values& row : J)
    for (const double v : row)
      if (!std::isfinite(v)) return false;
  return true;
}

/// Counts of a table, and the first few of what it says is wrong.
struct Tally {
  int checks = 0, right = 0, alarms = 0, undecided = 0, wrong = 0, missed = 0, hidden = 0;
  long calls = 0;
  std::map<std::string, std::string> words;

  /// All faults at x; those that differences cannot show are left out.
  void add(const Function& f, const Values& x, std::uint64_t seed = 1) {
    const std::vector<Values> J = jacobian(f, x);
    if (!finite(J) || !finite({f.f(x)})) return;
    const std::vector<Values> best = best_errors(f, x, J);
    for (const Fault fault : kFaults) {
      const std::vector<Values> given = spoilt(J, fault, seed % x.size());
      ++checks;
      check::RawOptions options;
      options.seed = seed;
      const check::Report report = judged(f, x, fault, seed % x.size(), options);
      if (fault == Fault::none) {
        ++right;
        calls += report.counts.forward;
        alarms += report.verdict == check::Verdict::fail ? 1 : 0;
        undecided += report.verdict == check::Verdict::inconclusive ? 1 : 0;
        if (!report) say(f, x, fault, report);
      } else if (!shows(J, given, best)) {
        ++hidden;
      } else {
        ++wrong;
        if (report.verdict != check::Verdict::pass) continue;
        ++missed;
        say(f, x, fault, report);
      }
    }
  }

  std::string all_words() const {
    std::string result;
    for (const auto& [what, where] : words) result += what + where + "\n";
    return result;
  }
  std::string line() const {
    return check::joined(checks, " checks; ", right, " right: ", alarms, " fail, ", undecided,
                         " undecided, ", calls, " calls; ", wrong, " wrong: ", missed, " pass; ",
                         hidden, " cannot be shown");
  }

 private:
  void say(const Function& f, const Values& x, Fault fault, const check::Report& report) {
    std::string& first = words[check::joined(f.name, ", fault ", static_cast<int>(fault), ": ",
                                             to_string(report.verdict))];
    if (first.empty()) first = check::joined(" at ", check::number(x[0], 3));
    first += ".";
  }
};

/// Thirty plain functions of three numbers.
std::vector<Function> plain_functions();

}  // namespace gradus::scale_cases
