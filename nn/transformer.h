#pragma once

#include <vector>

#include "gradus/nn/block.h"

namespace gradus::nn {

/// Options of an Encoder or Decoder.
struct StackOptions {
  BlockOptions block;
  std::int64_t layers = 1;  // number of blocks
  bool final_norm = true;   // adds a norm after the last block
  bool shared = false;      // uses one block `layers` times (Lan et al. 2020); Encoder only
};

/// Stack of self-attention blocks with a common `mask`: [B, S, C] → [B, S, C].
class Encoder : public Layer<Encoder> {
 public:
  explicit Encoder(const StackOptions& options);
  Tensor forward(const Tensor& x, const Mask& mask = {}, KVCache* cache = nullptr) const;
  Members members() override { return {{"blocks", blocks}, {"norm", norm, options.final_norm}}; }

  StackOptions options;
  std::vector<Block> blocks;
  Norm norm;
};

/// Stack of blocks with self-attention and attention to a memory: x [B, T, C], memory [B, S, C] →
/// [B, T, C].
class Decoder : public Layer<Decoder> {
 public:
  explicit Decoder(const StackOptions& options);
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = causal_mask(),
                 const Mask& memory_mask = {}, KVCache* cache = nullptr) const;
  Members members() override { return {{"blocks", blocks}, {"norm", norm, options.final_norm}}; }

  StackOptions options;
  std::vector<DecoderBlock> blocks;
  Norm norm;
};

/// Options of a Transformer.
struct TransformerOptions {
  BlockOptions block;
  std::int64_t encoder_layers = 1, decoder_layers = 1;  // number of blocks in each stack
  bool final_norm = true;  // ends both stacks with a norm, as in PyTorch
};

/// decoder(target, encoder(source)), without embeddings: source [B, S, C], target [B, T, C] →
/// [B, T, C]. `source_mask` (padding) applies to both stacks. Vaswani et al. 2017, figure 1.
class Transformer : public Layer<Transformer> {
 public:
  explicit Transformer(const TransformerOptions& options);
  Tensor forward(const Tensor& source, const Tensor& target, const Mask& source_mask = {},
                 const Mask& target_mask = causal_mask()) const;
  Members members() override { return {{"encoder", encoder}, {"decoder", decoder}}; }

  TransformerOptions options;
  Encoder encoder;
  Decoder decoder;
};

}  // namespace gradus::nn
