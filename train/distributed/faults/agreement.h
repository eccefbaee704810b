// What must be alike in all processes of a run, and what is said where it is not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// FNV-1a, 64 bits, over 8 bytes at a time: to notice other numbers, not to hide them.
std::uint64_t checksum(ConstBytes bytes);

/// All have the same text, of one or more lines. The first process that has another ends all: "has
/// another WHAT than rank 0: LINE, not LINE".
void require_same(Transport& transport, const std::string& text, const std::string& what);

/// All have the same numbers. The first process that has others ends all, and names the tensor.
void require_same(Transport& transport, const std::vector<nn::NamedTensor>& tensors);

}  // namespace gradus::distributed
