// The rules of a safetensors header, each with the message for whoever breaks it.
#include "gradus/io/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "gradus/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;

const std::map<std::string, Stored> kDtypes = {
    {"F32", Stored::f32}, {"F64", Stored::f64},   {"I64", Stored::i64}, {"BOOL", Stored::bool_},
    {"F16", Stored::f16}, {"BF16", Stored::bf16}, {"I32", Stored::i32}, {"U8", Stored::u8}};

/// Takes the header's JSON as it is parsed and throws at the first thing that must not be there.
/// Nothing but the entries is built, so that a hostile header costs no more memory than its bytes.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}
  SafetensorsHeader header;

  bool start_object(std::size_t) override {
    if (depth_ == 2) misplaced("an object");
    if (depth_ == 1 && !in_metadata_) header.entries.emplace_back().name = name_;
    ++depth_;
    return true;
  }
  bool key(std::string& key) override {
    key_ = key;
    if (depth_ == 1) {
      in_metadata_ = key == "__metadata__";
      name_ = key;
      if (!names_.insert(key).second)
        fail<FileError>(file_, ": ", in_quotes(key), " stands there twice");
      fields_.clear();
      return true;
    }
    const bool known = in_metadata_ || key == "dtype" || key == "shape" || key == "data_offsets";
    if (!known) fail<FileError>(where(), "unknown field ", in_quotes(key));
    if (!fields_.insert(key).second)
      fail<FileError>(where(), in_quotes(key), " stands there twice");
    return true;
  }
  bool end_object() override {
    if (--depth_ == 0 || in_metadata_) return true;
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (fields_.count(field) == 0) fail<FileError>(where(), "\"", field, "\" is missing");
    if (offsets_.size() != 2)
      fail<FileError>(where(), "data_offsets wants 2 numbers, not ", offsets_.size());
    header.entries.back().begin = offsets_[0];
    header.entries.back().end = offsets_[1];
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr || key_ == "dtype") misplaced("a list");
    list_ = key_ == "shape" ? &header.entries.back().shape : &offsets_;
    most_ = key_ == "shape" ? std::size_t{kMaxRank} : 2;
    list_->clear();
    return true;
  }
  bool end_array() override {
    list_ = nullptr;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (list_ == nullptr) misplaced(std::to_string(value));
    if (list_->size() == most_)
      fail<FileError>(where(), key_, " has more than ", most_, " numbers",
                      key_ == "shape" ? ": tensors have at most that many axes here" : "");
    list_->push_back(value);
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata_) {
      header.metadata.emplace(key_, value);
      return true;
    }
    if (depth_ != 2 || key_ != "dtype") misplaced(in_quotes(value));
    const auto found = kDtypes.find(value);
    if (found == kDtypes.end())
      fail<FileError>(where(), "dtype ", in_quotes(value),
                      " cannot be read: F32 F64 I64 BOOL F16 BF16 I32 U8 can");
    header.entries.back().dtype = value;
    header.entries.back().stored = found->second;
    return true;
  }
  bool number_integer(std::int64_t value) override { misplaced(std::to_string(value)); }
  bool number_float(double, const std::string& spelling) override {
    misplaced(spelling.substr(0, 80));
  }
  bool null() override { misplaced("null"); }
  bool boolean(bool value) override { misplaced(value ? "true" : "false"); }
  bool binary(binary_t&) override { misplaced("binary"); }
  bool parse_error(std::size_t at, const std::string&, const json::exception& e) override {
    const std::string what = e.what();  // "[json.exception.…] where and what": quotes the file
    const std::size_t first = std::min(what.size(), what.find("] ") + 2);
    fail<FileError>(file_, ": the header is not JSON at its byte ", at, ": ",
                    in_short(std::string_view(what).substr(first)));
  }

 private:
  std::string where() const {
    return str_cat(file_, ": ", in_metadata_ ? "" : "tensor ", in_quotes(name_), ": ");
  }
  [[noreturn]] void misplaced(const std::string& what) const {
    if (depth_ == 1) fail<FileError>(where(), what, " stands where an object is wanted");
    if (in_metadata_ || key_ == "dtype")
      fail<FileError>(where(), what, " stands where ", in_quotes(key_), " wants a string");
    fail<FileError>(where(), what, " stands where ", key_,
                    " wants a list of whole numbers that are not negative");
  }

  const std::string& file_;
  int depth_ = 0;  // of objects; the first one is sure
  bool in_metadata_ = false;
  std::string name_, key_;                // where we are
  std::set<std::string> names_, fields_;  // seen so far
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t>* list_ = nullptr;  // the list that is open
  std::size_t most_ = 0;                        // numbers in it
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json_text, std::uint64_t data_bytes,
                                           const std::string& file) {
  // The JSON library takes NUL for the end and skips a byte order mark; the format allows neither.
  const std::size_t first = json_text.find_first_not_of(" \t\r\n");
  require<FileError>(first != std::string_view::npos && json_text[first] == '{', file,
                     ": the header is not a JSON object");
  const std::size_t nul = json_text.find('\0');
  require<FileError>(nul == std::string_view::npos, file, ": the header holds a NUL at its byte ",
                     nul);
  HeaderReader reader(file);
  json::sax_parse(json_text.begin(), json_text.end(), &reader);
  check_places(reader.header.entries, data_bytes, 1, file);
  return std::move(reader.header);
}

SafetensorsHeader read_safetensors_header(Input& input) {
  require<FileError>(
      input.size() >= kLengthBytes, input.name(), ": ", input.size(),
      " bytes are too few for a safetensors file: its first 8 say how long its header is");
  std::uint64_t length = 0;
  input.read(0, &length, kLengthBytes);
  require<FileError>(length <= kLongestHeader, input.name(), ": a header of ", length,
                     " bytes is claimed, but ", kLongestHeader,
                     " are the most: not a safetensors file?");
  require<FileError>(length <= input.size() - kLengthBytes, input.name(), ": a header of ", length,
                     " bytes is claimed, but the file has ", input.size() - kLengthBytes,
                     " after the first 8");
  const std::uint64_t data = kLengthBytes + length;
  std::string json(static_cast<std::size_t>(length), ' ');
  input.read(kLengthBytes, json.data(), json.size());
  SafetensorsHeader header = parse_safetensors_header(json, input.size() - data, input.name());
  header.data = data;
  return header;
}

std::string json_string(const std::string& text, const char* what) {
  require(is_utf8(text), "save_safetensors: ", what, " ", in_quotes(text), " is not UTF-8");
  return json(text).dump();
}

}  // namespace gradus::io
