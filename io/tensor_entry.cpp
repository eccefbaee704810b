#include "gradus/io/tensor_entry.h"

#include <algorithm>
#include <tuple>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

/// Describes the error of an entry that should begin at `place`, or returns "".
std::string fault_of(const TensorEntry& entry, std::uint64_t place, std::uint64_t data_bytes) {
  const auto offsets = [&] { return str_cat("data_offsets [", entry.begin, ", ", entry.end, "]"); };
  const auto type = [&] {
    std::string sizes;
    for (const std::uint64_t size : entry.shape) sizes += str_cat(sizes.empty() ? "" : ", ", size);
    return str_cat(entry.dtype, " [", sizes, "]");
  };
  if (entry.end < entry.begin) return offsets() + " must not decrease";
  if (entry.end > data_bytes)
    return str_cat(offsets(), " exceed the ", data_bytes,
                   " bytes of data in the file, which may be truncated");
  if (entry.begin != place)
    return str_cat(offsets(), " must begin where the previous tensor ends, at ", place,
                   entry.begin < place ? " (the tensors overlap)" : " (there is a gap)");
  const auto bytes = bytes_of(entry);
  if (!bytes) return type() + " has more elements than memory can hold";
  if (*bytes != entry.end - entry.begin)
    return str_cat(type(), " takes ", *bytes, " bytes, but ", offsets(), " span ",
                   entry.end - entry.begin, " bytes");
  return "";
}

}  // namespace

Shape shape_of(const TensorEntry& entry) {
  Shape shape;
  for (const std::uint64_t size : entry.shape) shape.push_back(static_cast<std::int64_t>(size));
  return shape;
}

std::optional<std::uint64_t> bytes_of(const TensorEntry& entry) {
  const auto count = count_of(entry.shape);
  if (!count) return std::nullopt;
  return *count / static_cast<std::uint64_t>(block_of(entry.stored)) * bytes_of(entry.stored);
}

void check_places(std::vector<TensorEntry>& entries, std::uint64_t data_bytes,
                  std::uint64_t alignment, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t end = 0, place = 0;  // end of the previous tensor, start of the next one
  for (const TensorEntry& entry : entries) {
    const std::string fault = fault_of(entry, place, data_bytes);
    if (!fault.empty()) fail<FileError>(file, ": tensor ", quote(entry.name), ": ", fault);
    end = entry.end;
    place = (end + alignment - 1) / alignment * alignment;
  }
  require<FileError>(data_bytes <= place, file, ": the tensors end at byte ", end,
                     " of the data, but the file has ", data_bytes, " bytes of data");
}

}  // namespace gradus::io
