// A training run of gpt and its directory:
//
//   settings.json
//   tokenizer.json
//   metrics.jsonl            one line per step
//   model.safetensors        best weights, with PyTorch-like names
//   checkpoint.safetensors   state for --resume
//   loss.svg                 loss curves, at the end
//   run.lock                 lock of the writing process
#pragma once

#include <functional>
#include <memory>

#include "corpus.h"

namespace gradus::examples {

/// Trains after flags.begin(). Prints the best loss, the losses of simpler models, and advice.
/// Returns the exit code. Throws FileError if the disk is full; the run can then be resumed.
int run_training(const GptFlags& flags, const Corpus& corpus,
                 const std::function<void(const train::Trainer&)>& begun = {});

/// Returns an optimizer of all parameters that are not frozen.
std::unique_ptr<optim::Optimizer> make_optimizer(const GptFlags& flags, const nn::GPT& model);
optim::Schedule make_schedule(const GptFlags& flags);

/// The tokenizer, best weights and settings of a run, or a pretrained model (pretrained.h). Loading
/// throws FileError if `directory` is neither.
struct TrainedModel {
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::unique_ptr<nn::GPT> model;  // in eval mode
};
TrainedModel load_trained(GptFlags& flags, const std::string& directory);

/// Returns the mean nats per token, processing `batch` windows at a time.
double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch,
                 std::int64_t window);
std::int64_t evaluation_batch(const GptFlags& flags);  // the `batch` of mean_loss during training

}  // namespace gradus::examples
