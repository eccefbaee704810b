#include <bit>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "gradus/engine/base/random.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/safetensors.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/capture_output.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/train/distributed/slow_end.h"
#include "gradus/train/distributed/threads.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_loop {
namespace {

struct Net : nn::Layer<Net> {
  nn::Linear up{3, 8}, down{8, 1};
  nn::Members members() override { return {{"up", up}, {"down", down}}; }
  Tensor forward(const Tensor& x) const {  // [N, 3] → [N, 1]
    return down(dropout(tanh(up(x)), 0.2, training()));
  }
};

Tensor part(const Tensor& x, std::int64_t i, std::int64_t n) {
  return slice(x, 0, i * n, (i + 1) * n);
}

/// A run that fits 48 points of a plane.
struct Task {
  Task() : x((seed(5), randn({48, 3}))), y(sum(x, {1}, true)) {}
  Tensor x, y;
  Net net;
  optim::AdamW optimizer{net.parameters(), {.lr = 1e-2}};

  Tensor loss(std::int64_t i) const {
    return mse_loss(net(part(x, i % 3, 16)), part(y, i % 3, 16));
  }
  train::Metrics evaluate() const { return {{"held_out_loss", mse_loss(net(x), y).item()}}; }
  train::TrainEnd run(train::Trainer& trainer) const {
    return trainer.run([&](std::int64_t i) { return loss(i); }, [&] { return evaluate(); });
  }
};

train::TrainOptions options(const std::string& directory, std::int64_t steps = 40) {
  train::TrainOptions options;
  options.directory = directory;
  options.steps = steps;
  options.eval_every = 10;
  return options;
}

const optim::Schedule kSchedule = optim::warmup_cosine(4, 40);

/// Returns a loss that is multiplied by 100 after even steps.
train::Metrics up_and_down(const Task& task, const train::Trainer& trainer) {
  const double part = trainer.step() % 2 == 0 ? 100.0 : 1.0;
  return {{"held_out_loss", part * task.evaluate()[0].second}};
}

TEST_CASE("a run that was interrupted at any step resumes bit for bit", "[once]") {
  constexpr std::int64_t kSteps = 16;
  const Folder here;
  const auto settings = [&](const std::string& name) {
    train::TrainOptions with = options(here / name, kSteps);
    with.eval_every = 3, with.clip_norm = 1, with.shards = 2;
    return with;
  };
  Task whole;
  train::Trainer first(whole.net, whole.optimizer, kSchedule, settings("whole"));
  first.start();
  const auto go = [](Task& task, train::Trainer& trainer, const train::Trainer::LossOf& loss) {
    return trainer.run(loss, [&] { return up_and_down(task, trainer); });
  };
  go(whole, first, [&](std::int64_t i) { return whole.loss(i); });

  for (std::int64_t last = 1; last < kSteps; ++last) {
    CAPTURE(last);
    const std::string name = "run" + std::to_string(last);
    volatile std::sig_atomic_t stop = 0;
    {
      Task task;
      train::TrainOptions with_stop = settings(name);
      with_stop.stop = &stop;
      train::Trainer trainer(task.net, task.optimizer, kSchedule, with_stop);
      trainer.start();
      const train::TrainEnd end = go(task, trainer, [&](std::int64_t i) {
        stop = i / 2 + 1 == last;
        return task.loss(i);
      });
      CHECK(end == train::TrainEnd::interrupted);
      CHECK(trainer.step() == last);
    }
    Task task;
    randn({3});  // earlier draws must not affect the run
    train::Trainer trainer(task.net, task.optimizer, kSchedule, settings(name));
    trainer.resume();
    CHECK(trainer.step() == last);
    CHECK(go(task, trainer, [&](std::int64_t i) { return task.loss(i); }) ==
          train::TrainEnd::finished);
    for (const std::string file : {"metrics.jsonl", "model.safetensors", "checkpoint.safetensors"})
      CHECK(read_bytes(here / (name + "/" + file)) == read_bytes(here / ("whole/" + file)));
    CHECK(trainer.best() == first.best());
  }
}

TEST_CASE("facts that an application adds to the checkpoint are restored") {
  const Folder here;
  std::string place = "page 7";
  for (const bool again : {false, true}) {
    Task task;
    train::Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run", 10));
    trainer.keep([&](io::Checkpoint& checkpoint) { checkpoint.facts["place"] = place; },
                 [&](const io::Checkpoint& checkpoint) { place = checkpoint.facts.at("place"); });
    if (!again) trainer.start(), task.run(trainer);
    if (again) place = "", trainer.resume();
    CHECK(place == "page 7");
  }
}

TEST_CASE(
    "averaged weights are evaluated and saved, and training continues from the unaveraged "
    "weights") {
  const Folder here;
  Task task;
  optim::EMA ema(task.net.parameters(), 0.9);
  train::Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run"));
  trainer.average(ema);
  trainer.start();
  task.run(trainer);
  Net best;
  best.load_state_dict(io::load_safetensors(trainer.files().model()).tensors);
  best.eval();
  CHECK(mse_loss(best(task.x), task.y).item() == trainer.best());
  const std::vector<float> now = task.net.up.weight.to_vector<float>();
  const optim::EMA::Scope averaged(ema);
  CHECK(task.net.up.weight.to_vector<float>() != now);
}

TEST_CASE("a run that ran out of patience ends immediately when it is resumed") {
  const Folder here;
  train::TrainOptions patient = options(here / "run", 200);
  patient.judge = "accuracy", patient.higher_is_better = true, patient.patience = 3;
  for (const bool again : {false, true}) {
    Task task;
    train::Trainer trainer(task.net, task.optimizer, kSchedule, patient);
    again ? trainer.resume() : trainer.start();
    const train::TrainEnd end =
        trainer.run([&](std::int64_t i) { return task.loss(i); },
                    [&] {
                      return train::Metrics{{"accuracy", trainer.step() == 20 ? 0.5 : 0.2}};
                    });
    CHECK(end == train::TrainEnd::early);
    CHECK(trainer.step() == 50);
    CHECK(trainer.best() == 0.5);
    CHECK(trainer.best_step() == 20);
  }
}

TEST_CASE("a resumed run shows its latest evaluation and its item rate from the first step") {
  const Folder here;
  volatile std::sig_atomic_t stop = 0;
  train::TrainOptions own = options(here / "run");
  own.stop = &stop, own.judge = "accuracy", own.item = "token";
  const auto train = [&](bool resume) {
    Task task;
    train::Trainer trainer(task.net, task.optimizer, kSchedule, own);
    stop = 0;
    resume ? trainer.resume() : trainer.start();
    return capture_output([&] {
      trainer.run(
          [&](std::int64_t i) {
            stop = i == 12;  // requests a stop after the evaluation at step 10
            return task.loss(i);
          },
          [] {
            return train::Metrics{{"accuracy", 0.25}};
          });
    });
  };
  train(false);
  const std::string output = train(true), first = output.substr(0, output.find('\n'));
  INFO(output);
  for (const char* part : {"step 14/40", "accuracy 0.2500", "tokens/s"})
    CHECK(contains(first, part));
}

TEST_CASE(
    "evaluations run in eval mode, each with the same random numbers, separate from the run's") {
  const Folder here;
  std::vector<double> drawn;
  for (const std::uint64_t begin : {5u, 6u}) {
    Task task;
    seed(begin);
    train::Trainer trainer(task.net, task.optimizer, kSchedule, options(here / str_cat(begin), 20));
    trainer.start();
    std::vector<std::uint32_t> positions;
    trainer.run(
        [&](std::int64_t i) {
          positions.push_back(generator().position());
          return task.loss(i);
        },
        [&] {
          CHECK_FALSE(task.net.training());
          CHECK_FALSE(task.net(task.x).requires_grad());
          drawn.push_back(randn({1}).item());
          return task.evaluate();
        });
    CHECK(task.net.training());
    CHECK(generator().seed() == begin);
    for (std::size_t i = 1; i < positions.size(); ++i)
      CHECK(positions[i] == positions[i - 1] + 1);  // each step draws one dropout mask
  }
  CHECK(drawn == std::vector<double>(4, drawn[0]));
}

TEST_CASE("a trainer starts once, resumes only existing runs, and requires its metric") {
  const Folder here;
  Task task;
  train::Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run"));
  CHECK_REFUSES(GraphError, task.run(trainer), "Trainer", "run()", "start()");
  CHECK_REFUSES(FileError, trainer.resume(), "checkpoint.safetensors");
  trainer.start();
  CHECK_REFUSES(FileError, trainer.start(), "run", "already");
  CHECK_REFUSES(ValueError,
                trainer.run([&](std::int64_t i) { return task.loss(i); },
                            [] {
                              return train::Metrics{{"accuracy", 1.0}};
                            }),
                "Trainer", "\"held_out_loss\"", "TrainOptions::judge");
}

/// The loss 3 w₀ + 4 w₁ + 20, whose gradient has norm 5.
struct Pair : nn::Layer<Pair> {
  Tensor w = nn::parameter(tensor({1.0F, 2.0F}));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return sum(w * x) + 20; }
};

struct Run {
  Pair net;
  optim::SGD optimizer{net.parameters(), {.lr = 0.125}};
  train::TrainOptions options;
  std::function<train::Metrics(std::int64_t step)> metrics_at;
  std::function<double(std::int64_t i)> factor = [](std::int64_t) { return 1; };
  double seconds_a_step = 0, time = 0;

  explicit Run(const std::string& directory, std::int64_t steps = 8, std::int64_t every = 2) {
    options.directory = directory, options.steps = steps, options.eval_every = every;
    options.clock = [this] { return time; };
    options.clip_norm = 0;
    metrics_at = [](std::int64_t step) {
      return train::Metrics{{"held_out_loss", 8 - static_cast<double>(step)},
                            {"blocks.0.span", 0.5}};
    };
  }
  Tensor loss(std::int64_t i) {
    time += seconds_a_step;
    return factor(i) * net(tensor({3.0F, 4.0F})) + (i % 2 == 0 ? 0 : 0.5);
  }
  std::int64_t run(bool again = false) {
    const optim::Schedule schedule = [](std::int64_t step) { return step % 2 == 0 ? 1.0 : 0.5; };
    train::Trainer trainer(net, optimizer, schedule, options);
    again ? trainer.resume() : trainer.start();
    trainer.run([&](std::int64_t i) { return loss(i); },
                [&] { return metrics_at(trainer.step()); });
    return trainer.step();
  }
};

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("a Loop equals a hand-written loop, with an evaluation at its end") {
  for (const bool clips : {false, true}) {
    Pair own, plain;
    optim::SGD optimizer(own.parameters(), {.lr = 0.1}), other(plain.parameters(), {.lr = 0.1});
    const auto loss_of = [](const Pair& net, std::int64_t i) {
      return square(net(full({2}, static_cast<double>(i))) - 3.0);
    };
    train::LoopOptions options{.steps = 7, .eval_every = 3, .clip_norm = 0};
    if (clips) {
      options.clip_norm = 0.5;
      options.clip_value = 0.4;
    }
    train::Loop loop(optimizer, kSchedule, options);
    std::vector<std::int64_t> evaluated;
    loop.run([&](std::int64_t i) { return loss_of(own, i); },
             [&] { evaluated.push_back(loop.step()); });
    CHECK(evaluated == std::vector<std::int64_t>{3, 6, 7});
    for (std::int64_t i = 0; i < 7; ++i) {
      other.zero_grad();
      loss_of(plain, i).backward();
      if (clips) optim::clip_grad_value(plain.parameters(), 0.4);
      other.step({.clip_norm = clips ? 0.5 : 0, .factor = kSchedule(i)});
    }
    CHECK(own.w.to_vector<float>() == plain.w.to_vector<float>());
    CHECK(loop.loss() > 0);
  }
}

TEST_CASE("a Loop stops before a step whose loss is not finite") {
  Pair net;
  optim::SGD optimizer(net.parameters());
  train::Loop loop(optimizer, optim::constant_schedule(), {.steps = 5});
  std::vector<float> before;
  CHECK_REFUSES(ValueError,
                loop.run(
                    [&](std::int64_t i) {
                      before = net.w.to_vector<float>();
                      return net(ones({2})) * (i == 2 ? INFINITY : 1.0);
                    },
                    [] {}),
                "loss is not finite", "step 3");
  CHECK(net.w.to_vector<float>() == before);
}

struct Events final : train::Loop {
  using Loop::Loop;
  std::string seen;
  bool begin_step() override {
    seen += "begin ";
    return step() < 4;
  }
  double factor() override {
    seen += "factor ";
    return 0;
  }
  void after_update(const LossOf&) override { seen += str_cat("updated ", step(), " "); }
  bool evaluates() override { return step() == 2; }
  void end_step() override { seen += "end\n"; }
};

TEST_CASE("the events of a Loop occur in the documented order and control the run") {
  Pair net;
  optim::SGD optimizer(net.parameters(), {.lr = 1});
  Events loop(optimizer, optim::constant_schedule(), {.steps = 100});
  const std::vector<float> before = net.w.to_vector<float>();
  loop.run([&](std::int64_t) { return net(ones({2})); }, [&] { loop.seen += "evaluate "; });
  CHECK(loop.seen ==
        "begin factor updated 1 end\nbegin factor updated 2 evaluate end\n"
        "begin factor updated 3 end\nbegin factor updated 4 end\nbegin ");
  CHECK(net.w.to_vector<float>() == before);
}

TEST_CASE("only rank 0 prints, and a stop request on any rank stops all") {
  const Unsynced quick;
  const Folder here;
  for (int stop_rank = -1; stop_rank < 3; ++stop_rank) {
    CAPTURE(stop_rank);
    std::vector<std::int64_t> steps(3);
    const std::string output = capture_output([&] {
      distributed::run_threads(3, [&](distributed::Transport& transport) {
        // One rank's stop is requested before the run starts.
        volatile std::sig_atomic_t stop = transport.rank() == stop_rank;
        Run run(here / str_cat("run", stop_rank), 12, 2);
        run.options.transport = &transport, run.options.shards = 3;
        run.options.stop = &stop, run.options.patience = 3;
        run.metrics_at = [](std::int64_t) { return train::Metrics{{"held_out_loss", 1.0}}; };
        steps[static_cast<std::size_t>(transport.rank())] = run.run();
      });
    });
    const std::int64_t last = stop_rank < 0 ? 8 : 1;  // the first evaluation is the best
    CHECK(steps == std::vector<std::int64_t>(3, last));
    CHECK(count_of(output, "step 2/12 ") == std::size_t{stop_rank < 0});
    CHECK(count_of(output, "in 3 evaluations, so training stops") == std::size_t{stop_rank < 0});
  }
}

TEST_CASE("a process with values that are not finite reports them and ends all processes") {
  const Unsynced quick;
  const Folder here;
  std::string why;
  for (const int odd : {0, 1}) {
    static_cast<void>(capture_output([&] {
      why = message_of<Error>([&] {
        distributed::run_threads(2, [&](distributed::Transport& transport) {
          SlowEnd slow(transport, transport.rank() == odd ? 0.03 : 0);
          Run run(here / str_cat("run", odd));
          run.options.transport = &slow, run.options.shards = 2;
          run.factor = [&](std::int64_t i) { return i % 2 == odd ? std::nan("") : 1.0; };
          run.run();
        });
      });
    }));
    CHECK(why.starts_with(str_cat("rank ", odd, " on host ")));
    CHECK(contains(why, "not finite at step 1: "));
    CHECK_FALSE(contains(why, "repeated"));
  }
}

TEST_CASE("the displayed rate counts the items of all shards") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 1, 1);
  run.options.shards = 64, run.options.items_per_step = 1'000'000'000'000;
  const double begin = train::TimeBudget::system_clock();
  const std::string output = capture_output([&] { run.run(); });
  const double taken = train::TimeBudget::system_clock() - begin;
  const std::size_t at = output.find("loss ");
  REQUIRE(at != std::string::npos);
  const double shown = std::atof(output.c_str() + output.find("  ", at)) * 1000;
  CHECK(shown >= 0.99 * 64e12 / taken);
}

TEST_CASE("a directory with any nonempty file of a run counts as a run") {
  const Folder here;
  const train::RunFiles files{here / "run"};
  CHECK_FALSE(train::holds_run(files));
  std::filesystem::create_directory(files.directory);
  CHECK_FALSE(train::holds_run(files));
  for (const std::string& path : {files.metrics(), files.checkpoint(), files.model()}) {
    write_bytes(path, "x");
    CHECK(train::holds_run(files));
    std::filesystem::remove(path);
  }
  write_bytes(files.metrics(), "");
  CHECK_FALSE(train::holds_run(files));
}

TEST_CASE("a run does not resume from a checkpoint with a missing or wrong fact") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 2, 1);
  static_cast<void>(capture_output([&] { run.run(); }));
  const std::string path = train::RunFiles{here / "run"}.checkpoint();
  const io::Checkpoint whole = io::load_checkpoint(path);
  const auto resume_with = [&](const char* name, const char* value) {
    io::Checkpoint part = whole;
    part.facts.erase(name);
    if (value) part.facts[name] = value;
    io::save_checkpoint(path, part);
    Run other(here / "run", 2, 1);
    std::string problem;
    static_cast<void>(capture_output([&] {
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

TEST_CASE("the state of a run is read from three facts, which must be numbers") {
  const Unsynced quick;
  const Folder here;
  std::filesystem::create_directory(here / "run");
  const train::RunFiles files{here / "run"};
  const auto read = [&](const std::map<std::string, std::string>& facts) {
    io::save_checkpoint(files.checkpoint(),
                        {{{"model.a", ones({2, 3})}, {"ema.a", ones({9})}}, facts});
    return train::read_state(files);
  };
  const std::string half = std::to_string(std::bit_cast<std::int64_t>(0.5));
  const train::SavedState state = read({{"step", "12"}, {"best_step", "8"}, {"best", half}});
  CHECK(state.step == 12);
  CHECK(state.best_step == 8);
  CHECK(state.best == 0.5);
  CHECK(state.parameters == 6);
  CHECK_FALSE(state.steps);
  CHECK(read({{"step", "12"}, {"best_step", "8"}, {"best", half}, {"pace", "30 5"}}).steps == 30);
  const std::string path = files.checkpoint();
  CHECK_REFUSES(FileError, read({{"step", ""}, {"best_step", "8"}, {"best", half}}), path, "step");
  CHECK_REFUSES(FileError, read({{"step", "12"}, {"best_step", "8"}, {"best", "x"}}), path, "best");
}

TEST_CASE("steps beyond the integers of f32 are logged exactly") {
  const Unsynced quick;
  const Folder here;
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;
  Run run(here / "run", 1, 1);
  static_cast<void>(capture_output([&] { run.run(); }));
  const std::string path = train::RunFiles{here / "run"}.checkpoint();
  io::Checkpoint moved = io::load_checkpoint(path);
  moved.facts["step"] = std::to_string(kMany);
  io::save_checkpoint(path, moved);
  Run more(here / "run", kMany + 2, kMany + 2);
  static_cast<void>(capture_output([&] { more.run(true); }));
  const auto losses = train::read_metric(train::RunFiles{here / "run"}.metrics(), "loss");
  REQUIRE(losses.size() == 3);
  CHECK(losses[1].first == static_cast<double>(kMany));
  CHECK(losses[2].first == static_cast<double>(kMany + 1));
  CHECK(train::read_metric(train::RunFiles{here / "run"}.metrics(), "held_out_loss").back().first ==
        static_cast<double>(kMany + 2));
}

TEST_CASE("a loss or gradient that is not finite is reported and changes no weights or average") {
  const Unsynced quick;
  const Folder here;
  for (const bool of_loss : {true, false}) {
    Pair net;
    net.w = nn::parameter(zeros({2}));
    optim::SGD optimizer(net.parameters());
    train::TrainOptions options;
    options.directory = here / (of_loss ? "loss" : "gradient"), options.steps = 2;
    train::Trainer trainer(net, optimizer, optim::constant_schedule(), options);
    optim::EMA ema(net.parameters());
    trainer.average(ema);
    trainer.start();
    CHECK_REFUSES(
        ValueError,
        trainer.run([&](std::int64_t) { return of_loss ? sum(log(net.w)) : sum(sqrt(net.w)); },
                    [] {
                      return train::Metrics{{"held_out_loss", 1.0}};
                    }),
        of_loss ? "loss is not finite" : "gradient is not finite", "step 1",
        train::RunFiles{options.directory}.checkpoint());
    CHECK(net.w.to_vector<float>() == std::vector<float>(2, 0.0F));
    CHECK(ema.state_dict().at("updates").item() == 0);
  }
}

TEST_CASE("an overflowing norm of finite gradients is reported as an overflow") {
  const Unsynced quick;
  const Folder here;
  Run run(here / "run", 2, 1);
  train::Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
  trainer.start();
  CHECK_REFUSES(ValueError,
                trainer.run([&](std::int64_t) { return sum(run.net.w) * 1e30; },
                            [&] { return run.metrics_at(trainer.step()); }),
                "step 1", "overflow");
}

TEST_CASE("rank 0 measures the time and reports for all processes, under the program's name") {
  const Unsynced quick;
  const Folder here;
  std::vector<std::int64_t> ends(2);
  const std::string output = capture_output([&] {
    distributed::run_threads(2, [&](distributed::Transport& transport) {
      Run run(here / str_cat("run", transport.rank()), 23, 2);
      run.options.transport = &transport, run.options.shards = 2, run.options.time = {0.5, 0};
      run.options.program = "learn";
      run.seconds_a_step = transport.rank() == 0 ? 1.0 / 32 : 1000;
      train::Trainer trainer(run.net, run.optimizer, optim::constant_schedule(), run.options);
      trainer.start();
      trainer.run([&](std::int64_t i) { return run.loss(i); },
                  [&] {
                    return train::Metrics{{"held_out_loss", static_cast<double>(trainer.step())}};
                  });
      ends[static_cast<std::size_t>(transport.rank())] = trainer.step();
    });
  });
  CHECK(ends == std::vector<std::int64_t>{16, 16});
  CHECK(contains(output, "learn: "));
  const std::size_t found = output.find("three times in a row");
  CHECK(found != std::string::npos);
  CHECK(output.find("three times in a row", found + 1) == std::string::npos);
}

TEST_CASE("only rank 0 writes files") {
  const Unsynced quick;
  const Folder here;
  static_cast<void>(capture_output([&] {
    distributed::run_threads(2, [&](distributed::Transport& transport) {
      Run run(here / str_cat("run", transport.rank()), 2, 1);
      run.options.transport = &transport, run.options.shards = 2;
      run.run();
    });
  }));
  for (const std::string& each : train::RunFiles{here / "run0"}.all())
    CHECK(std::filesystem::exists(each));
  CHECK_FALSE(std::filesystem::exists(here / "run1"));
}

}  // namespace gradus::testing::test_loop
