#include "gradus/nn/attention.h"
#include "gradus/nn/block.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/gpt.h"
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
      {"nn::Linear", {"linear", "[2, 3]", "2"}, [=] { nn::Linear(5, 2)(x); }},
      {"nn::Embedding",
       {"embedding", "[1]", "[2]"},
       [] {
         nn::Embedding(5, 2)(indices({1, 5}));
       }},
      {"nn::Embedding", {"embedding", "f32", "i64"}, [=] { nn::Embedding(5, 2)(x); }},
      {"nn::LayerNorm", {"LayerNorm", "[2, 3]", "5"}, [=] { nn::LayerNorm(5)(x); }},
      {"nn::RMSNorm", {"RMSNorm", "[2, 3]", "5"}, [=] { nn::RMSNorm(5)(x); }},
      {"nn::BatchNorm1d", {"batch_norm", "[2, 3]", "[5]"}, [=] { nn::BatchNorm1d(5)(x); }},
      {"nn::Dropout", {"Dropout", "1.5", "0"}, [] { nn::Dropout(1.5); }},
      {"nn::FeedForward", {"linear", "[2, 3]"}, [=] { nn::FeedForward({.width = 5})(x); }},
      {"nn::FeedForward", {"FeedForward", "0"}, [] { nn::FeedForward({.width = 0}); }},
      {"nn::MultiHeadAttention",
       {"MultiHeadAttention", "2", "5"},
       [] { nn::MultiHeadAttention({.width = 5, .heads = 2}); }},
      {"nn::Block",
       {"Norm", "[1, 2, 6]", "4"},
       [=] {
         nn::Block({.width = 4, .heads = 2})(ones({1, 2, 6}));
       }},
      {"nn::GPT",
       {"GPT", "3", "2"},
       [] {
         nn::GPT({.vocab = 5, .context = 2, .block = {.width = 4}})(reshape(arange(3), {1, 3}));
       }},
      {"nn::SinusoidalPosition",
       {"SinusoidalPosition", "0", "2"},
       [] {
         nn::SinusoidalPosition(2, 4)(ones({1, 3, 4}));
       }},
      {"nn::LearnedPosition",
       {"LearnedPosition", "-1", "negative"},
       [] {
         nn::LearnedPosition(2, 4)(ones({1, 2, 4}), -1);
       }},
      {"nn::Residual",
       {"Residual", "[2, 5]", "[2, 3]"},
       [=] { nn::Residual(nn::Linear(3, 5))(x); }},
      {"nn::Sequential", {"linear", "[2, 3]", "3"}, [=] { nn::Sequential(nn::Linear(5, 3))(x); }},
  };
}

}  // namespace gradus::testing
