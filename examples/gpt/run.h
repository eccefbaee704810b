// One training run and its directory:
//
//   settings.json            what is trained on what
//   tokenizer.json
//   metrics.jsonl            a line a step
//   model.safetensors        the best weights so far, under their PyTorch-like names
//   checkpoint.safetensors   all that --resume needs
//
// Every file is whole at any moment: a crash, a full disk or `kill -9` costs the steps since the
// last checkpoint, and resuming repeats them bit for bit.
#pragma once

#include <memory>
#include <string>

#include "corpus.h"
#include "gradus/nn/gpt.h"
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
};

/// How a run ended, for the exit code.
enum class RunEnd { finished, interrupted, not_saved };

class Run {
 public:
  /// A new run; FileError if the directory holds one already.
  static std::unique_ptr<Run> start(const RunPaths& paths, const Settings& settings, Corpus corpus);
  /// Goes on from the checkpoint. FileError if there is none, or the text is another one.
  static std::unique_ptr<Run> resume(const RunPaths& paths, const Settings& settings,
                                     Corpus corpus);

  RunEnd train();
  /// Mean nats a token over the whole held-out part.
  double evaluate() const;

  const nn::GPT& model() const { return model_; }
  const Corpus& corpus() const { return corpus_; }
  double best() const { return best_; }  // the lowest held-out loss so far
  double last_loss() const { return last_loss_; }
  std::int64_t best_step() const { return best_step_; }

 private:
  Run(const RunPaths& paths, const Settings& settings, Corpus corpus);
  double train_step();  // the loss
  void judge();         // evaluates; keeps the weights if they are the best
  bool save();          // the checkpoint; false, and a message, when that failed

  RunPaths paths_;
  Settings settings_;
  Corpus corpus_;
  nn::GPT model_;
  optim::AdamW optimizer_;
  optim::Schedule schedule_;
  TokenBatches batches_;
  std::unique_ptr<MetricsLog> metrics_;
  std::int64_t step_ = 0, best_step_ = 0;
  double best_, last_loss_, last_held_out_;
};

/// The settings, tokenizer and best weights of a run, for sampling and evaluating.
struct Trained {
  Settings settings;
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::unique_ptr<nn::GPT> model;  // in eval mode
};
Trained load_trained(const RunPaths& paths);

/// Mean nats a token of `tokens`, windows of the model's context side by side.
double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch);

}  // namespace gradus::examples
