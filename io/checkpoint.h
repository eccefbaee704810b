// Checkpoints of training runs, in safetensors format. Writing is atomic: a crash leaves the old or
// the new file.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::io {

/// The data that a training run needs to resume exactly, in one file.
struct Checkpoint {
  std::map<std::string, Tensor> tensors;  // "model.…", "optimizer.…"
  std::map<std::string, std::string>
      facts;  // step, schedule, random state, data position, settings
};

/// Saves a checkpoint. Throws FileError if writing fails; the old file is then unchanged. Throws
/// ValueError for a fact named "format" or "gradus.…", invalid UTF-8, or undefined tensors.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Loads a checkpoint. Throws FileError if the file is missing, damaged (a checksum covers tensors
/// and facts), not a checkpoint, or in a newer format.
Checkpoint load_checkpoint(const std::string& path);
/// Parses a checkpoint in memory. `name` appears in error messages.
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);

}  // namespace gradus::io
