// B batch, S source length, T target length, C width.
#include "gradus/nn/transformer.h"

namespace gradus::nn {
namespace {

template <class B>
std::vector<B> make_blocks(const char* stack, const StackOptions& options) {
  require(options.layers > 0, stack, ": layers must be at least 1, got ", options.layers);
  std::vector<B> blocks;
  const std::int64_t made = options.shared ? 1 : options.layers;
  for (std::int64_t i = 0; i < made; ++i) blocks.emplace_back(options.block);
  return blocks;
}

}  // namespace

Encoder::Encoder(const StackOptions& given)
    : options(given),
      blocks(make_blocks<Block>("Encoder", given)),
      norm(given.block.width, given.block.norm_kind, {given.block.norm_eps}) {}

Tensor Encoder::forward(const Tensor& x, const Mask& mask, KVCache* cache) const {
  Tensor y = x;  // [B, S, C]
  for (std::int64_t i = 0; i < options.layers; ++i)
    y = blocks[static_cast<std::size_t>(options.shared ? 0 : i)](y, mask, cache);
  return options.final_norm ? norm(y) : y;
}

Decoder::Decoder(const StackOptions& given)
    : options(given),
      blocks(make_blocks<DecoderBlock>("Decoder", given)),
      norm(given.block.width, given.block.norm_kind, {given.block.norm_eps}) {}

Tensor Decoder::forward(const Tensor& x, const Tensor& memory, const Mask& mask,
                        const Mask& memory_mask, KVCache* cache) const {
  Tensor y = x;  // [B, T, C]
  for (const DecoderBlock& block : blocks) y = block(y, memory, mask, memory_mask, cache);
  return options.final_norm ? norm(y) : y;
}

Transformer::Transformer(const TransformerOptions& given)
    : options(given),
      encoder({given.block, given.encoder_layers, given.final_norm}),
      decoder({given.block, given.decoder_layers, given.final_norm}) {}

Tensor Transformer::forward(const Tensor& source, const Tensor& target, const Mask& source_mask,
                            const Mask& target_mask) const {
  const Tensor memory = encoder(source, source_mask);        // [B, S, C]
  return decoder(target, memory, target_mask, source_mask);  // [B, T, C]
}

}  // namespace gradus::nn
