// Invalid calls of attention layers, decoders and stacks.
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes transformer_mistakes() {
  const nn::BlockOptions small{.width = 4, .heads = 2};
  return {
      {"nn::Norm",
       {"Norm", "[2, 3]", "5"},
       [] {
         nn::Norm(5)(ones({2, 3}));
       }},
      {"nn::SwiGLU",
       {"linear", "[2, 3]", "[4, 5]"},
       [] {
         nn::SwiGLU(5, 4)(ones({2, 3}));
       }},
      {"nn::SelfAttention",
       {"SelfAttention", "key_width", "value_width"},
       [] { nn::SelfAttention(0); }},
      {"nn::SelfAttention",
       {"SelfAttention", "1", "0"},
       [] { nn::SelfAttention(4, {.dropout = 1}); }},
      {"nn::MultiHeadAttention",
       {"MultiHeadAttention", "kv_heads", "3"},
       [] { nn::MultiHeadAttention({.width = 8, .heads = 4, .kv_heads = 3}); }},
      {"nn::MultiHeadAttention",
       {"MultiHeadAttention", "3"},
       [] {
         nn::MultiHeadAttention(
             {.width = 6, .heads = 2, .head = {.position = nn::HeadPosition::rotary}});
       }},
      {"nn::CrossAttention",
       {"CrossAttention", "positions"},
       [] { nn::CrossAttention({.width = 4, .position = nn::HeadPosition::rotary}); }},
      {"nn::CrossAttention",
       {"CrossAttention", "kv_heads", "3"},
       [] { nn::CrossAttention({.width = 4, .heads = 2, .kv_heads = 3}); }},
      {"nn::CrossAttention",
       {"CrossAttention", "memory_width", "value_width"},
       [] { nn::CrossAttention({.width = 4, .value_width = 0}); }},
      {"nn::CrossAttention",
       {"linear", "[1, 3, 4]"},
       [] {
         nn::CrossAttention({.width = 4, .memory_width = 3})(ones({1, 2, 4}), ones({1, 3, 4}));
       }},
      {"nn::MultiHeadAttention",
       {"padding_mask", "5", "3"},
       [] {
         nn::MultiHeadAttention({.width = 4})(ones({1, 3, 4}), padding_mask({5}));
       }},
      {"nn::DecoderBlock",
       {"linear", "[1, 3, 6]"},
       [=] {
         const nn::DecoderBlock block(small);
         block(ones({1, 2, 4}), ones({1, 3, 6}));
       }},
      {"nn::DecoderBlock",
       {"attention", "[1, 2, 2, 2]", "[2, 2, 3, 2]"},
       [=] {
         const nn::DecoderBlock block(small);
         block(ones({1, 2, 4}), ones({2, 3, 4}));
       }},
      {"nn::Encoder", {"Encoder", "0", "1"}, [=] { nn::Encoder({.block = small, .layers = 0}); }},
      {"nn::Decoder", {"Decoder", "0", "1"}, [=] { nn::Decoder({.block = small, .layers = 0}); }},
      {"nn::Transformer",
       {"padding_mask", "1", "2"},
       [=] {
         nn::Transformer({.block = small})(ones({2, 3, 4}), ones({2, 2, 4}), padding_mask({3}));
       }},
  };
}

}  // namespace gradus::testing
