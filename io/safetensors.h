// safetensors: tensors by name in one file, as tools of PyTorch and Hugging Face read and write.
//
// 8 bytes N (little-endian) | N bytes of JSON: name → {dtype, shape, data_offsets}, and texts under
// "__metadata__" | the numbers. https://github.com/huggingface/safetensors
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

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads F32 F64 I64 BOOL as they are, F16 and BF16 as f32, I32 and U8 as i64. A file that breaks
/// any rule of the format (a gap, an overlap, a byte too many, a repeated name …) is a FileError
/// that names file, tensor and both values; nothing is allocated before sizes fit the file's.
TensorFile load_safetensors(const std::string& path);
/// The same from memory; `name` stands for the path in messages.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Writes whole or not at all; views are written packed, {"format": "pt"} is added to the metadata.
/// ValueError: a name "" or "__metadata__", text that is not UTF-8, an undefined tensor. FileError.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
std::vector<std::byte> safetensors_bytes(const std::map<std::string, Tensor>& tensors,
                                         const std::map<std::string, std::string>& metadata = {});

/// Writes a module's parameters and buffers by name as safetensors, whole or not at all. FileError.
void save(const std::string& path, const nn::Module& module);
/// Reads them into a module of the same names and shapes, in place, converted to its dtype.
/// FileError; one ShapeError lists every missing, unexpected or misshapen name.
void load(const std::string& path, nn::Module& module);

}  // namespace gradus::io
