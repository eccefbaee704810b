// Tests invalid arguments, and the nearest valid ones.
#include <limits>

#include "gradus/nn/attention.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/extras/conv.h"
#include "gradus/nn/extras/linear_attention.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/module_list.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/position.h"
#include "gradus/nn/scoring.h"
#include "gradus/nn/sequential.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_errors {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("initializers accept exactly the documented arguments") {
  namespace init = nn::init;
  Tensor none, x = zeros({2, 3}), integers = zeros({2, 3}, Dtype::i64), view = transpose(x);
  CHECK_REFUSES(ValueError, init::zeros_(none), "zeros_", "undefined");
  CHECK_REFUSES(DtypeError, init::ones_(integers), "ones_", "f32");
  CHECK_REFUSES(ValueError, init::zeros_(view), "zeros_", "[3, 2]");
  CHECK_REFUSES(ValueError, init::uniform_(x, kNaN, 1), "uniform_", "nan");
  CHECK_REFUSES(ValueError, init::uniform_(x, -kInf, 1), "uniform_", "-inf");
  CHECK_REFUSES(ValueError, init::uniform_(x, 1, 0.5), "uniform_", "1");
  CHECK_NOTHROW(init::uniform_(x, 1, 1));
  CHECK_REFUSES(ValueError, init::normal_(x, kNaN, 1), "normal_", "nan");
  CHECK_REFUSES(ValueError, init::normal_(x, 0, kInf), "normal_", "inf");
  CHECK_REFUSES(ValueError, init::normal_(x, 0, -0.5), "normal_", "-0.5");
  CHECK_NOTHROW(init::normal_(x, 0, 0));
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, kNaN, 1, -1, 1), "truncated_normal_", "nan");
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 0, kInf, -1, 1), "truncated_normal_", "inf");
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 0, 0, -1, 1), "truncated_normal_", "0");
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 0, 1, 1, 1), "truncated_normal_", "0");
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 0, 1, 2.4, kInf), "truncated_normal_",
                "[2.4, inf]");
  CHECK_NOTHROW(init::truncated_normal_(x, 0, 1, 2.326, kInf));
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, 3, 0.5, 1, 1.8), "truncated_normal_", "3");
  CHECK_NOTHROW(init::truncated_normal_(x, 3, 0.5, 1, 1.85));
  CHECK_REFUSES(ValueError, init::truncated_normal_(x, -1, 2, -1.02, -0.98), "truncated_normal_",
                "-1");
  CHECK_REFUSES(ValueError, init::fan_of(none, init::Fan::in), "init", "undefined");
  CHECK_REFUSES(ShapeError, init::fan_of(zeros({3}), init::Fan::in), "init", "[3]");
  CHECK_REFUSES(ShapeError, init::fan_of(zeros({3, 0}), init::Fan::in), "init", "[3, 0]");
  CHECK_NOTHROW(init::fan_of(zeros({3, 1}), init::Fan::out));
  CHECK_REFUSES(ValueError, init::residual_deviation(0), "residual_deviation", "0");
  CHECK_NOTHROW(init::residual_deviation(1));
}

TEST_CASE("position layers accept exactly the documented arguments") {
  const Tensor none, x = ones({1, 3, 4});
  const nn::SinusoidalPosition sines(4, 4);
  const nn::LearnedPosition learned(4, 4);
  CHECK_REFUSES(ValueError, nn::sinusoidal_positions(-1, 2), "sinusoidal_positions", "-1");
  CHECK_NOTHROW(nn::sinusoidal_positions(0, 2));
  CHECK_NOTHROW(nn::sinusoidal_positions(2, 0));
  CHECK_REFUSES(DtypeError, nn::sinusoidal_positions(2, 2, Dtype::i64), "sinusoidal_positions",
                "f32");
  CHECK_REFUSES(ValueError, nn::SinusoidalPosition(0, 4), "SinusoidalPosition", "0");
  CHECK_REFUSES(ValueError, nn::SinusoidalPosition(4, 0), "SinusoidalPosition", "4");
  CHECK_NOTHROW(nn::SinusoidalPosition(1, 1));
  CHECK_REFUSES(ValueError, sines(none), "SinusoidalPosition", "undefined");
  CHECK_REFUSES(ShapeError, sines(ones({3, 4})), "SinusoidalPosition", "[3, 4]");
  CHECK_REFUSES(ShapeError, sines(ones({1, 3, 5})), "SinusoidalPosition", "[1, 3, 5]");
  CHECK_REFUSES(ValueError, sines(x, -1), "SinusoidalPosition", "-1");
  CHECK_NOTHROW(sines(x, 0));
  CHECK_NOTHROW(sines(x, 1));
  CHECK_REFUSES(ShapeError, sines(x, 2), "SinusoidalPosition", "2");
  CHECK_REFUSES(ValueError, nn::LearnedPosition(4, 0), "LearnedPosition", "4");
  CHECK_NOTHROW(nn::LearnedPosition(1, 1));
  CHECK_REFUSES(ValueError, learned(none), "LearnedPosition", "undefined");
  CHECK_REFUSES(ShapeError, learned(ones({4})), "LearnedPosition", "[4]");
  CHECK_REFUSES(ShapeError, learned(ones({1, 5, 4})), "LearnedPosition", "0");
  CHECK_NOTHROW(learned(x, 1));
  CHECK_REFUSES(ShapeError, learned(x, 2), "LearnedPosition", "2");
  CHECK_NOTHROW(nn::RelativeBias(1));
  CHECK_REFUSES(ValueError, nn::RelativeBias(1, {.count = 0}), "relative_bucket", "0");
  CHECK_REFUSES(ValueError, nn::RelativeBias(1, {.count = 32, .max_distance = 0}),
                "relative_bucket", "0");
}

TEST_CASE("small layers accept exactly the documented arguments") {
  const Tensor none, x = ones({2, 3});
  CHECK_REFUSES(ValueError, nn::Linear(0, 1), "Linear", "0");
  CHECK_REFUSES(ValueError, nn::Linear(1, 0), "Linear", "1");
  CHECK_NOTHROW(nn::Linear(1, 1));
  CHECK_THROWS_AS(nn::Linear()(x), ValueError);  // an empty handle
  CHECK_REFUSES(ValueError, nn::Embedding(0, 1), "Embedding", "0");
  CHECK_REFUSES(ValueError, nn::Embedding(1, 0), "Embedding", "1");
  CHECK_NOTHROW(nn::Embedding(1, 1));
  CHECK_REFUSES(ValueError, nn::Embedding(2, 1, {-1}), "Embedding", "-1");
  CHECK_NOTHROW(nn::Embedding(2, 1, {0}));
  CHECK_NOTHROW(nn::Embedding(2, 1, {1}));
  CHECK_REFUSES(ValueError, nn::Embedding(2, 1, {2}), "Embedding", "2");
  CHECK_REFUSES(ValueError, nn::Dropout(-0.1), "Dropout", "-0.1");
  CHECK_NOTHROW(nn::Dropout(0));
  CHECK_NOTHROW(nn::Dropout(0.99));
  CHECK_REFUSES(ValueError, nn::Dropout(kNaN), "Dropout", "nan");
  CHECK_REFUSES(ValueError, nn::LayerNorm(0), "LayerNorm", "0");
  CHECK_REFUSES(ValueError, nn::LayerNorm(1, {.eps = -1e-9}), "LayerNorm", "-1e-09");
  CHECK_REFUSES(ValueError, nn::LayerNorm(1, {.eps = kNaN}), "LayerNorm", "nan");
  CHECK_NOTHROW(nn::LayerNorm(1, {.eps = 0}));
  CHECK_REFUSES(ValueError, nn::LayerNorm(3)(none), "LayerNorm", "undefined");
  CHECK_REFUSES(ShapeError, nn::LayerNorm(1)(ones({})), "LayerNorm", "[]");
  CHECK_REFUSES(ShapeError, nn::LayerNorm(2, {.affine = false})(x), "LayerNorm", "[2, 3]");
  CHECK_NOTHROW(nn::LayerNorm(3)(x));
  CHECK_REFUSES(ValueError, nn::RMSNorm(0), "RMSNorm", "0");
  CHECK_REFUSES(ValueError, nn::RMSNorm(1, {.eps = -1}), "RMSNorm", "-1");
  CHECK_REFUSES(ShapeError, nn::RMSNorm(2, {.affine = false})(x), "RMSNorm", "[2, 3]");
  CHECK_REFUSES(ValueError, nn::Norm(0), "Norm", "0");
  CHECK_NOTHROW(nn::Norm(3)(x));
  CHECK_REFUSES(ValueError, nn::BatchNorm1d(0), "BatchNorm1d", "0");
  CHECK_REFUSES(ValueError, nn::BatchNorm1d(1, {.eps = -1}), "BatchNorm1d", "-1");
  CHECK_REFUSES(ValueError, nn::BatchNorm1d(1, {.momentum = -0.1}), "BatchNorm1d", "-0.1");
  CHECK_NOTHROW(nn::BatchNorm1d(1, {.momentum = 0}));
  CHECK_NOTHROW(nn::BatchNorm1d(1, {.momentum = 1}));
  CHECK_REFUSES(ValueError, nn::BatchNorm1d(1, {.momentum = 1.1}), "BatchNorm1d", "1.1");
  CHECK_REFUSES(ValueError, nn::BatchNorm1d(1, {.momentum = kNaN}), "BatchNorm1d", "nan");
  CHECK_REFUSES(ValueError, nn::FeedForward({.width = 1, .hidden = 0}), "FeedForward", "1");
  CHECK_NOTHROW(nn::FeedForward({.width = 1, .hidden = 1}));
  CHECK_REFUSES(ValueError, nn::Conv1d(0, 1, 1), "Conv1d", "0");
  CHECK_REFUSES(ValueError, nn::Conv1d(1, 0, 1), "Conv1d", "1");
  CHECK_REFUSES(ValueError, nn::Conv1d(1, 1, 0), "Conv1d", "1");
  CHECK_NOTHROW(nn::Conv1d(1, 1, 1));
  CHECK_REFUSES(ValueError, nn::Conv1d(2, 2, 1, {.groups = 0}), "Conv1d", "0");
  CHECK_REFUSES(ValueError, nn::Conv1d(2, 3, 1, {.groups = 2}), "Conv1d", "2");
  CHECK_NOTHROW(nn::Conv1d(2, 4, 1, {.groups = 2}));
  CHECK_NOTHROW(nn::Conv1d(1, 1, 1, {.padding = 0, .causal = true}));
  CHECK_NOTHROW(nn::Conv1d(1, 1, 1, {.padding = 1}));
  CHECK_REFUSES(ValueError, nn::Decoder({.block = {.width = 2}, .layers = -1}), "Decoder", "-1");
  CHECK_NOTHROW(nn::Encoder({.block = {.width = 2}, .layers = 1}));
}

TEST_CASE("attention layers accept exactly the documented arguments") {
  using nn::HeadPosition;
  using Multi = nn::MultiHeadAttention;
  using Cross = nn::CrossAttention;
  using Self = nn::SelfAttention;
  CHECK_REFUSES(ValueError, Multi({.width = 0}), "MultiHeadAttention", "1");
  CHECK_REFUSES(ValueError, Multi({.width = 2, .heads = 0}), "MultiHeadAttention", "0");
  CHECK_NOTHROW(Multi({.width = 3, .heads = 2, .head = {.width = 1}}));
  CHECK_REFUSES(ValueError, Multi({.width = 4, .heads = 2, .head = {.width = 0}}),
                "MultiHeadAttention", "0");
  CHECK_REFUSES(ValueError, Multi({.width = 3, .heads = 2}), "MultiHeadAttention", "2");
  CHECK_REFUSES(ValueError, Multi({.width = 4, .heads = 2, .head = {.width = -1}}),
                "MultiHeadAttention", "-1");
  CHECK_REFUSES(ValueError, Multi({.width = 4, .heads = 4, .kv_heads = 0}), "MultiHeadAttention",
                "0");
  CHECK_REFUSES(ValueError, Multi({.width = 4, .heads = 4, .kv_heads = 8}), "MultiHeadAttention",
                "8");
  CHECK_NOTHROW(Multi({.width = 4, .heads = 4, .kv_heads = 1}));
  CHECK_REFUSES(ValueError, Multi({.width = 1, .dropout = -0.1}), "MultiHeadAttention", "-0.1");
  CHECK_REFUSES(ValueError, Multi({.width = 1, .dropout = 1}), "MultiHeadAttention", "1");
  CHECK_NOTHROW(Multi({.width = 1, .dropout = 0}));
  CHECK_NOTHROW(Multi({.width = 4, .heads = 2, .head = {.position = HeadPosition::rotary}}));
  CHECK_NOTHROW(Multi({.width = 6, .heads = 2, .head = {.position = HeadPosition::alibi}}));
  CHECK_REFUSES(ValueError, Cross({.width = 0}), "CrossAttention", "1");
  CHECK_REFUSES(ValueError, Cross({.width = 2, .heads = 0}), "CrossAttention", "0");
  CHECK_REFUSES(ValueError, Cross({.width = 3, .heads = 2}), "CrossAttention", "2");
  CHECK_REFUSES(ValueError, Cross({.width = 4, .heads = 4, .kv_heads = 0}), "CrossAttention", "0");
  CHECK_REFUSES(ValueError, Cross({.width = 2, .memory_width = 0, .value_width = 1}),
                "CrossAttention", "0");
  CHECK_REFUSES(ValueError, Cross({.width = 2, .memory_width = -1}), "CrossAttention", "-1");
  CHECK_NOTHROW(Cross({.width = 2, .memory_width = 1, .value_width = 1}));
  CHECK_REFUSES(ValueError, Cross({.width = 2, .dropout = 1}), "CrossAttention", "1");
  CHECK_NOTHROW(Cross({.width = 2, .position = HeadPosition::relative}));
  CHECK_REFUSES(ValueError, Self(0, {.key_width = 1, .value_width = 1}), "SelfAttention", "0");
  CHECK_REFUSES(ValueError, Self(2, {.key_width = 0}), "SelfAttention", "2");
  CHECK_REFUSES(ValueError, Self(2, {.value_width = 0}), "SelfAttention", "2");
  CHECK_NOTHROW(Self(1));
  CHECK_REFUSES(ValueError, Self(2, {.dropout = -0.5}), "SelfAttention", "-0.5");
  CHECK_NOTHROW(Self(2, {.dropout = 0.9}));
  const Multi self({.width = 4, .heads = 2});
  const Cross cross({.width = 4, .heads = 2, .memory_width = 3});
  CHECK_REFUSES(ShapeError, self(ones({2, 5, 3})), "qkv_proj");
  CHECK_REFUSES(ShapeError, self(ones({5, 4})), "MultiHeadAttention", "[5, 12]");
  CHECK_REFUSES(ShapeError, cross(ones({2, 5, 4}), ones({2, 7, 4})), "k_proj");
  CHECK_THROWS_AS(cross(ones({2, 5, 4}), ones({3, 7, 3})), ShapeError);
}

TEST_CASE("linear attention and score layers accept exactly the documented arguments") {
  using nn::LinearAttentionKind;
  using Linear = nn::LinearAttention;
  using Linformer = nn::LinformerAttention;
  const Tensor none, x = ones({2, 3, 4}), flat = ones({3, 4}), other = ones({1, 3, 4});
  const nn::DotScore dot;
  const nn::AttentionPooling pooling(4);
  CHECK_REFUSES(ValueError, Linear({.width = 0}), "LinearAttention", "1");
  CHECK_REFUSES(ValueError, Linear({.width = 4, .heads = 0}), "LinearAttention", "0");
  CHECK_NOTHROW(Linear({.width = 1}));
  CHECK_REFUSES(ValueError,
                Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = -1}),
                "LinearAttention", "-1");
  CHECK_NOTHROW(Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = 0}));
  CHECK_NOTHROW(Linear({.width = 2, .kind = LinearAttentionKind::performer, .features = 1}));
  CHECK_REFUSES(ValueError, Linear({.width = 2, .features = -1}), "LinearAttention", "-1");
  CHECK_REFUSES(ValueError, Linear({.width = 4})(none), "LinearAttention", "undefined");
  CHECK_NOTHROW(Linear({.width = 4})(x));
  CHECK_REFUSES(ValueError, Linformer({.width = 0, .length = 1, .reduced = 1}),
                "LinformerAttention", "1");
  CHECK_REFUSES(ValueError, Linformer({.width = 2, .heads = 0, .length = 1, .reduced = 1}),
                "LinformerAttention", "0");
  CHECK_REFUSES(ValueError, Linformer({.width = 2, .length = 0, .reduced = 1}),
                "LinformerAttention", "0");
  CHECK_REFUSES(ValueError, Linformer({.width = 2, .length = 1, .reduced = 0}),
                "LinformerAttention", "1");
  CHECK_NOTHROW(Linformer({.width = 2, .length = 1, .reduced = 1}));
  CHECK_REFUSES(ValueError, Linformer({.width = 2, .length = 1, .reduced = 1, .dropout = -0.1}),
                "LinformerAttention", "-0.1");
  CHECK_NOTHROW(Linformer({.width = 4, .length = 3, .reduced = 1})(x));
  CHECK_REFUSES(ValueError, Linformer({.width = 4, .length = 3, .reduced = 1})(none),
                "LinformerAttention", "undefined");
  CHECK_REFUSES(ShapeError, Linformer({.width = 4, .length = 3, .reduced = 1})(flat),
                "LinformerAttention", "[3, 4]");
  CHECK_REFUSES(ValueError, dot(none, x), "DotScore", "undefined");
  CHECK_REFUSES(ValueError, dot(x, none), "DotScore", "undefined");
  CHECK_REFUSES(ShapeError, dot(x, flat), "DotScore", "[2, 3, 4]");
  CHECK_REFUSES(ShapeError, dot(x, other), "DotScore", "[2, 3, 4]");
  CHECK_NOTHROW(dot(x, x));
  CHECK_REFUSES(ValueError, nn::AdditiveScore(4, 4, 2)(x, none), "AdditiveScore", "undefined");
  CHECK_REFUSES(ValueError, nn::BilinearScore(4, 4)(none, x), "BilinearScore", "undefined");
  CHECK_REFUSES(ValueError, nn::AdditiveScore(4, 4, 0), "Linear", "4");
  CHECK_REFUSES(ValueError, nn::weighted_values(none, x), "weighted_values", "undefined");
  CHECK_REFUSES(ValueError, nn::weighted_values(x, none), "weighted_values", "undefined");
  CHECK_REFUSES(ShapeError, nn::weighted_values(ones({2, 4}), ones({2, 4, 2})), "weighted_values",
                "[2, 4]");
  CHECK_REFUSES(ShapeError, nn::weighted_values(ones({2, 3, 4}), ones({2, 4})), "weighted_values",
                "[2, 3, 4]");
  CHECK_REFUSES(ShapeError, nn::weighted_values(ones({2, 3, 4}), ones({1, 4, 2})),
                "weighted_values", "[2, 3, 4]");
  CHECK_REFUSES(ShapeError, nn::weighted_values(ones({2, 3, 4}), ones({2, 3, 2})),
                "weighted_values", "[2, 3, 4]");
  CHECK_NOTHROW(nn::weighted_values(ones({2, 3, 4}), ones({2, 4, 2})));
  CHECK_REFUSES(ValueError, nn::AttentionPooling(0), "AttentionPooling", "0");
  CHECK_NOTHROW(nn::AttentionPooling(1));
  CHECK_REFUSES(ValueError, pooling(none), "AttentionPooling", "undefined");
  CHECK_REFUSES(ShapeError, pooling(flat), "AttentionPooling", "[3, 4]");
  CHECK_NOTHROW(pooling(x));
}

namespace {

struct Any : nn::Layer<Any> {
  enum Kind { parameter, buffer, layer, two_layers };
  explicit Any(Kind as, const char* called = "x", Kind copy_as = parameter,
               const char* copy_called = "x")
      : kind(as), other_kind(copy_as), name(called), other_name(copy_called) {
    if (kind == parameter) x = nn::parameter(x);
  }
  nn::Members members() override {
    if (kind == parameter) return {{name, x}};
    if (kind == buffer) return {{name, nn::buffer(x)}};
    if (kind == layer) return {{name, one}};
    return {{name, many}};
  }
  Tensor forward(const Tensor& y) const { return y; }
  Any same_architecture() const { return Any(other_kind, other_name, other_kind, other_name); }

  Kind kind, other_kind;
  const char *name, *other_name;
  Tensor x = ones({2});
  nn::Linear one{1, 1};
  std::vector<nn::Linear> many = two();
  static std::vector<nn::Linear> two() {
    std::vector<nn::Linear> all;
    all.emplace_back(1, 1);
    all.emplace_back(1, 1);
    return all;
  }
};

struct Large : nn::Layer<Large> {
  explicit Large(std::int64_t numbers) : x(nn::parameter(Tensor::empty({numbers}, Dtype::f32))) {}
  nn::Members members() override { return {{"x", x}}; }
  Tensor forward(const Tensor& y) const { return y; }
  Large same_architecture() const { return Large(x.numel()); }
  Tensor x;
};

}  // namespace

TEST_CASE("a clone must have the same names, types and number of members") {
  const auto cloned = [](Any::Kind kind, const char* name, Any::Kind as, const char* called) {
    Any module(kind, name, as, called);
    return module.clone().summary();
  };
  using A = Any;
  for (const A::Kind kind : {A::parameter, A::buffer, A::layer, A::two_layers})
    CHECK_NOTHROW(cloned(kind, "x", kind, "x"));
  struct Pair {
    A::Kind own;
    A::Kind copy;
    const char* called = "x";
  };
  for (const Pair& each : {Pair{A::parameter, A::parameter, "y"}, Pair{A::buffer, A::buffer, "y"},
                           Pair{A::layer, A::layer, "y"}, Pair{A::parameter, A::buffer},
                           Pair{A::buffer, A::parameter}, Pair{A::parameter, A::layer},
                           Pair{A::layer, A::parameter}, Pair{A::two_layers, A::layer}}) {
    CAPTURE(each.own, each.copy, each.called);
    CHECK_REFUSES(GraphError, cloned(each.own, "x", each.copy, each.called), "clone",
                  "same_architecture");
  }
}

TEST_CASE("ties, lists, adapters and records accept exactly the documented arguments") {
  nn::Linear model(2, 3), other(2, 3);
  Tensor none, plain = ones({2}), p = nn::parameter(ones({2})), wide = ones({3}), alias;
  const Tensor made = p * 2;
  nn::ModuleList list, empty;
  list.add("a", nn::Linear(1, 1));
  const nn::AttentionRecord record;
  const auto adapted = [&](const std::string& pattern, std::int64_t rank) {
    nn::Sequential deep(nn::Linear(2, 2), nn::Linear(2, 3));
    std::string names;
    for (const std::string& each : nn::add_adapters(deep, pattern, {.rank = rank}))
      names += each + " ";
    return names;
  };
  nn::Sequential nothing;
  CHECK_REFUSES(GraphError, nn::tie(alias, none), "tie", "parameter");
  CHECK_REFUSES(GraphError, nn::tie(alias, plain), "tie", "parameter");
  CHECK_REFUSES(GraphError, nn::tie(alias, made), "tie", "parameter");
  CHECK_REFUSES(ShapeError, nn::tie(wide, p), "tie", "[3]");
  CHECK_NOTHROW(nn::tie(alias, p));
  CHECK_REFUSES(ValueError, list.add("", nn::Linear(1, 1)), "ModuleList", "empty");
  CHECK_REFUSES(ValueError, list.add("a.b", nn::Linear(1, 1)), "ModuleList", "\"a.b\"");
  CHECK_REFUSES(ValueError, list.add("a", nn::Linear(1, 1)), "ModuleList", "\"a\"");
  CHECK_NOTHROW(list.add("b", nn::Linear(1, 1)));
  CHECK_REFUSES(ValueError, list.at<nn::Linear>("c"), "ModuleList", "\"c\"");
  CHECK_NOTHROW(list.at<nn::Linear>("b"));
  CHECK_REFUSES(ValueError, list.at<nn::Sequential>("b"), "ModuleList", "\"b\"");
  CHECK_REFUSES(ValueError, empty.at<nn::Linear>("c"), "ModuleList", "\"c\"");
  CHECK_REFUSES(IndexError, list.at<nn::Linear>(2), "ModuleList", "2");
  CHECK_NOTHROW(list.at<nn::Linear>(1));
  CHECK_REFUSES(ValueError, adapted("*", 0), "add_adapters", "0");
  CHECK_REFUSES(ValueError, adapted("*", -1), "add_adapters", "-1");
  CHECK(adapted("*", 1) == "0 1 ");
  CHECK(adapted("0", 1) == "0 ");
  CHECK(adapted("1,2", 1) == "1 ");
  CHECK(adapted("*0*", 1) == "0 ");
  CHECK(adapted("1*,0", 1) == "0 1 ");
  CHECK(adapted("*1", 1) == "1 ");
  CHECK_REFUSES(ValueError, adapted("", 1), "add_adapters", "0");
  CHECK_REFUSES(ValueError, adapted("00", 1), "add_adapters", "\"00\"");
  CHECK_REFUSES(ValueError, nn::add_adapters(nothing, "*", {.rank = 1}), "add_adapters", "\"*\"");
  CHECK_NOTHROW(nn::add_adapters(model, "*", {.rank = 1}));
  CHECK_REFUSES(ValueError, nn::add_adapters(model, "*", {.rank = 1}), "add_adapters", "adapter");
  CHECK_NOTHROW(nn::merge_adapters(model));
  CHECK_NOTHROW(nn::add_adapters(model, "*", {.rank = 1}));
  CHECK_REFUSES(ValueError, nn::activate(plain, static_cast<nn::Activation>(9)), "9", "activation");
  CHECK_REFUSES(ValueError, record.weights("a"), "AttentionRecord", "\"a\"");
  CHECK_REFUSES(ValueError, record.mean_entropy(), "AttentionRecord", "nothing");
}

TEST_CASE("fast_precision is f32 for models that fit the cache and bf16 beyond") {
  constexpr std::int64_t kHeld = (8 << 20) / 4;
  CHECK(nn::fast_precision(Large(kHeld)) == Precision::f32);
  CHECK(nn::fast_precision(Large(kHeld + 1)) == Precision::bf16);
  CHECK(nn::fast_precision(Large(1)) == Precision::f32);
}

}  // namespace gradus::testing::test_errors
