// The floor: a step's matrix products alone.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

double now_ms();

/// C [m, n] = A [m, k] B [k, n].
struct Product {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  double times;  // a step
  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};
std::vector<Product> products_of(const nn::GPTPreset& preset);  // of its linear layers

/// 6 · matmul weights · tokens + exactly causal attention, forward and backward: the one formula
/// for every engine.
double step_flop(const nn::GPTPreset& preset);

/// Milliseconds of the products of one step, measured now, each by the best of three ways: our own,
/// one call of the library a thread, or one on the library's own threads. Attention's arithmetic is
/// taken at the mean rate of the rest.
struct Floor {
  /// Each shape again and again on the same three matrices, which stay in caches.
  double ms;
  /// One after the other as in a step, each layer on matrices of its own.
  double in_order_ms;
};
Floor measure_floor(const nn::GPTPreset& preset);

}  // namespace gradus::bench
