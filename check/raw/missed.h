// The probability that random sums hide a wrong entry of the Jacobian. docs/checking/probability.md
// derives the bounds.
#pragma once

#include <algorithm>
#include <cmath>

namespace gradus::check {

/// How the entries of an input's Jacobian were compared. Entries are derivatives by one unit of an
/// element.
struct Coverage {
  int sums = 0;        // random weighted sums of all outputs; 0: each output by itself
  int directions = 0;  // random directions of all elements; 0: each element by itself
  double allowed = 0;  // largest accepted error of a comparison
  double largest = 0;  // largest measured entry
};

/// Bounds the probability that all comparisons accept a Jacobian in which at least one entry is
/// wrong by more than share · largest. The other entries may have any error.
inline double missed(const Coverage& c, double share) {
  if (c.sums == 0 && c.directions == 0) return 0;
  const double t = 2 * c.allowed / (share * c.largest);  // the measurement may be off as well
  if (!(t < 1)) return 1;
  if (c.directions == 0) return std::pow(t, c.sums);
  if (c.sums == 0) return std::pow(std::min(1.0, 2.5 / 1.5 * t), c.directions);
  const double a = std::pow(std::min(1.0, 2.5 * t), std::min(c.sums, c.directions));
  return a * (1 - std::log(a));
}

}  // namespace gradus::check
