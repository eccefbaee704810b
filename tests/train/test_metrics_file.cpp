// The metrics file: when lines are written, and errors.
#include <cerrno>
#include <cstring>

#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/train/metrics.h"

namespace gradus::testing {
namespace {

/// While one lives, changes of this kind fail with this errno.
struct Failing {
  Failing(io::FileChange::Kind kind, int cause) {
    io::file_watch = [=](const io::FileChange& change) { return change.kind == kind ? cause : 0; };
  }
  ~Failing() { io::file_watch = nullptr; }
};

}  // namespace

TEST_CASE("metrics are written after more than 4096 bytes or at flush()") {
  const Folder here;
  const Unsynced quick;
  const std::string path = here / "m.jsonl", name(4096 - std::strlen("{\"\": 1}\n"), 'a');
  MetricsLog log(path, 0);
  log.write({{"step", 1}});
  CHECK(read_bytes(path).empty());
  const std::string first = "{\"step\": 1}\n";
  CHECK(log.flush() == std::ssize(first));
  log.write({{name.c_str(), 1}});
  CHECK(read_bytes(path) == first);  // 4096 bytes wait
  log.write({{"b", 0.5}, {"c", 2}});
  CHECK(read_bytes(path) == first + "{\"" + name + "\": 1}\n{\"b\": 0.5, \"c\": 2}\n");
}

TEST_CASE("a log that is shorter than its checkpoint expects, or cannot be cut, is refused") {
  const Folder here;
  const Unsynced quick;
  const std::string path = here / "m.jsonl";
  CHECK(message_of([&] { MetricsLog(path, 1); }) ==
        path +
            ": has 0 bytes where its checkpoint knows 1: it was changed by hand, or belongs to "
            "another run");
  write_bytes(path, "{\"step\": 1}\n{\"step\": 2}\n");
  {
    const Failing cut(io::FileChange::truncate, EIO);
    CHECK(message_of([&] { MetricsLog(path, 12); }) ==
          path + ": cannot be cut back to 12 bytes: " + std::strerror(EIO));
  }
  CHECK(MetricsLog(path, 12).flush() == 12);
  CHECK(read_bytes(path) == "{\"step\": 1}\n");
}

TEST_CASE("a log that cannot be written complains until it can") {
  const Folder here;
  const std::string path = here / "m.jsonl";
  MetricsLog log(path, 0);
  log.write({{"step", 1}});
  {
    const Failing full(io::FileChange::write, ENOSPC);
    CHECK(log.flush() == 0);
    CHECK(log.complaint() == "cannot write " + path + ": " + std::strerror(ENOSPC));
  }
  const Unsynced quick;
  CHECK(log.flush() == 12);
  CHECK(log.complaint().empty());
}

}  // namespace gradus::testing
