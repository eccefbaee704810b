// Training runs that write files.
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

/// Files of a run, which are always complete. After a crash or with a full disk, a resumed run
/// repeats the steps since the last checkpoint bit for bit.
struct RunFiles {
  std::string directory;
  std::string metrics() const { return directory + "/metrics.jsonl"; }    // one line per step
  std::string model() const { return directory + "/model.safetensors"; }  // best weights
  std::string checkpoint() const { return directory + "/checkpoint.safetensors"; }  // to resume
  std::string curve() const { return directory + "/loss.svg"; }
  std::vector<std::string> all() const { return {metrics(), model(), checkpoint(), curve()}; }
};

/// True if the directory contains a run. False if the run ended before its first checkpoint was
/// written.
bool holds_run(const RunFiles& files);

/// Progress of a run, read from its checkpoint.
struct SavedState {
  std::int64_t step, best_step;            // best_step is 0 before the first evaluation
  double best;                             // value of the metric at best_step
  std::int64_t parameters = 0;             // parameter count of the model
  std::optional<std::int64_t> steps = {};  // planned steps, in a run with a time limit
};
/// Reads the progress of a run. Throws FileError if the checkpoint is missing, damaged, or was not
/// written by a Trainer.
SavedState read_state(const RunFiles& files);

/// Evaluation results: {{"held_out_loss", 1.93}, {"accuracy", 0.7}}. Metrics whose names contain a
/// dot ("blocks.0.attention.head1.span") appear only in metrics.jsonl.
using Metrics = std::vector<std::pair<std::string, double>>;

/// Options of a Trainer.
struct TrainOptions {
  std::string directory;  // created if missing
  std::int64_t steps = 1000;
  /// Time limit, which adapts steps and schedule during the run (time_budget.h). Each change adds a
  /// line to metrics.jsonl: step (completed), steps_before, steps, step_milliseconds.
  TimeLimit time;
  TimeBudget::Clock clock;        // default: the system clock
  std::int64_t eval_every = 100;  // planned steps between evaluations and checkpoints
  double clip_norm = 1;           // as in LoopOptions
  double clip_value = 0;          // as in LoopOptions
  std::int64_t shards = 1;        // losses per step; see shards.h
  /// Transport between multiple processes. Each process has a Trainer with the same options and
  /// directory. Only rank 0 evaluates and writes. Null for a single process.
  distributed::Transport* transport = nullptr;
  std::int64_t patience = 0;            // evaluations without improvement; 0: unlimited
  std::string judge = "held_out_loss";  // metric that selects the best weights
  bool higher_is_better = false;        // true, for example, for an accuracy
  bool hash_weights = false;            // logs a hash of each parameter after each step (verify.h)
  std::int64_t items_per_step = 1;      // per shard, for the rate in the progress line
  std::string item = "step";            // "token": 12.3k tokens/s
  std::string loss_unit;                // unit for the loss curve: "nats per character"
  std::string program = "train";        // first word of messages on stderr
  const volatile std::sig_atomic_t* stop = nullptr;  // if not 0: finish the step, save, return
};

/// Why Trainer::run() returned.
enum class TrainEnd {
  finished,
  early,  // patience was exceeded
  interrupted
};

/// Runs a training loop (loop.h) and adds checkpoints, resuming, best weights, early stopping, a
/// time limit, multiple processes and logs.
class Trainer : private Loop {
 public:
  /// Returns the scalar loss of batch i, or a BatchLoss if token counts differ between batches. The
  /// loss must depend only on i < steps · shards, the weights and generator(), because resumed runs
  /// repeat values of i. Any process may compute shard i % shards.
  using Loop::LossOf;
  /// Returns metrics. Called in eval mode, under NoGrad, with separate random numbers.
  using Evaluate = std::function<Metrics()>;
  using Save = std::function<void(io::Checkpoint&)>;
  using Load = std::function<void(const io::Checkpoint&)>;

  /// Throws ValueError if an option is out of range.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
          TrainOptions options);

  /// Adds data to checkpoints, such as the position of a data reader. Call before resume().
  void keep(Save save, Load load);

  /// Updates `ema` after each step. Evaluates and saves the averaged weights.
  void average(optim::EMA& ema);

  void start();   // starts from the current model; FileError if a run exists
  void resume();  // continues from the checkpoint; FileError if missing or incompatible

  /// Trains until the run ends. Throws ValueError, naming the op, if a loss or gradient is not
  /// finite, and FileError if the disk is full. Saved files remain valid. With multiple processes,
  /// an exception aborts all of them.
  TrainEnd run(const LossOf& loss_of, const Evaluate& evaluate);

  using Loop::step;  // completed steps
  const RunFiles& files() const { return files_; }
  const TimeBudget& budget() const { return budget_; }  // the plan, with the final number of steps
  double last() const { return last_; }                 // metric at the last evaluation
  double best() const { return best_; }  // best metric; ±∞ before the first evaluation
  std::int64_t best_step() const { return best_step_; }  // 0: none
  /// Null with one shard and one process. Using the result requires train/distributed/shards.h.
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
  void validate(const Evaluate& evaluate);  // evaluates, and saves the best weights
  double evaluate_and_log(const Evaluate& evaluate);
  bool out_of_patience() const;
  [[noreturn]] void fail_not_finite(const LossOf& loss_of);
  void log(const std::string& what) const;
  void draw_losses() const;

  nn::Module& model_;
  TrainOptions options_;
  distributed::Transport& transport_;
  TimeBudget budget_;
  RunFiles files_;
  std::vector<std::pair<Save, Load>> kept_;
  optim::EMA* ema_ = nullptr;
  std::unique_ptr<MetricsLog> log_;  // only on rank 0, as are the next two members
  std::optional<Progress> progress_;
  Metrics metrics_;  // results of the last evaluation
  double best_, last_;
  std::int64_t best_step_ = 0;
  std::int64_t rising_evals_ = 0;  // consecutive evaluations that became worse
  bool begun_ = false, rescaled_ = false;
  double step_began_ = 0;          // time at the start of the step, by the clock of budget_
  std::uint32_t step_random_ = 0;  // generator position at that time
};

}  // namespace gradus::train
