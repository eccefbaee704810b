// A training run and its files, when the power goes or a disk fills at any moment.
#include "gradus/io/safetensors.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/train/loop.h"

namespace gradus::testing {
namespace {

struct Net : nn::Layer<Net> {
  nn::Linear only{3, 1};
  nn::Members members() override { return {{"only", only}}; }
  Tensor forward(const Tensor& x) const { return dropout(only(x), 0.2, training()); }
};

/// A run of a library's user: everything that a checkpoint may hold. What is judged rises three
/// times running, so that the best weights are not the last.
void train(const std::string& directory, bool resume) {
  seed(3);
  const Tensor x = randn({8, 3}), y = sum(x, {1}, true);
  Net net;
  optim::AdamW optimizer(net.parameters(), {.learning_rate = 0.1});
  optim::EMA ema(net.parameters(), 0.5);
  TrainOptions options;
  options.directory = directory;
  options.steps = 8, options.eval_every = 2, options.accumulate = 2;
  Trainer trainer(net, optimizer, optim::warmup_cosine(2, 8), options);
  trainer.average(ema);
  resume ? trainer.resume() : trainer.start();
  trainer.run([&](std::int64_t) { return mse_loss(net(x), y); },
              [&] {
                const auto step = static_cast<double>(trainer.step());
                const double judged = step == 2 ? 3 : step;
                return Metrics{{"held_out_loss", judged}, {"real", mse_loss(net(x), y).item()}};
              });
}

Resumable run_in(const Folder& here) {
  const std::string directory = here / "run";
  return {directory, [=] { train(directory, false); }, [=] { train(directory, true); }};
}

TEST_CASE("a run resumes bit for bit from whatever a crash leaves of it") {
  const Folder here;
  check_every_prefix_resumes(run_in(here));
}

TEST_CASE("a run whose writes fail ends in one line, and resumes bit for bit") {
  const Folder here;
  check_every_failure_resumes(run_in(here));
}

}  // namespace
}  // namespace gradus::testing
