#include "gradus/io/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr double kWidth = 800, kHeight = 450;
constexpr double kLeft = 72, kRight = 776, kTop = 76, kBottom = 394;  // edges of the plot
constexpr int kColumns = 352;                                         // columns of 2 pixels
constexpr int kColours = 4;
constexpr std::size_t kMostDots = 60;

/// Colorblind-safe colors (Okabe & Ito 2008), lighter in dark mode.
constexpr const char* kStyle = R"(<style>
text { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 13px; fill: #444 }
.paper { fill: #fff } .title { font-size: 16px; font-weight: 600; fill: #111 }
.grid { stroke: #e4e4e4 } .axis { stroke: #888 } .mark { stroke: #444; fill: none }
.line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round }
.band, .dot { fill: currentColor } .band { stroke: none; fill-opacity: 0.2 }
.c0 { color: #0072b2 } .c1 { color: #d55e00 } .c2 { color: #009e73 } .c3 { color: #aa4499 }
@media (prefers-color-scheme: dark) {
text { fill: #bbb } .paper { fill: #16181d } .title { fill: #eee }
.grid { stroke: #2c3038 } .axis { stroke: #777 } .mark { stroke: #bbb }
.c0 { color: #56b4e9 } .c1 { color: #f0a040 } .c2 { color: #3fd0a0 } .c3 { color: #dd88cc }
}
</style>
)";

std::string fixed(double value, int digits) {
  if (std::abs(value) > 1e40) return str_cat(value);
  return str_cat(std::fixed, std::setprecision(digits), value);
}

std::string at(double coordinate) { return fixed(coordinate, 1); }

double width_of(const std::string& words) {  // upper bound in pixels
  return 7.5 * static_cast<double>(count_characters(words));
}

std::string label(double x, double y, const char* anchor, const std::string& words,
                  const char* more = "") {
  return str_cat("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\"", more,
                 ">", escape_xml(words), "</text>\n");
}

std::string segment(const char* style, double x1, double y1, double x2, double y2) {
  return str_cat("<line class=\"", style, "\" x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"",
                 at(x2), "\" y2=\"", at(y2), "\"/>\n");
}

std::string dot(const std::string& colour, double x, double y) {
  return str_cat("<circle class=\"dot ", colour, "\" cx=\"", at(x), "\" cy=\"", at(y),
                 "\" r=\"3\"/>\n");
}

struct Axis {
  std::vector<double> ticks;  // never −0
  double first_pixel, last_pixel;

  double operator()(double value) const {
    const double low = ticks.front(), high = ticks.back();
    return first_pixel + (value - low) / (high - low) * (last_pixel - first_pixel);
  }
  std::string words(std::size_t tick) const {
    const int digits = static_cast<int>(-std::floor(std::log10(ticks[1] - ticks[0]) + 1e-9));
    const bool fits = digits <= 5 && std::max(-ticks.front(), ticks.back()) < 1e6;
    return fits ? fixed(ticks[tick], std::max(digits, 0))
                : str_cat(std::setprecision(3), ticks[tick]);  // 2.5e-07, 3e+09
  }
};

struct Column {
  double x = 0, y = 0, low = 0, high = 0, count = 0;

  void add(double px, double py) {
    low = count == 0 ? py : std::min(low, py);
    high = count == 0 ? py : std::max(high, py);
    x += px;
    y += py;
    ++count;
  }
};

std::vector<Column> columns_of(const Curve& curve, const Axis& x) {
  const bool each = std::ssize(curve.points) <= kColumns;
  std::vector<Column> columns;
  std::optional<double> last;
  for (const auto& [px, py] : curve.points) {
    if (!std::isfinite(px) || !std::isfinite(py)) continue;
    const double column = std::floor(x(px) / (kRight - kLeft) * kColumns);
    if (each || column != last) columns.emplace_back();
    columns.back().add(px, py);
    last = column;
  }
  for (Column& column : columns) {
    column.x /= column.count;
    column.y /= column.count;
  }
  return columns;
}

/// Returns a path "M72.0 80.0 L74.0 81.5 …" through the columns; `back` reverses it for the lower
/// edge of a band.
std::string way(const std::vector<Column>& columns, const Axis& x, const Axis& y,
                double Column::*which, bool back = false) {
  std::string path;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[back ? columns.size() - 1 - i : i];
    path += str_cat(path.empty() && !back ? "M" : "L", at(x(column.x)), " ", at(y(column.*which)));
  }
  return path;
}

std::string drawn(const Curve& curve, std::size_t index, const Axis& x, const Axis& y) {
  const std::string colour = str_cat("c", index % kColours);
  const std::vector<Column> columns = columns_of(curve, x);
  std::string out;
  if (std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.count > 1; }))
    out += str_cat("<path class=\"band ", colour, "\" d=\"", way(columns, x, y, &Column::high),
                   way(columns, x, y, &Column::low, true), "Z\"/>\n");
  out +=
      str_cat("<path class=\"line ", colour, "\" d=\"", way(columns, x, y, &Column::y), "\"/>\n");
  if ((curve.dots && columns.size() <= kMostDots) || columns.size() == 1)
    for (const Column& column : columns) out += dot(colour, x(column.x), y(column.y));
  return out;
}

std::string drawn(const Chart::Mark& mark, const Axis& x, const Axis& y) {
  const double px = x(mark.x), py = y(mark.y);
  const double above = std::max(kTop + 14, py - 46);
  const bool left = px + width_of(mark.text) > kRight;
  return str_cat("<circle class=\"mark\" cx=\"", at(px), "\" cy=\"", at(py), "\" r=\"6\"/>\n") +
         segment("mark", px, above + 5, px, std::max(above + 5, py - 6)) +
         label(left ? std::min(px + 4, kRight) : px - 4, above, left ? "end" : "start", mark.text);
}

std::string frame(const Chart& chart, const Axis& x, const Axis& y) {
  std::string out;
  for (std::size_t i = 0; i < y.ticks.size(); ++i) {
    out += segment("grid", kLeft, y(y.ticks[i]), kRight, y(y.ticks[i]));
    out += label(kLeft - 8, y(y.ticks[i]) + 4.5, "end", y.words(i));
  }
  for (std::size_t i = 0; i < x.ticks.size(); ++i) {
    out += segment("axis", x(x.ticks[i]), kBottom, x(x.ticks[i]), kBottom + 5);
    out += label(x(x.ticks[i]), kBottom + 20, "middle", x.words(i));
  }
  out += segment("axis", kLeft, kBottom, kRight, kBottom);
  out += label((kLeft + kRight) / 2, kHeight - 14, "middle", chart.x_label);
  const double middle = (kTop + kBottom) / 2;
  out += label(20, middle, "middle", chart.y_label,
               str_cat(" transform=\"rotate(-90 20 ", at(middle), ")\"").c_str());
  out += label(kLeft, 30, "start", chart.title, " class=\"title\"");
  double place = kLeft;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const std::string colour = str_cat("c", i % kColours);
    out += str_cat("<path class=\"line ", colour, "\" d=\"M", at(place), " 53h22\"/>\n");
    if (chart.curves[i].dots) out += dot(colour, place + 11, 53);
    out += label(place + 29, 57.5, "start", chart.curves[i].name);
    place += 29 + width_of(chart.curves[i].name) + 22;
  }
  return out;
}

std::array<double, 2> range(const Chart& chart, double std::pair<double, double>::*part) {
  double low = INFINITY, high = -INFINITY;
  for (const Curve& curve : chart.curves)
    for (const auto& point : curve.points)
      if (std::isfinite(point.first) && std::isfinite(point.second)) {
        low = std::min(low, point.*part);
        high = std::max(high, point.*part);
      }
  if (low > high) return {0, 1};
  const double apart = std::max(1e-3 * std::abs(high), 1e-12);
  if (high - low < apart) return {low - apart, high + apart};
  return {low, high};
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int about) {
  const double raw = (high - low) / about;
  require(std::isnormal(raw) && raw > 0, "round_ticks: low must be less than high, their distance ",
          "finite and not subnormal, and about positive, got low ", low, ", high ", high,
          ", about ", about);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double ratio = raw / power;  // in [1, 10)
  const double step = power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  constexpr double kCrumb = 1e-9;  // tolerance in steps, because 0.3 / 0.1 is not exactly 3
  const double first = std::floor(low / step + kCrumb), last = std::ceil(high / step - kCrumb);
  std::vector<double> ticks;
  for (int i = 0; i <= last - first; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string svg(const Chart& chart) {
  const auto [left, right] = range(chart, &std::pair<double, double>::first);
  const auto [low, high] = range(chart, &std::pair<double, double>::second);
  const Axis x{round_ticks(left, right, 8), kLeft, kRight};
  const Axis y{round_ticks(low, high, 5), kBottom, kTop};
  std::string out =
      str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
              "\" width=\"", kWidth, "\" height=\"", kHeight, "\" role=\"img\">\n", "<title>",
              escape_xml(chart.title), "</title>\n", kStyle,
              "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", frame(chart, x, y));
  for (std::size_t i = 0; i < chart.curves.size(); ++i) out += drawn(chart.curves[i], i, x, y);
  if (chart.mark) out += drawn(*chart.mark, x, y);
  return out + "</svg>\n";
}

}  // namespace gradus::io
