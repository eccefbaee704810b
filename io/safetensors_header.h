// Reads safetensors headers, from untrusted input.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/tensor_entry.h"

namespace gradus::io {

inline constexpr std::uint64_t kLongestHeader = 100'000'000;  // bytes, as the reference

/// The JSON header of a safetensors file.
struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in file order
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // start of the values
};

/// Reads the header of a file. Throws FileError.
SafetensorsHeader read_safetensors_header(Input& input);

/// Parses `json`, the header of `file`, which has `data_bytes` bytes after it. Checks that the
/// entries cover these without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

/// `text` as a JSON string. Throws ValueError, naming `what`, unless it is UTF-8.
std::string json_string(const std::string& text, const char* what);

}  // namespace gradus::io
