#include "gradus/io/pretrained/gguf.h"

#include <algorithm>
#include <limits>
#include <set>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr std::uint64_t kAlignment = 32;

const std::map<std::uint32_t, Stored> kTypes = {
    {0, Stored::f32},  {1, Stored::f16},  {2, Stored::q4_0}, {3, Stored::q4_1}, {8, Stored::q8_0},
    {26, Stored::i32}, {27, Stored::i64}, {28, Stored::f64}, {30, Stored::bf16}};

enum FactType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text, list, u64, i64, f64 };

class Reader {
 public:
  explicit Reader(Input& input) : input_(input) {}
  std::uint64_t place() const { return place_; }

  template <class T>
  T number() {
    T value{};
    input_.read(place_, &value, sizeof value);
    place_ += sizeof value;
    return value;
  }

  std::string string() {
    const auto length = number<std::uint64_t>();
    require<FileError>(length <= input_.size() - place_, input_.name(), ": a string of ", length,
                       " bytes at byte ", place_, " continues past the end of the file (",
                       input_.size(), " bytes). Download the file again.");
    std::string bytes(static_cast<std::size_t>(length), ' ');
    input_.read(place_, bytes.data(), bytes.size());
    place_ += length;
    return bytes;
  }

  std::int64_t whole(std::uint32_t type) {
    constexpr int kBits[] = {8, 8, 16, 16, 32, 32, 0, 8, 0, 0, 64, 64};
    require<FileError>(type < std::size(kBits) && kBits[type] > 0, input_.name(), ": the type ",
                       type, " before byte ", place_,
                       " must be 0 to 12, and a list must not contain lists");
    std::uint64_t bits = 0;
    input_.read(place_, &bits, static_cast<std::size_t>(kBits[type]) / 8);
    place_ += static_cast<std::size_t>(kBits[type]) / 8;
    require<FileError>(type != u64 || bits >> 63 == 0, input_.name(), ": the number ", bits,
                       " before byte ", place_, " is too large");
    if (type == u8 || type == u16 || type == u32) return static_cast<std::int64_t>(bits);
    return static_cast<std::int64_t>(bits << (64 - kBits[type])) >> (64 - kBits[type]);
  }

  Fact fact(std::uint32_t type) {
    if (type == text) return string();
    if (type == f32) return static_cast<double>(number<float>());
    if (type == f64) return number<double>();
    if (type == flag) return whole(type) != 0;
    if (type != list) return whole(type);
    const auto of = number<std::uint32_t>();
    const auto length = number<std::uint64_t>();
    if (of == text) return several<std::string>(length, [&] { return string(); });
    if (of == f32) return several<double>(length, [&] { return double{number<float>()}; });
    if (of == f64) return several<double>(length, [&] { return number<double>(); });
    return several<std::int64_t>(length, [&] { return whole(of); });
  }

 private:
  template <class T, class F>
  std::vector<T> several(std::uint64_t length, F read) {
    require<FileError>(length <= input_.size() - place_, input_.name(), ": the list of ", length,
                       " values at byte ", place_, " exceeds the file's ", input_.size(),
                       " bytes. The file is truncated or damaged.");
    std::vector<T> values;
    for (std::uint64_t i = 0; i < length; ++i) values.push_back(read());
    return values;
  }

  Input& input_;
  std::uint64_t place_ = 0;
};

TensorEntry read_entry(Reader& reader, const std::string& file) {
  TensorEntry entry;
  entry.name = reader.string();
  const std::string where = str_cat(file, ": tensor ", quote(entry.name), ": ");
  require<FileError>(!entry.name.empty() && is_utf8(entry.name), where,
                     "the name is empty or not UTF-8");
  const auto rank = reader.number<std::uint32_t>();
  require<FileError>(rank <= 4, where, "the rank must be at most 4, got ", rank);
  for (std::uint32_t axis = 0; axis < rank; ++axis)
    entry.shape.insert(entry.shape.begin(), reader.number<std::uint64_t>());
  const auto type = reader.number<std::uint32_t>();
  const auto found = kTypes.find(type);
  require<FileError>(found != kTypes.end(), where, "type ", type,
                     " is not supported. Supported types: F32 F16 BF16 F64 I32 I64 Q8_0 Q4_0 Q4_1");
  entry.stored = found->second;
  entry.dtype = name_of(entry.stored);
  const auto block = static_cast<std::uint64_t>(block_of(entry.stored));
  const std::uint64_t row = rank == 0 ? 1 : entry.shape.back();
  require<FileError>(row % block == 0, where, "the row length of ", entry.dtype,
                     " must be a multiple of ", block, ", got ", row);
  entry.begin = reader.number<std::uint64_t>();
  const auto bytes = bytes_of(entry);
  require<FileError>(bytes && *bytes <= std::numeric_limits<std::uint64_t>::max() - entry.begin,
                     where, "the size or the offset is more than memory can hold");
  entry.end = entry.begin + *bytes;
  return entry;
}

std::uint64_t alignment_in(const std::map<std::string, Fact>& facts, const std::string& file) {
  const auto found = facts.find("general.alignment");
  if (found == facts.end()) return kAlignment;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  const bool fits = value && *value >= 8 && *value <= 1 << 20 && (*value & (*value - 1)) == 0;
  require<FileError>(fits, file, ": general.alignment must be a power of 2 from 8 to ", 1 << 20);
  return static_cast<std::uint64_t>(*value);
}

}  // namespace

bool begins_as_gguf(Input& input) {
  char magic[4] = {};
  input.read(0, magic, std::min<std::uint64_t>(sizeof magic, input.size()));
  return std::string_view(magic, 4) == "GGUF";
}

GgufHeader read_gguf_header(Input& input) {
  const std::string& file = input.name();
  require<FileError>(begins_as_gguf(input), file,
                     ": not a GGUF file, whose first 4 bytes are \"GGUF\"");
  Reader reader(input);
  reader.number<std::uint32_t>();
  const auto version = reader.number<std::uint32_t>();
  require<FileError>(version == 3, file, ": the GGUF version must be 3, got ", version,
                     version == 3u << 24 ? " (the file is big-endian)" : "");
  const auto tensors = reader.number<std::uint64_t>(), facts = reader.number<std::uint64_t>();
  GgufHeader header;
  for (std::uint64_t i = 0; i < facts; ++i) {
    std::string key = reader.string();
    require<FileError>(is_utf8(key), file, ": the key ", quote(key), " is not UTF-8");
    Fact fact = reader.fact(reader.number<std::uint32_t>());
    if (!header.facts.emplace(key, std::move(fact)).second)
      fail<FileError>(file, ": the key ", quote(key), " appears twice");
  }
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    header.entries.push_back(read_entry(reader, file));
    const std::string& name = header.entries.back().name;
    if (!names.insert(name).second)
      fail<FileError>(file, ": tensor ", quote(name), " appears twice");
  }
  const std::uint64_t alignment = alignment_in(header.facts, file);
  header.data = (reader.place() + alignment - 1) / alignment * alignment;
  const std::uint64_t data_bytes = input.size() - std::min(header.data, input.size());
  check_places(header.entries, data_bytes, alignment, file);
  return header;
}

}  // namespace gradus::io
