// Line charts as SVG, in light or dark colors.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::io {

/// A line of a Chart: points (x, y) with increasing x. Skips points that are not finite. A curve
/// with more points than pixel columns becomes the mean of each column over a band from minimum to
/// maximum.
struct Curve {
  std::string name;  // shown in the legend
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // draw a dot at each point, if there are at most 60
};

/// A line chart: curves, labels, and at most one labeled point.
struct Chart {
  /// A labeled point.
  struct Mark {
    double x, y;
    std::string text;
  };

  std::string title, x_label, y_label;
  std::vector<Curve> curves;  // four colors, then repeated
  std::optional<Mark> mark;
};

/// Returns an SVG document. A chart without points becomes an empty frame from 0 to 1.
std::string svg(const Chart& chart);

/// Returns about `about` multiples of 1, 2 or 5 · 10ᵏ that enclose [low, high]: {0, 0.5, 1, 1.5}
/// for 0.1 to 1.3. Throws ValueError unless (high − low) / about is normal and positive.
std::vector<double> round_ticks(double low, double high, int about);

}  // namespace gradus::io
