#include <csignal>
#include <random>

#include "gradus/io/output_file.h"
#include "gradus/io/safetensors.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/capture_output.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_loop_law {
namespace {

struct Net : nn::Layer<Net> {
  nn::Linear last{3, 1};
  nn::BatchNorm1d first{3};  // has buffers
  nn::Members members() override { return {{"last", last}, {"first", first}}; }
  Tensor forward(const Tensor& x) const { return last(first(x)); }  // [N, 3] → [N, 1]
};

struct Task {
  Task() : Task((seed(3), Net{})) {}
  explicit Task(Net made) : net(std::move(made)) {}
  Net net;
  Tensor x = randn({24, 3}), y = 3.0 * sum(x, {1}, true);
  optim::AdamW optimizer{net.parameters(), {.lr = 0.1}};
  optim::EMA ema{net.parameters(), 0.5};

  Tensor loss(std::int64_t i) const {
    const std::int64_t begin = i % 6 * 4;
    const Tensor noise = 0.1 * randn({4, 1});  // draws random numbers, as dropout does
    return mse_loss(net(slice(x, 0, begin, begin + 4)) + noise, slice(y, 0, begin, begin + 4));
  }
  std::vector<float> weights() const {
    std::vector<float> out;
    for (const nn::NamedTensor& each : net.named_tensors()) {
      const std::vector<float> more = each.tensor.to_vector<float>();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
};

const optim::Schedule kSchedule = optim::warmup_cosine(2, 8);

std::vector<Tensor> copies(const std::vector<nn::NamedTensor>& tensors) {
  std::vector<Tensor> out;
  for (const nn::NamedTensor& each : tensors) out.push_back(each.tensor.detach().clone());
  return out;
}

/// Runs the shards of a step one by one, each from the same buffers and generator position.
/// Averages gradients and buffers.
double plain_shards(Task& task, std::int64_t step, std::int64_t n) {
  const std::vector<nn::NamedTensor> parameters = task.net.parameters();
  std::vector<nn::NamedTensor> buffers = task.net.buffers();
  const std::vector<Tensor> before = copies(buffers);
  std::vector<Tensor> gradients(parameters.size()), ends(buffers.size());
  const auto add = [](Tensor& to, const Tensor& x) { to = to.defined() ? to + x : x.clone(); };
  Generator last = generator();
  double mean = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].tensor.copy_(before[i]);
    Generator own = generator();
    own.set_rank(static_cast<std::uint32_t>(k));
    const GeneratorScope scope(own);
    task.optimizer.zero_grad();
    const Tensor loss = task.loss(step * n + k);
    loss.backward();
    mean += loss.item();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      add(gradients[i], parameters[i].tensor.grad());
    for (std::size_t i = 0; i < buffers.size(); ++i) add(ends[i], buffers[i].tensor);
    last = own;
  }
  generator().restore(last.seed(), last.position());
  const Tensor count = full({}, static_cast<double>(n));  // 1 / n would be rounded
  for (std::size_t i = 0; i < parameters.size(); ++i)
    Tensor(parameters[i].tensor).set_grad(gradients[i] / count);
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].tensor.copy_(ends[i] / count);
  return mean / static_cast<double>(n);
}

/// Runs eight steps without a trainer. Returns the fields of metrics.jsonl.
std::map<std::string, std::vector<double>> plain_run(Task& task, const train::TrainOptions& o) {
  std::map<std::string, std::vector<double>> log;
  for (std::int64_t step = 0; step < o.steps; ++step) {
    log["loss"].push_back(plain_shards(task, step, o.shards));
    if (o.clip_value > 0) optim::clip_grad_value(task.net.parameters(), o.clip_value);
    log["grad_norm"].push_back(
        task.optimizer.step({.clip_norm = o.clip_norm, .factor = kSchedule(step)}));
    log["learning_rate"].push_back(0.1 * kSchedule(step));
    task.ema.update();
  }
  return log;
}

TEST_CASE("a Trainer equals a hand-written loop for any options") {
  const Unsynced quick;
  for (const double clip_norm : {0.0, 0.5, 1e9})
    for (const double clip_value : {0.0, 0.25})
      for (const std::int64_t shards : {1, 3}) {
        CAPTURE(clip_norm, clip_value, shards);
        const Folder here;
        train::TrainOptions options;
        options.directory = here / "run", options.steps = 8, options.eval_every = 5;
        options.clip_norm = clip_norm, options.clip_value = clip_value;
        options.shards = shards;
        Task own, plain;
        const std::uint32_t position = generator().position();
        train::Trainer trainer(own.net, own.optimizer, kSchedule, options);
        trainer.average(own.ema);
        trainer.start();
        trainer.run([&](std::int64_t i) { return own.loss(i); },
                    [] {
                      return train::Metrics{{"held_out_loss", 1.0}};
                    });
        generator().restore(3, position);
        const auto expected = plain_run(plain, options);
        CHECK(own.weights() == plain.weights());
        const optim::EMA::Scope a(own.ema), b(plain.ema);
        CHECK(own.weights() == plain.weights());
        for (const auto& [name, values] : expected) {
          const auto logged = train::read_metric(trainer.files().metrics(), name);
          REQUIRE(logged.size() == values.size());
          for (std::size_t i = 0; i < values.size(); ++i) {
            CHECK(logged[i].first == static_cast<double>(i));
            CHECK(logged[i].second == values[i]);
          }
        }
      }
}

std::int64_t count_of(const std::string& text, const std::string& part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at < text.size(); at = text.find(part, at + 1)) ++count;
  return count;
}

struct Outcome {
  double best;
  std::int64_t best_step = 0, steps = 0, warnings = 0;
};
Outcome outcome_of(const std::vector<double>& values, bool higher, std::int64_t patience) {
  Outcome out{values[0]};
  std::int64_t turns = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto better = [&](double a, double b) { return higher ? a > b : a < b; };
    ++out.steps;
    turns = i > 0 && better(values[i - 1], values[i]) ? turns + 1 : 0;
    out.warnings += turns == 3;
    if (i == 0 || better(values[i], out.best)) out.best = values[i], out.best_step = out.steps;
    if (patience > 0 && out.steps - out.best_step >= patience) break;
  }
  return out;
}

TEST_CASE("a trainer keeps the first of the best weights and ends and reports as documented",
          "[once]") {
  const Unsynced quick;
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const Folder here;
    train::TrainOptions options;
    options.directory = here / "run", options.steps = 12, options.eval_every = 1;
    options.higher_is_better = round % 2 == 1;
    options.judge = options.higher_is_better ? "accuracy" : "held_out_loss";
    options.patience = round % 5;
    options.loss_unit = "nats per word";
    std::vector<double> values;  // a random walk with a trend and plateaus
    for (double at = 20; values.size() < 12; values.push_back(at)) {
      constexpr double kSteps[] = {1, 1, 1, 0, -1};
      at += (round % 4 < 2 ? 1 : -1) * kSteps[random() % 5];
    }
    CAPTURE(round, values);
    Task task;
    train::Trainer trainer(task.net, task.optimizer, kSchedule, options);
    trainer.start();
    std::vector<std::vector<float>> weights = {{}};
    train::TrainEnd end{};
    const std::string output = capture_output([&] {
      end = trainer.run([&](std::int64_t i) { return task.loss(i); },
                        [&] {
                          weights.push_back(task.weights());
                          const double value = values[static_cast<std::size_t>(trainer.step() - 1)];
                          return train::Metrics{{"deep.other", 1.5}, {options.judge, value}};
                        });
    });
    const Outcome expected = outcome_of(values, options.higher_is_better, options.patience);
    CHECK(trainer.best() == expected.best);
    CHECK(trainer.best_step() == expected.best_step);
    CHECK(trainer.step() == expected.steps);
    const train::SavedState saved = train::read_state(trainer.files());
    CHECK((saved.step == expected.steps && saved.best == expected.best));
    CHECK(trainer.last() == values[static_cast<std::size_t>(expected.steps - 1)]);
    CHECK((end == train::TrainEnd::early) == (expected.steps < 12));
    CHECK(count_of(output, "three times in a row") == expected.warnings);
    CHECK(contains(output, options.higher_is_better ? "has fallen three" : "has risen three") ==
          (expected.warnings > 0));
    CHECK(contains(output, "has not improved") == (end == train::TrainEnd::early));
    CHECK(contains(output, options.higher_is_better ? "  accuracy " : "  held-out "));
    CHECK_FALSE(contains(output, "1.5000"));  // metrics with a dot in their name are not printed
    task.net.load_state_dict(io::load_safetensors(trainer.files().model()).tensors);
    CHECK(task.weights() == weights[static_cast<std::size_t>(expected.best_step)]);
    const std::string curve = read_bytes(trainer.files().curve());
    CHECK(contains(curve, "loss, nats per word"));
    CHECK(contains(curve, ">best ") == !options.higher_is_better);
  }
}

TEST_CASE("the loss curve has no best point if all evaluations are NaN", "[once]") {
  const Unsynced quick;
  const Folder here;
  train::TrainOptions options;
  options.directory = here / "run", options.steps = 3, options.eval_every = 1;
  Task task;
  train::Trainer trainer(task.net, task.optimizer, kSchedule, options);
  trainer.start();
  capture_output([&] {
    trainer.run([&](std::int64_t i) { return task.loss(i); },
                [] {
                  return train::Metrics{{"held_out_loss", std::nan("")}};
                });
  });
  CHECK(trainer.step() == 3);
  const std::string curve = read_bytes(trainer.files().curve());
  CHECK(contains(curve, "<svg"));
  CHECK_FALSE(contains(curve, ">best "));
  CHECK_FALSE(contains(curve, "nan"));
}

TEST_CASE("a run that is resumed and immediately stopped is saved unchanged", "[once]") {
  const Unsynced quick;
  for (const bool timed : {false, true})
    for (std::int64_t last = 1; last < 14; ++last) {
      CAPTURE(timed, last);
      const Folder here;
      volatile std::sig_atomic_t stop = 0;
      double time = 0;
      train::TrainOptions options;
      options.directory = here / "run", options.steps = 20, options.eval_every = 3;
      options.stop = &stop;
      options.clock = [&] { return time; };
      if (timed) options.time = {10, 1};
      const auto session = [&](bool again) {
        Task task;
        train::Trainer trainer(task.net, task.optimizer, kSchedule, options);
        trainer.average(task.ema);
        again ? trainer.resume() : trainer.start();
        const train::TrainEnd end = trainer.run(
            [&](std::int64_t i) {
              stop = i + 1 == last;
              time += i % 5 < 2 ? 0.25 : 0.75;
              return task.loss(i);
            },
            [&] {  // rises three times in a row after a fall
              return train::Metrics{{"held_out_loss", static_cast<double>(trainer.step() / 3 % 4)}};
            });
        CHECK(end == train::TrainEnd::interrupted);
        CHECK(trainer.step() == last);
        return read_bytes(trainer.files().checkpoint());
      };
      const std::string before = session(false);
      randn({5}), seed(17);  // changes the random state, as in another process
      time = timed ? 1000 : 0;
      CHECK(session(true) == before);
    }
}

TEST_CASE("a NaN that depends on random numbers is reproduced and traced") {
  const Unsynced quick;
  for (std::uint64_t run = 0; run < 4; ++run) {
    const Folder here;
    Task task;
    seed(100 + run);
    train::TrainOptions options;
    options.directory = here / "run", options.steps = 1000;
    train::Trainer trainer(task.net, task.optimizer, optim::constant_schedule(), options);
    trainer.start();
    const auto loss_of = [&](std::int64_t i) {
      const Tensor loss = task.loss(i);
      return rand({}).item() < 0.2 ? log(loss - loss.item() - 1.0) : loss;
    };
    CHECK(contains(message_of<ValueError>([&] {
                     trainer.run(loss_of, [] { return train::Metrics{{"held_out_loss", 1.0}}; });
                   }),
                   "log made "));
  }
}

}  // namespace
}  // namespace gradus::testing::test_loop_law
