// Invalid calls of the token-mixing layers other than attention.
#include "gradus/nn/extras/conv.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes token_layer_mistakes() {
  const std::vector<std::int64_t> three = {0, 1, 2};
  return {
      {"nn::RelativeBias", {"RelativeBias", "0", "1"}, [] { nn::RelativeBias(0); }},
      {"nn::RelativeBias", {"relative_bucket", "7"}, [] { nn::RelativeBias(2, {.count = 7}); }},
      {"nn::RelativeBias",
       {"relative_bucket", "max_distance", "8"},
       [] { nn::RelativeBias(2, {.max_distance = 8}); }},
      {"nn::RelativeBias",
       {"relative_buckets", "3", "2"},
       [=] { nn::RelativeBias(2)(three, three, 2); }},
      {"nn::Conv1d", {"Conv1d", "2", "3"}, [] { nn::Conv1d(3, 4, 1, {.groups = 2}); }},
      {"nn::Conv1d", {"Conv1d", "1"}, [] { nn::Conv1d(3, 4, 2, {.padding = 1, .causal = true}); }},
      {"nn::Conv1d",
       {"conv1d", "[4, 3, 2]", "5"},
       [] {
         nn::Conv1d(3, 4, 2)(ones({1, 5, 7}));
       }},
      {"nn::LinearAttention",
       {"LinearAttention", "2", "5"},
       [] { nn::LinearAttention({.width = 5, .heads = 2}); }},
      {"nn::LinearAttention",
       {"LinearAttention", "7", "0"},
       [] { nn::LinearAttention({.width = 4, .features = 7}); }},
      {"nn::LinearAttention",
       {"LinearAttention", "[2, 4]"},
       [] {
         nn::LinearAttention({.width = 4})(ones({2, 4}));
       }},
      {"nn::LinformerAttention",
       {"LinformerAttention", "0"},
       [] { nn::LinformerAttention({.width = 4}); }},
      {"nn::LinformerAttention",
       {"LinformerAttention", "1", "0"},
       [] { nn::LinformerAttention({.width = 4, .length = 2, .reduced = 1, .dropout = 1}); }},
      {"nn::LinformerAttention",
       {"LinformerAttention", "3", "2"},
       [] {
         nn::LinformerAttention({.width = 4, .length = 2, .reduced = 1})(ones({1, 3, 4}));
       }},
      {"nn::DotScore",
       {"DotScore", "[2, 3]", "[1, 2, 3]"},
       [=] {
         nn::DotScore()(ones({2, 3}), ones({1, 2, 3}));
       }},
      {"nn::DotScore",
       {"matmul", "[1, 2, 3]", "[1, 5, 2]"},
       [=] {
         nn::DotScore()(ones({1, 2, 3}), ones({1, 2, 5}));
       }},
      {"nn::AdditiveScore",
       {"AdditiveScore", "[1, 2, 3]", "[2, 2, 3]"},
       [=] {
         nn::AdditiveScore(3, 3, 2)(ones({1, 2, 3}), ones({2, 2, 3}));
       }},
      {"nn::BilinearScore",
       {"linear", "[1, 2, 3]"},
       [=] {
         nn::BilinearScore(5, 3)(ones({1, 2, 3}), ones({1, 2, 3}));
       }},
      {"nn::AttentionPooling",
       {"AttentionPooling", "[1, 2, 3]"},
       [=] {
         nn::AttentionPooling(5)(ones({1, 2, 3}));
       }},
  };
}

}  // namespace gradus::testing
