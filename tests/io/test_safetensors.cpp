#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing::test_safetensors {
namespace {

using io::TensorFile;

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

TensorFile parse(const std::string& bytes) {
  return io::parse_safetensors(as_bytes(bytes), "w.st");
}

std::string fault(const std::string& bytes) {
  return message_of<FileError>([&] { parse(bytes); });
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::map<std::string, Tensor> awkward_tensors() {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<std::int64_t> positions(120);
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = std::int64_t{1} << (i % 63);
  const Tensor odd = randn({7, 5, 3}, Dtype::f64);
  return {{"scalar", tensor(3.25, Dtype::f64)},
          {"one", tensor(std::vector<float>{-0.0f}, {1})},
          {"special", tensor(std::vector<float>{inf, -inf, std::nanf("7"), 1e-45f, 3e38f}, {5, 1})},
          {"none", Tensor::empty({3, 0, 2}, Dtype::f32)},
          {"also none", Tensor::empty({0}, Dtype::i64)},
          {"rank 8", tensor(positions, {1, 2, 3, 1, 4, 5, 1, 1})},
          {"mask", tensor(std::vector<std::int64_t>{1, 0, 7, 0, -1, 0, 0}, {7}).to(Dtype::bool_)},
          {"view", kernel::strided_view(odd, {3, 5}, {1, 3}, 15)},
          {"layers.0.größe\n\"quoted\"", randn({2, 2}, Dtype::f32)},
          {"f64", odd}};
}

}  // namespace

TEST_CASE("safetensors: the bytes equal those of the reference writer") {
  // Tensors are sorted by dtype (I64, F64, F32, BOOL), then by name. Blanks pad the header to 8
  // bytes.
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"z\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
      "\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[8,16]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[16,24]},"
      "\"A\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[24,26]}}";
  const std::string data(
      "\7\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\xF0\x3F"
      "\0\0\x80\x3F\0\0\0\xC0"
      "\1\0",
      26);
  const std::string blanks((8 - header.size() % 8) % 8, ' ');
  const auto bytes = io::safetensors_bytes({{"a", tensor(1.0, Dtype::f64)},
                                            {"A", indices({1, 0}).to(Dtype::bool_)},
                                            {"z", indices({7})},
                                            {"b", tensor(std::vector<float>{1, -2}, {1, 2})}});
  const std::string written(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(written == file_of(header + blanks, data));
}

TEST_CASE("safetensors: a file without tensors is valid") {
  CHECK(parse(file_of("{}")).tensors.empty());
  CHECK(parse(file_of(" \n{ } \t")).tensors.empty());
  CHECK(io::parse_safetensors(io::safetensors_bytes({}), "w.st").metadata.at("format") == "pt");
}

TEST_CASE("safetensors: narrow types are widened") {
  // F16: 1, −2, 65504 (largest), 2⁻²⁴ (smallest), −0 and ∞. BF16: 1 and −2.
  const std::string halves(
      "\x00\x3C\x00\xC0\xFF\x7B\x01\x00\x00\x80\x00\x7C"
      "\x80\x3F\x00\xC0",
      16);
  const std::string rest(
      "\xFF\xFF\xFF\xFF\0\0\0\x80"
      "\xFF\7"
      "\0\2\xFF",
      13);
  const TensorFile file = parse(file_of(
      "{\"h\":" + entry("F16", "[6]", "[0,12]") + ",\"b\":" + entry("BF16", "[2]", "[12,16]") +
          ",\"i\":" + entry("I32", "[2]", "[16,24]") + ",\"u\":" + entry("U8", "[2]", "[24,26]") +
          ",\"t\":" + entry("BOOL", "[3]", "[26,29]") + "}",
      halves + rest));
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(same(file.tensors.at("h"),
             tensor(std::vector<float>{1, -2, 65504, 0x1p-24f, -0.0f, inf}, {6})));
  CHECK(same(file.tensors.at("b"), tensor(std::vector<float>{1, -2}, {2})));
  CHECK(same(file.tensors.at("i"), indices({-1, -2147483648})));
  CHECK(same(file.tensors.at("u"), indices({255, 7})));
  CHECK(same(file.tensors.at("t"), indices({0, 1, 1}).to(Dtype::bool_)));  // from bytes 0, 2, 255
}

TEST_CASE("safetensors: wrong header lengths are rejected") {
  CHECK(contains(fault(""), "w.st: the file has only 0 bytes"));
  CHECK(contains(fault("1234567"), "only 7 bytes"));
  const std::string gigabyte("\0\0\0\x40\0\0\0\0{}", 10);
  CHECK(contains(fault(gigabyte), "header, 1073741824 bytes, exceeds the limit of 100000000"));
  CHECK(contains(fault(std::string(8, '\xFF')), "header, 18446744073709551615 bytes"));
  const std::string ninety("\x80\x4A\x5D\5\0\0\0\0{}", 10);  // a length of 90 000 000
  CHECK(contains(fault(ninety), "header is 90000000 bytes, but only 2 follow"));
}

TEST_CASE("safetensors: malformed headers are rejected") {
  const std::string good = entry("F32", "[1]", "[0,4]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"\"a\"", "not a JSON object"},
      {"\xEF\xBB\xBF{}", "not a JSON object"},
      {"{", "not JSON"},
      {"{}}", "not JSON"},
      {"{\"a\":" + good + ",}", "not JSON"},
      {"{\xC3\xA9}", "not JSON"},
      {"{\"\xFF\":" + good + "}", "not JSON"},
      {"{\"\\ud800\":" + good + "}", "not JSON"},
      {std::string("{}\0{", 4), "contains a NUL byte"},
      {"{\"a\":1}", "a: 1"},
      {"{\"a\":null}", "null"},
      {"{\"a\":[]}", "a list"},
      {"{\"a\":{}}", "a: \"dtype\""},
      {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "\"shape\""},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "\"data_offsets\""},
      {"{\"a\":{\"extra\":1}}", "a.extra"},
      {"{\"a\":" + entry("F8_E4M3", "[1]", "[0,1]") + "}", "a.dtype: \"F8_E4M3\""},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]").replace(9, 5, "7") + "}", "a.dtype: 7"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]").replace(9, 5, "[]") + "}", "a.dtype: a list"},
      {"{\"a\":" + entry("F32", "1", "[0,4]") + "}", "a.shape: 1"},
      {"{\"a\":" + entry("F32", "\"1\"", "[0,4]") + "}", "a.shape: \"1\""},
      {"{\"a\":" + entry("F32", "{}", "[0,4]") + "}", "a.shape: an object"},
      {"{\"a\":" + entry("F32", "[[1]]", "[0,4]") + "}", "a.shape[0]: a list"},
      {"{\"a\":" + entry("F32", "[-1]", "[0,4]") + "}", "a.shape[0]: -1 is negative"},
      {"{\"a\":" + entry("F32", "[1.0]", "[0,4]") + "}", "1.0"},
      {"{\"a\":" + entry("F32", "[true]", "[0,4]") + "}", "true"},
      {"{\"a\":" + entry("F32", "[18446744073709551616]", "[0,4]") + "}", "1.8446744073709552e+19"},
      {"{\"a\":" + entry("F32", "[1e400]", "[0,4]") + "}", "not JSON"},
      {"{\"a\":" + entry("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}",
       "a.shape: must have at most 8 entries, got 9"},
      {"{\"a\":" + entry("F32", "[1]", "[0]") + "}", "a.data_offsets: must have 2 entries, got 1"},
      {"{\"a\":" + entry("F32", "[1]", "[]") + "}", "must have 2 entries, got 0"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4,4]") + "}",
       "a.data_offsets: must have at most 2 entries, got 3"},
      {"{\"a\":" + good + ",\"a\":" + good + "}", "\"a\""},
      {"{\"a\":{\"shape\":[],\"shape\":[]}}", "\"shape\""},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "\"__metadata__\""},
      {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}", "\"k\""},
      {"{\"__metadata__\":null}", "null"},
      {"{\"__metadata__\":{\"k\":1}}", "__metadata__.k: 1"},
      {"{\"__metadata__\":{\"k\":{}}}", "__metadata__.k: an object"},
      {"{\"__metadata__\":{\"k\":[]}}", "__metadata__.k: a list"},
  };
  for (const auto& [header, message] : cases) {
    INFO(header);
    const std::string found = fault(file_of(header, "1234"));
    INFO(found);
    CHECK(contains(found, "w.st: "));
    CHECK(contains(found, message));
    CHECK(io::is_utf8(found));
  }
}

TEST_CASE("safetensors: tensors must cover the data exactly") {
  const std::string a = entry("F32", "[2]", "[0,8]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"a\":" + a + "}", "the tensors end at byte 8 of the data, but the file has 16"},
      {"{}", "the tensors end at byte 0 of the data, but the file has 16"},
      {"{\"a\":" + a + ",\"b\":" + entry("F32", "[2]", "[4,12]") + "}",
       "tensor \"b\": data_offsets [4, 12] must begin where the previous tensor ends, at 8 (the "
       "tensors overlap)"},
      {"{\"a\":" + a + ",\"b\":" + a + "}", "tensor \"b\": data_offsets [0, 8] must begin"},
      {"{\"a\":" + a + ",\"b\":" + entry("F32", "[1]", "[12,16]") + "}", "there is a gap"},
      {"{\"a\":" + entry("F32", "[2]", "[8,16]") + "}",
       "must begin where the previous tensor ends, at 0"},
      {"{\"a\":" + entry("F32", "[2]", "[8,0]") + "}", "data_offsets [8, 0] must not decrease"},
      {"{\"a\":" + entry("F32", "[5]", "[0,20]") + "}", "exceed the 16 bytes of data"},
      {"{\"a\":" + entry("F32", "[5]", "[0,9223372036854775807]") + "}", "exceed the 16 bytes"},
      {"{\"a\":" + entry("F32", "[3]", "[0,16]") + "}",
       "tensor \"a\": F32 [3] takes 12 bytes, but data_offsets [0, 16] span 16 bytes"},
      {"{\"a\":" + entry("F64", "[2,2]", "[0,16]") + "}", "F64 [2, 2] takes 32 bytes"},
      {"{\"a\":" + entry("F32", "[]", "[0,16]") + "}", "F32 [] takes 4 bytes"},
      {"{\"a\":" + entry("F32", "[0]", "[0,16]") + "}", "F32 [0] takes 0 bytes"},
      {"{\"a\":" + entry("F32", "[4611686018427387904,4]", "[0,16]") + "}",
       "more elements than memory"},
      {"{\"a\":" + entry("F32", "[4611686018427387905,4]", "[0,16]") + "}",
       "more elements than memory"},
      {"{\"a\":" + entry("F64", "[2305843009213693954]", "[0,16]") + "}",
       "more elements than memory"},
      {"{\"a\":" + entry("F32", "[0,4294967296,4294967296]", "[0,16]") + "}",
       "more elements than memory"},
  };
  for (const auto& [header, message] : cases) {
    INFO(header);
    const std::string found = fault(file_of(header, std::string(16, '\0')));
    INFO(found);
    CHECK(contains(found, message));
  }
}

TEST_CASE("safetensors: overlapping tensors and deep nesting are rejected quickly") {
  std::string header = "{";
  for (int i = 0; i < 20000; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) + "\":" + entry("F32", "[1]", "[0,4]");
  CHECK(contains(fault(file_of(header + "}", "1234")), "the tensors overlap"));
  CHECK(contains(fault(file_of("{\"a\":" + std::string(5'000'000, '['))),
                 "nested more than 64 levels deep"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  CHECK(contains(fault(file_of(objects)), "nested more than 64 levels deep"));
}

TEST_CASE("safetensors: a file truncated anywhere is rejected") {
  const std::vector<std::byte> bytes = io::safetensors_bytes(awkward_tensors(), {{"k", "v"}});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO("first " << n << " of " << bytes.size() << " bytes");
    CHECK_THROWS_AS(io::parse_safetensors(std::span(bytes).first(n), "w.st"), FileError);
  }
}

TEST_CASE("safetensors: missing, empty and unwritable files are rejected") {
  const Folder folder;
  const auto load_fault = [&](const std::string& name) {
    return message_of<FileError>([&] { io::load_safetensors(folder / name); });
  };
  CHECK(contains(load_fault("missing"), "missing: "));
  CHECK(contains(load_fault(""), "a directory"));
  write_bytes(folder / "empty", "");
  CHECK(contains(load_fault("empty"), "only 0 bytes"));
  io::save_safetensors(folder / "short", {{"a", tensor({1, 2, 3, 4})}});
  std::filesystem::resize_file(folder / "short", std::filesystem::file_size(folder / "short") - 12);
  CHECK(contains(load_fault("short"),
                 "exceed the 4 bytes of data in the file, which may be truncated"));
  CHECK_THROWS_AS(io::save_safetensors(folder / "no/such/folder", {}), FileError);
}

TEST_CASE("safetensors: a rejected save leaves the file unchanged") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  io::save_safetensors(path, {{"a", tensor({1, 2})}});
  const std::string before = read_bytes(path);
  const Tensor x = tensor(1);
  const auto rejection = [&](const std::map<std::string, Tensor>& tensors,
                             const std::map<std::string, std::string>& metadata = {}) {
    const std::string message =
        message_of<ValueError>([&] { io::save_safetensors(path, tensors, metadata); });
    CHECK(read_bytes(path) == before);
    return message;
  };
  CHECK(contains(rejection({{"", x}}), "the name of a tensor must not be empty"));
  CHECK(contains(rejection({{"__metadata__", x}}), "a tensor cannot be named \"__metadata__\""));
  CHECK(contains(rejection({{"a\xFF", x}}), "the name \"a\xEF\xBF\xBD\" is not UTF-8"));
  CHECK(contains(rejection({{"a", Tensor()}}), "tensor \"a\" is undefined"));
  CHECK(contains(rejection({{"a", x}}, {{"k", "\xC0"}}), "is not UTF-8"));
}

}  // namespace gradus::testing::test_safetensors
