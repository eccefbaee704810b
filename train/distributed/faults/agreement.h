// Checks that all processes of a run agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// FNV-1a with 64 bits, over 8 bytes at a time. It detects divergence, not tampering.
std::uint64_t checksum(ConstBytes bytes);

/// Returns if all processes have the same text, of one or more lines. Otherwise the first that has
/// another one aborts all: "has another WHAT than rank 0: LINE, not LINE".
void require_same(Transport& transport, const std::string& text, const std::string& what);

/// Returns if all processes have the same values. Otherwise the first that has others aborts all,
/// and names the tensor.
void require_same(Transport& transport, const std::vector<nn::NamedTensor>& tensors);

}  // namespace gradus::distributed
