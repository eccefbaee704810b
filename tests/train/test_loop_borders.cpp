// A trainer among others: who shows, tells and stops; what a run begins over, and what it times.
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "gradus/base/random.h"
#include "gradus/io/checkpoint.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/said.h"
#include "gradus/tests/train/distributed/slow_end.h"
#include "gradus/train/distributed/threads.h"
#include "gradus/train/loop.h"

namespace gradus::testing {
namespace {

struct One : nn::Layer<One> {
  Tensor w = nn::parameter(tensor({1.0F}));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(double x) const { return sum(w * x); }
};

struct Run {
  One net;
  optim::SGD optimizer{net.parameters(), {.lr = 0.125}};
  TrainOptions options;

  explicit Run(const std::string& directory, std::int64_t steps = 4, std::int64_t every = 2) {
    options.directory = directory, options.steps = steps, options.eval_every = every;
  }
  /// Where the loss is said for each batch; what is judged is `value` at each evaluation.
  std::int64_t run(const std::function<double(std::int64_t)>& x, double value = 1) {
    Trainer trainer(net, optimizer, optim::constant_schedule(), options);
    trainer.start();
    trainer.run([&](std::int64_t i) { return net(x(i)); },
                [&] {
                  return Metrics{{"held_out_loss", value}};
                });
    return trainer.step();
  }
};

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

double one(std::int64_t) { return 1; }

}  // namespace

TEST_CASE("of several processes one shows and tells, and all stop where one is asked to") {
  const Unsynced quick;
  const Folder here;
  for (int asked = -1; asked < 3; ++asked) {
    CAPTURE(asked);
    std::vector<std::int64_t> steps(3);
    const std::string said = said_by([&] {
      distributed::run_threads(3, [&](distributed::Transport& transport) {
        volatile std::sig_atomic_t stop = transport.rank() == asked;  // before the run begins
        Run run(here / str_cat("run", asked), 12, 2);
        run.options.transport = &transport, run.options.shards = 3;
        run.options.stop = &stop, run.options.patience = 3;
        steps[static_cast<std::size_t>(transport.rank())] = run.run(one);
      });
    });
    const std::int64_t last = asked < 0 ? 8 : 1;  // the first evaluation is the best
    CHECK(steps == std::vector<std::int64_t>(3, last));
    CHECK(count_of(said, "step 2/12 ") == std::size_t{asked < 0});
    CHECK(count_of(said, "in 3 evaluations: stopped") == std::size_t{asked < 0});
  }
}

TEST_CASE("the process whose numbers are not finite says what is wrong, and ends all") {
  const Unsynced quick;
  const Folder here;
  std::string why;
  for (const int odd : {0, 1}) {
    static_cast<void>(said_by([&] {
      why = message_of<Error>([&] {
        distributed::run_threads(2, [&](distributed::Transport& transport) {
          SlowEnd slow(transport, transport.rank() == odd ? 0.03 : 0);
          Run run(here / str_cat("run", odd));
          run.options.transport = &slow, run.options.shards = 2;
          run.run([&](std::int64_t i) { return i % 2 == odd ? std::nan("") : 1.0; });
        });
      });
    }));
    CHECK(why.starts_with(str_cat("rank ", odd, " on host ")));
    CHECK(contains(why, "not finite at step 1: "));
    CHECK_FALSE(contains(why, "repeated"));
  }
}

TEST_CASE("the rate that is shown is that of the items of all shards") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 1, 1);
  run.options.shards = 64, run.options.items_per_step = 1'000'000'000'000;
  const double begin = Pace::system_clock();
  const std::string said = said_by([&] { run.run(one); });
  const double taken = Pace::system_clock() - begin;
  const std::size_t at = said.find("loss ");
  REQUIRE(at != std::string::npos);
  const double shown = std::atof(said.c_str() + said.find("  ", at)) * 1000;  // "k step/s"
  CHECK(shown >= 0.99 * 64e12 / taken);
}

TEST_CASE("one file of a run is a run") {
  const Folder here;
  const RunFiles files{here / "run"};
  CHECK_FALSE(holds_run(files));
  std::filesystem::create_directory(files.directory);
  CHECK_FALSE(holds_run(files));
  for (const std::string& path : {files.metrics(), files.checkpoint(), files.model()}) {
    write_bytes(path, "x");
    CHECK(holds_run(files));
    std::filesystem::remove(path);
  }
  CHECK_FALSE(holds_run(files));
}

TEST_CASE("a checkpoint is not written where the log could not be") {
  const Folder here;
  Run run(here / "run");
  const auto fills = [](std::int64_t) {
    io::file_watch = [](const io::FileChange& change) {
      return change.kind == io::FileChange::write && change.path.ends_with(".jsonl") ? ENOSPC : 0;
    };
    return 1.0;
  };
  std::string why;
  static_cast<void>(said_by([&] { why = message_of([&] { run.run(fills); }); }));
  io::file_watch = nullptr;
  CHECK(why == "cannot write " + RunFiles{here / "run"}.metrics() + ": " + std::strerror(ENOSPC));
  CHECK(read_state({here / "run"}).step == 0);
}

TEST_CASE("an evaluation's time is kept as that of so many steps") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 4, 4);
  double time = 0;
  run.options.clock = [&] { return time; };
  run.options.time = {1000, 0};
  static_cast<void>(said_by([&] {
    Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
    trainer.start();
    trainer.run(
        [&](std::int64_t) {
          time += 2;
          return run.net(1);
        },
        [&] {
          time += 5;
          return Metrics{{"held_out_loss", 1.0}};
        });
  }));
  const auto facts = io::load_checkpoint(RunFiles{here / "run"}.checkpoint()).facts;
  const std::string pace = facts.at("pace");
  const std::int64_t bits = std::stoll(pace.substr(pace.rfind(' ')));
  CHECK(std::bit_cast<double>(bits) == 2.5);
}

TEST_CASE("each evaluation of each run draws the same random numbers") {
  const Unsynced quick;
  const Folder here;
  std::vector<std::uint64_t> seeds;
  for (const std::uint64_t begin : {5, 6}) {
    seed(begin);
    Run run(here / std::to_string(begin));
    Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
    static_cast<void>(said_by([&] {
      trainer.start();
      trainer.run([&](std::int64_t) { return run.net(1); },
                  [&] {
                    seeds.push_back(generator().seed());
                    CHECK(generator().position() == 0);
                    return Metrics{{"held_out_loss", 1.0}};
                  });
    }));
    CHECK(generator().seed() == begin);
  }
  CHECK(seeds == std::vector<std::uint64_t>(4, 0));
}

TEST_CASE("a curve shows each judged value as a dot, and the best where there is one") {
  const Unsynced quick;
  const Folder here;
  for (const bool judged : {true, false}) {
    Run run(here / str_cat(judged));
    static_cast<void>(said_by([&] { run.run(one, judged ? 1 : std::nan("")); }));
    const std::string curve = read_bytes(RunFiles{here / str_cat(judged)}.curve());
    CHECK(contains(curve, "best") == judged);
    CHECK(count_of(curve, "<circle") == (judged ? 4 : 1));  // two values, the best, the legend
  }
}

TEST_CASE("a resumed run names its items, and what judges it, from its first line on") {
  const Unsynced quick;
  const Folder here;
  const auto said = [&](std::int64_t steps, bool resume) {
    Run run(here / "run", steps, 2);
    run.options.judge = "accuracy", run.options.item = "token";
    Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
    resume ? trainer.resume() : trainer.start();
    return said_by([&] {
      trainer.run([&](std::int64_t) { return run.net(1); },
                  [] {
                    return Metrics{{"accuracy", 0.5}};
                  });
    });
  };
  static_cast<void>(said(2, false));
  const std::string all = said(5, true), first = all.substr(0, all.find('\n'));
  INFO(all);
  CHECK(contains(first, "step 3/5"));
  CHECK(contains(first, "tokens/s"));
  CHECK(contains(first, "accuracy 0.5000"));
}

}  // namespace gradus::testing
