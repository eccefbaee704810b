// The training loop: what it writes, and that a run that was stopped goes on bit for bit.
#include <cmath>
#include <csignal>

#include "gradus/io/safetensors.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/said.h"
#include "gradus/train/data.h"
#include "gradus/train/loop.h"

namespace gradus::testing {
namespace {

struct Net : nn::Layer<Net> {
  nn::Linear up{3, 8}, down{8, 1};
  nn::Members members() override { return {{"up", up}, {"down", down}}; }
  Tensor forward(const Tensor& x) const {  // [N, 3] → [N, 1]
    return down(dropout(tanh(up(x)), 0.2, training()));
  }
};

/// Rows i · n to (i + 1) · n.
Tensor part(const Tensor& x, std::int64_t i, std::int64_t n) {
  return slice(x, 0, i * n, (i + 1) * n);
}

/// Everything that a run is made of: 48 points of a plane to learn.
struct Task {
  Task() : x((seed(5), randn({48, 3}))), y(sum(x, {1}, true)) {}
  Tensor x, y;
  Net net;
  optim::AdamW optimizer{net.parameters(), {.lr = 1e-2}};

  Tensor loss(std::int64_t i) const {
    return mse_loss(net(part(x, i % 3, 16)), part(y, i % 3, 16));
  }
  Metrics evaluate() const { return {{"held_out_loss", mse_loss(net(x), y).item()}}; }
  TrainEnd run(Trainer& trainer) const {
    return trainer.run([&](std::int64_t i) { return loss(i); }, [&] { return evaluate(); });
  }
};

TrainOptions options(const std::string& directory, std::int64_t steps = 40) {
  TrainOptions options;
  options.directory = directory;
  options.steps = steps;
  options.eval_every = 10;
  return options;
}

const optim::Schedule kSchedule = optim::warmup_cosine(4, 40);

TEST_CASE("a trainer keeps the best weights, the log, and the curve") {
  const Folder here;
  Task task;
  Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run"));
  trainer.start();
  CHECK(holds_run(trainer.files()));
  CHECK(task.run(trainer) == TrainEnd::finished);
  CHECK(trainer.step() == 40);
  CHECK(task.net.training());
  const auto judged = read_metric(trainer.files().metrics(), "held_out_loss");
  REQUIRE(judged.size() == 4);
  double lowest = judged[0].second;
  for (const auto& [step, loss] : judged) lowest = std::min(lowest, loss);
  CHECK(trainer.best() == lowest);
  CHECK(judged[static_cast<std::size_t>(trainer.best_step() / 10 - 1)].second == lowest);
  const auto losses = read_metric(trainer.files().metrics(), "loss");
  CHECK(losses.size() == 40);
  CHECK(losses.back().second < 0.5 * losses.front().second);
  Net best;
  best.load_state_dict(io::load_safetensors(trainer.files().model()).tensors);
  best.eval();
  CHECK(mse_loss(best(task.x), task.y).item() == lowest);
  CHECK(contains(read_bytes(trainer.files().curve()), "best "));
  const SavedState saved = read_state(trainer.files());
  CHECK(saved.step == 40);
  CHECK(saved.best == lowest);
  CHECK(saved.parameters == 3 * 8 + 8 + 8 + 1);
}

/// Judged better and worse by turns, worse at the end.
Metrics up_and_down(const Task& task, const Trainer& trainer) {
  const double part = trainer.step() % 2 == 0 ? 100.0 : 1.0;
  return {{"held_out_loss", part * task.evaluate()[0].second}};
}

TEST_CASE("a run that was interrupted at any step goes on bit for bit", "[once]") {
  constexpr std::int64_t kSteps = 16;
  const Folder here;
  const auto settings = [&](const std::string& name) {
    TrainOptions with = options(here / name, kSteps);
    with.eval_every = 3, with.clip_norm = 1, with.shards = 2;
    return with;
  };
  Task whole;
  Trainer first(whole.net, whole.optimizer, kSchedule, settings("whole"));
  first.start();
  const auto go = [](Task& task, Trainer& trainer, const Trainer::LossOf& loss) {
    return trainer.run(loss, [&] { return up_and_down(task, trainer); });
  };
  go(whole, first, [&](std::int64_t i) { return whole.loss(i); });

  for (std::int64_t last = 1; last < kSteps; ++last) {
    CAPTURE(last);
    const std::string name = "run" + std::to_string(last);
    volatile std::sig_atomic_t stop = 0;
    {
      Task task;
      TrainOptions with_stop = settings(name);
      with_stop.stop = &stop;
      Trainer trainer(task.net, task.optimizer, kSchedule, with_stop);
      trainer.start();
      const TrainEnd end = go(task, trainer, [&](std::int64_t i) {
        stop = i / 2 + 1 == last;
        return task.loss(i);
      });
      CHECK(end == TrainEnd::interrupted);
      CHECK(trainer.step() == last);
    }
    Task task;
    randn({3});  // what was drawn until now does not matter
    Trainer trainer(task.net, task.optimizer, kSchedule, settings(name));
    trainer.resume();
    CHECK(trainer.step() == last);
    CHECK(go(task, trainer, [&](std::int64_t i) { return task.loss(i); }) == TrainEnd::finished);
    for (const std::string file : {"metrics.jsonl", "model.safetensors", "checkpoint.safetensors"})
      CHECK(read_bytes(here / (name + "/" + file)) == read_bytes(here / ("whole/" + file)));
    CHECK(trainer.best() == first.best());
  }
}

TEST_CASE("what an application keeps in the checkpoint comes back") {
  const Folder here;
  std::string place = "page 7";
  for (const bool again : {false, true}) {
    Task task;
    Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run", 10));
    trainer.keep([&](io::Checkpoint& checkpoint) { checkpoint.facts["place"] = place; },
                 [&](const io::Checkpoint& checkpoint) { place = checkpoint.facts.at("place"); });
    if (!again) trainer.start(), task.run(trainer);
    if (again) place = "", trainer.resume();
    CHECK(place == "page 7");
  }
}

TEST_CASE("the average of the weights is judged and saved, and comes back from the checkpoint") {
  const Folder here;
  const auto train = [&](const std::string& name, std::int64_t stop_at) {
    Task task;
    optim::EMA ema(task.net.parameters(), 0.9);
    volatile std::sig_atomic_t stop = 0;
    TrainOptions own = options(here / name);
    own.stop = &stop;
    Trainer trainer(task.net, task.optimizer, kSchedule, own);
    trainer.average(ema);
    if (holds_run(trainer.files()))
      trainer.resume();
    else
      trainer.start();
    trainer.run(
        [&](std::int64_t i) {
          stop = i == stop_at;
          return task.loss(i);
        },
        [&] { return task.evaluate(); });
    Net best;
    best.load_state_dict(io::load_safetensors(trainer.files().model()).tensors);
    best.eval();
    CHECK(mse_loss(best(task.x), task.y).item() == trainer.best());
    const std::vector<float> now = task.net.up.weight.to_vector<float>();
    const optim::EMA::Scope averaged(ema);
    CHECK(task.net.up.weight.to_vector<float>() != now);
    if (trainer.best_step() == trainer.step())
      CHECK(task.net.up.weight.to_vector<float>() == best.up.weight.to_vector<float>());
  };
  train("whole", -1);
  train("run", 16);
  train("run", -1);
  for (const std::string name : {"metrics.jsonl", "model.safetensors", "checkpoint.safetensors"})
    CHECK(read_bytes(here / ("run/" + name)) == read_bytes(here / ("whole/" + name)));
}

/// The first weights after three steps on 16 rows each, `rows` at a time.
std::vector<double> trained(const std::string& directory, std::int64_t shards, std::int64_t rows) {
  Task task;
  task.net.eval();  // dropout would differ; Linear is what counts here
  task.net.to(Dtype::f64);
  const Tensor x = task.x.to(Dtype::f64), y = task.y.to(Dtype::f64);
  optim::SGD optimizer(task.net.parameters(), {.lr = 0.1});
  TrainOptions own = options(directory, 3);
  own.shards = shards;
  Trainer trainer(task.net, optimizer, optim::constant_schedule(), own);
  trainer.start();
  trainer.run(
      [&](std::int64_t i) { return mse_loss(task.net(part(x, i, rows)), part(y, i, rows)); },
      [&] {
        return Metrics{{"held_out_loss", 0.0}};
      });
  return task.net.up.weight.to_vector<double>();
}

TEST_CASE("shards: the mean of several losses as one step's") {
  const Folder here;
  const std::vector<double> at_once = trained(here / "a", 1, 16),
                            in_parts = trained(here / "b", 4, 4);
  for (std::size_t i = 0; i < at_once.size(); ++i)  // sums in another order: roundings of f64
    CHECK(std::abs(at_once[i] - in_parts[i]) <= 1e-14);
  CHECK(read_metric(here / "b/metrics.jsonl", "loss").size() == 3);
}

TEST_CASE("patience ends a run that does not get better, and a resumed one stays ended") {
  const Folder here;
  TrainOptions patient = options(here / "run", 200);
  patient.judge = "accuracy";
  patient.higher_is_better = true;
  patient.patience = 3;
  const std::vector<double> accuracies = {0.2, 0.5, 0.5, 0.4, 0.3, 0.9};
  {
    Task task;
    Trainer trainer(task.net, task.optimizer, kSchedule, patient);
    trainer.start();
    std::size_t at = 0;
    const TrainEnd end =
        trainer.run([&](std::int64_t i) { return task.loss(i); },
                    [&] {
                      return Metrics{{"held_out_loss", 1.0}, {"accuracy", accuracies[at++]}};
                    });
    CHECK(end == TrainEnd::early);
    CHECK(trainer.step() == 50);
    CHECK(trainer.best() == 0.5);
    CHECK(trainer.best_step() == 20);
  }
  Task task;
  Trainer trainer(task.net, task.optimizer, kSchedule, patient);
  trainer.resume();
  CHECK(task.run(trainer) == TrainEnd::early);
  CHECK(trainer.step() == 50);
  CHECK(trainer.best() == 0.5);
}

TEST_CASE("a resumed run shows the value that was judged last from its first step on") {
  const Folder here;
  volatile std::sig_atomic_t stop = 0;
  TrainOptions own = options(here / "run");
  own.stop = &stop;
  const auto train = [&](bool resume) {
    Task task;
    Trainer trainer(task.net, task.optimizer, kSchedule, own);
    stop = 0;
    resume ? trainer.resume() : trainer.start();
    return said_by([&] {
      trainer.run(
          [&](std::int64_t i) {
            stop = i == 12;  // after an evaluation, at step 10
            return task.loss(i);
          },
          [] {
            return Metrics{{"held_out_loss", 0.25}};
          });
    });
  };
  train(false);
  const std::string said = train(true), first = said.substr(0, said.find('\n'));
  INFO(said);
  CHECK(first.find("step 14/40") != std::string::npos);
  CHECK(first.find("held-out 0.2500") != std::string::npos);
}

TEST_CASE("evaluations see a model in eval mode, and draw nothing from the run's random numbers") {
  const Folder here;
  std::vector<double> drawn;
  std::vector<std::uint32_t> positions;
  Task task;
  Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run", 20));
  trainer.start();
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
  CHECK(drawn.size() == 2);
  CHECK(drawn[0] == drawn[1]);
  for (std::size_t i = 1; i < positions.size(); ++i)
    CHECK(positions[i] == positions[i - 1] + 1);  // one dropout mask a step
}

TEST_CASE("a trainer says what is wrong") {
  const Folder here;
  Task task;
  const auto made = [&](auto change) {
    TrainOptions bad = options(here / "run");
    change(bad);
    return message_of<ValueError>(
        [&] { Trainer trainer(task.net, task.optimizer, kSchedule, bad); });
  };
  CHECK(made([](TrainOptions& o) { o.directory = ""; }) ==
        "Trainer: no directory for the run's files");
  CHECK(made([](TrainOptions& o) { o.steps = 0; }) == "Trainer: 0 steps: must be positive");
  CHECK(made([](TrainOptions& o) { o.eval_every = -2; }) ==
        "Trainer: evaluations every -2 steps: must be positive");
  CHECK(made([](TrainOptions& o) { o.clip_norm = -1; }) ==
        "Trainer: a clip_norm of -1: must be positive, or 0");
  CHECK(made([](TrainOptions& o) { o.clip_value = -1; }) ==
        "Trainer: a clip_value of -1: must be positive, or 0");
  CHECK(made([](TrainOptions& o) { o.shards = 0; }) == "Trainer: 0 shards: must be at least 1");
  CHECK(made([](TrainOptions& o) { o.patience = -1; }) ==
        "Trainer: a patience of -1: must be positive, or 0");

  Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run"));
  CHECK_REFUSES(GraphError, task.run(trainer), "Trainer", "run()", "start()");
  CHECK_REFUSES(FileError, trainer.resume(), "checkpoint.safetensors");
  trainer.start();
  CHECK_REFUSES(FileError, trainer.start(), "run", "already");
  CHECK(message_of<ValueError>([&] {
          trainer.run([&](std::int64_t i) { return task.loss(i); },
                      [] {
                        return Metrics{{"accuracy", 1.0}};
                      });
        }) ==
        "Trainer: the evaluation gave no \"held_out_loss\", by which weights are judged: add it, "
        "or name another as TrainOptions::judge");

  io::save_checkpoint(here / "run/checkpoint.safetensors", {{}, {{"step", "x"}}});
  CHECK_REFUSES(FileError, read_state(trainer.files()), "\"step\"");
}

TEST_CASE("a loss that is not finite is traced to its operation, and nothing was changed") {
  const Folder here;
  Task task;
  Trainer trainer(task.net, task.optimizer, kSchedule, options(here / "run"));
  trainer.start();
  const std::string message = message_of<ValueError>([&] {
    trainer.run(
        [&](std::int64_t i) {
          const Tensor loss = task.loss(i);
          return i == 12 ? log(loss - loss.item() - 1.0) : loss;
        },
        [&] { return task.evaluate(); });
  });
  CHECK(contains(message, "the loss is not finite at step 13: log made "));
  CHECK(contains(message, "(--lr)"));
  for (const float each : task.net.up.weight.to_vector<float>()) CHECK(std::isfinite(each));
  CHECK(read_state(trainer.files()).step == 10);
}

}  // namespace
}  // namespace gradus::testing
