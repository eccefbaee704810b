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
#pragma once

#include <memory>
#include <string>

#include "corpus.h"
#include "gradus/examples/support/directory_lock.h"
#include "gradus/models/gpt.h"
#include "gradus/train/data.h"
#include "gradus/train/loop.h"
#include "settings.h"

namespace gradus::examples {

struct RunPaths : RunFiles {
  std::string settings() const { return directory + "/settings.json"; }
  std::string tokenizer() const { return directory + "/tokenizer.json"; }
  std::vector<std::string> all() const {
    return {settings(), tokenizer(), metrics(), model(), checkpoint(), curve()};
  }
};

class Run {
 public:
  /// A new run; `lock` is the directory's. FileError if that holds one already.
  static std::unique_ptr<Run> start(DirectoryLock lock, const RunPaths& paths,
                                    const Settings& settings, Corpus corpus);
  /// Goes on from the checkpoint. `corpus` must be the text that the run began with.
  static std::unique_ptr<Run> resume(DirectoryLock lock, const RunPaths& paths,
                                     const Settings& settings, Corpus corpus);

  /// FileError where the disk is full: what was saved before stays good, and can be resumed.
  TrainEnd train();
  /// Mean nats a token over the whole held-out part.
  double evaluate() const;

  const Settings& settings() const { return settings_; }
  const nn::GPT& model() const { return model_; }
  const Corpus& corpus() const { return corpus_; }
  const Trainer& trainer() const { return trainer_; }

 private:
  Run(DirectoryLock lock, const RunPaths& paths, const Settings& settings, Corpus corpus);
  void log_heads(Metrics& metrics) const;

  DirectoryLock lock_;
  RunPaths paths_;
  Settings settings_;
  Corpus corpus_;
  nn::GPT model_;
  optim::AdamW optimizer_;
  TokenBatches batches_;
  Trainer trainer_;
};

/// FileError where the directory holds no run.
Settings read_settings(const RunPaths& paths, bool to_train);

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
