// Checks that all processes of a run have the same data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// Returns the 64-bit FNV-1a hash, computed over 8 bytes at a time. Detects divergence, but not
/// tampering.
std::uint64_t checksum(ConstBytes bytes);

/// Returns if all processes pass the same text. Otherwise, the first process that differs aborts
/// all processes with the message "has a different WHAT than rank 0: LINE, not LINE".
void require_same(Transport& transport, const std::string& text, const std::string& what);

/// Compares checksums of tensor values among processes. The message of the abort names the tensor.
void require_same(Transport& transport, const std::vector<nn::NamedTensor>& tensors);

}  // namespace gradus::distributed
