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
  std::int64_t context = 0;  // the longest T
  std::int64_t layers = 1;
  BlockOptions block = {};      // head.position none: a learned vector for each position
  std::int64_t window = 0;      // a token sees itself and window − 1 before; 0: all
  bool checkpoint = false;      // training keeps one block at a time, for a third more arithmetic
  bool tied = true;             // the token embedding is the output projection
  double embedding_factor = 1;  // of tokens, before positions are added
  bool zero_init = false;  // projections onto the residual stream start at 0: blocks do nothing yet

  bool learns_positions() const { return block.head.position == HeadPosition::none; }
};

/// Radford et al. 2019: token + learned position, blocks under a causal mask, a last norm, and the
/// token embedding again as output projection (unless untied). Weights start normal(0, 0.02), the
/// projections onto the residual stream divided by √(2 · layers) unless `zero_init`; biases 0.
class GPT : public Layer<GPT> {
 public:
  explicit GPT(const GPTOptions& options);
  /// The number of parameters that a model of these options has: see Block::parameter_count.
  static double parameter_count(const GPTOptions& options);
  using Module::parameter_count;

  /// Token ids, i64 [B, T] with T ≤ context → logits [B, T, V]. With a cache these come after the
  /// tokens that it remembers, and of example b only the last lengths[b] are tokens (all, without).
  Tensor forward(const Tensor& ids, KVCache* cache = nullptr,
                 const std::vector<std::int64_t>& lengths = {}) const;
  /// Mean cross-entropy in nats a token; targets i64 [B, T].
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
  Embedding position;  // [context, C]; undefined where heads see positions
  std::vector<Block> blocks;
  Norm norm;
  Linear head;  // [V, C] without bias; undefined where tied

 private:
  Tensor embed(const Tensor& ids, KVCache* cache, const std::vector<std::int64_t>& lengths) const;
};

/// Sizes with a name: "toy", "cpu" and "baby12"/"baby64" (nanoGPT's character-level settings),
/// "gpt2", "long". The vocabulary is the text's, but gpt2's is 50257. ValueError lists the names.
struct GPTPreset {
  std::string name;
  GPTOptions options;
  std::int64_t batch;
};
const std::vector<GPTPreset>& gpt_presets();
const GPTPreset& gpt_preset(const std::string& name);

}  // namespace gradus::nn
