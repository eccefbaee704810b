// Line charts as SVG: pictures that every browser shows, in its light or dark colours.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::io {

/// Points (x, y) with x rising. Those that are not finite are left out. A curve of more points than
/// the picture has columns is drawn as the mean of each column, over a band from its least to its
/// largest.
struct Curve {
  std::string name;  // for the legend
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // at each point, while there are at most 60
};

struct Chart {
  /// One point that matters, with a word on it.
  struct Mark {
    double x, y;
    std::string text;
  };

  std::string title, x_label, y_label;
  std::vector<Curve> curves;  // four colours, then again
  std::optional<Mark> mark;
};

/// The picture, an SVG document of its own; without any point an empty frame from 0 to 1.
std::string svg(const Chart& chart);

/// Multiples of 1, 2 or 5 · 10ᵏ from the last one ≤ low to the first one ≥ high, about `about` of
/// them: {0, 0.5, 1, 1.5} for 0.1 to 1.3. ValueError unless (high − low) / about is a normal
/// number above 0.
std::vector<double> round_ticks(double low, double high, int about);

}  // namespace gradus::io
