// One training run and its directory:
//
//   settings.json            what is trained on what
//   tokenizer.json
//   metrics.jsonl            a line a step
//   model.safetensors        the best weights so far, under their PyTorch-like names
//   checkpoint.safetensors   all that --resume needs
//   loss.svg                 the curves, when it ends
//   run.lock                 held by the one process that writes here
//
// Every file is whole at any moment: a crash, a full disk or `kill -9` costs the steps since the
// last checkpoint, and resuming repeats them bit for bit.
#pragma once

#include <memory>
#include <string>

#include "corpus.h"
#include "gradus/examples/support/directory_lock.h"
#include "gradus/models/gpt.h"
#include "gradus/train/data.h"
#include "gradus/train/metrics.h"
#include "gradus/train/optim.h"
#include "gradus/train/schedule.h"
#include "settings.h"

namespace gradus::examples {

struct RunPaths {
  std::string directory;
  std::string settings() const { return directory + "/settings.json"; }
  std::string tokenizer() const { return directory + "/tokenizer.json"; }
  std::string metrics() const { return directory + "/metrics.jsonl"; }
  std::string model() const { return directory + "/model.safetensors"; }
  std::string checkpoint() const { return directory + "/checkpoint.safetensors"; }
  std::string curve() const { return directory + "/loss.svg"; }
  std::vector<std::string> all() const {
    return {settings(), tokenizer(), metrics(), model(), checkpoint(), curve()};
  }
};

/// FileError if the directory holds a run. One whose first checkpoint was never written is none.
void require_no_run(const RunPaths& paths);

/// How a run ended, for the exit code.
enum class RunEnd { finished, interrupted };

class Run {
 public:
  /// A new run; `lock` is the directory's. FileError if that holds one already.
  static std::unique_ptr<Run> start(DirectoryLock lock, const RunPaths& paths,
                                    const Settings& settings, Corpus corpus);
  /// Goes on from the checkpoint. `corpus` must be the text that the run began with.
  static std::unique_ptr<Run> resume(DirectoryLock lock, const RunPaths& paths,
                                     const Settings& settings, Corpus corpus);

  /// FileError where the disk is full: what was saved before stays good, and can be resumed.
  RunEnd train();
  /// Mean nats a token over the whole held-out part.
  double evaluate() const;

  const Settings& settings() const { return settings_; }
  const nn::GPT& model() const { return model_; }
  const Corpus& corpus() const { return corpus_; }
  double best() const { return best_; }  // the lowest held-out loss so far
  std::int64_t best_step() const { return best_step_; }
  std::int64_t step() const { return step_; }  // how many are done

 private:
  Run(DirectoryLock lock, const RunPaths& paths, const Settings& settings, Corpus corpus);
  double train_step();  // the loss
  void judge();         // evaluates; keeps the weights if they are the best
  void save();          // the checkpoint
  void warn_of_rises() const;

  DirectoryLock lock_;
  RunPaths paths_;
  Settings settings_;
  Corpus corpus_;
  nn::GPT model_;
  optim::AdamW optimizer_;
  optim::Schedule schedule_;
  TokenBatches batches_;
  std::unique_ptr<MetricsLog> metrics_;
  std::int64_t step_ = 0, best_step_ = 0;
  std::int64_t rises_ = 0;  // evaluations in a row that were worse than the one before
  double best_, last_loss_, last_held_out_;
};

/// FileError where the directory holds no run.
Settings read_settings(const RunPaths& paths);

/// How far a run's checkpoint is. FileError: missing, damaged, none of a gpt run.
struct SavedState {
  std::int64_t step, best_step;  // best_step 0: not yet evaluated
  double best;
  std::int64_t parameters;
};
SavedState read_state(const RunPaths& paths);

/// The settings, tokenizer and best weights of a run, for sampling and evaluating.
struct Trained {
  Settings settings;
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::unique_ptr<nn::GPT> model;  // in eval mode
};
Trained load_trained(const RunPaths& paths);

/// Mean nats a token of `tokens`, `batch` windows of the model's context side by side.
double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch);
std::int64_t evaluation_batch(const Settings& settings);  // that `batch`, in training

}  // namespace gradus::examples
