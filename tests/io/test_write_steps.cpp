// Writing a file when one of its steps fails: the old file stays whole, and the error says why.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gradus/io/output_file.h"
#include "gradus/io/write_file.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

/// While one lives, each change of a file is passed to `watch`.
struct Watched {
  explicit Watched(std::function<int(const io::FileChange&)> watch) {
    io::file_watch = std::move(watch);
  }
  ~Watched() { io::file_watch = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

std::size_t entries(const Folder& folder) {
  const std::filesystem::directory_iterator all(folder / "");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("a write whose k-th step fails leaves the old file or the new one, and nothing else") {
  for (const int cause : {ENOSPC, EDQUOT, EACCES, EIO}) {
    int failing = 0;
    for (bool failed = true; failed; ++failing) {
      CAPTURE(failing, std::strerror(cause));
      const Folder folder;
      const std::string path = folder / "f";
      write_bytes(path, "old");
      int step = 0;
      const Watched watch([&](const io::FileChange&) { return step++ == failing ? cause : 0; });
      const std::string said = refusal([&] { io::write_file_atomically(path, "new!", 4); });
      failed = said != "nothing was thrown";
      CHECK(entries(folder) == 1);
      CHECK((read_bytes(path) == "old" || read_bytes(path) == "new!"));
      if (!failed) continue;
      CHECK(contains(said, path));
      CHECK(contains(said, std::strerror(cause)));
      REQUIRE(failing < 20);
    }
    CHECK(failing > 4);  // create, write, sync and rename at least
  }
}

TEST_CASE("a temporary file of another process is left alone") {
  const Folder folder;
  write_bytes(folder / "f.tmp-0", "theirs");
  io::write_file_atomically(folder / "f", "new!", 4);
  CHECK(read_bytes(folder / "f") == "new!");
  CHECK(read_bytes(folder / "f.tmp-0") == "theirs");
}

TEST_CASE("a write that fails leaves the first half") {
  const Folder folder;
  io::OutputFile file;
  REQUIRE(file.create(folder / "f") == 0);
  io::file_watch = [](const io::FileChange& change) {
    return change.kind == io::FileChange::write ? ENOSPC : 0;
  };
  CHECK(file.write("abcdefg", 7) == ENOSPC);
  io::file_watch = [](const io::FileChange& change) {
    return change.kind == io::FileChange::sync_directory ? EIO : 0;
  };
  CHECK(io::sync_directory_of(folder / "f") == EIO);
  io::file_watch = [](const io::FileChange&) { return io::kSkipped; };
  CHECK(io::sync_directory_of(folder / "f") == 0);
  CHECK(file.sync() == 0);
  io::file_watch = nullptr;
  CHECK(file.close() == 0);
  CHECK(file.close() == 0);
  CHECK(read_bytes(folder / "f") == "abc");
}

}  // namespace gradus::testing
