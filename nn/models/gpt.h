// GPT: a decoder-only Transformer.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/block.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/embedding.h"

namespace gradus::nn {

/// Options of GPT.
struct GPTOptions {
  std::int64_t vocab = 0;    // V, vocabulary size
  std::int64_t context = 0;  // maximum T
  std::int64_t layers = 1;
  BlockOptions block = {};      // with head.position none, GPT learns position embeddings
  std::int64_t window = 0;      // a token attends to itself and window − 1 earlier ones; 0: all
  bool checkpoint = false;      // recomputes blocks in backward: less memory, 1/3 more arithmetic
  bool tied = true;             // if true, the output projection is the token embedding
  double embedding_factor = 1;  // scales token vectors before positions are added
  bool zero_init = false;       // if true, projections onto the residual stream start as 0

  bool learns_positions() const { return block.head.position == HeadPosition::none; }
};

/// Token and position embeddings, causal blocks, a norm and an output projection. Weights are
/// initialized from normal(0, 0.02), biases with 0. Initial projections onto the residual stream
/// are divided by √(2 · layers), or are 0 with `zero_init`. Radford et al. 2019.
class GPT : public Layer<GPT> {
 public:
  explicit GPT(const GPTOptions& options);
  /// Returns the parameter count without constructing a model; see Block::parameter_count.
  static double parameter_count(const GPTOptions& options);
  using Module::parameter_count;

  /// Token ids i64 [B, T], T ≤ context → logits [B, T, V]. With a cache, the ids continue the
  /// cached tokens. In example b, only the last lengths[b] ids are tokens (default: all); the
  /// others are padding.
  Tensor forward(const Tensor& ids, KVCache* cache = nullptr,
                 const std::vector<std::int64_t>& lengths = {}) const;
  /// Returns the mean cross-entropy in nats per token. targets: i64 [B, T].
  Tensor loss(const Tensor& ids, const Tensor& targets) const;
  Mask mask() const;  // causal mask within the window

  Members members() override {
    return {{"token", token},
            {"position", position, options.learns_positions()},
            {"blocks", blocks},
            {"norm", norm},
            {"head", head, !options.tied}};
  }

  GPTOptions options;
  Embedding token;     // [V, C]
  Embedding position;  // [context, C]; undefined unless learned
  std::vector<Block> blocks;
  Norm norm;
  Linear head;  // [V, C], no bias; undefined if tied

 private:
  Tensor embed(const Tensor& ids, KVCache* cache, const std::vector<std::int64_t>& lengths) const;
};

/// A model of a named size. "baby12" and "baby64" are nanoGPT's character-level settings. Set the
/// vocabulary size to that of your text (gpt2: 50257).
struct GPTPreset {
  std::string name;
  GPTOptions options;
  std::int64_t batch;  // recommended batch size
};
const std::vector<GPTPreset>& gpt_presets();
/// Returns the preset of this name. Throws ValueError for an unknown name.
const GPTPreset& gpt_preset(const std::string& name);

}  // namespace gradus::nn
