#include <string>
#include <vector>

#include "gradus/io/npy.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_npy {
namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += {static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  return bytes + header + data;
}

std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

Tensor parse(const std::string& bytes) { return io::parse_npy(as_bytes(bytes), "x.npy"); }

std::string fault(const std::string& bytes) {
  return message_of<FileError>([&] { parse(bytes); });
}

}  // namespace

TEST_CASE("npy: the bytes equal NumPy's") {
  const Folder folder;
  io::save_npy(folder / "x.npy", tensor(std::vector<float>{1, -2, 0, 0.5f, 3, 4}, {2, 3}));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string data("\0\0\x80\x3F\0\0\0\xC0\0\0\0\0\0\0\0\x3F\0\0\x40\x40\0\0\x80\x40", 24);
  CHECK(read_bytes(folder / "x.npy") ==
        file_of(header + std::string(118 - header.size() - 1, ' ') + "\n", data));
  io::save_npy(folder / "x.npy", tensor(1.0, Dtype::f64));
  CHECK(contains(read_bytes(folder / "x.npy"), "'shape': (), }"));
  io::save_npy(folder / "x.npy", tensor({1, 2, 3}));
  CHECK(contains(read_bytes(folder / "x.npy"), "'shape': (3,), }"));
}

TEST_CASE("npy: Fortran order, other spellings and narrow types are read") {
  const std::string six("\1\2\3\4\5\6", 6);
  CHECK(same(parse(file_of(dict("|u1", "True", "(2, 3)"), six)),
             tensor(std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}, {2, 3})));
  CHECK(parse(file_of(dict("|u1", "True", "(2, 3)"), six)).is_contiguous());
  CHECK(same(parse(file_of(dict("|u1", "True", "(3, 1, 2)"), six)),
             tensor(std::vector<std::int64_t>{1, 4, 2, 5, 3, 6}, {3, 1, 2})));
  CHECK(same(parse(file_of(dict("|u1", "True", "(6,)"), six)), indices({1, 2, 3, 4, 5, 6})));
  CHECK(same(
      parse(file_of("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|b1\"}", {'\0', '\3'})),
      indices({0, 1}).to(Dtype::bool_)));
  CHECK(
      same(parse(file_of(dict("<i4", "False", "()"), "\xFE\xFF\xFF\xFF")), indices({-2}).view({})));
  CHECK(same(parse(file_of(dict("<f2", "False", "(1,)"), std::string("\0\xC0", 2))),
             tensor(std::vector<float>{-2}, {1})));
  for (const char version : {'\2', '\3'}) {
    std::string bytes = std::string("\x93NUMPY") + version + std::string("\0", 1);
    const std::string header = dict("|u1", "False", "(1,)");
    bytes += {static_cast<char>(header.size()), '\0', '\0', '\0'};
    CHECK(same(parse(bytes + header + "\7"), indices({7})));
  }
}

TEST_CASE("npy: a malformed file is rejected") {
  const std::string good = dict("|u1", "False", "(4,)");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not a .npy file"},
      {"\x93NUMPX\1    ", "not a .npy file"},
      {std::string("\x93NUMPY\11\0\0\0\0\0", 12), "got 9.0"},
      {std::string("\x93NUMPY\1\0\xFF\1{", 11),
       "the length of the header, 511 bytes, exceeds the file's 11 bytes"},
      {std::string("\x93NUMPY\2\0\0\0\0\x7F{", 13), "the length of the header, 2130706432 bytes"},
      {file_of(""), "a '{' is missing (at its end)"},
      {file_of("{}"), "the dict must have the fields descr, fortran_order and shape"},
      {file_of(good + "x", "1234"), "text follows the dict (before \"x\")"},
      {file_of("{'descr': '<f4', 'descr': '<f4'}"), "\"descr\""},
      {file_of("{'descr': '<f4', 'more': 1}"), "the field \"more\" is unknown"},
      {file_of("{'descr': '<f4' 'shape': ()}"), "a comma is missing"},
      {file_of("{'descr': '<f4"), "a string has no closing quote"},
      {file_of("{'descr': [('a', '<f4')]}"), "records"},
      {file_of("{'fortran_order': 1}"), "must be True or False"},
      {file_of(dict("|u1", "False", "(-4,)"), "1234"), "an integer that is not negative"},
      {file_of(dict("|u1", "False", "(4.0,)"), "1234"), "a comma is missing"},
      {file_of(dict("|u1", "False", "(4)"), "1234"), "a tuple such as (3,)"},
      {file_of(dict("|u1", "False", "4"), "1234"), "a '(' is missing"},
      {file_of(dict("|u1", "False", "(99999999999999999999,)"), "1234"), "an integer"},
      {file_of(dict(">f4", "False", "(1,)"), "1234"), "big-endian; convert by x.astype('<f4')"},
      {file_of(dict("|O", "False", "(1,)"), "1234"), "Python objects"},
      {file_of(dict("<c8", "False", "(1,)"), "1234"), "\"<c8\""},
      {file_of(good, "123"), "|u1 [4] takes 4 bytes, but 3 bytes follow the header"},
      {file_of(good, "12345"), "takes 4 bytes, but 5 bytes follow"},
      {file_of(dict("<f4", "False", "(99999999999999,)")),
       "takes 399999999999996 bytes, but 0 bytes follow"},
      {file_of(dict("<f4", "False", "(4611686018427387904, 4)")), "shape"},
      {file_of(dict("|u1", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "1"),
       "has 9 axes, but a tensor has at most 8"},
  };
  for (const auto& [bytes, message] : cases) {
    INFO(bytes);
    const std::string found = fault(bytes);
    INFO(found);
    CHECK(contains(found, "x.npy: "));
    CHECK(contains(found, message));
  }
}

TEST_CASE("npy: a file truncated anywhere is rejected") {
  const std::string bytes = file_of(dict("|u1", "True", "(2, 3)"), "123456");
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO("first " << n << " bytes");
    CHECK_THROWS_AS(parse(bytes.substr(0, n)), FileError);
  }
}

TEST_CASE("npy: missing files and undefined tensors are rejected") {
  const Folder folder;
  CHECK_THROWS_AS(io::load_npy(folder / "none.npy"), FileError);
  CHECK_THROWS_AS(io::save_npy(folder / "no/folder.npy", tensor(1)), FileError);
  CHECK_THROWS_AS(io::save_npy(folder / "x.npy", Tensor()), ValueError);
}

TEST_CASE("npy: a header has at most 10,000 characters and may contain blanks anywhere") {
  const std::string good = dict("|u1", "False", "(6,)");
  std::string longest = good;
  longest.resize(10'000, ' ');
  CHECK(parse(file_of(longest, "123456")).numel() == 6);
  CHECK_REFUSES(FileError, parse(file_of(longest + " ", "123456")), "10001", "10000");
  for (const std::string shape : {"( 2 , 3 )", "(6,)", "( 6 , )", "(1,1,6,)", "(  2,3,)"})
    CHECK(parse(file_of(dict("|u1", "False", shape), "123456")).numel() == 6);
  for (const std::string shape : {"(-6,)", "(x,)", "(6.0,)", "(,)", "(18446744073709551616,)"})
    CHECK_THROWS_AS(parse(file_of(dict("|u1", "False", shape), "123456")), FileError);
}

}  // namespace gradus::testing::test_npy
