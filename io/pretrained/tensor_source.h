#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/io/input.h"
#include "gradus/io/pretrained/gguf.h"

namespace gradus::io {

/// Location of a tensor in a TensorSource.
struct StoredTensor {
  Stored stored = Stored::f32;
  std::string dtype;  // type in the file: "BF16", "Q4_1"
  Shape shape;
  std::size_t file = 0;
  std::uint64_t at = 0;  // offset of the first byte
};

/// The tensors of safetensors or GGUF files, by name. Opening validates all headers. Values are
/// read per tensor, to avoid a second copy of the model in memory.
class TensorSource {
 public:
  /// Opens a safetensors or GGUF file (recognized by its first bytes), an index of shards
  /// (model.safetensors.index.json: {"weight_map": {name: file}}), or a directory with one model.
  /// Throws FileError if a file is invalid, or if a shard is missing or does not match the index.
  static TensorSource open(const std::string& path);
  /// Reads a file from memory. `name` appears in error messages.
  static TensorSource parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& name() const { return name_; }  // path that was opened
  bool is_gguf() const { return gguf_; }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  /// Keys and values of GGUF, or "__metadata__" of safetensors.
  const std::map<std::string, Fact>& facts() const { return facts_; }

  /// Reads floats as f32 or f64, integers as i64, bools as bool. Throws FileError if the tensor is
  /// missing or `dtype` does not match.
  Tensor read(const std::string& name, Dtype dtype = Dtype::f32);

 private:
  void add(Input input);
  void add_shards(const std::string& index);

  std::string name_;
  bool gguf_ = false;
  std::vector<Input> files_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, Fact> facts_;
};

/// Reorders the rows of q or k, x of shape [heads · d, …], from rotary pairs to halves. Most models
/// rotate values i and i + d/2 of a head as a pair. llama.cpp rotates values 2i and 2i + 1, so row
/// 2i + j in GGUF is the original row j·d/2 + i. Throws ShapeError if d is odd or not an integer.
Tensor rows_by_halves(const Tensor& x, std::int64_t heads);
/// Reorders rows from halves to pairs, as in GGUF. Inverse of rows_by_halves().
Tensor rows_by_pairs(const Tensor& x, std::int64_t heads);

}  // namespace gradus::io
