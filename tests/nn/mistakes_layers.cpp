// What layers refuse.
#include "gradus/models/gpt.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/residual.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes layer_mistakes() {
  const Tensor x = ones({2, 3});
  return {
      {"nn::Linear", "linear: the input [2, 3] does not end in the weight's input size: [2,",
       [=] { nn::Linear(5, 2)(x); }},
      {"nn::Embedding", "embedding: id 5 at [1] of [2] is not in [0, 5): make the table for a",
       [] {
         nn::Embedding(5, 2)(indices({1, 5}));
       }},
      {"nn::Embedding", "embedding: the index is f32, and must be i64: convert with to(x,",
       [=] { nn::Embedding(5, 2)(x); }},
      {"nn::LayerNorm", "LayerNorm: the input [2, 3] does not end in the width 5 that the layer",
       [=] { nn::LayerNorm(5)(x); }},
      {"nn::RMSNorm", "RMSNorm: the input [2, 3] does not end in the width 5 that the layer",
       [=] { nn::RMSNorm(5)(x); }},
      {"nn::BatchNorm1d", "batch_norm: x [2, 3] with weight [5]: it must have the size of x's",
       [=] { nn::BatchNorm1d(5)(x); }},
      {"nn::Dropout", "Dropout: the probability 1.5 is not in [0, 1)", [] { nn::Dropout(1.5); }},
      {"nn::FeedForward", "linear: the input [2, 3] does not end in the weight's input size:",
       [=] { nn::FeedForward({.width = 5})(x); }},
      {"nn::FeedForward", "FeedForward: width 0, hidden 0: sizes must be positive",
       [] { nn::FeedForward({.width = 0}); }},
      {"nn::MultiHeadAttention", "MultiHeadAttention: 2 heads do not divide a width of 5",
       [] { nn::MultiHeadAttention({.width = 5, .heads = 2}); }},
      {"nn::Block", "Norm: the input [1, 2, 6] does not end in the width 4 that the",
       [=] {
         nn::Block({.width = 4, .heads = 2})(ones({1, 2, 6}));
       }},
      {"nn::GPT", "GPT: 3 tokens, but the model's context is 2: pass the last 2 of",
       [] {
         nn::GPT({.vocab = 5, .context = 2, .width = 4})(reshape(arange(3), {1, 3}));
       }},
      {"nn::SinusoidalPosition",
       "SinusoidalPosition: positions 0 to 2, but it was made for a length of 2",
       [] {
         nn::SinusoidalPosition(2, 4)(ones({1, 3, 4}));
       }},
      {"nn::LearnedPosition", "LearnedPosition: the first position is -1, but positions start at 0",
       [] {
         nn::LearnedPosition(2, 4)(ones({1, 2, 4}), -1);
       }},
      {"nn::Residual", "Residual: Linear made [2, 5] of [2, 3], which cannot be added to it",
       [=] { nn::Residual(nn::Linear(3, 5))(x); }},
      {"nn::Sequential", "linear: the input [2, 3] does not end in the weight's input size: [3,",
       [=] { nn::Sequential(nn::Linear(5, 3))(x); }},
  };
}

}  // namespace gradus::testing
