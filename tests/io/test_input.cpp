#include "gradus/io/input.h"

#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/pretrained/gguf_parts.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_input {
namespace {

using io::Input;
using io::Stored;

std::string counted(std::size_t n) {
  std::string bytes;
  for (std::size_t i = 0; i < n; ++i) bytes += static_cast<char>(i * 7 % 251);
  return bytes;
}

std::vector<double> numbers(const std::string& bytes, Stored stored, std::int64_t count) {
  const std::string behind = "???" + bytes;
  Input input(as_bytes(behind), "m");
  const Tensor x = io::read_numbers(input, 3, stored, {count});
  return dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    return std::vector<double>(from, from + count);
  });
}

}  // namespace

TEST_CASE("bytes of a file or of memory can be read in any order") {
  const Folder folder;
  const std::string bytes = counted(64);
  write_bytes(folder / "f", bytes);
  Input file(folder / "f"), memory(as_bytes(bytes), "m");
  for (Input* input : {&file, &memory}) {
    CHECK(input->size() == 64);
    for (const auto& [at, n] : std::vector<std::pair<std::size_t, std::size_t>>{
             {8, 4}, {4, 4}, {12, 20}, {32, 32}, {0, 64}, {0, 8}, {8, 8}, {8, 8}, {63, 1}}) {
      std::string got(n, '?');
      input->read(at, got.data(), n);
      CHECK(got == bytes.substr(at, n));
    }
    input->read(64, nullptr, 0);
    input->read(1000, nullptr, 0);
    for (const std::uint64_t at : {61u, 64u, 65u, 1000u}) {
      char out[4];
      CHECK(refusal([&] { input->read(at, out, 4); }) ==
            input->name() + ": cannot read bytes " + std::to_string(at) + " to " +
                std::to_string(at + 4) +
                ", because the file has only 64 bytes. The file is truncated.");
    }
  }
}

TEST_CASE("a missing file, a directory and a device are rejected with their cause") {
  const Folder folder;
  const auto message = [](const std::string& path) { return refusal([&] { Input input(path); }); };
  CHECK(message(folder / "none") ==
        "cannot read " + (folder / "none") + ": the file does not exist");
  CHECK(message(folder / "") == "cannot read " + (folder / "") + ": it is a directory, not a file");
  CHECK(message("/dev/null") == "cannot read /dev/null: it is a pipe or device, not a file");
}

TEST_CASE("quantized blocks in more than one piece are read in order") {
  const std::int64_t blocks = 1100;  // one piece has 1024 blocks
  for (const auto& [stored, size] :
       {std::pair{Stored::q8_0, 32}, {Stored::q4_0, 16}, {Stored::q4_1, 18}}) {
    std::string bytes;
    for (std::int64_t b = 0; b < blocks; ++b) {
      bytes += raw(static_cast<std::uint16_t>(0x3C00));  // d = 1 in f16
      bytes +=
          raw(static_cast<std::int64_t>(b)) + std::string(static_cast<std::size_t>(size) - 8, 2);
    }
    const std::vector<double> all = numbers(bytes, stored, blocks * 32);
    bool right = true;
    for (const std::int64_t b : {0L, 1L, 31L, 1022L, 1023L, 1024L, 1025L, 1099L}) {
      const std::vector<double> own = numbers(bytes.substr(static_cast<std::size_t>(b * (size + 2)),
                                                           static_cast<std::size_t>(size) + 2),
                                              stored, 32);
      right = right && std::equal(own.begin(), own.end(), all.begin() + b * 32);
    }
    CHECK(right);
    CHECK(numbers(bytes, stored, 992).size() == 992);
    CHECK(numbers(bytes, stored, 0).empty());
  }
}

}  // namespace gradus::testing::test_input
