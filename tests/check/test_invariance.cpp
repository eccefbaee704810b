// Detectors of what sequence models must not depend on: each passes a right module, and finds the
// fault that it is for, planted.
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/check/invariance.h"
#include "gradus/engine/node.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/init.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using Lengths = std::vector<std::int64_t>;

std::string words(const check::Invariance& found) {
  std::ostringstream out;
  out << found;
  return out.str();
}

Tensor vectors(std::int64_t B, std::int64_t T) {
  seed(3);
  return randn({B, T, 4}, Dtype::f64);
}

/// Attention with weights large enough that each token matters.
nn::MultiHeadAttention attention() {
  seed(4);
  nn::MultiHeadAttention layer({.width = 4, .heads = 2});
  layer.to(Dtype::f64);
  for (const nn::NamedTensor& each : layer.parameters()) {
    Tensor p = each.tensor;
    nn::init::normal_(p, 0, 0.7);
  }
  return layer;
}

nn::GPT model() {
  seed(5);
  nn::GPT gpt({.vocab = 7, .context = 9, .layers = 2, .heads = 2, .width = 8});
  for (const nn::NamedTensor& each : gpt.parameters()) {
    Tensor p = each.tensor;
    nn::init::normal_(p, 0, 0.5);
  }
  return gpt;
}

const Tensor kIds = tensor(Lengths{3, 1, 4, 1, 5, 2, 6, 5, 3, 5}, {2, 5});

}  // namespace

TEST_CASE("causal: holds of a GPT, finds masks that are off by one or missing") {
  const nn::GPT gpt = model();
  CHECK(check::causal([&](const Tensor& ids) { return gpt(ids); }, kIds));
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(2, 5);
  const auto with = [&](const Mask& mask) {
    return check::causal([&](const Tensor& in) { return layer(in, mask); }, x);
  };
  CHECK(with(causal_mask()));
  CHECK(with(causal_mask() & window_mask(1)));
  CHECK(has(words(with(causal_mask(1))), "inputs from position 1 on were changed: it sees the"));
  CHECK(has(words(with({})), "it sees the future"));
  // The numbers are right; only the gradient goes where it must not.
  const auto leaks_gradient = [&](const Tensor& in) {
    const Tensor nothing = sum(in - in.detach(), {1}, true);  // 0, with a gradient at all places
    return layer(in, causal_mask()) + nothing;
  };
  CHECK(has(words(check::causal(leaks_gradient, x)), "have a gradient of"));
  const auto leaks_to_next = [&](const Tensor& in) {
    const Tensor nothing = slice(in - in.detach(), 1, 1, in.size(1));
    return layer(in, causal_mask()) + cat({nothing, zeros({2, 1, 4}, Dtype::f64)}, 1);
  };
  CHECK(has(words(check::causal(leaks_to_next, x)), "outputs before position 1 have a gradient"));
}

TEST_CASE("padding: holds with a mask, finds a mean over all and one mask for the whole batch") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(3, 5);
  const Lengths lengths = {5, 2, 3};
  CHECK(check::padding_invariant(
      [&](const Tensor& in, const Lengths& n) { return layer(in, padding_mask(n)); }, x, lengths));
  CHECK(has(words(check::padding_invariant(
                [&](const Tensor& in, const Lengths&) { return layer(in); }, x, lengths)),
            "example 1 of length 2 with padding behind it, and without"));
  const auto first_for_all = [&](const Tensor& in, const Lengths& n) {
    return layer(in, padding_mask(Lengths(n.size(), n.back())));
  };
  CHECK_FALSE(check::padding_invariant(first_for_all, x, lengths));
}

TEST_CASE("cache: holds of a GPT's, finds positions that begin anew at each step") {
  nn::GPT gpt = model();
  gpt.eval();
  const auto whole = [&](const Tensor& ids) { return gpt(ids); };
  CHECK(check::cache_invariant(
      whole,
      [&] {
        auto cache = std::make_shared<nn::KVCache>(nn::CacheOptions{.capacity = 9});
        return [&, cache](const Tensor& ids) { return gpt(ids, cache.get()); };
      },
      kIds));
  const check::Invariance found = check::cache_invariant(
      whole, [&] { return [&](const Tensor& ids) { return gpt(ids); }; }, kIds);
  CHECK(has(words(found), "step 1 with the cache"));
}

TEST_CASE("mode: holds without dropout, finds one that is on") {
  nn::GPT gpt = model();
  const auto f = [&](const Tensor& ids) { return gpt(ids); };
  CHECK(check::mode_invariant(gpt, f, kIds));
  gpt.options.dropout = 0.5;
  CHECK(has(words(check::mode_invariant(gpt, f, kIds)), "in training, and after eval()"));
  CHECK(gpt.training());
}

TEST_CASE("permutation: holds of bare attention, not where positions are added") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(2, 5);
  CHECK(check::permutation_equivariant([&](const Tensor& in) { return layer(in); }, x));
  const nn::SinusoidalPosition position(5, 4);
  const check::Invariance found =
      check::permutation_equivariant([&](const Tensor& in) { return layer(position(in)); }, x);
  CHECK(has(words(found), "it knows where tokens stand"));
}

TEST_CASE("batch: holds of attention, finds statistics over the batch") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(3, 4);
  CHECK(check::batch_invariant([&](const Tensor& in) { return layer(in); }, x));
  const check::Invariance found =
      check::batch_invariant([&](const Tensor& in) { return layer(in - mean(in, {0}, true)); }, x);
  CHECK(has(words(found), "example 0 in its batch, and alone"));
}

TEST_CASE("what the detectors refuse") {
  const auto same = [](const Tensor& x) { return x; };
  const Tensor x = vectors(2, 3);
  CHECK(has(message_of<Error>([&] { check::causal(same, zeros({3})); }),
            "causal: wants sequences [batch, length, …] that are not empty, not [3]"));
  CHECK(has(message_of<Error>([&] { check::causal(same, kIds); }),
            "invariance: the function gave i64, wants numbers"));
  CHECK(has(message_of<Error>([&] {
              const nn::GPT gpt = model();
              check::causal([&](const Tensor& ids) { return gpt(ids); }, zeros({1, 3}, Dtype::i64));
            }),
            "all ids are 0: give at least two kinds"));
  const auto f = [](const Tensor& in, const Lengths&) { return in; };
  CHECK(has(message_of<Error>([&] { check::padding_invariant(f, x, {3}); }),
            "1 lengths for a batch of 2"));
  CHECK(has(message_of<Error>([&] {
              check::padding_invariant(f, x, {3, 3});
            }),
            "no length is below 3: nothing is padding"));
  CHECK(has(message_of<Error>([&] { check::batch_invariant(same, vectors(1, 3)); }),
            "a batch of 1 has no other examples to depend on"));
  CHECK(has(words(check::batch_invariant(
                [](const Tensor& in) {
                  return reshape(in, {in.size(0) * 3, 1, 4});
                },
                x)),
            "shapes [1, 1, 4] and [3, 1, 4] differ"));
}

TEST_CASE("roundings are no difference, and how much is one is a choice") {
  const auto alike = [](double error, Dtype dtype, const check::InvarianceOptions& options = {}) {
    const auto f = [error](const Tensor& x) { return x + (x.size(0) == 1 ? error : 0.0); };
    return check::batch_invariant(f, ones({2, 3}, dtype), options).holds;
  };
  CHECK((alike(5e-10, Dtype::f64) && !alike(5e-9, Dtype::f64)));
  CHECK((alike(5e-5, Dtype::f32) && !alike(5e-4, Dtype::f32)));
  CHECK((alike(5e-3, Dtype::f64, {.tolerance = 1e-2}) && !alike(5e-2, Dtype::f64, {1e-2})));
}

}  // namespace gradus::testing
