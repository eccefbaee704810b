// The JSON header of a safetensors file: read without trust.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/tensor_entry.h"

namespace gradus::io {

inline constexpr std::uint64_t kLongestHeader = 100'000'000;  // bytes; the reference's limit

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // by place in the file
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // where the numbers begin
};

/// Of a whole file. FileError.
SafetensorsHeader read_safetensors_header(Input& input);

/// `json` is what stands in `file` after its first 8 bytes, `data_bytes` what follows it. Every
/// rule is checked here: on return the entries cover the data without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

/// `text` as a JSON string. ValueError, which calls it `what`, unless it is UTF-8.
std::string json_string(const std::string& text, const char* what);

}  // namespace gradus::io
