#include <cerrno>
#include <csignal>

#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/capture_output.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_crashes {
namespace {

struct Net : nn::Layer<Net> {
  nn::Linear only{3, 1};
  nn::Members members() override { return {{"only", only}}; }
  Tensor forward(const Tensor& x) const { return dropout(only(x), 0.2, training()); }
};

/// A run whose checkpoints contain all possible data. The loss rises three times, so the best
/// weights are not the last. Returns the last evaluated loss.
double train(const std::string& directory, bool resume, std::int64_t stop_at = 0) {
  seed(3);
  const Tensor x = randn({8, 3}), y = sum(x, {1}, true);
  Net net;
  optim::AdamW optimizer(net.parameters(), {.lr = 0.1});
  optim::EMA ema(net.parameters(), 0.5);
  volatile std::sig_atomic_t stop = 0;
  train::TrainOptions options;
  options.stop = &stop;
  options.directory = directory;
  options.steps = 8, options.eval_every = 2, options.shards = 2;
  train::Trainer trainer(net, optimizer, optim::warmup_cosine(2, 8), options);
  trainer.average(ema);
  resume ? trainer.resume() : trainer.start();
  trainer.run(
      [&](std::int64_t) {
        stop = trainer.step() + 1 == stop_at;
        return mse_loss(net(x), y);
      },
      [&] {
        const auto step = static_cast<double>(trainer.step());
        const double loss = step == 2 ? 3 : step;
        return train::Metrics{{"held_out_loss", loss}, {"real", mse_loss(net(x), y).item()}};
      });
  return trainer.last();
}

Resumable run_in(const Folder& here) {
  const std::string directory = here / "run";
  return {directory, [=] { train(directory, false); }, [=] { train(directory, true); }};
}

TEST_CASE("a run resumes bit for bit from any state that a crash leaves", "[once]") {
  const Folder here;
  check_every_prefix_resumes(run_in(here));
}

TEST_CASE("a run whose writes fail ends with a one-line error and resumes bit for bit", "[once]") {
  const Folder here;
  check_every_failure_resumes(run_in(here));
}

TEST_CASE("a metrics log contains each line once and complete after any failed write") {
  const Folder here;
  const std::string path = here / "metrics.jsonl";
  const auto write = [&] {
    train::MetricsLog log(path, 0);
    for (int i = 0; i < 150; ++i) {  // more lines than the log's buffer holds
      log.write(
          {{"step", double(i)}, {"loss", 0.123456789}, {"a longer name than usual", 1.0 / 3}});
      if (i % 60 == 59) log.flush();
    }
    const std::int64_t there = log.flush();
    CHECK(there == static_cast<std::int64_t>(read_bytes(path).size()));
  };
  const std::size_t changes = changes_of(write).size();
  REQUIRE(changes > 8);
  const std::string complete = read_bytes(path);
  for (std::size_t fails = 1; fails < changes; ++fails) {  // the first change creates the log
    INFO("change " << fails << " fails");
    std::filesystem::remove(path);
    std::size_t at = 0;
    const Watching watching([&](const io::FileChange&) { return at++ == fails ? ENOSPC : 0; });
    write();
    CHECK(read_bytes(path) == complete);
  }
}

TEST_CASE("a resumed run restores its earlier evaluations", "[once]") {
  const Folder here;
  for (std::int64_t stop_at : {0, 3, 5, 7}) {  // 0: the run does not stop
    const std::string directory = here / ("run" + std::to_string(stop_at));
    double last = 0, again = 0;
    const std::string output = capture_output([&] {
      again = last = train(directory, false, stop_at);
      if (stop_at > 0) again = train(directory, true);
    });
    CHECK(again == 8);
    CHECK(last == (stop_at == 0 ? 8.0 : stop_at == 3 ? 3.0 : double(stop_at - 1)));
    CHECK(contains(output, "has risen three times in a row"));
    // The run has already finished, so resuming changes nothing.
    CHECK(train(directory, true) == 8);
  }
}

}  // namespace
}  // namespace gradus::testing::test_crashes
