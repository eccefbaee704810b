#pragma once

#include <cstdint>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

double now_ms();

struct Product {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  double times;  // matmuls per step
  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};
// Returns the matmuls of the preset's linear layers.
std::vector<Product> products_of(const nn::GPTPreset& preset);

/// Returns 6 · matmul weights · tokens plus the operations of exactly causal attention, forward and
/// backward. The count is the same for all engines.
double step_flop(const nn::GPTPreset& preset);

/// The floor of a step: milliseconds of its matmuls, each by the fastest of three ways (built-in
/// kernels, one BLAS call per thread, the library's threads). Assumes the mean rate for attention.
struct Floor {
  /// Repeats each shape on matrices that stay in the caches.
  double ms;
  /// Runs the matmuls in the order of a step, with separate matrices per layer.
  double in_order_ms;
};
Floor measure_floor(const nn::GPTPreset& preset);

}  // namespace gradus::bench
