// A file is written whole or not at all.
#pragma once

#include <cstddef>
#include <string>

namespace gradus::io {

/// Writes `size` bytes to `path` so that a reader, a crash or a full disk sees the whole new file
/// or the whole old one: beside it, synced, renamed, directory synced. FileError: path and cause.
void write_file_atomically(const std::string& path, const void* data, std::size_t size);

}  // namespace gradus::io
