// Checks that all processes of a run agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// 64-bit FNV-1a over 8 bytes at a time. Detects divergence, not tampering.
std::uint64_t checksum(ConstBytes bytes);

/// Returns if all processes have the same text. Otherwise the first that differs aborts all: "has
/// another WHAT than rank 0: LINE, not LINE".
void require_same(Transport& transport, const std::string& text, const std::string& what);

/// The same for tensors, by checksums of their values. The message names the tensor.
void require_same(Transport& transport, const std::vector<nn::NamedTensor>& tensors);

}  // namespace gradus::distributed
