// A small GPT that learns a sequence in which each token depends on the previous two.
#pragma once

#include <memory>

#include "gradus/engine/base/random.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing {

class TinyGpt {
 public:
  static constexpr std::int64_t kVocab = 11, kContext = 8;

  /// Models of all dtypes start with the same f32 weights, and draw the same batches and masks.
  TinyGpt(std::uint64_t seed, Dtype dtype, std::int64_t width = 16, std::int64_t batch = 4)
      : draws_(seed), batch_(batch) {
    const GeneratorScope scope(draws_);
    model_ = std::make_unique<nn::GPT>(
        nn::GPTOptions{.vocab = kVocab,
                       .context = kContext,
                       .layers = 1,
                       .block = {.width = width, .heads = 2, .dropout = 0.1}});
    model_->to(dtype);
    optimizer_ =
        std::make_unique<optim::AdamW>(model_->parameters(), optim::AdamWOptions{.lr = 3e-3});
  }

  /// Runs one step. Returns the loss before the step.
  double step() {
    const GeneratorScope scope(draws_);
    const std::vector<std::int64_t> starts =
        randint(0, kVocab, {batch_, 2}).to_vector<std::int64_t>();
    std::vector<std::int64_t> ids, targets;
    for (std::size_t b = 0; b < starts.size(); b += 2) {
      std::int64_t last = starts[b], next = starts[b + 1];
      for (std::int64_t t = 0; t < kContext; ++t) {
        ids.push_back(next);
        last = std::exchange(next, (3 * next + (last > next)) % kVocab);
        targets.push_back(next);
      }
    }
    const Shape shape = {batch_, kContext};
    const Tensor loss = model_->loss(tensor(ids, shape), tensor(targets, shape));
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step({.clip_norm = 1});
    return loss.item();
  }

  nn::GPT& model() { return *model_; }

 private:
  Generator draws_;
  std::int64_t batch_;
  std::unique_ptr<nn::GPT> model_;
  std::unique_ptr<optim::AdamW> optimizer_;
};

}  // namespace gradus::testing
