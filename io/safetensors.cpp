#include "gradus/io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/engine/strided.h"
#include "gradus/io/input.h"
#include "gradus/io/output_file.h"
#include "gradus/io/safetensors_header.h"
#include "gradus/io/text.h"
#include "gradus/nn/module.h"

namespace gradus::io {
namespace {

constexpr std::uint64_t kLength = 8;  // bytes that store the header's length

TensorFile read_safetensors(Input input) {
  SafetensorsHeader header = read_safetensors_header(input);
  TensorFile file;
  file.metadata = std::move(header.metadata);
  for (const TensorEntry& entry : header.entries)
    file.tensors.emplace(
        entry.name, read_numbers(input, header.data + entry.begin, entry.stored, shape_of(entry)));
  return file;
}

using Entry = std::map<std::string, Tensor>::const_pointer;

std::vector<Entry> in_order(const std::map<std::string, Tensor>& tensors) {
  std::vector<Entry> order;
  for (const auto& entry : tensors) {
    require(!entry.first.empty(), "save_safetensors: the name of a tensor must not be empty");
    require(entry.first != "__metadata__",
            "save_safetensors: a tensor cannot be named \"__metadata__\". ",
            "The file format reserves this name.");
    require(entry.second.defined(), "save_safetensors: tensor ", quote(entry.first),
            " is undefined");
    order.push_back(&entry);
  }
  // The widest types come first, as in the reference implementation: I64, F64, F32, BOOL.
  const auto place = [](Entry each) {
    return std::pair(size_of(each->second.dtype()), each->second.dtype());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Entry a, Entry b) { return place(a) > place(b); });
  return order;
}

std::size_t bytes_of(const Tensor& x) {
  return static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
}

std::string header_of(const std::vector<Entry>& order,
                      std::map<std::string, std::string> metadata) {
  metadata.emplace("format", "pt");
  std::string header = "{\"__metadata__\":{";
  for (const auto& [key, value] : metadata)
    header += str_cat(header.back() == '{' ? "" : ",", json_string(key, "the key"), ":",
                      json_string(value, "the text"));
  header += "}";
  std::size_t begin = 0;
  for (const Entry entry : order) {
    const Tensor& x = entry->second;
    header += str_cat(",", json_string(entry->first, "the name"), ":{\"dtype\":\"",
                      name_of(static_cast<Stored>(x.dtype())), "\",\"shape\":[");
    for (int axis = 0; axis < x.rank(); ++axis)
      header += str_cat(axis > 0 ? "," : "", x.size(axis));
    header += str_cat("],\"data_offsets\":[", begin, ",", begin + bytes_of(x), "]}");
    begin += bytes_of(x);
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // aligns the values to 8 bytes
  require(header.size() <= kLongestHeader, "save_safetensors: names and metadata take ",
          header.size(), " bytes, but readers accept at most ", kLongestHeader);
  return header;
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

}  // namespace

TensorFile load_safetensors(const std::string& path) { return read_safetensors(Input(path)); }

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return read_safetensors(Input(bytes, name));
}

std::vector<std::byte> safetensors_bytes(const std::map<std::string, Tensor>& tensors,
                                         const std::map<std::string, std::string>& metadata) {
  const std::vector<Entry> order = in_order(tensors);
  const std::string header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  std::size_t total = kLength + header.size();
  for (const Entry entry : order) total += bytes_of(entry->second);

  std::vector<std::byte> bytes;
  bytes.reserve(total);
  append(bytes, &length, kLength);
  append(bytes, header.data(), header.size());
  for (const Entry entry : order) {
    const Tensor packed = kernel::contiguous(entry->second);
    dispatch(packed.dtype(), [&]<class T>() { append(bytes, packed.data<T>(), bytes_of(packed)); });
  }
  return bytes;
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const std::vector<std::byte> bytes = safetensors_bytes(tensors, metadata);
  write_file_atomically(path, bytes.data(), bytes.size());
}

void save(const std::string& path, const nn::Module& module) {
  save_safetensors(path, module.state_dict());
}

void load(const std::string& path, nn::Module& module) {
  module.load_state_dict(load_safetensors(path).tensors);
}

}  // namespace gradus::io
