// safetensors on disk: files that are not there, are cut off, or must not be replaced.
#include <map>
#include <string>

#include "gradus/io/safetensors.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing {

TEST_CASE("safetensors: files that cannot be read or written") {
  const Folder folder;
  const auto load_fault = [&](const std::string& name) {
    return message_of([&] { io::load_safetensors(folder / name); });
  };
  CHECK(contains(load_fault("missing"), "missing: there is no such file"));
  CHECK(contains(load_fault(""), "a directory"));
  write_bytes(folder / "empty", "");
  CHECK(contains(load_fault("empty"), "0 bytes are too few"));
  io::save_safetensors(folder / "short", {{"a", tensor({1, 2, 3, 4})}});
  std::filesystem::resize_file(folder / "short", std::filesystem::file_size(folder / "short") - 12);
  CHECK(contains(load_fault("short"),
                 "reach beyond the 4 bytes of data in the file: is it cut off?"));
  CHECK_THROWS_AS(io::save_safetensors(folder / "no/such/folder", {}), FileError);
}

TEST_CASE("safetensors: what cannot be written leaves the file as it was") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  io::save_safetensors(path, {{"a", tensor({1, 2})}});
  const std::string before = read_bytes(path);
  const Tensor x = tensor(1);
  const auto refused = [&](const std::map<std::string, Tensor>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    const std::string message =
        message_of<ValueError>([&] { io::save_safetensors(path, tensors, metadata); });
    CHECK(read_bytes(path) == before);
    return message;
  };
  CHECK(contains(refused({{"", x}}), "a tensor needs a name"));
  CHECK(contains(refused({{"__metadata__", x}}), "\"__metadata__\" cannot name a tensor"));
  CHECK(contains(refused({{"a\xFF", x}}), "the name \"a\xEF\xBF\xBD\" is not UTF-8"));
  CHECK(contains(refused({{"a", Tensor()}}), "tensor \"a\" is undefined"));
  CHECK(contains(refused({{"a", x}}, {{"k", "\xC0"}}), "is not UTF-8"));
}

}  // namespace gradus::testing
