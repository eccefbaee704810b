// One training run of gpt and its directory:
//
//   settings.json            what is trained on what
//   tokenizer.json
//   metrics.jsonl            a line a step
//   model.safetensors        the best weights so far, under their PyTorch-like names
//   checkpoint.safetensors   all that --resume needs
//   loss.svg                 the curves, when it ends
//   run.lock                 held by the one process that writes here
#pragma once

#include <functional>
#include <memory>

#include "corpus.h"

namespace gradus::examples {

/// Trains, in a directory that flags.begin() prepared, and says how it ended: the best loss beside
/// those of simpler models, and what to change where it ends above those. `begun` is called before
/// the first step. Returns the exit code. FileError where the disk is full: what was saved before
/// stays good, and can be resumed.
int run_training(const GptFlags& flags, const Corpus& corpus,
                 const std::function<void(const train::Trainer&)>& begun = {});

/// Updates the parameters that are not frozen.
std::unique_ptr<optim::Optimizer> make_optimizer(const GptFlags& flags, const nn::GPT& model);
optim::Schedule make_schedule(const GptFlags& flags);

/// The tokenizer and best weights of the run in `directory`, for sampling and evaluating; its
/// settings are put into `flags`. Or a model of other people (pretrained.h). FileError where it
/// holds neither.
struct TrainedModel {
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::unique_ptr<nn::GPT> model;  // in eval mode
};
TrainedModel load_trained(GptFlags& flags, const std::string& directory);

/// Mean nats a token of `tokens`, `batch` windows of so many tokens side by side.
double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch,
                 std::int64_t window);
std::int64_t evaluation_batch(const GptFlags& flags);  // that `batch`, in training

}  // namespace gradus::examples
