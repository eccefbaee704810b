#include "gradus/examples/apps/support/plot/attention_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/plot/label.h"
#include "gradus/io/text.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::plot {
namespace {

constexpr int kColours = 64;
constexpr std::int64_t kMostCells = 128;  // maximum number of cells per side
constexpr double kSide = 520;             // longer side in pixels
constexpr double kLetter = 6.6;           // width of a letter in pixels

using Colour = std::array<std::uint8_t, 3>;

Colour colour(int i) {
  constexpr double anchors[4][3] = {{255, 255, 255}, {158, 202, 225}, {49, 130, 189}, {8, 48, 107}};
  const double x = 3.0 * i / (kColours - 1);
  const int k = std::min(2, static_cast<int>(x));
  Colour out;
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = static_cast<std::uint8_t>(
        std::lround(anchors[k][c] + (x - k) * (anchors[k + 1][c] - anchors[k][c])));
  return out;
}

std::string hex(const Colour& c) {
  std::string out = "#";
  for (const std::uint8_t part : c)
    out += {"0123456789abcdef"[part >> 4], "0123456789abcdef"[part & 15]};
  return out;
}

struct Cells {
  std::int64_t rows, columns, row_step, column_step;  // row_step × column_step weights per cell
  double largest;
  std::vector<std::uint8_t> steps;  // rows · columns colors
};

Cells cells_of(const AttentionMap& map) {
  check(map);
  const std::int64_t t = map.weights.size(0), s = map.weights.size(1);
  Cells out{0, 0, (t + kMostCells - 1) / kMostCells, (s + kMostCells - 1) / kMostCells, 0, {}};
  out.rows = (t + out.row_step - 1) / out.row_step;
  out.columns = (s + out.column_step - 1) / out.column_step;
  std::vector<double> most(static_cast<std::size_t>(out.rows * out.columns));
  const std::vector<double> weights = map.weights.to(Dtype::f64).to_vector<double>();
  for (std::int64_t i = 0; i < t * s; ++i) {
    const double w = weights[static_cast<std::size_t>(i)];
    double& cell = most[static_cast<std::size_t>(i / s / out.row_step * out.columns +
                                                 i % s / out.column_step)];
    cell = std::max(cell, w);
    out.largest = std::max(out.largest, w);
  }
  for (const double w : most)
    out.steps.push_back(static_cast<std::uint8_t>(
        out.largest > 0 ? std::lround(w / out.largest * (kColours - 1)) : 0));
  return out;
}

/// Returns one SVG path per color, in units of cells.
std::string paths(const Cells& cells) {
  std::array<std::string, kColours> path;
  for (std::int64_t row = 0; row < cells.rows; ++row)
    for (std::int64_t i = 0, end = 0; i < cells.columns; i = end) {
      const auto step = [&](std::int64_t k) {
        return cells.steps[static_cast<std::size_t>(row * cells.columns + k)];
      };
      for (end = i; end < cells.columns && step(end) == step(i);) ++end;
      path[step(i)] += str_cat("M", i, " ", row, "h", end - i, "v1h", i - end, "z");
    }
  std::string out;
  for (int i = 1; i < kColours; ++i)
    if (!path[static_cast<std::size_t>(i)].empty())
      out += str_cat("<path fill=\"", hex(colour(i)), "\" d=\"", path[static_cast<std::size_t>(i)],
                     "\"/>\n");
  return out;
}

/// Writes as many labels as fit, rotated by 90° if `across`.
std::string labels(const std::vector<std::string>& words, double cell, bool across) {
  std::string out;
  const auto stride = static_cast<std::size_t>(std::max(1.0, std::ceil(11 / cell)));
  for (std::size_t i = 0; i < words.size(); i += stride) {
    const double at = (static_cast<double>(i) + 0.5) * cell;
    const std::string word = io::escape_xml(label(words[i]));
    out += across ? str_cat("<text transform=\"translate(", at + 4, ",-6) rotate(-90)\">", word,
                            "</text>\n")
                  : str_cat("<text x=\"-6\" y=\"", at + 4, "\" text-anchor=\"end\">", word,
                            "</text>\n");
  }
  return out;
}

double widest(const std::vector<std::string>& words) {
  std::int64_t most = 1;
  for (const std::string& each : words) most = std::max(most, columns_of(label(each)));
  return kLetter * static_cast<double>(most) + 12;
}

std::string legend(double largest, double height) {
  std::string out;
  for (int i = 0; i < kColours; ++i)
    out += str_cat("<rect y=\"", height * (1 - (i + 1.0) / kColours), "\" width=\"14\" height=\"",
                   height / kColours + 0.5, "\" fill=\"", hex(colour(i)), "\"/>\n");
  return out + str_cat("<rect width=\"14\" height=\"", height,
                       "\" class=\"frame\"/>\n<text x=\"20\" y=\"10\">", std::fixed,
                       std::setprecision(3), largest, "</text>\n<text x=\"20\" y=\"", height,
                       "\">0</text>\n");
}

}  // namespace

void check(const AttentionMap& map) {
  require<ShapeError>(map.weights.defined() && map.weights.rank() == 2,
                      "attention map: weights must be [T, S], got ", map.weights.shape());
  require<ShapeError>(map.weights.numel() > 0, "attention map: the weights ", map.weights.shape(),
                      " are empty");
  require(
      std::ssize(map.queries) == map.weights.size(0) && std::ssize(map.keys) == map.weights.size(1),
      "attention map: ", map.queries.size(), " and ", map.keys.size(), " labels for weights ",
      map.weights.shape(), ". Pass one label per query and per key.");
  for (const double w : map.weights.to(Dtype::f64).to_vector<double>())
    require(w >= 0 && std::isfinite(w),
            "attention map: weights must be finite and not negative, got ", w);
}

std::string svg(const AttentionMap& map) {
  const Cells cells = cells_of(map);
  const auto t = static_cast<double>(map.weights.size(0)),
             s = static_cast<double>(map.weights.size(1));
  const double cell = std::clamp(kSide / std::max(t, s), kSide / 4000, 26.0);  // size of one weight
  const double width = s * cell, height = std::max(t * cell, 1.0);
  const double left = widest(map.queries) + 26, top = 44 + widest(map.keys) + 22;
  const double right = left + width, bar = std::max(60.0, std::min(height, 160.0));
  const double whole =
      std::max(right + 90, left + 7.8 * static_cast<double>(columns_of(map.title)));
  std::string out = str_cat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", std::ceil(whole), "\" height=\"",
      std::ceil(top + std::max(height, bar) + 16), "\">\n<title>", io::escape_xml(map.title),
      "</title>\n<style>text { font: 11px system-ui, \"DejaVu Sans\", sans-serif; fill: #333 } "
      ".title { font-size: 15px; font-weight: 600; fill: #111 } .axis { fill: #777 } "
      ".frame { fill: none; stroke: #999 }</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n"
      "<text x=\"14\" y=\"26\" class=\"title\">",
      io::escape_xml(map.title), "</text>\n");
  out += str_cat("<text x=\"", left, "\" y=\"48\" class=\"axis\">keys</text>\n",
                 "<text transform=\"translate(18,", top + std::min(height, 60.0),
                 ") rotate(-90)\" class=\"axis\">queries</text>\n");
  out += str_cat("<g transform=\"translate(", left, ",", top,
                 ")\">\n<g shape-rendering=\"crispEdges\" transform=\"scale(",
                 cell * static_cast<double>(cells.column_step), ",",
                 cell * static_cast<double>(cells.row_step), ")\">\n", paths(cells),
                 "</g>\n<rect width=\"", width, "\" height=\"", height, "\" class=\"frame\"/>\n");
  out += labels(map.queries, cell, false) + labels(map.keys, cell, true);
  return out + str_cat("<g transform=\"translate(", width + 18, ",0)\">\n",
                       legend(cells.largest, bar), "</g>\n</g>\n</svg>\n");
}

AttentionMap head_of(const AttentionLayer& layer, std::int64_t head,
                     const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                     std::int64_t example) {
  Tensor weights = layer.weights;
  require<ShapeError>(weights.defined() && (weights.rank() == 3 || weights.rank() == 4),
                      "attention map: weights of layer ", layer.name,
                      " must be [H, T, S] or [B, H, T, S], got ", weights.shape());
  weights = weights.detach();
  if (weights.rank() == 4) {
    require<IndexError>(0 <= example && example < weights.size(0), "attention map: example ",
                        example, " is not in the weights ", weights.shape());
    weights = select(weights, 0, example);
  }
  require<IndexError>(0 <= head && head < weights.size(0), "attention map: layer ", layer.name,
                      " has no head ", head, ". Use 0 to ", weights.size(0) - 1);
  return {str_cat(layer.name, ", head ", head), select(weights, 0, head), queries, keys};
}

}  // namespace gradus::plot
