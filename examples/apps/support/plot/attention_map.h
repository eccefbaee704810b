// Draws attention weights as SVG pictures with token labels.
#pragma once

#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::plot {

/// The weights of one head, which must be finite and not negative. Labels may contain any bytes.
struct AttentionMap {
  std::string title;
  Tensor weights;                          // [T, S]
  std::vector<std::string> queries, keys;  // T and S labels
};

void check(const AttentionMap& map);  // throws if invalid; all functions call it

/// Returns an SVG document in which white is 0 and dark blue the largest weight. With more than 128
/// rows or columns, a cell shows the largest of several weights.
std::string svg(const AttentionMap& map);

/// Weights of a layer, [H, T, S] or [B, H, T, S].
struct AttentionLayer {
  std::string name;
  Tensor weights;
};
/// Returns head `head` of batch entry `example`. Throws IndexError if it does not exist.
AttentionMap head_of(const AttentionLayer& layer, std::int64_t head,
                     const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                     std::int64_t example = 0);

}  // namespace gradus::plot
