// The tensors of a model that other programs wrote: one interface for all files that hold them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/io/input.h"
#include "gradus/io/pretrained/gguf.h"

namespace gradus::io {

/// How one tensor lies in its file.
struct StoredTensor {
  Stored stored = Stored::f32;
  std::string dtype;  // as the file calls it: "BF16", "Q4_1"
  Shape shape;
  std::size_t file = 0;  // which of the source's
  std::uint64_t at = 0;  // its first byte there
};

/// Tensors by name. Opening reads headers alone and checks all of them; numbers are read tensor by
/// tensor, so that a model needs no second copy in memory.
class TensorSource {
 public:
  /// A file of safetensors or GGUF (known by its first bytes), an index of shards
  /// (model.safetensors.index.json: {"weight_map": {name: file beside it}}), or a directory with
  /// model.safetensors, such an index, or one .gguf file. FileError: any rule of the format that is
  /// broken; a shard that is missing, or whose tensors are not those that the index names.
  static TensorSource open(const std::string& path);
  /// One file from memory; `name` stands for its path in messages.
  static TensorSource parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& name() const { return name_; }  // the path that was opened
  bool is_gguf() const { return gguf_; }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  /// GGUF's keys and values; of safetensors the texts under "__metadata__".
  const std::map<std::string, Fact>& facts() const { return facts_; }

  /// Floats of any storage as f32 or f64, whole numbers as i64, bools as bool: `dtype` must be one
  /// that fits. FileError: no such tensor, or one that does not fit.
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

/// Rotary embeddings turn numbers i and i + d/2 of a head of d together in most models, which keep
/// them so in safetensors. llama.cpp turns 2i and 2i + 1, and its GGUF files of the architecture
/// "llama" (not qwen2, and no others that are read here) hold the rows of q and k in that order:
/// row 2i + j of each head is row j·d/2 + i of the original. This gives the original's order.
/// x: [heads · d, …]. ShapeError: no whole number of heads, or an odd d.
Tensor rows_by_halves(const Tensor& x, std::int64_t heads);
/// The way back, as in GGUF.
Tensor rows_by_pairs(const Tensor& x, std::int64_t heads);

}  // namespace gradus::io
