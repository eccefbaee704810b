// Tests BERT's masking, ViT's patches, and both models.
#include <cmath>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_encoders {
namespace {

TEST_CASE("mask_tokens selects 15 %: 80 % masked, 10 % replaced, 10 % unchanged") {
  constexpr std::int64_t n = 100000, vocab = 50, mask = 2, first = 4;
  Ids given;
  for (std::int64_t i = 0; i < n; ++i) given.push_back(i % vocab);
  const nn::MaskTokensOptions options{.vocab = vocab, .mask_id = mask, .first_id = first};
  const nn::MaskedTokens out = nn::mask_tokens(tensor(given, {10, n / 10}), options, {5, 3, 0});
  CHECK(out.ids.shape() == Shape{10, n / 10});
  const Ids seen = out.ids.to_vector<std::int64_t>(),
            wanted = out.targets.to_vector<std::int64_t>();
  double chosen = 0, hidden = 0, other = 0, may = 0, least = 0, ids = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    may += given[i] >= first;
    if (wanted[i] == -100) {
      CHECK(seen[i] == given[i]);
      continue;
    }
    CHECK((wanted[i] == given[i] && given[i] >= first));
    CHECK((seen[i] == mask || (first <= seen[i] && seen[i] < vocab)));
    if (seen[i] != mask && seen[i] != given[i]) ids += double(seen[i]);
    ++chosen, least += given[i] == first, hidden += seen[i] == mask,
        other += seen[i] != mask && seen[i] != given[i];
  }
  // Bounds are four standard deviations of a fraction p of m draws: 4 √(p (1 − p) / m).
  CHECK(std::abs(chosen / may - 0.15) < 4 * std::sqrt(0.15 * 0.85 / may));
  CHECK(std::abs(hidden / chosen - 0.8) < 4 * std::sqrt(0.8 * 0.2 / chosen));
  CHECK(std::abs(least / chosen - 1.0 / 46) < 4 * std::sqrt(1.0 / 46 / chosen));
  // Ids are uniform over 46 values, with standard deviation √((46² − 1) / 12) = 13.3.
  CHECK(std::abs(ids / other - (first + vocab - 1) / 2.0) < 4 * 13.3 / std::sqrt(other));
  // A random token equals the old one with probability 1/46.
  CHECK(std::abs(other / chosen - 0.1 * 45 / 46) < 4 * std::sqrt(0.1 * 0.9 / chosen));

  const nn::MaskedTokens again = nn::mask_tokens(tensor(given, {10, n / 10}), options, {5, 3, 0});
  CHECK(again.ids.to_vector<std::int64_t>() == seen);
}

TEST_CASE("mask_tokens keeps and draws ids exactly that f32 would round") {
  // f32 does not represent odd ids above 2²⁴.
  constexpr std::int64_t first = (1 << 24) + 1, vocab = first + 64;
  const Ids given(4000, first);
  const nn::MaskedTokens out = nn::mask_tokens(
      tensor(given), {.vocab = vocab, .mask_id = 3, .first_id = first, .rate = 1}, {6, 3, 0});
  std::int64_t odd = 0;
  for (const std::int64_t id : out.ids.to_vector<std::int64_t>()) {
    CHECK((id == 3 || (first <= id && id < vocab)));
    odd += id != first && id % 2 == 1 && id > 3;
  }
  CHECK(odd > 0);
  CHECK(out.targets.to_vector<std::int64_t>() == given);
}

TEST_CASE("patchify reads patches in reading order, channels within them") {
  const Tensor x = reshape(arange(2 * 4 * 4), {1, 2, 4, 4});
  const Ids y = nn::patchify(x, 2).to_vector<std::int64_t>();
  CHECK(nn::patchify(x, 2).shape() == Shape{1, 4, 8});
  CHECK(Ids(y.begin(), y.begin() + 8) == Ids{0, 1, 4, 5, 16, 17, 20, 21});
  CHECK(Ids(y.begin() + 8, y.begin() + 16) == Ids{2, 3, 6, 7, 18, 19, 22, 23});
  CHECK(nn::patchify(reshape(x, {1, 2, 2, 8}), 2).shape() == Shape{1, 4, 8});
  CHECK_REFUSES(ShapeError, nn::patchify(x, 3), "patchify", "3");
}

TEST_CASE("a masked loss without masks is 0, with gradient 0") {
  nn::MaskedLM model({.vocab = 7, .context = 5, .layers = 1, .block = {.width = 8, .heads = 2}});
  const Tensor loss = model.loss(tensor(Ids{1, 2, 3}, {1, 3}), full({1, 3}, -100, Dtype::i64));
  CHECK(loss.item() == 0);
  loss.backward();
  for (const float each : model.dense.weight.grad().to_vector<float>()) CHECK(each == 0.0f);
}

TEST_CASE("a masked loss rejects negative targets other than -100") {
  const nn::MaskedLM model(
      {.vocab = 7, .context = 5, .layers = 1, .block = {.width = 8, .heads = 2}});
  const Tensor targets = tensor(Ids{-100, 4, -1}, {1, 3});
  CHECK_REFUSES(IndexError, model.loss(tensor(Ids{1, 2, 3}, {1, 3}), targets), "-1");
}

TEST_CASE("a vision Transformer reads its class token and ignores the order of patches") {
  seed(4);
  nn::VisionTransformer model(
      {.size = 4, .patch = 2, .classes = 3, .layers = 1, .block = {.width = 8, .heads = 2}});
  enlarge(model);
  const NoGrad off;
  const Tensor x = reshape(arange(16).to(Dtype::f64) / 16.0, {1, 1, 4, 4});
  // Order of the patches: 2 3 0 1.
  const Tensor halves = cat({slice(x, 2, 2, 4), slice(x, 2, 0, 2)}, 2);
  const Tensor before = model(x);
  CHECK(numbers(model(halves)) != numbers(before));
  const Tensor moved = index_select(model.position, 1, tensor(Ids{0, 3, 4, 1, 2}, {5}));
  model.position.copy_(moved);
  check_equal(model(halves), before);
}

TEST_CASE("tokens beyond a text's length change nothing, and a clone gives the same result") {
  seed(3);
  nn::TextClassifier model(
      {.vocab = 7, .context = 5, .layers = 2, .block = {.width = 8, .heads = 2}}, 3);
  model.eval();
  const Tensor padded = tensor(Ids{1, 2, 3, 0, 0}, {1, 5}),
               other = tensor(Ids{1, 2, 3, 6, 5}, {1, 5});
  const Ids three = {3}, four = {4};
  const std::vector<float> y = model(padded, three).to_vector<float>();
  CHECK(model(other, three).to_vector<float>() == y);
  CHECK(model(other, four).to_vector<float>() != y);
  CHECK(model.clone()(padded, three).to_vector<float>() == y);
}

}  // namespace
}  // namespace gradus::testing::test_encoders
