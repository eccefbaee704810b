// What attention layers, decoders and stacks refuse.
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes transformer_mistakes() {
  const nn::BlockOptions small{.width = 4, .heads = 2};
  return {
      {"nn::Norm", "Norm: the input [2, 3] does not end in the width 5 that the layer was made for",
       [] {
         nn::Norm(5)(ones({2, 3}));
       }},
      {"nn::SwiGLU", "linear: the input [2, 3] does not end in the weight's input size: [4, 5]",
       [] {
         nn::SwiGLU(5, 4)(ones({2, 3}));
       }},
      {"nn::SelfAttention", "SelfAttention: width 0, key_width 0, value_width 0: must be positive",
       [] { nn::SelfAttention(0); }},
      {"nn::SelfAttention", "SelfAttention: dropout 1 is not in [0, 1)",
       [] { nn::SelfAttention(4, {.dropout = 1}); }},
      {"nn::MultiHeadAttention", "MultiHeadAttention: 3 kv_heads do not divide 4 heads",
       [] { nn::MultiHeadAttention({.width = 8, .heads = 4, .kv_heads = 3}); }},
      {"nn::MultiHeadAttention",
       "MultiHeadAttention: rotary positions turn pairs, but a head is 3 wide",
       [] {
         nn::MultiHeadAttention({.width = 6, .heads = 2, .position = nn::HeadPosition::rotary});
       }},
      {"nn::CrossAttention",
       "CrossAttention: rotary positions are those of one sequence, but it attends to a memory",
       [] { nn::CrossAttention({.width = 4, .position = nn::HeadPosition::rotary}); }},
      {"nn::CrossAttention", "CrossAttention: 3 kv_heads do not divide 2 heads",
       [] { nn::CrossAttention({.width = 4, .heads = 2, .kv_heads = 3}); }},
      {"nn::CrossAttention", "CrossAttention: a memory_width of 4, a value_width of 0: must be",
       [] { nn::CrossAttention({.width = 4, .value_width = 0}); }},
      {"nn::CrossAttention", "linear: the input [1, 3, 4] does not end in the weight's input",
       [] {
         nn::CrossAttention({.width = 4, .memory_width = 3})(ones({1, 2, 4}), ones({1, 3, 4}));
       }},
      {"nn::MultiHeadAttention", "padding_mask: a length of 5 where there are 3 keys",
       [] {
         nn::MultiHeadAttention({.width = 4})(ones({1, 3, 4}), padding_mask({5}));
       }},
      {"nn::DecoderBlock", "linear: the input [1, 3, 6] does not end in the weight's input size",
       [=] {
         const nn::DecoderBlock block(small);
         block(ones({1, 2, 4}), ones({1, 3, 6}));
       }},
      {"nn::DecoderBlock", "attention: q [1, 2, 2, 2], k [2, 2, 3, 2]",
       [=] {
         const nn::DecoderBlock block(small);
         block(ones({1, 2, 4}), ones({2, 3, 4}));
       }},
      {"nn::Encoder", "Encoder: 0 layers: needs at least 1",
       [=] { nn::Encoder({.block = small, .layers = 0}); }},
      {"nn::Decoder", "Decoder: 0 layers: needs at least 1",
       [=] { nn::Decoder({.block = small, .layers = 0}); }},
      {"nn::Transformer", "padding_mask: 1 lengths for a batch of 2",
       [=] {
         nn::Transformer({.block = small})(ones({2, 3, 4}), ones({2, 2, 4}), padding_mask({3}));
       }},
  };
}

}  // namespace gradus::testing
