// Runs that resume from damaged checkpoints, diverge, or share their work among processes.
#include <bit>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "gradus/engine/backward.h"
#include "gradus/io/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/said.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/distributed/threads.h"
#include "gradus/train/loop.h"

namespace gradus::testing {
namespace {

/// Two numbers, whose loss is 3 w₀ + 4 w₁ + 20: a gradient of norm 5.
struct Pair : nn::Layer<Pair> {
  Tensor w = nn::parameter(tensor({1.0F, 2.0F}));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return sum(w * x) + 20; }
};

struct Run {
  Pair net;
  optim::SGD optimizer{net.parameters(), {.lr = 0.125}};
  TrainOptions options;
  std::function<Metrics(std::int64_t step)> judged;
  double seconds_a_step = 0, time = 0;
  bool averaged = false;

  explicit Run(const std::string& directory, std::int64_t steps = 8, std::int64_t every = 2) {
    options.directory = directory, options.steps = steps, options.eval_every = every;
    options.clock = [this] { return time; };
    options.clip_norm = 0;
    judged = [](std::int64_t step) {
      return Metrics{{"held_out_loss", 8 - static_cast<double>(step)}, {"blocks.0.span", 0.5}};
    };
  }
  Tensor loss(std::int64_t i) {
    time += seconds_a_step;
    return net(tensor({3.0F, 4.0F})) + (i % 2 == 0 ? 0 : 0.5);
  }
  TrainEnd run(bool again = false) {
    const optim::Schedule schedule = [](std::int64_t step) { return step % 2 == 0 ? 1.0 : 0.5; };
    Trainer trainer(net, optimizer, schedule, options);
    optim::EMA ema(net.parameters(), 0.5);
    if (averaged) trainer.average(ema);
    again ? trainer.resume() : trainer.start();
    return trainer.run([&](std::int64_t i) { return loss(i); },
                       [&] { return judged(trainer.step()); });
  }
};

}  // namespace

TEST_CASE("a run does not resume from a checkpoint that lacks a fact or holds a wrong one") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 2, 1);
  static_cast<void>(said_by([&] { run.run(); }));
  const std::string path = RunFiles{here / "run"}.checkpoint();
  const io::Checkpoint whole = io::load_checkpoint(path);
  const auto resume_with = [&](const char* name, const char* value) {
    io::Checkpoint part = whole;
    part.facts.erase(name);
    if (value) part.facts[name] = value;
    io::save_checkpoint(path, part);
    Run other(here / "run", 2, 1);
    std::string problem;
    static_cast<void>(said_by([&] {
      problem = refusal_problem<FileError>([&] { other.run(true); }, {name, path});
    }));
    return problem;
  };
  for (const char* name : {"step", "best_step", "rises", "best", "last_loss", "last_held_out",
                           "random_seed", "random_position", "metrics_bytes"})
    CHECK(resume_with(name, nullptr) == "");
  CHECK(resume_with("step", "") == "");
  CHECK(resume_with("step", "x") == "");
}

TEST_CASE("a state is read from three facts, each of them a number") {
  const Unsynced quick;
  const Folder here;
  std::filesystem::create_directory(here / "run");
  const RunFiles files{here / "run"};
  const auto read = [&](const std::map<std::string, std::string>& facts) {
    io::save_checkpoint(files.checkpoint(),
                        {{{"model.a", ones({2, 3})}, {"ema.a", ones({9})}}, facts});
    return read_state(files);
  };
  const std::string half = std::to_string(std::bit_cast<std::int64_t>(0.5));
  const SavedState state = read({{"step", "12"}, {"best_step", "8"}, {"best", half}});
  CHECK(state.step == 12);
  CHECK(state.best_step == 8);
  CHECK(state.best == 0.5);
  CHECK(state.parameters == 6);
  CHECK_FALSE(state.steps);
  CHECK(read({{"step", "12"}, {"best_step", "8"}, {"best", half}, {"pace", "30 5"}}).steps == 30);
  const std::string path = files.checkpoint();
  CHECK_REFUSES(FileError, read({{"best_step", "8"}, {"best", half}}), path, "step");
  CHECK_REFUSES(FileError, read({{"step", ""}, {"best_step", "8"}, {"best", half}}), path, "step");
  CHECK_REFUSES(FileError, read({{"step", "12"}, {"best", half}}), path, "best_step");
  CHECK_REFUSES(FileError, read({{"step", "12"}, {"best_step", "8"}, {"best", "x"}}), path, "best");
}

TEST_CASE("steps beyond what an f32 holds are logged as they are") {
  const Unsynced quick;
  const Folder here;
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;
  Run run(here / "run", 1, 1);
  static_cast<void>(said_by([&] { run.run(); }));
  const std::string path = RunFiles{here / "run"}.checkpoint();
  io::Checkpoint moved = io::load_checkpoint(path);
  moved.facts["step"] = std::to_string(kMany);
  io::save_checkpoint(path, moved);
  Run more(here / "run", kMany + 2, kMany + 2);
  static_cast<void>(said_by([&] { more.run(true); }));
  const auto losses = read_metric(RunFiles{here / "run"}.metrics(), "loss");
  REQUIRE(losses.size() == 3);
  CHECK(losses[1].first == static_cast<double>(kMany));
  CHECK(losses[2].first == static_cast<double>(kMany + 1));
  CHECK(read_metric(RunFiles{here / "run"}.metrics(), "held_out_loss").back().first ==
        static_cast<double>(kMany + 2));
}

TEST_CASE("a loss or a gradient that is not finite is named, and weights and average stay") {
  const Unsynced quick;
  const Folder here;
  for (const bool of_loss : {true, false}) {
    Pair net;
    net.w = nn::parameter(zeros({2}));
    optim::SGD optimizer(net.parameters());
    TrainOptions options;
    options.directory = here / (of_loss ? "loss" : "gradient"), options.steps = 2;
    Trainer trainer(net, optimizer, optim::constant_schedule(), options);
    optim::EMA ema(net.parameters());
    trainer.average(ema);
    trainer.start();
    CHECK_REFUSES(
        ValueError,
        trainer.run([&](std::int64_t) { return of_loss ? sum(log(net.w)) : sum(sqrt(net.w)); },
                    [] {
                      return Metrics{{"held_out_loss", 1.0}};
                    }),
        of_loss ? "loss is not finite" : "gradient is not finite", "step 1",
        RunFiles{options.directory}.checkpoint());
    CHECK(net.w.to_vector<float>() == std::vector<float>(2, 0.0F));
    CHECK(ema.state_dict().at("updates").item() == 0);
  }
}

TEST_CASE("a norm that overflows while all is finite is said to") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 2, 1);
  Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
  trainer.start();
  CHECK_REFUSES(ValueError,
                trainer.run([&](std::int64_t) { return sum(run.net.w) * 1e30; },
                            [&] { return run.judged(trainer.step()); }),
                "step 1", "overflow");
}

TEST_CASE("of several processes rank 0 has the clock, and tells what all find") {
  const Unsynced quick;
  const Folder here;
  std::vector<std::int64_t> ends(2);
  const std::string said = said_by([&] {
    distributed::run_threads(2, [&](distributed::Transport& transport) {
      Run run(here / str_cat("run", transport.rank()), 23, 2);
      run.options.transport = &transport, run.options.shards = 2, run.options.time = {0.5, 0};
      run.seconds_a_step = transport.rank() == 0 ? 1.0 / 32 : 1000;
      Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
      trainer.start();
      trainer.run([&](std::int64_t i) { return run.loss(i); },
                  [&] {
                    return Metrics{{"held_out_loss", static_cast<double>(trainer.step())}};
                  });
      ends[static_cast<std::size_t>(transport.rank())] = trainer.step();
    });
  });
  CHECK(ends == std::vector<std::int64_t>{16, 16});
  const std::size_t told = said.find("three times running");
  CHECK(told != std::string::npos);
  CHECK(said.find("three times running", told + 1) == std::string::npos);
}

TEST_CASE("of several processes rank 0 alone writes, and each ends when one fails") {
  const Unsynced quick;
  const Folder here;
  const auto train = [&](distributed::Transport& transport, const std::string& name, int fails) {
    Run run(here / str_cat(name, transport.rank()), 2, 1);
    run.options.transport = &transport, run.options.shards = 2;
    Pair& net = run.net;
    Trainer trainer(net, run.optimizer, optim::constant_schedule(), run.options);
    trainer.start();
    trainer.run(
        [&](std::int64_t i) {
          if (i / 2 == 1 && transport.rank() == fails) fail<ValueError>("the data ended");
          return run.loss(i);
        },
        [&] { return run.judged(trainer.step()); });
  };
  static_cast<void>(said_by([&] {
    distributed::run_threads(2, [&](distributed::Transport& t) { train(t, "good", -1); });
  }));
  for (const std::string& each : RunFiles{here / "good0"}.all())
    CHECK(std::filesystem::exists(each));
  CHECK_FALSE(std::filesystem::exists(here / "good1"));
  std::string why;
  static_cast<void>(said_by([&] {
    why = message_of<Error>([&] {
      distributed::run_threads(2, [&](distributed::Transport& t) { train(t, "bad", 1); });
    });
  }));
  CHECK(why == "rank 1 on host " + distributed::host_name() +
                   ", at step 1, in the forward and backward pass: the data ended");
}

TEST_CASE("more processes than shards are refused, one shard or more") {
  const Folder here;
  for (const std::int64_t shards : {1, 2}) {
    const std::string why = message_of<Error>([&] {
      distributed::run_threads(shards == 1 ? 2 : 3, [&](distributed::Transport& transport) {
        Run run(here / "run");
        run.options.transport = &transport, run.options.shards = shards;
        Trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
      });
    });
    CHECK(contains(why, shards == 1
                            ? ": 2 processes, but 1 shard a step: each process wants one"
                            : ": 3 processes, but 2 shards a step: each process wants one"));
  }
}

TEST_CASE("a run that is fitted to its time tells that by the name of its program") {
  const Unsynced quick;
  const Folder here;
  Run timed(here / "timed", 23, 8);
  timed.options.time = {0.5, 0}, timed.seconds_a_step = 1.0 / 32;
  timed.options.program = "learn";
  const std::string said = said_by([&] { timed.run(); });
  CHECK(contains(said, "learn: a step takes "));
}

}  // namespace gradus::testing
