#include "gradus/io/pretrained/tensor_source.h"

#include <filesystem>

#include "gradus/engine/base/error.h"
#include "gradus/engine/strided.h"
#include "gradus/io/json.h"
#include "gradus/io/safetensors_header.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::string file_in(const fs::path& directory) {
  std::vector<std::string> found;
  std::error_code failure;
  for (const char* name : {kWhole, kIndex})
    if (fs::exists(directory / name, failure)) found.push_back((directory / name).string());
  for (const auto& entry : fs::directory_iterator(directory, failure))
    if (entry.path().extension() == ".gguf") found.push_back(entry.path().string());
  require<FileError>(!failure, "cannot read ", directory.string(), ": ", failure.message());
  require<FileError>(found.size() == 1, directory.string(), ": the directory contains ",
                     found.size(), " models; expected one of ", kWhole, ", ", kIndex,
                     " or a .gguf file. Give the path of the file, or convert PyTorch files (.bin, "
                     ".pt) with tools/pt2safetensors.py.");
  return found[0];
}

}  // namespace

TensorSource TensorSource::open(const std::string& path) {
  TensorSource source;
  source.name_ = path;
  std::error_code failure;  // an unreadable path is not a directory
  const std::string file = fs::is_directory(path, failure) ? file_in(path) : path;
  if (file.ends_with(".json"))
    source.add_shards(file);
  else
    source.add(Input(file));
  return source;
}

TensorSource TensorSource::parse(std::span<const std::byte> bytes, const std::string& name) {
  TensorSource source;
  source.name_ = name;
  source.add(Input(bytes, name));
  return source;
}

void TensorSource::add(Input input) {
  gguf_ = begins_as_gguf(input);
  std::vector<TensorEntry> entries;
  std::uint64_t data = 0;
  if (gguf_) {
    GgufHeader header = read_gguf_header(input);
    facts_ = std::move(header.facts);
    entries = std::move(header.entries);
    data = header.data;
  } else {
    SafetensorsHeader header = read_safetensors_header(input);
    for (auto& [key, value] : header.metadata) facts_[key] = std::move(value);
    entries = std::move(header.entries);
    data = header.data;
  }
  for (const TensorEntry& entry : entries) {
    const StoredTensor stored{entry.stored, entry.dtype, shape_of(entry), files_.size(),
                              data + entry.begin};
    const auto [at, fresh] = tensors_.emplace(entry.name, stored);
    if (!fresh)
      fail<FileError>(input.name(), ": tensor ", quote(entry.name), " is also in ",
                      files_[at->second.file].name());
  }
  files_.push_back(std::move(input));
}

void TensorSource::add_shards(const std::string& index) {
  const Json json = Json::parse(read_text(index), index);
  const auto weights = json.at("weight_map").members();
  std::map<std::string, std::size_t> shards;  // file → index in files_
  for (const auto& [name, file] : weights) {
    const std::string shard = file.text();
    const bool in_folder = shard.ends_with(".safetensors") && fs::path(shard).filename() == shard;
    if (!in_folder)
      file.fail("must be a .safetensors file in the folder of the index, got " + quote(shard));
    if (!shards.try_emplace(shard, files_.size()).second) continue;
    add(Input((fs::path(index).parent_path() / shard).string()));
    if (gguf_) file.fail("a GGUF file cannot be a shard");
  }
  for (const auto& [name, file] : weights) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || found->second.file != shards.at(file.text()))
      file.fail(str_cat("tensor ", quote(name), " is not in ", quote(file.text())));
  }
  for (const auto& [name, tensor] : tensors_)
    if (!json.at("weight_map").has(name))
      fail<FileError>(index, ": tensor ", quote(name), " of ", files_[tensor.file].name(),
                      " is not in the index");
}

Tensor TensorSource::read(const std::string& name, Dtype dtype) {
  const auto found = tensors_.find(name);
  require<FileError>(found != tensors_.end(), name_, ": the file has no tensor ", quote(name));
  const StoredTensor& stored = found->second;
  const Dtype loaded = loaded_as(stored.stored);
  require<FileError>(loaded == dtype || (is_float(loaded) && is_float(dtype)),
                     files_[stored.file].name(), ": tensor ", quote(name), " is ", stored.dtype,
                     ", which loads as ", loaded, ", not as ", dtype);
  return kernel::convert(read_numbers(files_[stored.file], stored.at, stored.stored, stored.shape),
                         dtype);
}

namespace {

/// Transposes the rows of each head, viewed as a matrix.
Tensor rows_turned(const Tensor& x, std::int64_t heads, bool to_pairs) {
  const std::int64_t rows = x.rank() > 0 ? x.size(0) : 0;
  require<ShapeError>(heads > 0 && rows > 0 && rows % heads == 0 && rows / heads % 2 == 0,
                      "rotary heads: ", x.shape(), " must have the rows of ", heads,
                      " heads, an even number for each head");
  const std::int64_t half = rows / heads / 2;
  const Tensor parts =
      kernel::reshaped(x, {heads, to_pairs ? 2 : half, to_pairs ? half : 2, x.numel() / rows});
  return kernel::reshaped(kernel::copy(kernel::transposed(parts, 1, 2)), x.shape());
}

}  // namespace

Tensor rows_by_halves(const Tensor& x, std::int64_t heads) { return rows_turned(x, heads, false); }
Tensor rows_by_pairs(const Tensor& x, std::int64_t heads) { return rows_turned(x, heads, true); }

}  // namespace gradus::io
