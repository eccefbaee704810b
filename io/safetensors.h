// safetensors: named tensors in one file, as in PyTorch and Hugging Face.
//
// 8 bytes N (little-endian) | N bytes of JSON: name → {dtype, shape, data_offsets}, and strings
// under "__metadata__" | values. https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::nn {
class Module;
}

namespace gradus::io {

/// Contents of a safetensors file.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads F32 F64 I64 BOOL unchanged, F16 and BF16 as f32, I32 and U8 as i64. Throws FileError if
/// the file violates the format (gaps, overlaps, extra bytes, repeated names). Checks sizes before
/// allocating.
TensorFile load_safetensors(const std::string& path);
/// Parses a file in memory. `name` appears in error messages.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Writes a file atomically. Packs views and adds {"format": "pt"} to the metadata. Throws
/// ValueError for a name that is "" or "__metadata__", invalid UTF-8 or an undefined tensor, and
/// FileError if writing fails.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
std::vector<std::byte> safetensors_bytes(const std::map<std::string, Tensor>& tensors,
                                         const std::map<std::string, std::string>& metadata = {});

/// Saves the module's parameters and buffers by name, atomically. Throws FileError.
void save(const std::string& path, const nn::Module& module);
/// Loads parameters and buffers in place, converted to the module's dtype. Throws FileError, or
/// ShapeError listing missing, unexpected and mismatched names.
void load(const std::string& path, nn::Module& module);

}  // namespace gradus::io
