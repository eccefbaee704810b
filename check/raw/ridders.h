// Ridders' method: differences extrapolated to step 0 (an option).
#pragma once

#include "gradus/check/raw/differences.h"

namespace gradus::check {

/// Ridders (Adv. Eng. Software 4, 1982): central differences at steps halved nine times,
/// extrapolated to step 0; kept is the entry of the table that moved least. `start` is what six
/// points said: it tells of kinks, which a table cannot see, and of rounding. Twenty calls of f.
inline std::vector<Slope> ridders(const Line& f, double x, double unit, std::vector<Slope> start) {
  double h = power_of_two_below(0.1 * unit);
  std::vector<Values> before;  // the table's last row: [column][output]
  Values least(start.size(), std::numeric_limits<double>::infinity());
  for (std::size_t level = 0; level < 10; ++level, h /= 2) {
    const Values up = f(x + h), down = f(x - h);
    std::vector<Values> row(level + 1, Values(start.size()));
    double power = 1;
    for (std::size_t m = 0; m <= level; ++m, power *= 4) {
      for (std::size_t i = 0; i < start.size(); ++i) {
        double& now = row[m][i];
        now = m == 0 ? (up[i] - down[i]) / (2 * h)
                     : (power * row[m - 1][i] - before[m - 1][i]) / (power - 1);
        if (m == 0 || start[i].kink) continue;
        const double moved =
            std::max(std::abs(now - row[m - 1][i]), std::abs(now - before[m - 1][i]));
        if (!(moved < least[i])) continue;
        least[i] = moved;
        start[i].value = start[i].left = start[i].right = now;
        start[i].change = moved;
      }
    }
    before = std::move(row);
  }
  return start;
}

}  // namespace gradus::check
