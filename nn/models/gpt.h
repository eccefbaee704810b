// GPT: a decoder-only Transformer that predicts the next token.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/block.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/embedding.h"

namespace gradus::nn {

struct GPTOptions {
  std::int64_t vocab = 0;    // V
  std::int64_t context = 0;  // longest T
  std::int64_t layers = 1;
  BlockOptions block = {};      // head.position none: learned positions
  std::int64_t window = 0;      // a token sees itself and window − 1 earlier ones; 0: all
  bool checkpoint = false;      // stores one block at a time in training, for 1/3 more arithmetic
  bool tied = true;             // the token embedding is also the output projection
  double embedding_factor = 1;  // scales token vectors, before positions are added
  bool zero_init = false;       // projections onto the residual stream start as 0

  bool learns_positions() const { return block.head.position == HeadPosition::none; }
};

/// Decoder-only Transformer: token and position embeddings, causal blocks, a final norm, and the
/// token embedding as output projection (unless untied). Weights start as normal(0, 0.02), biases
/// as 0. Projections onto the residual stream are divided by √(2 · layers), or 0 with `zero_init`.
/// Radford et al. 2019.
class GPT : public Layer<GPT> {
 public:
  explicit GPT(const GPTOptions& options);
  /// Returns the parameter count without constructing a model, as Block::parameter_count.
  static double parameter_count(const GPTOptions& options);
  using Module::parameter_count;

  /// Token ids i64 [B, T], T ≤ context → logits [B, T, V]. With a cache, ids follow the cached
  /// tokens, and only the last lengths[b] of example b are tokens (default: all).
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

/// Named sizes: "toy", "cpu", "baby12" and "baby64" (nanoGPT's character-level settings), "gpt2",
/// "long". Set the vocabulary to your text's, except for gpt2 (50257). Throws ValueError, listing
/// the names, for any other.
struct GPTPreset {
  std::string name;
  GPTOptions options;
  std::int64_t batch;
};
const std::vector<GPTPreset>& gpt_presets();
const GPTPreset& gpt_preset(const std::string& name);

}  // namespace gradus::nn
