#include <cmath>

#include "gradus/engine/base/random.h"
#include "gradus/io/checkpoint.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/train/distributed/runs.h"
#include "gradus/tests/train/distributed/slow_end.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing::test_shards {
namespace {

std::string on_threads(int processes, const ShardedRun& how) {
  std::string result;
  distributed::run_threads(processes, [&](distributed::Transport& transport) {
    const std::string own = run_sharded(how, transport);
    if (transport.rank() == 0) result = own;
  });
  return result;
}

TEST_CASE("a process that fails ends all others through its transport") {
  const Folder here;
  const Unsynced quick;
  std::string ended;
  const std::string why = message_of<Error>([&] {
    distributed::run_threads(2, [&](distributed::Transport& transport) {
      SlowEnd slow(transport, 0);
      ShardedRun how;
      how.steps = 1, how.shards = 2, how.directory = here / "run";
      how.before = [&](nn::Module&, std::int64_t) {
        if (transport.rank() == 1) fail<ValueError>("the data ended");
      };
      try {
        run_sharded(how, slow);
      } catch (const Error&) {
        if (transport.rank() == 1) ended = slow.ended;
        throw;
      }
    });
  });
  CHECK(contains(why, ": the data ended"));
  CHECK(contains(ended, "the data ended"));
}

TEST_CASE("an infinite gradient changes the weights of all ranks, or none with only_finite") {
  for (const bool only_finite : {false, true})
    distributed::run_threads(2, [&](distributed::Transport& transport) {
      seed(1);
      nn::Linear net(40, 40);
      optim::SGD optimizer(net.parameters());
      distributed::Shards shards(net, optimizer, transport, 2);
      const float before = net.weight.to_vector<float>()[0];
      bool stop = false;
      shards.gradients(
          1,
          [&](std::int64_t) {
            return train::BatchLoss(sum(net(full({1, 40}, INFINITY))));
          },
          stop);
      const double norm = shards.update({.only_finite = only_finite}, 0);
      require<Error>(!std::isfinite(norm), "a norm of ", norm);
      for (const std::size_t i : {std::size_t{0}, std::size_t{1599}}) {
        const bool changed = !std::isfinite(net.weight.to_vector<float>()[i]);
        require<Error>(changed != only_finite, "weight ", i, " of rank ", transport.rank());
      }
      require<Error>(only_finite == (net.weight.to_vector<float>()[0] == before), "the first");
    });
}

struct Counted : nn::Layer<Counted> {
  Tensor first = nn::parameter(tensor({1.0, 2.0}, Dtype::f64)),
         second = nn::parameter(tensor({3.0, 4.0}, Dtype::f64)), moved = zeros({2}, Dtype::f64),
         count = zeros({1}, Dtype::i64);
  nn::Members members() override {
    return {{"first", first},
            {"second", second},
            {"moved", nn::buffer(moved)},
            {"count", nn::buffer(count)}};
  }
  Tensor forward(const Tensor& x) const { return sum(first * x); }
};

TEST_CASE("a step weights gradients, averages buffers, and keeps unreached parameters") {
  for (const int size : {1, 2})
    distributed::run_threads(size, [&](distributed::Transport& transport) {
      Counted net;
      optim::SGD optimizer(net.parameters(), {.lr = 0.5, .weight_decay = 0.25});
      optimizer.warn_params_without_grad(false);
      distributed::Shards shards(net, optimizer, transport, 2);
      generator().restore(1, 16777217);  // not representable in f32
      bool stop = transport.rank() == 1;
      const double mean = shards.gradients(
          3,
          [&](std::int64_t i) {  // i is 6 (one token), then 7 (three tokens)
            net.moved.fill_(static_cast<double>(i));
            return train::BatchLoss(net(full({2}, static_cast<double>(i), Dtype::f64)),
                                    i == 6 ? 1 : 3);
          },
          stop);
      require<Error>(mean == (18.0 + 3 * 21.0) / 4 && stop == (size == 2), "a mean of ", mean);
      require<Error>(generator().position() == 16777217, "the position moved");
      require<Error>(!net.first.grad().defined(), "a gradient was kept");
      const double norm = shards.update({}, 0);
      require<Error>(std::abs(norm - 6.75 * std::sqrt(2.0)) < 1e-14, "a norm of ", norm);
      const auto is = [](const Tensor& x, const std::vector<double>& wanted) {
        require<Error>(x.to(Dtype::f64).to_vector<double>() == wanted, "numbers differ");
      };
      is(net.first, {1 - 0.5 * (6.75 + 0.25), 2 - 0.5 * (6.75 + 0.5)});
      is(net.second, {3, 4});
      is(net.moved, {6.5, 6.5});
      is(net.count, {0});
    });
}

TEST_CASE("shard weights are exact beyond the integers of f32") {
  constexpr double kMany = (1 << 24) + 1;
  Counted net;
  optim::SGD optimizer(net.parameters());
  distributed::Shards shards(net, optimizer, distributed::alone(), 2);
  bool stop = false;
  const double mean = shards.gradients(
      0,
      [&](std::int64_t i) {
        return train::BatchLoss(net(full({2}, static_cast<double>(i + 1), Dtype::f64)),
                                i == 0 ? 1 : static_cast<std::int64_t>(kMany));
      },
      stop);
  CHECK(mean == (3 + 6 * kMany) / (1 + kMany));
}

TEST_CASE("the number of processes does not change any bit", "[once]") {
  const Folder here;
  ShardedRun how;
  how.directory = here / "alone";
  const std::string alone = run_sharded(how, distributed::alone());
  for (int processes = 1; processes <= 8; ++processes) {
    if (processes == 6) continue;
    CAPTURE(processes);
    how.directory = here / std::to_string(processes);
    CHECK(on_threads(processes, how) == alone);
  }
}

TEST_CASE("bits do not depend on processes, for every optimizer, clipping and number of shards",
          "[once]") {
  const Folder here;
  int run = 0;
  for (const std::string optimizer : {"sgd", "lion", "muon", "adamw"})
    for (const std::int64_t shards : {3, 5}) {
      ShardedRun how;
      how.steps = 5, how.shards = shards, how.optimizer = optimizer;
      how.clip_norm = shards == 3 ? 0 : 0.1, how.clip_value = shards == 3 ? 0.001 : 0;
      CAPTURE(optimizer, shards);
      how.directory = here / std::to_string(++run);
      const std::string alone = run_sharded(how, distributed::alone());
      how.directory = here / std::to_string(++run);
      CHECK(on_threads(3, how) == alone);
    }
}

TEST_CASE("all processes stop early when rank 0 runs out of patience", "[once]") {
  const Folder here;
  ShardedRun how;
  how.worsens = true;
  how.directory = here / "alone";
  const std::string alone = run_sharded(how, distributed::alone());
  CHECK(train::read_state({how.directory}).step == 14);
  how.directory = here / "three";
  CHECK(on_threads(3, how) == alone);
}

TEST_CASE("a parameter is updated if any shard reaches it, and unchanged otherwise") {
  const Folder here;
  ShardedRun how;
  how.directory = here / "run", how.shards = 2, how.steps = 2;  // only i = 3 uses the layer `rare`
  std::vector<std::vector<float>> rare;
  how.before = [&](nn::Module& model, std::int64_t i) {
    for (const nn::NamedTensor& each : model.parameters())
      if (each.name == "rare.weight" && i % 2 == 0) rare.push_back(each.tensor.to_vector<float>());
  };
  run_sharded(how, distributed::alone());
  REQUIRE(rare.size() == 2);
  CHECK(rare[0] == rare[1]);  // weight decay does not change an unreached parameter
  const io::Checkpoint end = io::load_checkpoint(train::RunFiles{how.directory}.checkpoint());
  CHECK(end.tensors.at("model.rare.weight").to_vector<float>() != rare[1]);
}

std::vector<double> on_rows(const std::string& directory, const std::vector<std::int64_t>& sizes) {
  seed(3);
  nn::Linear net(4, 2);
  net.to(Dtype::f64);
  const Tensor x = randn({12, 4}, Dtype::f64), y = randn({12, 2}, Dtype::f64);
  optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  train::TrainOptions options;
  options.directory = directory, options.steps = 3, options.clip_norm = 0;
  options.shards = std::ssize(sizes);
  train::Trainer trainer(net, optimizer, optim::constant_schedule(), options);
  trainer.start();
  trainer.run(
      [&](std::int64_t i) {
        std::int64_t begin = 0;
        for (std::int64_t s = 0; s < i % std::ssize(sizes); ++s)
          begin += sizes[static_cast<std::size_t>(s)];
        const std::int64_t n = sizes[static_cast<std::size_t>(i % std::ssize(sizes))];
        if (n == 0) return train::BatchLoss(zeros({}, Dtype::f64) / 0.0, 0);
        return train::BatchLoss(
            mse_loss(net(slice(x, 0, begin, begin + n)), slice(y, 0, begin, begin + n)), n);
      },
      [] {
        return train::Metrics{{"held_out_loss", 0.0}};
      });
  std::vector<double> all = net.weight.to_vector<double>();
  for (const auto& [step, loss] : train::read_metric(trainer.files().metrics(), "loss"))
    all.push_back(loss);
  return all;
}

TEST_CASE("unequal shards are weighted by their tokens, as in one batch") {
  const Folder here;
  const std::vector<double> expected = on_rows(here / "whole", {12});
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{1, 7, 4}, {5, 0, 5, 1, 1}, {2, 10}}) {
    const std::vector<double> parts = on_rows(here / std::to_string(sizes.size()), sizes);
    REQUIRE(parts.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)  // rounding errors differ
      CHECK(std::abs(parts[i] - expected[i]) <= 1e-13);
  }
}

TEST_CASE("moments are stored once across processes, and bytes sent match the formula") {
  constexpr std::int64_t kNumbers = 256 * 300 + 300 + 300 * 256 + 256;
  for (const int processes : {2, 3, 4})
    for (const int fewer : {0, 1}) {
      CAPTURE(processes, fewer);
      distributed::run_threads(processes, [&](distributed::Transport& transport) {
        seed(1);
        struct Net : nn::Layer<Net> {
          nn::Linear up{256, 300}, down{300, 256};
          nn::Members members() override { return {{"up", up}, {"down", down}}; }
          Tensor forward(const Tensor& x) const { return down(up(x)); }
        } net;
        optim::AdamW optimizer(net.parameters());
        distributed::Shards shards(net, optimizer, transport, 2 * processes - fewer);
        const double part =
            static_cast<double>(shards.optimizer().end() - shards.optimizer().begin());
        require<Error>(std::abs(part / kNumbers * processes - 1) <= 0.05, "part of ", part);
        const Tensor x = ones({2, 256});
        const auto loss_of = [&](std::int64_t) { return train::BatchLoss(mean(net(x))); };
        bool stop = false;
        for (std::int64_t step = 1; step < 4; ++step) {
          shards.gradients(step, loss_of, stop);
          const std::int64_t before = transport.bytes_sent();
          shards.update({}, 0);
          shards.gradients(step, loss_of, stop);
          const std::int64_t sent = transport.bytes_sent() - before;
          require<Error>(sent == shards.bytes_a_step(), sent, " bytes, not ",
                         shards.bytes_a_step());
          // The bytes sent per step are those of a ring all-reduce, plus messages.
          const double ring = 2.0 * (processes - 1) / processes * 4 * kNumbers;
          require<Error>(fewer > 0 || std::abs(static_cast<double>(sent) / ring - 1) < 0.05, sent,
                         " of ", ring);
          shards.update({}, 0);
        }
      });
    }
}

struct Line : nn::Layer<Line> {
  Tensor w = nn::parameter(tensor({1.0, 2.0}, Dtype::f64));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(double x) const { return sum(w * x); }
};

/// Runs two processes with one shard each, and returns the gradients or the error.
std::string gradients_of(const std::function<train::BatchLoss(const Line&, std::int64_t)>& loss) {
  return outcome([&] {
    std::string text;
    distributed::run_threads(2, [&](distributed::Transport& t) {
      Line net;
      optim::SGD optimizer(net.parameters());
      distributed::Shards shards(net, optimizer, t, 2);
      bool stop = false;
      const double mean = shards.gradients(
          0, [&](std::int64_t i) { return loss(net, i); }, stop);
      if (t.rank() == 0) text = str_cat(mean);
    });
    return text;
  });
}

TEST_CASE("random numbers continue after the shard that drew most") {
  for (const int size : {1, 2})
    for (const std::int64_t more : {0, 1})  // one shard draws five values, the other shard two
      distributed::run_threads(size, [&](distributed::Transport& t) {
        Line net;
        optim::SGD optimizer(net.parameters());
        distributed::Shards shards(net, optimizer, t, 2);
        generator().restore(3, 10);
        bool stop = false;
        shards.gradients(
            0,
            [&](std::int64_t i) {
              for (int k = 0; k < (i == more ? 5 : 2); ++k) generator().next();
              return train::BatchLoss(net(1));
            },
            stop);
        require<Error>(generator().position() == 15, "at ", generator().position());
      });
}

TEST_CASE("shard counts must not be negative or all 0") {
  const auto of_count = [](std::int64_t first, std::int64_t second) {
    const std::string text = gradients_of([=](const Line& net, std::int64_t i) {
      const std::int64_t count = i == 0 ? first : second;
      return train::BatchLoss(count == 0 ? full({}, INFINITY, Dtype::f64) : net(i == 0 ? 1 : 2),
                              count);
    });
    const std::size_t at = text.find("shards: ");
    return at == std::string::npos ? text : text.substr(at);
  };
  CHECK(of_count(1, 0) == "3");
  CHECK(of_count(0, 1) == "6");
  CHECK(of_count(3, 1) == "3.75");
  CHECK(of_count(-1, 1) == "shards: the token count of a loss must not be negative, got -1");
  // Only one process fails: if both failed, either error could be reported.
  CHECK(of_count(1, -5) == "shards: the token count of a loss must not be negative, got -5");
  CHECK(of_count(0, 0) == "shards: the losses of all 2 shards have 0 tokens");
}

TEST_CASE("gradients that were computed twice count once") {
  for (const int size : {1, 2})
    distributed::run_threads(size, [&](distributed::Transport& t) {
      Line net;
      optim::SGD optimizer(net.parameters(), {.lr = 1});
      distributed::Shards shards(net, optimizer, t, 2);
      bool stop = false;
      for (const double x : {7.0, 0.25})
        shards.gradients(
            0, [&](std::int64_t) { return train::BatchLoss(net(x)); }, stop);
      shards.update({}, 0);
      require<Error>(net.w.detach().to_vector<double>() == std::vector<double>{0.75, 1.75}, "w");
    });
}

}  // namespace
}  // namespace gradus::testing::test_shards
