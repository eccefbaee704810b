// A mask's coverage of a block, the slow way.
#pragma once

#include <cstdint>

#include "gradus/ops/mask/mask.h"

namespace gradus::testing {

/// What coverage() must say, counted place by place.
inline Coverage counted(const Mask& mask, const MaskBlock& b) {
  std::int64_t allowed = 0, all = 0;
  for (std::int64_t i = b.first_query; i < b.last_query; ++i)
    for (std::int64_t j = b.first_key; j < b.last_key; ++j, ++all)
      allowed += mask.allows({b.example, b.head, i, j});
  return allowed == 0 ? Coverage::none : allowed == all ? Coverage::all : Coverage::some;
}

}  // namespace gradus::testing
