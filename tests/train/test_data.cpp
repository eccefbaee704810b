// Batches, schedules, metrics and progress.
#include <sys/resource.h>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>

#include "gradus/base/random.h"
#include "gradus/io/output_file.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/data.h"
#include "gradus/train/groups.h"
#include "gradus/train/metrics.h"
#include "gradus/train/progress.h"
#include "gradus/train/schedule.h"

namespace gradus::testing {
namespace {

TEST_CASE("batches visit each row once, x and y together, in an order given by the seed") {
  const Tensor x = reshape(arange(22), {11, 2}), y = arange(11);
  std::set<std::int64_t> seen;
  std::vector<std::int64_t> order;
  for (const Batch& batch : batches(x, y, 4, 7)) {
    CHECK(batch.x.size(0) == batch.y.size(0));
    const std::vector<std::int64_t> rows = batch.y.to_vector<std::int64_t>(),
                                    numbers = batch.x.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(numbers[2 * i] == 2 * rows[i]);
      seen.insert(rows[i]), order.push_back(rows[i]);
    }
  }
  CHECK(seen.size() == 11);
  const std::vector<Batch> again = batches(x, y, 4, 7), other = batches(x, y, 4, 8);
  CHECK(again.size() == 3);
  CHECK(again[2].x.size(0) == 3);
  CHECK(again[0].y.to_vector<std::int64_t>() ==
        std::vector<std::int64_t>(order.begin(), order.begin() + 4));
  CHECK(other[0].y.to_vector<std::int64_t>() != again[0].y.to_vector<std::int64_t>());
  CHECK_THROWS_AS(batches(x, arange(5), 4, 7), ShapeError);
  CHECK_THROWS_AS(batches(x, y, 0, 7), ValueError);
}

TEST_CASE("next-token targets are the window shifted by one") {
  std::vector<std::int64_t> tokens(100);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(i);
  const TokenBatches data(tokens, 8, 5, 3);
  for (int step = 0; step < 20; ++step) {
    const Batch batch = data.at(step);
    CHECK(batch.x.shape() == Shape{5, 8});
    const std::vector<std::int64_t> x = batch.x.to_vector<std::int64_t>(),
                                    y = batch.y.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(y[i] == x[i] + 1);
      if (i % 8) CHECK(x[i] == x[i - 1] + 1);
    }
    CHECK(data.at(step).x.to_vector<std::int64_t>() == x);
  }
  CHECK(data.at(0).x.to_vector<std::int64_t>() != data.at(1).x.to_vector<std::int64_t>());

  std::int64_t count = 0;  // once(): every token but the first is predicted once
  std::set<std::int64_t> predicted;
  for (const Batch& batch : data.once())
    for (const std::int64_t id : batch.y.to_vector<std::int64_t>()) ++count, predicted.insert(id);
  CHECK(count == 99);
  CHECK(predicted.size() == 99);
  CHECK_THROWS_AS(TokenBatches(std::vector<std::int64_t>(8), 8, 5, 3), ValueError);
  CHECK_THROWS_AS(TokenBatches(tokens, 0, 5, 3), ValueError);
}

TEST_CASE("every window of a text is drawn, and none beyond its end") {
  std::vector<std::int64_t> tokens(13);
  std::iota(tokens.begin(), tokens.end(), 0);
  for (const std::int64_t context : {1, 5, 12}) {
    const TokenBatches data(tokens, context, 16, 3);
    std::set<std::int64_t> starts, expected;
    for (std::int64_t start = 0; start + context < 13; ++start) expected.insert(start);
    for (int step = 0; step < 40; ++step)  // 640 draws miss one of 12 once in 10²³ times
      for (const std::int64_t id : select(data.at(step).x, 1, 0).to_vector<std::int64_t>())
        starts.insert(id);
    CHECK(starts == expected);
  }
}

TEST_CASE("schedules rise, fall and end at the documented steps") {
  const optim::Schedule cosine = optim::warmup_cosine(10, 110, 0.1);
  CHECK(cosine(0) == 0.1);
  CHECK(cosine(9) == 1.0);
  CHECK(cosine(10) == 1.0);
  CHECK(std::abs(cosine(60) - 0.55) < 1e-15);  // half way: the mean of 1 and the floor
  CHECK(std::abs(cosine(110) - 0.1) < 1e-15);
  CHECK(std::abs(cosine(5000) - 0.1) < 1e-15);
  const optim::Schedule linear = optim::warmup_linear(0, 100, 0.5);
  CHECK(linear(0) == 1.0);
  CHECK(linear(50) == 0.75);
  CHECK(linear(100) == 0.5);
  const optim::Schedule noam = optim::noam(512, 4000);
  CHECK(std::abs(noam(3999) - 1 / std::sqrt(512.0 * 4000)) < 1e-15);  // its peak
  CHECK(noam(1999) < noam(3999));
  CHECK(noam(8000) < noam(3999));
  const optim::Schedule stable = optim::warmup_stable_decay(10, 16, 100, 0.2);
  CHECK(stable(4) == 0.5);
  CHECK(stable(10) == 1.0);
  CHECK(stable(84) == 1.0);
  CHECK(std::abs(stable(88) - 0.6) < 1e-15);  // a quarter of the decay is over: √ ¼ of the way
  CHECK(std::abs(stable(100) - 0.2) < 1e-15);
  CHECK(std::abs(stable(5000) - 0.2) < 1e-15);
  CHECK_THROWS_AS(optim::warmup_stable_decay(10, 91, 100), ValueError);
  CHECK_THROWS_AS(optim::warmup_stable_decay(10, 0, 100), ValueError);
  CHECK(optim::constant_schedule()(123) == 1.0);
  CHECK_THROWS_AS(optim::warmup_cosine(10, 10), ValueError);
  CHECK_THROWS_AS(optim::warmup_linear(1, 10, 2), ValueError);
  CHECK_THROWS_AS(optim::noam(0, 10), ValueError);
}

TEST_CASE("the metrics log keeps complete lines and is cut back to a checkpoint") {
  const Folder here;
  const std::string path = here / "metrics.jsonl";
  const auto read = [&] { return read_bytes(path); };
  std::int64_t kept = 0;
  {
    MetricsLog log(path, 0);
    log.write({{"step", 0}, {"loss", 0.1}});
    kept = log.flush();
    log.write({{"step", 1}, {"loss", std::nan("")}});
  }
  CHECK(read() == "{\"step\": 0, \"loss\": 0.1}\n{\"step\": 1, \"loss\": null}\n");
  { MetricsLog log(path, kept); }
  CHECK(read() == "{\"step\": 0, \"loss\": 0.1}\n");
  CHECK_THROWS_AS(MetricsLog(path, 1000), FileError);
  CHECK_THROWS_AS(MetricsLog("/nowhere/at/all.jsonl", 0), FileError);
}

TEST_CASE("metrics are read back by name") {
  const Folder here;
  const std::string path = here / "metrics.jsonl";
  {
    MetricsLog log(path, 0);
    log.write({{"step", 0}, {"loss", 0.1}});
    log.write({{"step", 1}, {"loss", std::nan("")}});
    log.write({{"step", 2}, {"held_out_loss", 7}});
    log.write({{"step", 2}, {"loss", -1e-9}});
  }
  using Points = std::vector<std::pair<double, double>>;
  CHECK(read_metric(path, "loss") == Points{{0, 0.1}, {2, -1e-9}});
  CHECK(read_metric(path, "held_out_loss") == Points{{2, 7}});
  CHECK(read_metric(path, "other").empty());
  for (const char* bad : {"{\"step\": 0}\nno line", "{\"loss\": 1}\n", "{\"step\": x}\n"}) {
    std::ofstream(path) << bad;
    CHECK_THROWS_AS(read_metric(path, "loss"), FileError);
  }
  std::ofstream(path) << "{\"step\": 0}\nno line";
  CHECK_REFUSES(FileError, read_metric(path, "loss"), "line 2", "line");
  CHECK_THROWS_AS(read_metric(here / "none.jsonl", "loss"), FileError);
}

TEST_CASE("a full disk is reported, and the lines stay pending") {
  std::error_code error;
  if (!std::filesystem::exists("/dev/full", error)) return;
  MetricsLog log("/dev/full", 0);
  log.write({{"step", 0}});
  CHECK(log.flush() == 0);
  CHECK(log.complaint().find("/dev/full") != std::string::npos);
}

/// No file of this process may grow beyond `bytes` while it lives: a disk that is full.
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

TEST_CASE("a line that did not fit leaves nothing behind and is written when there is space") {
  const Folder here;
  const std::string path = here / "metrics.jsonl", first = "{\"step\": 1}\n";
  MetricsLog log(path, 0);
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
    MetricsLog log(here / "metrics.jsonl", 0);
    changes.clear();
    for (int i = 0; i < 1000; ++i) log.write({{"step", 1234567}, {"loss", 0.5}});
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::write) >= 5);
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::sync) == 0);
    log.flush();
    CHECK(std::count(changes.begin(), changes.end(), io::FileChange::sync) == 1);
  }
  io::file_watch = nullptr;
}

TEST_CASE("progress prints plain lines without a terminal") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  {
    Progress progress(0, 10, 100, "picture", file);
    progress.show(1, 2.5, "held-out 2.6", true);
  }
  std::rewind(file);
  char line[200] = {};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).find("step 1/10  loss 2.5000") == 0);
  CHECK(std::string(line).find(" pictures/s  left ") != std::string::npos);
  CHECK(std::string(line).find("held-out 2.6\n") != std::string::npos);
  CHECK(std::string(line).find('\033') == std::string::npos);
  std::fclose(file);
  CHECK(clock_time(42.4) == "0:42");
  CHECK(clock_time(727) == "12:07");
  CHECK(clock_time(11110) == "3:05:10");
  CHECK(clock_time(-3) == "0:00");
}

}  // namespace

namespace {

using List = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("rows of x and y may have any shapes and stay together") {
  const Tensor line = arange(0, 7), table = reshape(arange(0, 14), {7, 2});
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {line, line}, {line, table}, {table, line}, {table, table}}) {
    List seen;
    for (const Batch& batch : batches(x, y, 3, 5)) {
      const List a = batch.x.to_vector<std::int64_t>(), b = batch.y.to_vector<std::int64_t>();
      CHECK(batch.x.rank() == x.rank());
      CHECK(batch.y.rank() == y.rank());
      const std::size_t in_a = x.rank() == 1 ? 1 : 2, in_b = y.rank() == 1 ? 1 : 2;
      REQUIRE(a.size() / in_a == b.size() / in_b);
      for (std::size_t i = 0; i < a.size() / in_a; ++i) {
        const std::int64_t row = in_a == 1 ? a[i] : a[2 * i] / 2;
        CHECK(b[in_b * i] == static_cast<std::int64_t>(in_b) * row);
        if (in_b == 2) CHECK(b[2 * i + 1] == 2 * row + 1);
        seen.push_back(row);
      }
    }
    std::sort(seen.begin(), seen.end());
    CHECK(seen == line.to_vector<std::int64_t>());
  }
  CHECK_THROWS_AS(batches(line, slice(table, 0, 0, 2), 3, 5), ShapeError);
}

TEST_CASE("windows begin where the random stream of seed and step puts them") {
  List tokens(40);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(100 + i);
  const TokenBatches data(tokens, 6, 5, 17);
  for (const std::int64_t step : {0, 1, 9}) {
    const RandomStream random{17, static_cast<std::uint32_t>(step), 0};
    const List x = data.at(step).x.to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < 5; ++i)
      CHECK(x[static_cast<std::size_t>(6 * i)] == 100 + random.below(i, 40 - 6));
  }
}

TEST_CASE("a pool of one batch is plain shuffling, and a larger one sorts by length") {
  constexpr std::int64_t kCount = 24, kBatch = 6;
  List lengths(kCount);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<std::int64_t>(i * 7 % kCount);
  const auto sorted = [&](const List& batch) {
    return std::is_sorted(batch.begin(), batch.end(), [&](std::int64_t a, std::int64_t b) {
      return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
    });
  };
  for (const std::int64_t pool : {1, 2, 16}) {
    const LengthBuckets data(lengths, kBatch, 3, pool);
    int in_order = 0;
    List all;
    for (std::int64_t step = 0; step < 8; ++step) {
      const List batch = data.at(step);
      in_order += sorted(batch) ? 1 : 0;
      all.insert(all.end(), batch.begin(), batch.end());
    }
    CHECK(in_order == (pool == 1 ? 0 : 8));
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)  // two passes
      CHECK(all[i] == static_cast<std::int64_t>(i / 2));
  }
}

}  // namespace gradus::testing
