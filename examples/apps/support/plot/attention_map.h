// Attention weights as pictures: who looks at whom, with the tokens at the edges.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::plot {

/// One head. A row is a query, a column a key; labels are any bytes (control characters and spaces
/// are shown as symbols, long ones cut). ValueError unless weights are [T, S], finite and not
/// negative, with T and S labels.
struct AttentionMap {
  std::string title;
  Tensor weights;                          // [T, S]
  std::vector<std::string> queries, keys;  // labels
};

void check(const AttentionMap& map);  // throws where a map is none; all functions call it

/// An SVG document: cells from white (0) to dark blue (the largest weight), labels, a legend. Of
/// maps with more than 128 rows or columns a cell shows the largest weight of several.
std::string svg(const AttentionMap& map);

/// Several heads of several layers: weights [H, T, S], or [B, H, T, S] of which `example` counts.
struct AttentionLayer {
  std::string name;
  Tensor weights;
};
/// Head `head` of a layer as a map. IndexError: no such head or example.
AttentionMap head_of(const AttentionLayer& layer, std::int64_t head,
                     const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                     std::int64_t example = 0);

}  // namespace gradus::plot
