// The timed training step of a preset's GPT on one random batch.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "floor.h"
#include "gradus/engine/base/platform.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/train/optim/optim.h"

namespace gradus::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Trainer {
 public:
  Trainer(const std::string& config, double dropout)
      : preset_(nn::gpt_preset(config)),
        base_bytes_(platform::resident_bytes()),
        model_(with_dropout(preset_.options, dropout)),
        optimizer_(model_.parameters(), {.lr = 1e-3, .weight_decay = 1e-2}) {
    const std::int64_t V = preset_.options.vocab;
    x_ = randint(0, V, {preset_.batch, preset_.options.context});
    y_ = randint(0, V, {preset_.batch, preset_.options.context});
  }

  double step() {  // returns the loss before the step
    const Tensor loss = model_.loss(x_, y_);
    loss.backward();
    optimizer_.step({.clip_norm = 1.0});
    optimizer_.zero_grad();
    return loss.item();
  }

  std::vector<double> time_steps(int count) {
    std::vector<double> ms;
    for (int i = 0; i < count; ++i) {
      const double start = now_ms();
      step();
      ms.push_back(now_ms() - start);
    }
    return ms;
  }

  const nn::GPTPreset& preset() const { return preset_; }
  std::size_t base_bytes() const { return base_bytes_; }  // memory before the model was created

 private:
  static nn::GPTOptions with_dropout(nn::GPTOptions options, double dropout) {
    options.block.dropout = dropout;
    return options;
  }

  const nn::GPTPreset& preset_;
  std::size_t base_bytes_;
  nn::GPT model_;
  optim::AdamW optimizer_;
  Tensor x_, y_;
};

}  // namespace gradus::bench
