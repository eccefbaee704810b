// The numbers that initialisers and layers start with, one by one, by their formulas.
#include "gradus/nn/attention.h"
#include "gradus/nn/conv.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear_attention.h"
#include "gradus/nn/lora.h"
#include "gradus/nn/scoring.h"
#include "gradus/ops/create.h"
#include "gradus/tests/nn/stream_law.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {

namespace init = nn::init;

TEST_CASE("initialisers are their formulas of a stream's numbers") {
  const InDoubles scope;
  seed(31);
  Tensor x = zeros({3, 4, 5});  // 20 in, 15 out
  init::uniform_(x, -2, 3);
  CHECK(drawn_uniform(x, -2, 3));
  init::uniform_(x);
  CHECK(drawn_uniform(x, 0, 1));
  init::normal_(x, 4, 0.5);
  CHECK(drawn_normal(x, 4, 0.5));
  init::normal_(x);
  CHECK(drawn_normal(x, 0, 1));
  init::truncated_normal_(x, 1, 2, -0.5, 2);
  CHECK(drawn_truncated(x, 1, 2, -0.5, 2));
  init::truncated_normal_(x);
  CHECK(drawn_truncated(x, 0, 1, -2, 2));
  init::xavier_uniform_(x, 1.5);
  CHECK(drawn_uniform(x, -1.5 * std::sqrt(6.0 / 35), 1.5 * std::sqrt(6.0 / 35)));
  init::xavier_uniform_(x);
  CHECK(drawn_uniform(x, -std::sqrt(6.0 / 35), std::sqrt(6.0 / 35)));
  init::xavier_normal_(x, 1.5);
  CHECK(drawn_normal(x, 0, 1.5 * std::sqrt(2.0 / 35)));
  init::kaiming_uniform_(x, init::Fan::out, 2);
  CHECK(drawn_uniform(x, -2 * std::sqrt(3.0 / 15), 2 * std::sqrt(3.0 / 15)));
  init::kaiming_uniform_(x);
  CHECK(drawn_uniform(x, -std::sqrt(6.0 / 20), std::sqrt(6.0 / 20)));
  init::kaiming_normal_(x, init::Fan::in, 2);
  CHECK(drawn_normal(x, 0, 2 / std::sqrt(20.0)));
  init::kaiming_normal_(x, init::Fan::out);
  CHECK(drawn_normal(x, 0, std::sqrt(2.0 / 15)));
  init::ones_(x);
  CHECK(x.to_vector<double>() == std::vector<double>(60, 1.0));
  init::zeros_(x);
  CHECK(x.to_vector<double>() == std::vector<double>(60, 0.0));
  CHECK(init::fan_of(x, init::Fan::in) == 20);
  CHECK(init::fan_of(x, init::Fan::out) == 15);
  const double many = 16777217;  // an f32 does not hold it
  CHECK(std::abs(init::residual_deviation(16777217, 3) / (3 / std::sqrt(2 * many)) - 1) < 1e-14);
  CHECK(std::abs(init::residual_deviation(2) - 0.01) < 1e-17);
}

TEST_CASE("layers start with the numbers of their formulas") {
  const InDoubles scope;
  seed(32);
  const double bound = 1 / std::sqrt(5.0);
  const nn::Linear linear(5, 7);
  CHECK(drawn_uniform(linear.weight, -bound, bound));
  CHECK(drawn_uniform(linear.bias, -bound, bound));
  CHECK_FALSE(nn::Linear(5, 7, {.bias = false}).bias.defined());
  const nn::Conv1d conv(4, 6, 3, {.groups = 2});
  CHECK(drawn_uniform(conv.weight, -1 / std::sqrt(6.0), 1 / std::sqrt(6.0)));
  CHECK(drawn_uniform(conv.bias, -1 / std::sqrt(6.0), 1 / std::sqrt(6.0)));
  CHECK(drawn_normal(nn::Embedding(4, 3).weight, 0, 1));
  CHECK(drawn_normal(nn::LearnedPosition(4, 3).weight, 0, 0.02));
  CHECK(drawn_normal(nn::RelativeBias(3, {.count = 8, .max_distance = 16}).weight, 0, 0.02));
  CHECK(drawn_normal(nn::AttentionPooling(9).query, 0, 0.02));
  const nn::LinformerAttention linformer({.width = 4, .heads = 2, .length = 7, .reduced = 3});
  CHECK(drawn_uniform(linformer.key_map, -std::sqrt(0.6), std::sqrt(0.6)));  // 6 / (7 + 3)
  CHECK(drawn_uniform(linformer.value_map, -std::sqrt(0.6), std::sqrt(0.6)));
  CHECK_FALSE(linformer.key_map.to_vector<double>() == linformer.value_map.to_vector<double>());
  nn::Linear adapted(5, 7);
  nn::add_adapters(adapted, "*", {.rank = 2, .alpha = 3});
  CHECK(drawn_normal(adapted.lora_a, 0, bound));
  CHECK(adapted.lora_b.to_vector<double>() == std::vector<double>(14, 0.0));
  CHECK(adapted.lora_scale.item() == 1.5);
}

TEST_CASE("initialisers that are skipped leave what is there, until the outermost skip ends") {
  Tensor x = zeros({4});
  {
    const init::Skip outer;
    {
      const init::Skip inner;
      init::ones_(x);
    }
    init::ones_(x);
    CHECK(x.to_vector<float>() == std::vector<float>(4, 0.0F));
  }
  init::ones_(x);
  CHECK(x.to_vector<float>() == std::vector<float>(4, 1.0F));
}

}  // namespace gradus::testing
