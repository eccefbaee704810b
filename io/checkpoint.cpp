#include "gradus/io/checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gradus/engine/base/error.h"
#include "gradus/engine/strided.h"
#include "gradus/io/crc32.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr const char* kCheckpointKey = "gradus.checkpoint";
constexpr const char* kChecksumKey = "gradus.crc32";
constexpr const char* kCheckpointFormat = "1";

class Checksum {
 public:
  void add(const void* data, std::size_t bytes) { crc_ = crc32(data, bytes, crc_); }
  void add(std::string_view text) {
    const std::uint64_t length = text.size();  // the length distinguishes "ab" "c" from "a" "bc"
    add(&length, sizeof length);
    add(text.data(), text.size());
  }
  std::string hex() const {
    std::string digits(8, '0');
    for (std::size_t i = 0; i < 8; ++i) digits[7 - i] = "0123456789abcdef"[crc_ >> (4 * i) & 15u];
    return digits;
  }

 private:
  std::uint32_t crc_ = 0;
};

std::string checksum_of(const Checkpoint& checkpoint) {
  Checksum sum;
  for (const auto& [key, value] : checkpoint.facts) {
    sum.add(key);
    sum.add(value);
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    sum.add(name);
    sum.add(str_cat(tensor.dtype(), " ", tensor.shape()));
    const Tensor packed = kernel::contiguous(tensor);
    dispatch(packed.dtype(), [&]<class T>() {
      sum.add(packed.data<T>(), static_cast<std::size_t>(packed.numel()) * sizeof(T));
    });
  }
  return sum.hex();
}

std::string take(std::map<std::string, std::string>& facts, const char* key) {
  const auto fact = facts.extract(key);
  return fact ? fact.mapped() : "";
}

Checkpoint checked(TensorFile file, const std::string& path) {
  Checkpoint checkpoint{std::move(file.tensors), std::move(file.metadata)};
  const std::string format = take(checkpoint.facts, kCheckpointKey);
  require<FileError>(!format.empty(), path,
                     ": not a checkpoint of a training run: its metadata has no \"", kCheckpointKey,
                     "\". Load a file of weights with io::load.");
  require<FileError>(format == kCheckpointFormat, path, ": the checkpoint has format ",
                     quote(format), ", but this version of Gradus reads format ", kCheckpointFormat,
                     ". Update Gradus.");
  const std::string claimed = take(checkpoint.facts, kChecksumKey);
  take(checkpoint.facts, "format");  // "pt" in every safetensors file
  const std::string found = checksum_of(checkpoint);
  require<FileError>(claimed == found, path, ": the checkpoint is damaged (its checksum is ",
                     quote(claimed), ", but its contents give \"", found,
                     "\"). Use an earlier checkpoint.");
  return checkpoint;
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  for (const auto& [key, value] : checkpoint.facts)
    require(key != "format" && key.rfind("gradus.", 0) != 0, "save_checkpoint: the fact ",
            quote(key), " has a name that the file format reserves. Rename the fact.");
  for (const auto& [name, tensor] : checkpoint.tensors)
    require(tensor.defined(), "save_checkpoint: tensor ", quote(name), " is undefined");
  std::map<std::string, std::string> metadata = checkpoint.facts;
  metadata[kCheckpointKey] = kCheckpointFormat;
  metadata[kChecksumKey] = checksum_of(checkpoint);
  save_safetensors(path, checkpoint.tensors, metadata);
}

Checkpoint load_checkpoint(const std::string& path) {
  return checked(load_safetensors(path), path);
}

Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  return checked(parse_safetensors(bytes, name), name);
}

}  // namespace gradus::io
