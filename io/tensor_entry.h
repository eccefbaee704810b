// Entries of tensor files, and a check that they cover the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/io/input.h"

namespace gradus::io {

/// A tensor's entry in a file header. Offsets are relative to the start of the values.
struct TensorEntry {
  std::string name;
  std::string dtype;  // as in the file
  Stored stored = Stored::f32;
  std::vector<std::uint64_t> shape;  // at most kMaxRank sizes
  std::uint64_t begin = 0, end = 0;
};

/// Returns the sizes as a Shape.
Shape shape_of(const TensorEntry& entry);
/// Returns the number of bytes for the type and shape, or nothing if it is too large.
std::optional<std::uint64_t> bytes_of(const TensorEntry& entry);

/// Sorts the entries by offset. Throws FileError unless the size of each entry matches its type and
/// shape, and the entries cover the data exactly, with padding to multiples of `alignment`.
void check_places(std::vector<TensorEntry>& entries, std::uint64_t data_bytes,
                  std::uint64_t alignment, const std::string& file);

}  // namespace gradus::io
