// Batches of unequal lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Where padding goes: after a sequence (right) or before it (left).
enum class PaddingSide { right, left };

/// Sequences of unequal lengths as one tensor.
struct PaddedBatch {
  Tensor ids;                         // i64 [B, T], T the longest length
  std::vector<std::int64_t> lengths;  // [B], for masks and caches
  PaddingSide side = PaddingSide::right;
};

/// Pads to one length with `pad`, on the right, or on the left for a KVCache. Throws ValueError if
/// `sequences` or one of them is empty. PyTorch: pad_sequence.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences,
                          std::int64_t pad = 0, PaddingSide side = PaddingSide::right);

}  // namespace gradus
