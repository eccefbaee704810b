#include "gradus/nn/models/padded_batch.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/ops/create.h"

namespace gradus {

PaddedBatch pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t pad,
                          PaddingSide side) {
  require(!sequences.empty(), "pad_sequences: no sequences were given. Pass at least one.");
  PaddedBatch out{{}, {}, side};
  for (const auto& each : sequences) {
    require(!each.empty(), "pad_sequences: sequence ", out.lengths.size(), " is empty. Remove it.");
    out.lengths.push_back(std::ssize(each));
  }
  const std::int64_t longest = *std::max_element(out.lengths.begin(), out.lengths.end());
  std::vector<std::int64_t> ids;
  for (const auto& each : sequences) {
    const auto missing = static_cast<std::size_t>(longest - std::ssize(each));
    if (side == PaddingSide::left) ids.insert(ids.end(), missing, pad);
    ids.insert(ids.end(), each.begin(), each.end());
    if (side == PaddingSide::right) ids.insert(ids.end(), missing, pad);
  }
  out.ids = tensor(ids, {std::ssize(sequences), longest});
  return out;
}

}  // namespace gradus
