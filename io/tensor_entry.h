// Where the tensors of a file lie, and that they lie there without gap or overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/io/input.h"

namespace gradus::io {

/// One tensor's entry. Its offsets count from where the numbers begin.
struct TensorEntry {
  std::string name;
  std::string dtype;  // as the file calls it
  Stored stored = Stored::f32;
  std::vector<std::uint64_t> shape;  // at most kMaxRank sizes
  std::uint64_t begin = 0, end = 0;
};

/// Its sizes, as a tensor of ours has them.
Shape shape_of(const TensorEntry& entry);
/// What its type and shape take; nothing where that is more than any memory.
std::optional<std::uint64_t> bytes_of(const TensorEntry& entry);

/// Sorts the entries by place. FileError unless each has the bytes that its type and shape take and
/// they cover the data exactly, but for what fills up to a multiple of `alignment` after each.
void check_places(std::vector<TensorEntry>& entries, std::uint64_t data_bytes,
                  std::uint64_t alignment, const std::string& file);

}  // namespace gradus::io
