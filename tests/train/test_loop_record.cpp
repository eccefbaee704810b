// Whole records of small runs: what is said, logged, kept and drawn, with numbers that every
// machine computes alike; and what befalls a run that is resumed from less.
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
#include "gradus/tests/support/outcomes.h"
#include "gradus/tests/support/said.h"
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

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

/// Rates and times left depend on the machine.
std::string masked(std::string text, const std::string& directory) {
  replace_all(text, directory, "DIR");
  for (std::size_t at = 0; (at = text.find("/s  left ", at)) != std::string::npos;) {
    const std::size_t begin = text.rfind("  ", at) + 2,
                      end = text.find_first_not_of("0123456789:", at + 9);
    text.replace(begin, end - begin, "RATE");
    at = begin;
  }
  return text;
}

/// The words of a picture, one a line.
std::string words(const std::string& svg) {
  std::string out;
  for (std::size_t at = 0; (at = svg.find("<text", at)) != std::string::npos;) {
    const std::size_t begin = svg.find('>', at) + 1;
    at = svg.find("</text>", begin);
    out += "  " + svg.substr(begin, at - begin) + "\n";
  }
  return out;
}

std::string facts(const io::Checkpoint& checkpoint) {
  std::string out;
  for (const auto& [name, value] : checkpoint.facts) {
    const bool bits = name == "best" || name.starts_with("last_");
    if (name == "pace") continue;
    out += str_cat("  ", name, " ",
                   bits ? str_cat(std::bit_cast<double>(std::stoll(value))) : value, "\n");
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    out += "  " + name;
    for (const double x : tensor.to(Dtype::f64).to_vector<double>()) out += str_cat(" ", x);
    out += "\n";
  }
  return out;
}

/// All of a run, as text.
std::string record(const char* title, Run& run, bool again = false) {
  seed(3);
  TrainEnd end{};
  const std::string said = said_by([&] { end = run.run(again); });
  const RunFiles files{run.options.directory};
  std::string out = str_cat("-- ", title, ": ends as ", static_cast<int>(end), "\n");
  out += masked(said, files.directory) + read_bytes(files.metrics());
  out += facts(io::load_checkpoint(files.checkpoint())) + words(read_bytes(files.curve()));
  replace_all(out, files.directory, "DIR");
  return out;
}

}  // namespace

TEST_CASE("a run's words, log, checkpoint and picture") {
  const Unsynced quick;
  const Folder here;
  std::string text;
  Run plain(here / "plain");
  plain.options.loss_unit = "nats";
  text += record("plain", plain);
  Run worse(here / "worse", 12, 1);
  worse.options.program = "learn", worse.options.item = "token";
  worse.judged = [](std::int64_t step) {
    const double loss[] = {3, 2, 2.5, 2.75, 3, 3.25, 1, 1, 1, 1, 1, 1};
    return Metrics{{"accuracy", 0.5}, {"held_out_loss", loss[step - 1]}};
  };
  worse.options.patience = 5;
  text += record("worse", worse);
  Run accurate(here / "accurate", 12, 1);
  accurate.options.judge = "top_accuracy", accurate.options.higher_is_better = true;
  accurate.options.patience = 4, accurate.options.clip_value = 3.5;
  accurate.judged = [](std::int64_t step) {
    return Metrics{{"held_out_loss", 1}, {"top_accuracy", 0.5 - static_cast<double>(step) / 16}};
  };
  accurate.averaged = true;
  text += record("accurate", accurate);
  check_said("runs", text);
}

TEST_CASE("a run's record with a time limit, patience, shards, and what resumes it") {
  const Unsynced quick;
  const Folder here;
  std::string text;
  Run timed(here / "timed", 23, 8);
  timed.options.time = {0.5, 0}, timed.seconds_a_step = 1.0 / 32;
  text += record("timed", timed);
  text += record("timed, resumed at its end", timed, true);
  Run hasty(here / "hasty", 4, 1);
  hasty.options.patience = 1;
  hasty.judged = [](std::int64_t) { return Metrics{{"held_out_loss", 1}}; };
  text += record("hasty", hasty);
  Run two(here / "two", 2, 2), four(here / "two", 4, 2);
  static_cast<void>(record("", two));
  text += record("resumed with more steps", four, true);
  Run sharded(here / "sharded", 3, 2);
  sharded.options.shards = 2;
  volatile std::sig_atomic_t stop = 0;  // it is never asked to
  sharded.options.stop = &stop;
  text += record("sharded", sharded);
  Run stopped(here / "stopped", 6, 2);
  volatile std::sig_atomic_t at_once = 1;
  stopped.options.stop = &at_once;
  text += record("stopped before its first step", stopped);
  stopped.options.stop = nullptr;
  text += record("and resumed", stopped, true);
  check_said("more_runs", text);
}

TEST_CASE("a checkpoint that lacks a fact, or whose fact is no number, is refused") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 2, 1);
  static_cast<void>(record("", run));
  const std::string path = RunFiles{here / "run"}.checkpoint();
  const io::Checkpoint whole = io::load_checkpoint(path);
  const auto resumed = [&](const char* name, const char* value) {
    io::Checkpoint part = whole;
    part.facts.erase(name);
    if (value) part.facts[name] = value;
    io::save_checkpoint(path, part);
    Run other(here / "run", 2, 1);
    std::string said = outcome([&] {
      static_cast<void>(said_by([&] { other.run(true); }));
      return "accepted";
    });
    replace_all(said, here / "run", "DIR");
    return str_cat(name, value ? str_cat(" = ", value) : " is missing", ": ", said, "\n");
  };
  std::string text;
  for (const char* name : {"step", "best_step", "rises", "best", "last_loss", "last_held_out",
                           "random_seed", "random_position", "metrics_bytes"})
    text += resumed(name, nullptr);
  text += resumed("step", "") + resumed("step", "x") + resumed("step", "2");
  text += resumed("metrics_bytes", "100000") + resumed("pace", "2 1 0 0 0 0 0 0 0 0 0");
  check_said("facts", text);
}

TEST_CASE("a state is read from three facts, each of them a number") {
  const Unsynced quick;
  const Folder here;
  std::filesystem::create_directory(here / "run");
  const RunFiles files{here / "run"};
  const auto read = [&](const std::map<std::string, std::string>& facts) {
    io::save_checkpoint(files.checkpoint(),
                        {{{"model.a", ones({2, 3})}, {"ema.a", ones({9})}}, facts});
    std::string said = outcome([&] {
      const SavedState state = read_state(files);
      return str_cat(state.step, " ", state.best_step, " ", state.best, " ", state.parameters, " ",
                     state.steps.value_or(-1));
    });
    replace_all(said, files.directory, "DIR");
    return said;
  };
  const std::string half = std::to_string(std::bit_cast<std::int64_t>(0.5));
  CHECK(read({{"step", "12"}, {"best_step", "8"}, {"best", half}}) == "12 8 0.5 6 -1");
  CHECK(read({{"step", "12"}, {"best_step", "8"}, {"best", half}, {"pace", "30 5"}}) ==
        "12 8 0.5 6 30");
  const auto lacks = [](const char* name) {
    return str_cat("gradus::FileError: DIR/checkpoint.safetensors: holds no number \"", name,
                   "\": it is not the checkpoint of a run");
  };
  CHECK(read({{"best_step", "8"}, {"best", half}}) == lacks("step"));
  CHECK(read({{"step", ""}, {"best_step", "8"}, {"best", half}}) == lacks("step"));
  CHECK(read({{"step", "12"}, {"best", half}}) == lacks("best_step"));
  CHECK(read({{"step", "12"}, {"best_step", "8"}, {"best", "x"}}) == lacks("best"));
}

TEST_CASE("steps beyond what an f32 holds are logged as they are") {
  const Unsynced quick;
  const Folder here;
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;
  Run run(here / "run", 1, 1);
  static_cast<void>(record("", run));
  const std::string path = RunFiles{here / "run"}.checkpoint();
  io::Checkpoint moved = io::load_checkpoint(path);
  moved.facts["step"] = std::to_string(kMany);
  io::save_checkpoint(path, moved);
  Run more(here / "run", kMany + 2, kMany + 2);
  static_cast<void>(record("", more, true));
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
    std::string said = outcome([&] {
      trainer.run([&](std::int64_t) { return of_loss ? sum(log(net.w)) : sum(sqrt(net.w)); },
                  [] {
                    return Metrics{{"held_out_loss", 1.0}};
                  });
      return "accepted";
    });
    replace_all(said, options.directory, "DIR");
    CAPTURE(said);
    CHECK(contains(said, of_loss ? "ValueError: the loss is not finite at step 1: "
                                 : "ValueError: the gradient is not finite at step 1: "));
    CHECK(contains(said,
                   "; try a smaller learning rate (--lr); DIR/checkpoint.safetensors holds "
                   "the last good step"));
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
  const std::string said = outcome([&] {
    trainer.run([&](std::int64_t) { return sum(run.net.w) * 1e30; },
                [&] { return run.judged(trainer.step()); });
    return "accepted";
  });
  CHECK(contains(said,
                 "the gradient is not finite at step 1: repeated, every result and gradient "
                 "is finite: their norm overflowed; try"));
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
