#include "gradus/train/verify.h"

#include <cstring>
#include <fstream>

#include "gradus/engine/base/random.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing::test_verify {
namespace {

constexpr std::int64_t kSteps = 12;

struct Net : nn::Layer<Net> {
  nn::Linear up{3, 8}, down{8, 1};
  nn::Members members() override { return {{"up", up}, {"down", down}}; }
  Tensor forward(const Tensor& x) const {  // [N, 3] → [N, 1]
    return down(dropout(tanh(up(x)), 0.2, training()));
  }
};

struct Task {
  Task() : x((seed(5), randn({16, 3}))), y(sum(x, {1}, true)) {}
  Tensor x, y;
  Net net;
  optim::AdamW optimizer{net.parameters(), {.lr = 1e-2}};

  Tensor loss() const { return mse_loss(net(x), y); }
};

const optim::Schedule kSchedule = optim::warmup_cosine(4, kSteps);

train::TrainOptions options(const std::string& directory, std::int64_t shards = 1) {
  train::TrainOptions options;
  options.directory = directory;
  options.steps = kSteps;
  options.eval_every = 4;
  options.shards = shards;
  options.hash_weights = true;
  return options;
}

void train_run(const train::TrainOptions& options) {
  Task task;
  train::Trainer trainer(task.net, task.optimizer, kSchedule, options);
  trainer.start();
  trainer.run([&](std::int64_t) { return task.loss(); },
              [&] {
                return train::Metrics{{"held_out_loss", task.loss().item()}};
              });
}

train::Verified verify(const train::TrainOptions& options, const train::StepRange& steps = {}) {
  Task task;
  return train::verify(
      task.net, task.optimizer, kSchedule, options, [&](std::int64_t) { return task.loss(); },
      steps);
}

}  // namespace

TEST_CASE("a hash changes with each value, its place, and its sign") {
  const auto hash = [](const Tensor& x) { return train::hash_of({{"x", x}}); };
  const Tensor x = arange(0.0, 37.0, 1.0);
  const std::string first = hash(x);
  CHECK(first.size() == 8);
  CHECK(hash(x.clone()) == first);
  CHECK(hash(x.to(Dtype::f64)) != first);
  CHECK(hash(reshape(x, {37, 1})) == first);  // the same values in the same order
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::vector<float> values = x.to_vector<float>();
    values[static_cast<std::size_t>(i)] += 1e-6f + values[static_cast<std::size_t>(i)] * 2e-7f;
    CHECK(hash(tensor(values, x.shape())) != first);
    values = x.to_vector<float>();
    values[static_cast<std::size_t>(i)] = -values[static_cast<std::size_t>(i)];  // also −0
    CHECK(hash(tensor(values, x.shape())) != first);
  }
  CHECK(hash(-x) != first);  // two changed signs must not cancel
  CHECK(hash(flip(x, {0})) != first);
  CHECK(hash(zeros({0})) != hash(zeros({1})));
  CHECK(train::hash_of({{"x", x}, {"y", -x}}) == first + hash(-x));
}

TEST_CASE("verify finds that a run is the same, and the first step and parameter that differ") {
  const Folder here;
  const std::string run = here / "run";
  for (const std::int64_t shards : {1, 3}) {
    const std::string name = run + std::to_string(shards);
    train_run(options(name, shards));
    const train::Verified same = verify(options(name, shards));
    CHECK_FALSE(same.difference);
    CHECK(same.compared == kSteps);
    const train::Verified part = verify(options(name, shards), {3, 5});
    CHECK_FALSE(part.difference);
    CHECK(part.compared == 3);
    CHECK(part.step == 5);
  }
  Task task;
  const std::string log = read_bytes(run + "1/metrics.jsonl");
  const std::size_t line = log.find("{\"step\": 6,");  // counted from 0
  const std::size_t hashes = log.find("\"weights\": \"", line) + std::strlen("\"weights\": \"");
  const auto parameters = task.net.parameters();
  for (std::size_t k = 0; k < parameters.size(); ++k)  // 8 digits each
    for (const std::size_t digit : {8 * k, 8 * k + 7}) {
      std::string changed = log;
      changed[hashes + digit] = log[hashes + digit] == '0' ? '1' : '0';
      write_bytes(run + "1/metrics.jsonl", changed);
      const train::Verified other = verify(options(run + "1"));
      REQUIRE(other.difference);
      CHECK(other.difference->step == 7);
      CHECK(other.difference->parameter == parameters[k].name);
    }
  CHECK_FALSE(verify(options(run + "1"), {1, 6}).difference);
}

TEST_CASE("a run of several processes is verified by one") {
  const Folder here;
  const std::string run = here / "run";
  distributed::run_threads(2, [&](distributed::Transport& transport) {
    train::TrainOptions each = options(run, 4);
    each.transport = &transport;
    train_run(each);
  });
  const train::Verified same = verify(options(run, 4));
  CHECK_FALSE(same.difference);
  CHECK(same.compared == kSteps);
}

TEST_CASE("verify names what is missing") {
  const Folder here;
  const std::string run = here / "run";
  train::TrainOptions without = options(run);
  without.hash_weights = false;
  train_run(without);
  CHECK(refusal<FileError>([&] { verify(options(run)); }).find("portable") != std::string::npos);
  CHECK(refusal<FileError>([&] { verify(options(here / "nowhere")); }).find("nowhere") !=
        std::string::npos);
  train_run(options(here / "other"));
  CHECK(refusal<FileError>([&] {
          verify(options(here / "other"), {13, 20});
        }).find("13") != std::string::npos);
  train::TrainOptions timed = options(here / "other");
  timed.time.seconds = 5;
  CHECK(refusal<ValueError>([&] { verify(timed); }).find("time") != std::string::npos);
}

}  // namespace gradus::testing::test_verify
