// Numbers in binary files: where the bytes come from, and how they become tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::io {

/// Bytes at known places, of a file or of memory that goes by some name.
class Input {
 public:
  explicit Input(const std::string& path);  // FileError: missing, not a regular file, not readable
  Input(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }  // bytes; of a file, when it was opened
  /// Copies `bytes` bytes from `at` on. FileError if they are not (or no longer) there.
  void read(std::uint64_t at, void* to, std::size_t bytes);

 private:
  std::string name_;
  std::ifstream file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0, place_ = 0;  // place_: where file_ stands
};

/// How numbers lie in a file, little-endian. The first four are those of Dtype, in its order. From
/// f16 on they are converted while they are read: i32 and u8 to i64, the others to f32. The last
/// three are GGUF's blocks of 32 numbers, with d and m in f16: q8_0 = d·q, q in int8;
/// q4_0 = d·(q − 8) and q4_1 = d·q + m, q in 4 bits. Byte j holds q of number j in its lower half,
/// of number j + 16 in its upper one.
enum class Stored { f32, f64, i64, bool_, f16, bf16, i32, u8, q8_0, q4_0, q4_1 };
const char* name_of(Stored stored);    // "BF16", as safetensors and GGUF call it
std::int64_t block_of(Stored stored);  // numbers that are stored together: 1 or 32
std::size_t bytes_of(Stored stored);   // of one block
Dtype loaded_as(Stored stored);

/// The product of sizes, or nothing where a tensor cannot have so many bytes.
std::optional<std::uint64_t> count_of(std::span<const std::uint64_t> sizes);

/// A new tensor of the numbers from byte `at` on, a whole number of blocks; the caller compared its
/// size with input.size().
Tensor read_numbers(Input& input, std::uint64_t at, Stored stored, const Shape& shape);

}  // namespace gradus::io
