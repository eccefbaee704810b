// Reads bytes from files or memory and converts them to tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::io {

/// Random access to the bytes of a file or of memory.
class Input {
 public:
  /// Throws FileError unless `path` is a readable regular file.
  explicit Input(const std::string& path);
  Input(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }  // size in bytes when opened
  /// Copies `bytes` bytes from offset `at`. Throws FileError if the input ends earlier.
  void read(std::uint64_t at, void* to, std::size_t bytes);

 private:
  std::string name_;
  std::ifstream file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0, place_ = 0;  // place_: current position of file_
};

/// Storage formats, little-endian. The first four are those of Dtype, in its order. i32 and u8 are
/// read as i64, the others as f32. The last three are GGUF's blocks of 32 values, with d and m in
/// f16. q8_0 stores d·q with q in int8. q4_0 stores d·(q − 8) and q4_1 stores d·q + m, with 4-bit
/// q. Byte j of a 4-bit block contains the q of value j in its lower half and that of value j + 16
/// in its upper half.
enum class Stored { f32, f64, i64, bool_, f16, bf16, i32, u8, q8_0, q4_0, q4_1 };
const char* name_of(Stored stored);    // name in safetensors and GGUF: "BF16"
std::int64_t block_of(Stored stored);  // values per block: 1 or 32
std::size_t bytes_of(Stored stored);   // size of one block
Dtype loaded_as(Stored stored);

/// Returns the product of the sizes, or nothing if it exceeds the maximum size of a tensor.
std::optional<std::uint64_t> count_of(std::span<const std::uint64_t> sizes);

/// Reads a tensor from byte `at`. The caller must have checked that the input contains the tensor.
Tensor read_numbers(Input& input, std::uint64_t at, Stored stored, const Shape& shape);

}  // namespace gradus::io
