// Batches of sequences with unequal lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// Where padding goes: after a sequence (right) or before it (left).
enum class PaddingSide { right, left };

/// Sequences of unequal lengths, padded to one tensor.
struct PaddedBatch {
  Tensor ids;                         // i64 [B, T], where T is the maximum length
  std::vector<std::int64_t> lengths;  // [B], used by masks and caches
  PaddingSide side = PaddingSide::right;
};

/// Pads sequences to one length with `pad`: on the right, or on the left for a KVCache. Throws
/// ValueError if `sequences` or one of them is empty. Corresponds to pad_sequence in PyTorch.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences,
                          std::int64_t pad = 0, PaddingSide side = PaddingSide::right);

}  // namespace gradus
