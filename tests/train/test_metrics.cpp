#include <sys/resource.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "gradus/io/output_file.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/metrics.h"

namespace gradus::testing::test_metrics {
namespace {

TEST_CASE("the log keeps complete lines, is truncated to its checkpoint, and must not be shorter") {
  const Folder here;
  const std::string path = here / "metrics.jsonl";
  const auto read = [&] { return read_bytes(path); };
  std::int64_t kept = 0;
  {
    train::MetricsLog log(path, 0);
    log.write({{"step", 0}, {"loss", 0.1}});
    kept = log.flush();
    log.write({{"step", 1}, {"loss", std::nan("")}});
  }
  CHECK(read() == "{\"step\": 0, \"loss\": 0.1}\n{\"step\": 1, \"loss\": null}\n");
  { train::MetricsLog log(path, kept); }
  CHECK(read() == "{\"step\": 0, \"loss\": 0.1}\n");
  CHECK_REFUSES(FileError, train::MetricsLog(path, 1000), path, "1000");
  io::file_watch = [](const io::FileChange& change) {
    return change.kind == io::FileChange::truncate ? EIO : 0;
  };
  CHECK_REFUSES(FileError, train::MetricsLog(path, 12), path, "12", std::strerror(EIO));
  io::file_watch = nullptr;
  CHECK_THROWS_AS(train::MetricsLog("/nowhere/at/all.jsonl", 0), FileError);
}

/// Limits the file size, to simulate a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_CASE("a failed line leaves no partial data and is written when there is space") {
  const Folder here;
  const std::string path = here / "metrics.jsonl", first = "{\"step\": 1}\n";
  train::MetricsLog log(path, 0);
  log.write({{"step", 1}});
  CHECK(log.flush() == std::ssize(first));
  for (rlim_t room = 0; room < 12; ++room) {
    const FullDisk disk(first.size() + room);
    if (room == 0) log.write({{"step", 2}});
    CHECK(log.flush() == std::ssize(first));
    CHECK(contains(log.complaint(), path));
    CHECK(read_bytes(path) == first);
  }
  CHECK(log.flush() == 2 * std::ssize(first));
  CHECK(log.complaint().empty());
  CHECK(read_bytes(path) == first + "{\"step\": 2}\n");
}

TEST_CASE("many lines are written without syncing until flush") {
  const Folder here;
  std::vector<io::FileChange::Kind> changes;
  io::file_watch = [&](const io::FileChange& change) {
    changes.push_back(change.kind);
    return 0;
  };
  {
    train::MetricsLog log(here / "metrics.jsonl", 0);
    changes.clear();
    for (int i = 0; i < 1000; ++i) log.write({{"step", 1234567}, {"loss", 0.5}});
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::write) >= 5);
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::sync) == 0);
    log.flush();
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::sync) == 1);
  }
  io::file_watch = nullptr;
}

TEST_CASE("metrics are read from complete lines, and a broken line is reported") {
  const Folder here;
  const auto read = [&](const std::string& lines) {
    write_bytes(here / "lines", lines);
    return train::read_metric(here / "lines", "loss");
  };
  using Values = std::vector<std::pair<double, double>>;
  CHECK_THROWS_AS(train::read_metric(here / "none", "loss"), FileError);
  CHECK(read("").empty());
  CHECK(read("{\"step\": 1, \"loss\": 2.5}\n") == Values{{1, 2.5}});
  CHECK(read("{\"step\": 1, \"loss\": 2.5}") == Values{{1, 2.5}});
  CHECK(read("{\"step\": 1}\n").empty());
  CHECK(read("{\"step\": 1, \"loss\": null}\n{\"step\": 2, \"loss\": -1}\n") == Values{{2, -1}});
  CHECK(read("{\"step\": 1, \"held_out_loss\": 2}\n").empty());
  for (const char* lines : {"{\"loss\": 1}\n", "{\"step\": 1, \"loss\": x}\n", "{\"step\": 1\n",
                            "\"step\": 1}\n", "\n"})
    CHECK_REFUSES(FileError, read(lines), "line 1");
  CHECK_REFUSES(FileError, read("{\"step\": 0}\nno line"), "line 2");
}

}  // namespace
}  // namespace gradus::testing::test_metrics
