// Trains a GPT for twenty steps and compares it with PyTorch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradus/io/safetensors.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing {

struct Trajectory {
  std::vector<double> loss, grad_norm;
};

inline Trajectory train_20_steps(const std::string& preset, const std::string& directory,
                                 Dtype dtype) {
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : io::load_safetensors(directory + "/init.safetensors").tensors) {
    std::string ours = name;  // older dumps omit the parent layer's name
    for (const char* layer : {".up.", ".down."})
      if (const auto at = ours.find(layer);
          at != std::string::npos && ours.find("feed_forward") == std::string::npos)
        ours.insert(at, ".feed_forward");
    weights[ours] = tensor;
  }
  const std::map<std::string, Tensor> batch =
      io::load_safetensors(directory + "/batch.safetensors").tensors;
  nn::GPT model(nn::gpt_preset(preset).options);
  model.to(dtype);
  model.load_state_dict(weights);
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3, .weight_decay = 1e-2});
  Trajectory out;
  for (int i = 0; i < 20; ++i) {
    const Tensor loss = model.loss(batch.at("x"), batch.at("y"));
    optimizer.zero_grad();
    loss.backward();
    out.grad_norm.push_back(optimizer.step({.clip_norm = 1.0}));
    out.loss.push_back(loss.item());
  }
  return out;
}

}  // namespace gradus::testing
