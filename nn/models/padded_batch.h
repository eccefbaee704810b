// Sequences of unequal length side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

enum class PaddingSide { right, left };

struct PaddedBatch {
  Tensor ids;                         // i64 [B, T], T the longest
  std::vector<std::int64_t> lengths;  // [B], as masks and caches take them
  PaddingSide side = PaddingSide::right;
};

/// One row a sequence, with `pad` behind the shorter ones, or before them where a KVCache continues
/// them. ValueError: no sequences, or an empty one among them. PyTorch: pad_sequence.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences,
                          std::int64_t pad = 0, PaddingSide side = PaddingSide::right);

}  // namespace gradus
