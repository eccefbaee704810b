#include "gradus/io/safetensors_header.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/json.h"
#include "gradus/io/json.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

const std::map<std::string, Stored> kDtypes = {
    {"F32", Stored::f32}, {"F64", Stored::f64},   {"I64", Stored::i64}, {"BOOL", Stored::bool_},
    {"F16", Stored::f16}, {"BF16", Stored::bf16}, {"I32", Stored::i32}, {"U8", Stored::u8}};

TensorEntry entry_of(const std::string& name, const Json& json) {
  json.check_keys({"dtype", "shape", "data_offsets"});
  TensorEntry entry;
  entry.name = name;
  const Json dtype = json.at("dtype"), offsets = json.at("data_offsets");
  entry.dtype = dtype.text();
  const auto found = kDtypes.find(entry.dtype);
  if (found == kDtypes.end())
    dtype.fail(dtype.describe() +
               " is not supported. Supported types: F32 F64 I64 BOOL F16 BF16 I32 U8");
  entry.stored = found->second;
  entry.shape = json.at("shape").sizes(kMaxRank);
  const std::vector<std::uint64_t> places = offsets.sizes(2);
  if (places.size() != 2) offsets.fail(str_cat("must have 2 entries, got ", places.size()));
  entry.begin = places[0];
  entry.end = places[1];
  return entry;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json_text, std::uint64_t data_bytes,
                                           const std::string& file) {
  const std::size_t first = json_text.find_first_not_of(" \t\r\n");  // rejects a byte order mark
  require<FileError>(json_text.substr(std::min(first, json_text.size())).starts_with('{'), file,
                     ": the header is not a JSON object");
  SafetensorsHeader header;
  for (const auto& [name, value] : Json::parse(json_text, file).members()) {
    if (name != "__metadata__") {
      header.entries.push_back(entry_of(name, value));
      continue;
    }
    for (const auto& [key, text] : value.members()) header.metadata.emplace(key, text.text());
  }
  check_places(header.entries, data_bytes, 1, file);
  return header;
}

SafetensorsHeader read_safetensors_header(Input& input) {
  require<FileError>(input.size() >= kLengthBytes, input.name(), ": the file has only ",
                     input.size(),
                     " bytes, but a safetensors file begins with an 8-byte header length. It may "
                     "be truncated or in another format; download it again.");
  std::uint64_t length = 0;
  input.read(0, &length, kLengthBytes);
  require<FileError>(length <= kLongestHeader, input.name(), ": the length of the header, ", length,
                     " bytes, exceeds the limit of ", kLongestHeader,
                     ". The file may not be a safetensors file.");
  require<FileError>(length <= input.size() - kLengthBytes, input.name(),
                     ": the length of the header is ", length, " bytes, but only ",
                     input.size() - kLengthBytes, " follow the first 8 bytes of the file");
  const std::uint64_t data = kLengthBytes + length;
  std::string json(static_cast<std::size_t>(length), ' ');
  input.read(kLengthBytes, json.data(), json.size());
  SafetensorsHeader header = parse_safetensors_header(json, input.size() - data, input.name());
  header.data = data;
  return header;
}

std::string json_string(const std::string& text, const char* what) {
  require(is_utf8(text), "save_safetensors: ", what, " ", quote(text), " is not UTF-8");
  std::string json;
  append_json(json, text);
  return json;
}

}  // namespace gradus::io
