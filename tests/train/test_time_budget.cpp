#include <cmath>
#include <csignal>

#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_time_budget {
namespace {

struct Simulated {
  double time = 0;
  std::int64_t step = 0, evaluations = 0;
  std::vector<train::Rescale> changes;
  std::vector<double> positions;

  template <class StepSeconds>
  void run(train::TimeBudget& budget, StepSeconds step_seconds, double evaluation_seconds) {
    budget.start();
    while (step < budget.steps()) {
      positions.push_back(budget.position(step));
      const double taken = step_seconds(time);
      time += taken;
      budget.stepped(taken);
      ++step;
      if (const auto change = budget.rescale(step)) changes.push_back(*change);
      if (!budget.evaluates(step)) continue;
      time += evaluation_seconds;
      budget.evaluated(evaluation_seconds);
      ++evaluations;
    }
  }
};

/// The plan is 60 seconds: 500 steps of 0.1 s, and ten evaluations of 1 s.
Simulated simulated(double step, double evaluation, std::int64_t most = 1'000'000) {
  Simulated out;
  train::TimeBudget budget({60, 10, most}, 500, 50, [&] { return out.time; });
  out.run(
      budget, [&](double) { return step; }, evaluation);
  return out;
}

TEST_CASE("a machine about as fast as planned keeps the plan") {
  for (const double factor : {0.96, 1.0, 1.04}) {
    const Simulated run = simulated(0.1 * factor, factor);
    CHECK(run.changes.empty());
    CHECK(run.step == 500);
    CHECK(run.evaluations == 10);
    for (std::size_t i = 0; i < run.positions.size(); ++i)
      REQUIRE(run.positions[i] == static_cast<double>(i));
  }
  CHECK(simulated(0.092, 0.92).step == 500);  // ending slightly early is within the tolerance
  CHECK(simulated(0.108, 1.08).changes.size() == 1);
}

TEST_CASE("a run ends within the documented margin of its time on any machine") {
  std::vector<double> factors = {0.2, 0.4, 3, 12, 40};
  for (int percent = 60; percent <= 150; percent += 2) factors.push_back(percent / 100.0);
  for (const double factor : factors) {
    CAPTURE(factor);
    const Simulated run = simulated(0.1 * factor, factor);
    // The run ends at most a step, an evaluation and 5 % late, and at most a tenth early.
    CHECK(run.time <= 1.05 * 60 + 1.1 * factor);
    CHECK(run.time >= 0.9 * 60 - 1.1 * factor);
    CHECK(run.changes.size() <= 4);
    CHECK((run.evaluations >= 1 && run.evaluations <= 12));
    if (std::abs(factor - 1) > 0.3) CHECK((run.step < 500) == (factor > 1));
  }
}

TEST_CASE("a rescaling follows a change of the machine's speed, and only rescalings are reported") {
  Simulated run;
  train::TimeBudget budget({60, 10, 1'000'000}, 500, 50, [&] { return run.time; });
  run.run(
      budget, [](double time) { return 20 < time && time < 35 ? 0.25 : 0.1; }, 1);
  CHECK(std::abs(run.time - 60) < 3);
  CHECK(run.step < 450);
  CHECK(run.changes.size() >= 2);
  CHECK(run.changes.size() <= 8);
}

TEST_CASE("a short slowdown keeps the plan") {
  Simulated run;
  train::TimeBudget budget({60, 10, 1'000'000}, 500, 50, [&] { return run.time; });
  run.run(
      budget, [](double time) { return 20 < time && time < 21 ? 0.3 : 0.1; }, 1);
  CHECK(run.changes.empty());
  CHECK(std::abs(run.time - 60) < 3);
}

TEST_CASE("a goal at the maximum does not grow on a fast machine") {
  const Simulated run = simulated(0.01, 0.1, 500);
  CHECK(run.changes.empty());
  CHECK(run.step == 500);
  CHECK(run.time == Approx(6));
  CHECK(simulated(0.05, 0.5, 600).step == 600);
}

TEST_CASE("positions in the schedule continue without a jump, to its end") {
  for (const double factor : {0.3, 2.5, 12.0}) {
    CAPTURE(factor);
    const Simulated run = simulated(0.1 * factor, factor);
    for (std::size_t i = 1; i < run.positions.size(); ++i) {
      const double gone = run.positions[i] - run.positions[i - 1];
      CHECK(gone > 0);
      CHECK(gone < 30);
    }
    CHECK(run.positions.back() < 500);
    CHECK(run.positions.back() > 450);
  }
}

TEST_CASE("evaluations become fewer if they would take all the time") {
  const Simulated run = simulated(0.1, 10);
  CHECK(run.evaluations <= 3);
  CHECK(std::abs(run.time - 60) <= 0.05 * 60 + 10);
}

TEST_CASE("a time budget loads its saved state, and an invalid state changes nothing") {
  train::TimeBudget budget({60, 10, 900}, 500, 50, [] { return 0.0; });
  const std::string rest = " 0 0 0 0 0 0 0 0", before = budget.state();
  for (const std::string text :
       {"", "500", "x y", "500 50 0", "500 50 -1", "500 0 1", "500 -1 1", "500 50 501", "x 50 1"}) {
    INFO(text);
    CHECK_FALSE(budget.load_state(text.size() < 6 || text == "500 50 0" ? text : text + rest));
    CHECK(budget.state() == before);
  }
  CHECK(budget.load_state(train::TimeBudget({60, 10, 900}, 70, 50, {}).state()));
  CHECK(budget.steps() == 70);
}

struct Timed {
  nn::Linear net{(seed(3), 3), 1};
  optim::AdamW optimizer{net.parameters(), {.lr = 1e-2}};
  Tensor x = randn({16, 3}), y = sum(x, {1}, true);
  double time = 0;
  volatile std::sig_atomic_t stop = 0;
  std::function<double(std::int64_t)> step_seconds = [](std::int64_t) { return 0.3125; };
  std::int64_t stop_at = -1;

  train::TrainOptions options(const std::string& directory, double seconds) {
    train::TrainOptions options;
    options.directory = directory;
    options.steps = 500;
    options.eval_every = 50;
    options.time = {seconds, 10};
    options.clock = [this] { return time; };
    options.stop = &stop;
    return options;
  }
  train::TrainEnd run(train::Trainer& trainer) {
    return trainer.run(
        [this](std::int64_t i) {
          time += step_seconds(i);
          if (i == stop_at) stop = 1;
          return mse_loss(net(x), y) + randn({}) * 0.0;  // draws random numbers, as dropout does
        },
        [this] {
          time += 1;
          return train::Metrics{{"held_out_loss", mse_loss(net(x), y).item()}};
        });
  }
};

const optim::Schedule kWarmCosine = optim::warmup_cosine(50, 500);

TEST_CASE("a trainer changes and records its steps, and the learning rate does not jump") {
  const Folder here;
  Timed task;
  train::Trainer trainer(task.net, task.optimizer, kWarmCosine, task.options(here / "run", 60));
  trainer.start();
  std::vector<double> positions;
  task.step_seconds = [&](std::int64_t i) {
    positions.push_back(trainer.budget().position(i));
    return 0.3125;
  };
  CHECK(task.run(trainer) == train::TrainEnd::finished);
  CHECK(std::abs(task.time - 60) < 3);
  CHECK(trainer.step() < 250);
  const std::string log = trainer.files().metrics();
  const auto goals = train::read_metric(log, "steps"),
             before = train::read_metric(log, "steps_before"),
             took = train::read_metric(log, "step_milliseconds"),
             rates = train::read_metric(log, "learning_rate");
  REQUIRE(goals.size() >= 1);
  CHECK(before.front().second == 500);
  CHECK(took.front().second == Approx(312.5));
  CHECK(goals.back().second == static_cast<double>(trainer.step()));
  REQUIRE(std::ssize(rates) == trainer.step());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto step = static_cast<std::int64_t>(positions[i]);
    const double on = positions[i] - static_cast<double>(step);
    const double factor = (1 - on) * kWarmCosine(step) + on * kWarmCosine(step + 1);
    CHECK(std::abs(rates[i].second - 1e-2 * factor) <= 1e-17);  // allows a relative error of 1e-15
  }
  double highest = 0;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    CHECK(std::abs(rates[i].second - rates[i - 1].second) < 1e-3);  // a tenth of the highest rate
    highest = std::max(highest, rates[i].second);
  }
  CHECK(highest > 0.95e-2);
  CHECK(rates.back().second == Approx(1e-3).margin(1e-4));
  CHECK(train::read_state(trainer.files()).steps == trainer.step());
}

TEST_CASE("a timed run that was stopped around a rescaling resumes bit for bit", "[once]") {
  const Folder here;
  // The machine is slow, then fast, then slow, which causes multiple rescalings.
  const auto machine = [](std::int64_t i) { return i < 80 || i > 200 ? 0.3125 : 0.0625; };
  Timed uninterrupted;
  uninterrupted.step_seconds = machine;
  train::Trainer first(uninterrupted.net, uninterrupted.optimizer, kWarmCosine,
                       uninterrupted.options(here / "whole", 60));
  first.start();
  uninterrupted.run(first);
  REQUIRE(train::read_metric(first.files().metrics(), "steps").size() >= 2);

  for (const std::int64_t at : {3, 12, 60, 130, 240}) {
    CAPTURE(at);
    const std::string run = "run" + std::to_string(at);
    for (const bool again : {false, true}) {
      Timed task;
      task.step_seconds = machine;
      task.stop_at = again ? -1 : at;
      task.time = again ? 1e6 : 0;  // in the second run, the clock starts at 1e6
      train::Trainer trainer(task.net, task.optimizer, kWarmCosine, task.options(here / run, 60));
      again ? trainer.resume() : trainer.start();
      CHECK(task.run(trainer) ==
            (again ? train::TrainEnd::finished : train::TrainEnd::interrupted));
    }
    for (const std::string name : {"/metrics.jsonl", "/model.safetensors"})
      CHECK(read_bytes(here / (run + name)) == read_bytes(here / ("whole" + name)));
  }
}

TEST_CASE("a run that is killed right after a rescaling resumes with it", "[once]") {
  const Folder here;
  struct Death {};
  std::int64_t goal = 0;
  {
    Timed task;
    train::Trainer trainer(task.net, task.optimizer, kWarmCosine, task.options(here / "run", 60));
    trainer.start();
    task.step_seconds = [&](std::int64_t i) {
      if (trainer.budget().steps() != 500 && i % 5 == 4) throw Death();
      return 0.3125;
    };
    CHECK_THROWS_AS(task.run(trainer), Death);
    goal = trainer.budget().steps();
  }
  Timed task;
  train::Trainer trainer(task.net, task.optimizer, kWarmCosine, task.options(here / "run", 60));
  trainer.resume();
  CHECK(trainer.budget().steps() == goal);
  CHECK(train::read_metric(trainer.files().metrics(), "steps").size() == 1);
  CHECK(task.run(trainer) == train::TrainEnd::finished);
  CHECK(std::abs(task.time - 60 + 0.3125 * 10) < 4);  // includes the first run
}

TEST_CASE("a given number of steps does not change on a slow machine", "[once]") {
  const Folder here;
  Timed task;
  task.step_seconds = [](std::int64_t) { return 1000.0; };
  train::Trainer trainer(task.net, task.optimizer, kWarmCosine, task.options(here / "run", 0));
  trainer.start();
  CHECK(task.run(trainer) == train::TrainEnd::finished);
  CHECK(trainer.step() == 500);
  CHECK(train::read_metric(trainer.files().metrics(), "steps").empty());
  CHECK_FALSE(train::read_state(trainer.files()).steps);

  train::Trainer timed(task.net, task.optimizer, kWarmCosine, task.options(here / "run", 60));
  CHECK_REFUSES(FileError, timed.resume(), "no time limit", "time.seconds is 60");
}

}  // namespace
}  // namespace gradus::testing::test_time_budget
