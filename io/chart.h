// Line charts as SVG, in light or dark colors.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::io {

/// Points (x, y) with increasing x. Skips points that are not finite. Long curves are drawn as
/// means of pixel columns, over a band from minimum to maximum.
/// A line of a Chart.
struct Curve {
  std::string name;  // in the legend
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // on each of up to 60 points
};

/// A line chart: curves, labels, and at most one labeled point.
struct Chart {
  /// A labeled point.
  struct Mark {
    double x, y;
    std::string text;
  };

  std::string title, x_label, y_label;
  std::vector<Curve> curves;  // four colors, then again
  std::optional<Mark> mark;
};

/// An SVG document. Without points, an empty frame from 0 to 1.
std::string svg(const Chart& chart);

/// About `about` multiples of 1, 2 or 5 · 10ᵏ that enclose [low, high]: {0, 0.5, 1, 1.5} for 0.1 to
/// 1.3. Throws ValueError unless (high − low) / about is normal and positive.
std::vector<double> round_ticks(double low, double high, int about);

}  // namespace gradus::io
