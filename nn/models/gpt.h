// GPT: a decoder-only Transformer.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/block.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/embedding.h"

namespace gradus::nn {

/// Sizes and variants of GPT.
struct GPTOptions {
  std::int64_t vocab = 0;       // V
  std::int64_t context = 0;     // longest T
  std::int64_t layers = 1;      // number of blocks
  BlockOptions block = {};      // head.position none: learned positions
  std::int64_t window = 0;      // a token attends to itself and window − 1 earlier ones; 0: all
  bool checkpoint = false;      // keeps one block at a time in training, for 1/3 more arithmetic
  bool tied = true;             // output projection = token embedding
  double embedding_factor = 1;  // scales token vectors, before positions are added
  bool zero_init = false;       // projections onto the residual stream start as 0

  bool learns_positions() const { return block.head.position == HeadPosition::none; }
};

/// Token and position embeddings, causal blocks, a norm and an output projection. Weights start as
/// normal(0, 0.02), biases as 0. Projections onto the residual stream are divided by √(2 · layers),
/// or 0 with `zero_init`. Radford et al. 2019.
class GPT : public Layer<GPT> {
 public:
  explicit GPT(const GPTOptions& options);
  /// The parameter count, without constructing a model; see Block::parameter_count.
  static double parameter_count(const GPTOptions& options);
  using Module::parameter_count;

  /// Token ids i64 [B, T], T ≤ context → logits [B, T, V]. With a cache, they continue the cached
  /// tokens, and all but the last lengths[b] are padding (default: none).
  Tensor forward(const Tensor& ids, KVCache* cache = nullptr,
                 const std::vector<std::int64_t>& lengths = {}) const;
  /// Mean cross-entropy in nats per token. targets: i64 [B, T].
  Tensor loss(const Tensor& ids, const Tensor& targets) const;
  Mask mask() const;  // causal, within the window

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

/// Named sizes. "baby12" and "baby64" are nanoGPT's character-level settings. Set the vocabulary to
/// that of your text (gpt2: 50257). Throws ValueError for an unknown name.
struct GPTPreset {
  std::string name;  // for example "gpt2"
  GPTOptions options;
  std::int64_t batch;  // recommended batch size
};
const std::vector<GPTPreset>& gpt_presets();
const GPTPreset& gpt_preset(const std::string& name);

}  // namespace gradus::nn
