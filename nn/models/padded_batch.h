// Batches of sequences with unequal lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus {

/// The position of padding: after a sequence (right) or before it (left).
enum class PaddingSide { right, left };

/// Sequences of unequal lengths, padded into one tensor.
struct PaddedBatch {
  Tensor ids;                         // i64 [B, T], where T is the maximum length
  std::vector<std::int64_t> lengths;  // [B], used by masks and caches
  PaddingSide side = PaddingSide::right;
};

/// Pads sequences to one length with `pad`: on the right, or on the left for a KVCache. Throws
/// ValueError if `sequences` or an element is empty. Equivalent of PyTorch's pad_sequence.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences,
                          std::int64_t pad = 0, PaddingSide side = PaddingSide::right);

}  // namespace gradus
