// The training loop that applications share: steps, evaluations, the best weights, checkpoints and
// the way back from them, early stop, the loss curve.
//
//   seed(1);
//   Model model;
//   optim::AdamW optimizer(model.parameters());
//   Trainer trainer(model, optimizer, optim::warmup_cosine(50, 1000),
//                   {.directory = "runs/mine", .steps = 1000, .eval_every = 100});
//   trainer.start();                                  // or trainer.resume();
//   trainer.run([&](std::int64_t i) { return cross_entropy(model(data.at(i).x), data.at(i).y); },
//               [&] { return Metrics{{"held_out_loss", …}, {"accuracy", …}}; });
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
#include "gradus/train/distributed/shards.h"
#include "gradus/train/metrics.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/optim/schedule.h"
#include "gradus/train/pace.h"

namespace gradus {

/// What a Trainer writes. Each file is whole at any moment: a crash, a full disk or `kill -9` costs
/// the steps since the last checkpoint, and resuming repeats them bit for bit.
struct RunFiles {
  std::string directory;
  std::string metrics() const { return directory + "/metrics.jsonl"; }              // a line a step
  std::string model() const { return directory + "/model.safetensors"; }            // best weights
  std::string checkpoint() const { return directory + "/checkpoint.safetensors"; }  // to resume
  std::string curve() const { return directory + "/loss.svg"; }
  std::vector<std::string> all() const { return {metrics(), model(), checkpoint(), curve()}; }
};

/// Does the directory hold a run? One whose first checkpoint was never written is none.
bool holds_run(const RunFiles& files);

/// How far a run is. FileError: its checkpoint is missing, damaged, or not a Trainer's.
struct SavedState {
  std::int64_t step, best_step;  // best_step 0: not yet evaluated
  double best;
  std::int64_t parameters;
  std::optional<std::int64_t> steps;  // the goal, of a run with a time limit
};
SavedState read_state(const RunFiles& files);

/// What an evaluation found, by name: {{"held_out_loss", 1.93}, {"accuracy", 0.7}}. Names with a
/// dot ("blocks.0.attention.head1.span") go to metrics.jsonl alone, not into the progress line.
using Metrics = std::vector<std::pair<std::string, double>>;

struct TrainOptions {
  std::string directory;  // made where it is missing
  std::int64_t steps = 1000;
  /// Fits the steps, and with them the schedule, again while the run is going: pace.h. Each fit is
  /// a line in metrics.jsonl: step (how many are done), steps_before, steps, step_milliseconds.
  TimeLimit time;
  Pace::Clock clock;              // for `time`; empty: the system's
  std::int64_t eval_every = 100;  // planned steps between evaluations, each with a checkpoint
  double clip_norm = 1;           // of the gradients, globally; 0: not clipped
  double clip_value = 0;          // of each number of a gradient, before that; 0: not
  std::int64_t shards = 1;        // losses a step, whose weighted mean counts: shards.h
  /// Of several processes, each of which makes a Trainer with the same options and sees the same
  /// directory: they share the work out, and rank 0 alone evaluates and writes. Null: one process.
  distributed::Transport* transport = nullptr;
  std::int64_t patience = 0;            // evaluations without a better one until it stops; 0: none
  std::string judge = "held_out_loss";  // the metric that tells which weights are best
  bool higher_is_better = false;        // of the judge: true for an accuracy
  std::int64_t items_per_step = 1;      // of one shard: for the rate in the progress line …
  std::string item = "step";            // … "token": 12.3k tokens/s
  std::string loss_unit;                // at the curve's axis: "nats a character"
  std::string program = "train";        // how notes on stderr begin
  const volatile std::sig_atomic_t* stop = nullptr;  // not 0: finish the step, save, return
};

enum class TrainEnd {
  finished,    // all steps
  early,       // patience was at its end
  interrupted  // by the stop flag
};

class Progress;

class Trainer {
 public:
  /// The loss of batch i, a scalar, and how many tokens it is the mean of where batches differ in
  /// that. It must depend on i, the weights and generator() alone, since a resumed run asks for the
  /// same i again. i counts to steps · shards; shard i % shards may be computed by any process.
  using LossOf = distributed::Shards::LossOf;
  /// Called in eval mode, under NoGrad, with random numbers of its own.
  using Evaluate = std::function<Metrics()>;

  /// Keeps references on model and optimiser. ValueError names an option out of range.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
          TrainOptions options);

  /// More that a checkpoint holds: a reader's place, an average of the weights. Before resume().
  void keep(std::function<void(io::Checkpoint&)> save,
            std::function<void(const io::Checkpoint&)> load);

  /// The average of the weights is kept up, judged and saved as the best, in place of the weights.
  void average(optim::EMA& ema);

  void start();   // a new run, from the model as it is. FileError: there is one already
  void resume();  // goes on from the checkpoint. FileError: there is none, or it does not fit

  /// Steps until one of three ends. ValueError where a loss or gradient is not finite: names the
  /// operation that made it. FileError where the disk is full: what was saved before is good. Of
  /// several processes what one throws ends all: Transport::abort.
  TrainEnd run(const LossOf& loss_of, const Evaluate& evaluate);

  const RunFiles& files() const { return files_; }
  const Pace& pace() const { return pace_; }             // how many steps there are to be
  std::int64_t step() const { return step_; }            // how many are done
  double last() const { return last_judged_; }           // of the judge, at the last evaluation
  double best() const { return best_; }                  // of the judge; ±∞ before the first
  std::int64_t best_step() const { return best_step_; }  // 0: none yet
  const distributed::Shards* shards() const { return shards_.get(); }  // null: one, one process

 private:
  TrainEnd run_alike(const LossOf& loss_of, const Evaluate& evaluate);
  void begin_log(std::int64_t keep_bytes);
  bool writes() const { return transport_.rank() == 0; }
  void train_step(const LossOf& loss_of);
  double gradients(const LossOf& loss_of);           // of one step; the mean loss
  double update(const optim::StepOptions& options);  // the norm
  void require_finite(double norm, const LossOf& loss_of, std::uint32_t random);
  void judge(const Evaluate& evaluate);  // keeps the weights if they are the best
  void evaluate_and_log(const Evaluate& evaluate);
  bool fit_again(Progress& progress);        // to the time that is left; false: no need
  double factor() const;                     // of the learning rate, for the next step
  void save();                               // the checkpoint
  void tell(const std::string& what) const;  // of the judge, on stderr
  void draw_losses() const;
  bool better(double value, double than) const;
  bool out_of_patience() const;
  std::string note() const;

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  optim::Schedule schedule_;
  TrainOptions options_;
  Pace pace_;
  RunFiles files_;
  distributed::Transport& transport_;
  std::unique_ptr<distributed::Shards> shards_;
  bool begun_ = false, stop_ = false;  // one of the processes was asked to
  optim::EMA* ema_ = nullptr;
  std::vector<std::function<void(io::Checkpoint&)>> savers_;
  std::vector<std::function<void(const io::Checkpoint&)>> loaders_;
  std::unique_ptr<MetricsLog> log_;
  Metrics last_;  // what the last evaluation of this process found
  std::int64_t step_ = 0, best_step_ = 0;
  std::int64_t turns_ = 0;  // evaluations in a row that were worse than the one before
  double best_, last_loss_, last_judged_;
};

}  // namespace gradus
