// What layers refuse, and what they just accept: each condition is broken alone, and sizes and
// probabilities stand at their borders. The answers are in tests/golden/said/.
#include <limits>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/conv.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/outcomes.h"

namespace gradus::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("borders of initialisers") {
  namespace init = nn::init;
  Tensor none, x = zeros({2, 3}), whole = zeros({2, 3}, Dtype::i64), view = transpose(x);
  check_outcomes("init", {GRADUS_CALL(init::zeros_(none)),
                          GRADUS_CALL(init::ones_(whole)),
                          GRADUS_CALL(init::zeros_(view)),
                          GRADUS_CALL(init::uniform_(x, kNaN, 1)),
                          GRADUS_CALL(init::uniform_(x, 0, kNaN)),
                          GRADUS_CALL(init::uniform_(x, -kInf, 1)),
                          GRADUS_CALL(init::uniform_(x, 0, kInf)),
                          GRADUS_CALL(init::uniform_(x, 1, 0.5)),
                          GRADUS_CALL(init::uniform_(x, 1, 1)),
                          GRADUS_CALL(init::normal_(x, kNaN, 1)),
                          GRADUS_CALL(init::normal_(x, kInf, 1)),
                          GRADUS_CALL(init::normal_(x, 0, kNaN)),
                          GRADUS_CALL(init::normal_(x, 0, kInf)),
                          GRADUS_CALL(init::normal_(x, 0, -0.5)),
                          GRADUS_CALL(init::normal_(x, 0, 0)),
                          GRADUS_CALL(init::truncated_normal_(x, kNaN, 1, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, kInf, 1, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, kNaN, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, kInf, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, 0, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, -1, -1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, 1, 1, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, 1, 2, 1)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, 1, 2.4, kInf)),
                          GRADUS_CALL(init::truncated_normal_(x, 0, 1, 2.326, kInf)),
                          GRADUS_CALL(init::truncated_normal_(x, 3, 0.5, 1, 1.8)),
                          GRADUS_CALL(init::truncated_normal_(x, 3, 0.5, 1, 1.85)),
                          GRADUS_CALL(init::truncated_normal_(x, -1, 2, -1.02, -0.98)),
                          GRADUS_CALL(init::fan_of(none, init::Fan::in)),
                          GRADUS_CALL(init::fan_of(zeros({3}), init::Fan::in)),
                          GRADUS_CALL(init::fan_of(zeros({3, 0}), init::Fan::in)),
                          GRADUS_CALL(init::fan_of(zeros({3, 1}), init::Fan::out)),
                          GRADUS_CALL(init::residual_deviation(0)),
                          GRADUS_CALL(init::residual_deviation(-1)),
                          GRADUS_CALL(init::residual_deviation(1))});
}

TEST_CASE("borders of positions") {
  const Tensor none, x = ones({1, 3, 4});
  const nn::SinusoidalPosition sines(4, 4);
  const nn::LearnedPosition learned(4, 4);
  check_outcomes("positions", {GRADUS_CALL(nn::sinusoidal_positions(-1, 2)),
                               GRADUS_CALL(nn::sinusoidal_positions(2, -1)),
                               GRADUS_CALL(nn::sinusoidal_positions(0, 2)),
                               GRADUS_CALL(nn::sinusoidal_positions(2, 0)),
                               GRADUS_CALL(nn::sinusoidal_positions(2, 2, Dtype::i64)),
                               GRADUS_CALL(nn::SinusoidalPosition(0, 4)),
                               GRADUS_CALL(nn::SinusoidalPosition(4, 0)),
                               GRADUS_CALL(nn::SinusoidalPosition(1, 1)),
                               GRADUS_CALL(sines(none)),
                               GRADUS_CALL(sines(ones({3, 4}))),
                               GRADUS_CALL(sines(ones({1, 3, 5}))),
                               GRADUS_CALL(sines(x, -1)),
                               GRADUS_CALL(sines(x, 0)),
                               GRADUS_CALL(sines(x, 1)),
                               GRADUS_CALL(sines(x, 2)),
                               GRADUS_CALL(nn::LearnedPosition(0, 4)),
                               GRADUS_CALL(nn::LearnedPosition(4, 0)),
                               GRADUS_CALL(nn::LearnedPosition(1, 1)),
                               GRADUS_CALL(learned(none)),
                               GRADUS_CALL(learned(ones({4}))),
                               GRADUS_CALL(learned(ones({1, 5, 4}))),
                               GRADUS_CALL(learned(x, -1)),
                               GRADUS_CALL(learned(x, 1)),
                               GRADUS_CALL(learned(x, 2)),
                               GRADUS_CALL(nn::RelativeBias(0)),
                               GRADUS_CALL(nn::RelativeBias(-1)),
                               GRADUS_CALL(nn::RelativeBias(1)),
                               GRADUS_CALL(nn::RelativeBias(1, {.count = 0})),
                               GRADUS_CALL(nn::RelativeBias(1, {.count = 32, .max_distance = 0}))});
}

TEST_CASE("borders of small layers") {
  const Tensor none, x = ones({2, 3});
  check_outcomes("layers", {GRADUS_CALL(nn::Linear(0, 1)),
                            GRADUS_CALL(nn::Linear(1, 0)),
                            GRADUS_CALL(nn::Linear(-1, 1)),
                            GRADUS_CALL(nn::Linear(1, 1)),
                            GRADUS_CALL(nn::Embedding(0, 1)),
                            GRADUS_CALL(nn::Embedding(1, 0)),
                            GRADUS_CALL(nn::Embedding(1, 1)),
                            GRADUS_CALL(nn::Embedding(2, 1, {-1})),
                            GRADUS_CALL(nn::Embedding(2, 1, {0})),
                            GRADUS_CALL(nn::Embedding(2, 1, {1})),
                            GRADUS_CALL(nn::Embedding(2, 1, {2})),
                            GRADUS_CALL(nn::Dropout(-0.1)),
                            GRADUS_CALL(nn::Dropout(0)),
                            GRADUS_CALL(nn::Dropout(0.99)),
                            GRADUS_CALL(nn::Dropout(1)),
                            GRADUS_CALL(nn::Dropout(kNaN)),
                            GRADUS_CALL(nn::LayerNorm(0)),
                            GRADUS_CALL(nn::LayerNorm(-1)),
                            GRADUS_CALL(nn::LayerNorm(1, {.eps = -1e-9})),
                            GRADUS_CALL(nn::LayerNorm(1, {.eps = kNaN})),
                            GRADUS_CALL(nn::LayerNorm(1, {.eps = 0})),
                            GRADUS_CALL(nn::LayerNorm(3)(none)),
                            GRADUS_CALL(nn::LayerNorm(1)(ones({}))),
                            GRADUS_CALL(nn::LayerNorm(2, {.affine = false})(x)),
                            GRADUS_CALL(nn::LayerNorm(3)(x)),
                            GRADUS_CALL(nn::RMSNorm(0)),
                            GRADUS_CALL(nn::RMSNorm(1, {.eps = -1})),
                            GRADUS_CALL(nn::RMSNorm(3)(none)),
                            GRADUS_CALL(nn::RMSNorm(2, {.affine = false})(x)),
                            GRADUS_CALL(nn::Norm(0)),
                            GRADUS_CALL(nn::Norm(1, nn::NormKind::rms, {.eps = -1})),
                            GRADUS_CALL(nn::Norm(3)(none)),
                            GRADUS_CALL(nn::Norm(4)(x)),
                            GRADUS_CALL(nn::Norm(3)(x)),
                            GRADUS_CALL(nn::BatchNorm1d(0)),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.eps = -1})),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.momentum = -0.1})),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.momentum = 0})),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.momentum = 1})),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.momentum = 1.1})),
                            GRADUS_CALL(nn::BatchNorm1d(1, {.momentum = kNaN})),
                            GRADUS_CALL(nn::FeedForward({.width = 0, .hidden = 1})),
                            GRADUS_CALL(nn::FeedForward({.width = 1, .hidden = 0})),
                            GRADUS_CALL(nn::FeedForward({.width = 1, .hidden = 1})),
                            GRADUS_CALL(nn::Conv1d(0, 1, 1)),
                            GRADUS_CALL(nn::Conv1d(1, 0, 1)),
                            GRADUS_CALL(nn::Conv1d(1, 1, 0)),
                            GRADUS_CALL(nn::Conv1d(1, 1, 1)),
                            GRADUS_CALL(nn::Conv1d(2, 2, 1, {.groups = 0})),
                            GRADUS_CALL(nn::Conv1d(2, 2, 1, {.groups = -1})),
                            GRADUS_CALL(nn::Conv1d(3, 2, 1, {.groups = 2})),
                            GRADUS_CALL(nn::Conv1d(2, 3, 1, {.groups = 2})),
                            GRADUS_CALL(nn::Conv1d(2, 4, 1, {.groups = 2})),
                            GRADUS_CALL(nn::Conv1d(1, 1, 1, {.padding = 1, .causal = true})),
                            GRADUS_CALL(nn::Conv1d(1, 1, 1, {.padding = 0, .causal = true})),
                            GRADUS_CALL(nn::Conv1d(1, 1, 1, {.padding = 1})),
                            GRADUS_CALL(nn::Encoder({.block = {.width = 2}, .layers = 0})),
                            GRADUS_CALL(nn::Decoder({.block = {.width = 2}, .layers = -1})),
                            GRADUS_CALL(nn::Encoder({.block = {.width = 2}, .layers = 1}))});
}

TEST_CASE("borders of attention layers") {
  using nn::HeadPosition;
  using Multi = nn::MultiHeadAttention;
  using Cross = nn::CrossAttention;
  using Self = nn::SelfAttention;
  check_outcomes("attention",
                 {GRADUS_CALL(Multi({.width = 0})),
                  GRADUS_CALL(Multi({.width = -2, .heads = 2})),
                  GRADUS_CALL(Multi({.width = 2, .heads = 0})),
                  GRADUS_CALL(Multi({.width = 2, .heads = -1})),
                  GRADUS_CALL(Multi({.width = 3, .heads = 2})),
                  GRADUS_CALL(Multi({.width = 3, .heads = 2, .head_width = 1})),
                  GRADUS_CALL(Multi({.width = 3, .heads = 2, .head_width = 0})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 2, .head_width = -1})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 4, .kv_heads = 0})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 4, .kv_heads = -1})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 4, .kv_heads = 3})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 4, .kv_heads = 8})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 4, .kv_heads = 1})),
                  GRADUS_CALL(Multi({.width = 1, .dropout = -0.1})),
                  GRADUS_CALL(Multi({.width = 1, .dropout = 1})),
                  GRADUS_CALL(Multi({.width = 1, .dropout = 0})),
                  GRADUS_CALL(Multi({.width = 6, .heads = 2, .position = HeadPosition::rotary})),
                  GRADUS_CALL(Multi({.width = 4, .heads = 2, .position = HeadPosition::rotary})),
                  GRADUS_CALL(Multi({.width = 6, .heads = 2, .position = HeadPosition::alibi})),
                  GRADUS_CALL(Cross({.width = 0})),
                  GRADUS_CALL(Cross({.width = 2, .heads = 0})),
                  GRADUS_CALL(Cross({.width = 3, .heads = 2})),
                  GRADUS_CALL(Cross({.width = 4, .heads = 4, .kv_heads = 3})),
                  GRADUS_CALL(Cross({.width = 4, .heads = 4, .kv_heads = 0})),
                  GRADUS_CALL(Cross({.width = 2, .memory_width = 0, .value_width = 1})),
                  GRADUS_CALL(Cross({.width = 2, .memory_width = 1, .value_width = 0})),
                  GRADUS_CALL(Cross({.width = 2, .memory_width = -1})),
                  GRADUS_CALL(Cross({.width = 2, .memory_width = 1, .value_width = 1})),
                  GRADUS_CALL(Cross({.width = 2, .dropout = 1})),
                  GRADUS_CALL(Cross({.width = 2, .position = HeadPosition::rotary})),
                  GRADUS_CALL(Cross({.width = 2, .position = HeadPosition::relative})),
                  GRADUS_CALL(Self(0)),
                  GRADUS_CALL(Self(0, {.key_width = 1, .value_width = 1})),
                  GRADUS_CALL(Self(2, {.key_width = 0})),
                  GRADUS_CALL(Self(2, {.key_width = -1})),
                  GRADUS_CALL(Self(2, {.value_width = 0})),
                  GRADUS_CALL(Self(1)),
                  GRADUS_CALL(Self(2, {.dropout = -0.5})),
                  GRADUS_CALL(Self(2, {.dropout = 1})),
                  GRADUS_CALL(Self(2, {.dropout = 0.9}))});
}

TEST_CASE("borders of linear attention and of scores") {
  using nn::LinearAttentionKind;
  using Linear = nn::LinearAttention;
  using Linformer = nn::LinformerAttention;
  const Tensor none, x = ones({2, 3, 4}), flat = ones({3, 4}), other = ones({1, 3, 4});
  const nn::DotScore dot;
  const nn::AttentionPooling pooling(4);
  check_outcomes(
      "linear_attention",
      {GRADUS_CALL(Linear({.width = 0})),
       GRADUS_CALL(Linear({.width = 4, .heads = 0})),
       GRADUS_CALL(Linear({.width = 3, .heads = 2})),
       GRADUS_CALL(Linear({.width = 1})),
       GRADUS_CALL(Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = -1})),
       GRADUS_CALL(Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = 0})),
       GRADUS_CALL(Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = 1})),
       GRADUS_CALL(Linear({.width = 2, .kind = LinearAttentionKind::relu, .features = 1})),
       GRADUS_CALL(Linear({.width = 2, .features = -1})),
       GRADUS_CALL(Linear({.width = 4})(none)),
       GRADUS_CALL(Linear({.width = 4})(flat)),
       GRADUS_CALL(Linear({.width = 4})(x)),
       GRADUS_CALL(Linformer({.width = 0, .length = 1, .reduced = 1})),
       GRADUS_CALL(Linformer({.width = 2, .heads = 0, .length = 1, .reduced = 1})),
       GRADUS_CALL(Linformer({.width = 2, .length = 0, .reduced = 1})),
       GRADUS_CALL(Linformer({.width = 2, .length = 1, .reduced = 0})),
       GRADUS_CALL(Linformer({.width = 2, .length = 1, .reduced = 1})),
       GRADUS_CALL(Linformer({.width = 2, .length = 1, .reduced = 1, .dropout = -0.1})),
       GRADUS_CALL(Linformer({.width = 2, .length = 1, .reduced = 1, .dropout = 1})),
       GRADUS_CALL(Linformer({.width = 4, .length = 2, .reduced = 1})(x)),
       GRADUS_CALL(Linformer({.width = 4, .length = 3, .reduced = 1})(x)),
       GRADUS_CALL(Linformer({.width = 4, .length = 3, .reduced = 1})(none)),
       GRADUS_CALL(Linformer({.width = 4, .length = 3, .reduced = 1})(flat)),
       GRADUS_CALL(dot(none, x)),
       GRADUS_CALL(dot(x, none)),
       GRADUS_CALL(dot(flat, x)),
       GRADUS_CALL(dot(x, flat)),
       GRADUS_CALL(dot(x, other)),
       GRADUS_CALL(dot(x, x)),
       GRADUS_CALL(nn::AdditiveScore(4, 4, 2)(x, none)),
       GRADUS_CALL(nn::BilinearScore(4, 4)(none, x)),
       GRADUS_CALL(nn::AdditiveScore(4, 4, 0)),
       GRADUS_CALL(nn::weighted_values(none, x)),
       GRADUS_CALL(nn::weighted_values(x, none)),
       GRADUS_CALL(nn::weighted_values(ones({2, 4}), ones({2, 4, 2}))),
       GRADUS_CALL(nn::weighted_values(ones({2, 3, 4}), ones({2, 4}))),
       GRADUS_CALL(nn::weighted_values(ones({2, 3, 4}), ones({1, 4, 2}))),
       GRADUS_CALL(nn::weighted_values(ones({2, 3, 4}), ones({2, 3, 2}))),
       GRADUS_CALL(nn::weighted_values(ones({2, 3, 4}), ones({2, 4, 2}))),
       GRADUS_CALL(nn::AttentionPooling(0)),
       GRADUS_CALL(nn::AttentionPooling(1)),
       GRADUS_CALL(pooling(none)),
       GRADUS_CALL(pooling(flat)),
       GRADUS_CALL(pooling(ones({2, 3, 5}))),
       GRADUS_CALL(pooling(x))});
}

}  // namespace gradus::testing
