// Reads safetensors headers. The input is not trusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/tensor_entry.h"

namespace gradus::io {

/// Limit in bytes, as in the reference implementation.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;

/// The JSON header of a safetensors file.
struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in file order
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // offset of the values
};

/// Reads the header of a file. Throws FileError.
SafetensorsHeader read_safetensors_header(Input& input);

/// Parses `json`, the header of `file`, which `data_bytes` bytes follow. Throws FileError unless
/// the entries cover these bytes without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

/// Returns `text` as a JSON string. Throws ValueError, naming `what`, unless `text` is UTF-8.
std::string json_string(const std::string& text, const char* what);

}  // namespace gradus::io
