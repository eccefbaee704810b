// The directory of a run:
//
//   settings.json
//   tokenizer.json
//   metrics.jsonl
//   model.safetensors        best weights, with PyTorch-like names
//   checkpoint.safetensors   state for --resume
//   loss.svg                 written at the end
//   run.lock
#pragma once

#include <functional>
#include <memory>

#include "corpus.h"
#include "gradus/train/data.h"

namespace gradus::examples {

/// What a run repeats: the same flags and text give the same steps.
struct GptTask {
  /// Seeds generator(). If `load`, the model starts from flags.from.
  GptTask(const GptFlags& flags, const Corpus& corpus, bool load);
  distributed::BatchLoss loss(std::int64_t step) const;

  nn::GPT model;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::Schedule schedule;
  train::TrainOptions options;
  train::TokenBatches batches;
};

/// Trains after flags.begin() and prints the results. Returns the exit code. Throws FileError if
/// the disk is full; the run can then be resumed.
int run_training(const GptFlags& flags, const Corpus& corpus,
                 const std::function<void(const train::Trainer&)>& begun = {});

std::unique_ptr<optim::Optimizer> make_optimizer(const GptFlags& flags, const nn::GPT& model);
optim::Schedule make_schedule(const GptFlags& flags);

/// A run's tokenizer and best weights, or a pretrained model. Loading throws FileError if
/// `directory` is neither.
struct TrainedModel {
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::unique_ptr<nn::GPT> model;  // in eval mode
};
TrainedModel load_trained(GptFlags& flags, const std::string& directory);

/// Returns the mean nats per token, processing `batch` windows at a time.
double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch,
                 std::int64_t window);
std::int64_t evaluation_batch(const GptFlags& flags);  // `batch` during training

}  // namespace gradus::examples
