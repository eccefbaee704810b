// GGUF version 3, the format of llama.cpp's model files.
//
// "GGUF" | version u32 | number of tensors u64 | number of facts (metadata) u64 | per fact: key,
// type, value | per tensor: name, sizes from the last axis to the first, type, offset | padding to
// general.alignment (32) | values. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/io/tensor_entry.h"

namespace gradus::io {

/// A metadata value. All integers and floats have 64 bits.
using Fact = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                          std::vector<double>, std::vector<std::string>>;

/// Returns the fact `key` as a T. Throws FileError if it is missing or has another type.
template <class T>
const T& fact(const std::map<std::string, Fact>& facts, const std::string& key,
              const std::string& file) {
  const auto found = facts.find(key);
  require<FileError>(found != facts.end(), file, ": \"", key, "\" is missing");
  const T* value = std::get_if<T>(&found->second);
  require<FileError>(value != nullptr, file, ": \"", key, "\" has the wrong type");
  return *value;
}

/// A GGUF file without the values of its tensors.
struct GgufHeader {
  std::map<std::string, Fact> facts;  // "llama.block_count": 30
  std::vector<TensorEntry> entries;   // in file order
  std::uint64_t data = 0;             // offset of the values
};

/// True if the input begins with "GGUF".
bool begins_as_gguf(Input& input);

/// Reads a header. Throws FileError if `input` is not GGUF version 3, has unsupported types or
/// repeated names, or has lengths or offsets that exceed the file.
GgufHeader read_gguf_header(Input& input);

}  // namespace gradus::io
