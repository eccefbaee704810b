// Counts the checks of a sweep and prints one line for each that does not pass.
#pragma once

#include <functional>
#include <iostream>

#include "gradus_check.hpp"

namespace hunt {

namespace check = gradus::check;
using V = std::vector<double>;
using Vector = std::function<V(const V&)>;  // a function, a gradient, or a Jacobian by rows

/// Prints "verdict, function, point, cause" for tools/hunt_cpp.py.
inline void print(const std::string& name, const V& at, const check::Report& report) {
  std::string text = check::to_string(report.verdict);
  text += "\t" + name + "\t";
  for (const double value : at) text += check::joined(value, " ");
  for (const auto& input : report.inputs) text += "\t" + input.cause.name;
  if (!report.findings.empty()) {
    const auto& worst = report.findings.front();
    text +=
        check::joined("\tanalytic ", worst.analytic, " numeric ", worst.numeric, " ", worst.note);
  }
  std::cout << text << std::endl;
}

/// All combinations of these values as n coordinates.
inline std::vector<V> grid(std::size_t n, const V& values) {
  std::vector<V> points{{}};
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<V> longer;
    for (const V& point : points)
      for (const double value : values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

/// Whether f is defined at x: it does not throw, and returns finite values.
inline bool defined(const Vector& f, const V& x) {
  try {
    for (const double value : f(x))
      if (!std::isfinite(value)) return false;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Checks a gradient or Jacobian at each point where f is defined.
inline void sweep(const std::string& name, const Vector& f, const Vector& jacobian,
                  const std::vector<V>& points) {
  for (const V& x : points)
    if (defined(f, x)) print(name, x, check::raw(name, f, check::jacobian(jacobian), x));
}

}  // namespace hunt
