// Trainer: the training loop (loop.h) with what a program needs around it: checkpoints and resuming
// from them, the best weights, early stopping, a time limit, several processes, logs.
//
//   seed(1);
//   Model model;
//   optim::AdamW optimizer(model.parameters());
//   train::Trainer trainer(model, optimizer, optim::warmup_cosine(50, 1000),
//                          {.directory = "runs/mine", .steps = 1000, .eval_every = 100});
//   trainer.start();                                  // or trainer.resume();
//   trainer.run([&](std::int64_t i) { return cross_entropy(model(data.at(i).x), data.at(i).y); },
//               [&] { return train::Metrics{{"held_out_loss", …}, {"accuracy", …}}; });
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/checkpoint.h"
#include "gradus/nn/module.h"
#include "gradus/train/loop.h"
#include "gradus/train/metrics.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/progress.h"
#include "gradus/train/time_budget.h"

namespace gradus::distributed {
class Transport;
}

namespace gradus::train {

/// The files of a run. Each is complete at any moment: a crash, a full disk or `kill -9` costs the
/// steps since the last checkpoint, and resuming repeats them bit for bit.
struct RunFiles {
  std::string directory;
  std::string metrics() const { return directory + "/metrics.jsonl"; }    // one line per step
  std::string model() const { return directory + "/model.safetensors"; }  // best weights
  std::string checkpoint() const { return directory + "/checkpoint.safetensors"; }  // to resume
  std::string curve() const { return directory + "/loss.svg"; }
  std::vector<std::string> all() const { return {metrics(), model(), checkpoint(), curve()}; }
};

/// Returns whether the directory holds a run. It does not if the first checkpoint was not written.
bool holds_run(const RunFiles& files);

/// The progress of a run.
struct SavedState {
  std::int64_t step, best_step;  // best_step 0: not yet evaluated
  double best;
  std::int64_t parameters = 0;
  std::optional<std::int64_t> steps = {};  // the goal of a run with a time limit
};
/// Reads it from the checkpoint. FileError: that is missing, damaged, or not a Trainer's.
SavedState read_state(const RunFiles& files);

/// The results of an evaluation, by name: {{"held_out_loss", 1.93}, {"accuracy", 0.7}}. Names with
/// a dot ("blocks.0.attention.head1.span") go to metrics.jsonl only, not into the progress line.
using Metrics = std::vector<std::pair<std::string, double>>;

struct TrainOptions {
  std::string directory;  // created if it is missing
  std::int64_t steps = 1000;
  /// Rescales the steps, and with them the schedule, while the run is going: time_budget.h. Each
  /// change is a line in metrics.jsonl: step (how many are made), steps_before, steps,
  /// step_milliseconds.
  TimeLimit time;
  TimeBudget::Clock clock;        // for `time`; empty: the system's
  std::int64_t eval_every = 100;  // planned steps between evaluations, each with a checkpoint
  double clip_norm = 1;           // as in LoopOptions
  double clip_value = 0;
  std::int64_t shards = 1;  // losses per step, whose weighted mean counts: shards.h
  /// If several processes share the work, each makes a Trainer with the same options and sees the
  /// same directory; rank 0 alone evaluates and writes. Null: one process.
  distributed::Transport* transport = nullptr;
  std::int64_t patience = 0;            // evaluations without a better one before it stops; 0: any
  std::string judge = "held_out_loss";  // the metric that decides which weights are best
  bool higher_is_better = false;        // of that metric: true for an accuracy
  std::int64_t items_per_step = 1;      // of one shard, for the rate in the progress line …
  std::string item = "step";            // … "token": 12.3k tokens/s
  std::string loss_unit;                // for the axis of the curve: "nats a character"
  std::string program = "train";        // how messages on stderr begin
  const volatile std::sig_atomic_t* stop = nullptr;  // not 0: finish the step, save, return
};

enum class TrainEnd {
  finished,    // made all steps
  early,       // ran out of patience
  interrupted  // by the stop flag
};

class Trainer : private Loop {
 public:
  /// The loss of batch i, a scalar, or a BatchLoss with its number of tokens if batches differ in
  /// that. It must depend on i, the weights and generator() only, since a resumed run asks for the
  /// same i again. i runs to steps · shards; any process may compute shard i % shards.
  using Loop::LossOf;
  /// Called in eval mode, under NoGrad, with its own random numbers.
  using Evaluate = std::function<Metrics()>;
  using Save = std::function<void(io::Checkpoint&)>;
  using Load = std::function<void(const io::Checkpoint&)>;

  /// Keeps references to model and optimizer. ValueError names an option that is out of range.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
          TrainOptions options);

  /// Adds to checkpoints: a reader's position, an average of the weights. Before resume().
  void keep(Save save, Load load);

  /// Updates the average of the weights; evaluates and saves it in place of the weights.
  void average(optim::EMA& ema);

  void start();   // a new run, from the model as it is. FileError: there is one already
  void resume();  // continues from the checkpoint. FileError: there is none, or it does not fit

  /// Trains until the run ends. ValueError if a loss or gradient is not finite; it names the
  /// operation that produced it. FileError if the disk is full: what was saved before is good. With
  /// several processes, an exception in one ends all by Transport::abort.
  TrainEnd run(const LossOf& loss_of, const Evaluate& evaluate);

  using Loop::step;  // how many are made
  const RunFiles& files() const { return files_; }
  const TimeBudget& budget() const { return budget_; }   // how many steps there will be
  double last() const { return last_; }                  // of the metric, at the last evaluation
  double best() const { return best_; }                  // of the metric; ±∞ before the first
  std::int64_t best_step() const { return best_step_; }  // 0: none yet
  /// Null if there is one shard and one process. Include train/distributed/shards.h to use it.
  const distributed::Shards* shards() const { return shards_.get(); }

 private:
  bool begin_step() override;
  double factor() override;
  void after_update(const LossOf& loss_of) override;
  bool evaluates() override { return budget_.evaluates(step_); }
  void end_step() override;

  bool writes() const;
  void begin(std::int64_t metrics_bytes);
  void save();
  bool rescale();
  void validate(const Evaluate& evaluate);  // saves the weights if they are the best
  double evaluate_and_log(const Evaluate& evaluate);
  bool out_of_patience() const;
  [[noreturn]] void fail_not_finite(const LossOf& loss_of);
  void log(const std::string& what) const;  // about the metric, on stderr
  void draw_losses() const;

  nn::Module& model_;
  TrainOptions options_;
  distributed::Transport& transport_;
  TimeBudget budget_;
  RunFiles files_;
  std::vector<std::pair<Save, Load>> kept_;
  optim::EMA* ema_ = nullptr;
  std::unique_ptr<MetricsLog> log_;  // of rank 0, as the next two
  std::optional<Progress> progress_;
  Metrics metrics_;  // of the last evaluation
  double best_, last_;
  std::int64_t best_step_ = 0;
  std::int64_t rising_evals_ = 0;  // in a row, each worse than the one before
  bool begun_ = false, rescaled_ = false;
  double step_began_ = 0;          // when; of budget_
  std::uint32_t step_random_ = 0;  // the generator's position then
};

}  // namespace gradus::train
