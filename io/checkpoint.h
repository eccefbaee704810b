// A checkpoint: all that a training run needs to go on as if it had never stopped, in one file.
//
// The file is a safetensors file, which other tools open; it is written beside the old one, synced
// and renamed, so that a crash at any moment leaves the old one or the new one, whole.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::io {

struct Checkpoint {
  std::map<std::string, Tensor> tensors;  // "model.…", "optimizer.…"
  std::map<std::string, std::string>
      facts;  // step, schedule, random state, place in the data, settings
};

/// FileError where it cannot be written: what was there before is unchanged. ValueError for a fact
/// named "format" or "gradus.…", names that are not UTF-8, undefined tensors.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// FileError: not there, damaged (its checksum covers tensors and facts), no checkpoint, or written
/// in a newer format.
Checkpoint load_checkpoint(const std::string& path);
/// The same from memory; `name` stands for the path in messages.
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);

}  // namespace gradus::io
