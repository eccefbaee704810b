// Reads safetensors headers, from untrusted input.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/tensor_entry.h"

namespace gradus::io {

/// Bytes; the same limit as in the reference implementation.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;

/// The JSON header of a safetensors file.
struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in file order
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // offset of the values
};

/// Reads the header of a file. Throws FileError.
SafetensorsHeader read_safetensors_header(Input& input);

/// Parses `json`, the header of `file`. `data_bytes` bytes follow the header; checks that the
/// entries cover them without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

/// Returns `text` as a JSON string. Throws ValueError, naming `what`, unless `text` is UTF-8.
std::string json_string(const std::string& text, const char* what);

}  // namespace gradus::io
