// What may not be read, where the system keeps to that.
#include <unistd.h>

#include "gradus/io/input.h"
#include "gradus/io/tensor_source.h"
#include "gradus/io/text.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

/// Takes what may be read from a path for as long as it lives.
class Closed {
 public:
  explicit Closed(std::string path) : path_(std::move(path)) {
    std::filesystem::permissions(path_, std::filesystem::perms::none);
  }
  ~Closed() { std::filesystem::permissions(path_, std::filesystem::perms::owner_all); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a file that may not be read is named with that cause") {
  if (geteuid() == 0) return;  // root may read everything
  const Folder folder;
  const std::string path = folder / "f";
  write_bytes(path, "x");
  const Closed file(path);
  const std::string said = "cannot read " + path + ": " + std::generic_category().message(EACCES);
  CHECK(refusal([&] { io::Input input(path); }) == said);
  CHECK(refusal([&] { io::read_text(path); }) == said);
}

TEST_CASE("a directory that may not be read is named with that cause") {
  if (geteuid() == 0) return;  // root may read everything
  const Folder folder;
  const std::string path = folder / "d";
  std::filesystem::create_directory(path);
  const Closed directory(path);
  CHECK(refusal([&] { io::TensorSource::open(path); }) ==
        "cannot read " + path + ": " + std::generic_category().message(EACCES));
}

}  // namespace gradus::testing
