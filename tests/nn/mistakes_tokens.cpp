// What the layers refuse that mix tokens other than by softmax attention.
#include "gradus/nn/conv.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes token_layer_mistakes() {
  const std::vector<std::int64_t> three = {0, 1, 2};
  return {
      {"nn::RelativeBias", "RelativeBias: 0 heads: needs at least 1", [] { nn::RelativeBias(0); }},
      {"nn::RelativeBias", "relative_bucket: 7 buckets: each direction needs an even number of",
       [] { nn::RelativeBias(2, {.count = 7}); }},
      {"nn::RelativeBias", "relative_bucket: a max_distance of 8 is within the 8 buckets that hold",
       [] { nn::RelativeBias(2, {.max_distance = 8}); }},
      {"nn::RelativeBias",
       "relative_buckets: 3 query and 3 key positions are not as many for each of 2 examples",
       [=] { nn::RelativeBias(2)(three, three, 2); }},
      {"nn::Conv1d", "Conv1d: 2 groups do not divide 3 and 4 channels",
       [] { nn::Conv1d(3, 4, 1, {.groups = 2}); }},
      {"nn::Conv1d", "Conv1d: padding 1 beside causal, which pads the start by itself",
       [] { nn::Conv1d(3, 4, 2, {.padding = 1, .causal = true}); }},
      {"nn::Conv1d", "conv1d: the weight [4, 3, 2] does not fit 5 channels in 1 groups",
       [] {
         nn::Conv1d(3, 4, 2)(ones({1, 5, 7}));
       }},
      {"nn::LinearAttention", "LinearAttention: 2 heads do not divide a width of 5",
       [] { nn::LinearAttention({.width = 5, .heads = 2}); }},
      {"nn::LinearAttention", "LinearAttention: 7 features: a performer has them, 0 for twice the",
       [] { nn::LinearAttention({.width = 4, .features = 7}); }},
      {"nn::LinearAttention", "LinearAttention: the input is [2, 4], not [batch, length, width]",
       [] {
         nn::LinearAttention({.width = 4})(ones({2, 4}));
       }},
      {"nn::LinformerAttention", "LinformerAttention: length 0 reduced to 0: both must be positive",
       [] { nn::LinformerAttention({.width = 4}); }},
      {"nn::LinformerAttention", "LinformerAttention: dropout 1 is not in [0, 1)",
       [] { nn::LinformerAttention({.width = 4, .length = 2, .reduced = 1, .dropout = 1}); }},
      {"nn::LinformerAttention", "LinformerAttention: 3 tokens, but it was made for a length of 2",
       [] {
         nn::LinformerAttention({.width = 4, .length = 2, .reduced = 1})(ones({1, 3, 4}));
       }},
      {"nn::DotScore", "DotScore: q [2, 3] and k [1, 2, 3] must be [batch, length, width] of one",
       [=] {
         nn::DotScore()(ones({2, 3}), ones({1, 2, 3}));
       }},
      {"nn::DotScore", "matmul: [1, 2, 3] x [1, 5, 2]: inner sizes 3 and 5 differ",
       [=] {
         nn::DotScore()(ones({1, 2, 3}), ones({1, 2, 5}));
       }},
      {"nn::AdditiveScore", "AdditiveScore: q [1, 2, 3] and k [2, 2, 3] must be [batch, length,",
       [=] {
         nn::AdditiveScore(3, 3, 2)(ones({1, 2, 3}), ones({2, 2, 3}));
       }},
      {"nn::BilinearScore", "linear: the input [1, 2, 3] does not end in the weight's input size",
       [=] {
         nn::BilinearScore(5, 3)(ones({1, 2, 3}), ones({1, 2, 3}));
       }},
      {"nn::AttentionPooling", "AttentionPooling: the input is [1, 2, 3], not [batch, length, 5]",
       [=] {
         nn::AttentionPooling(5)(ones({1, 2, 3}));
       }},
  };
}

}  // namespace gradus::testing
