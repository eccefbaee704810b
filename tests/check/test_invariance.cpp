#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/check/invariance.h"
#include "gradus/engine/node.h"
#include "gradus/nn/init.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_invariance {
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

/// Returns a layer with large weights, so that each token affects the result.
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
  nn::GPT gpt({.vocab = 7, .context = 9, .layers = 2, .block = {.width = 8, .heads = 2}});
  for (const nn::NamedTensor& each : gpt.parameters()) {
    Tensor p = each.tensor;
    nn::init::normal_(p, 0, 0.5);
  }
  return gpt;
}

const Tensor kIds = tensor(Lengths{3, 1, 4, 1, 5, 2, 6, 5, 3, 5}, {2, 5});

}  // namespace

TEST_CASE("causal: a GPT passes, and masks that are off by one or missing fail") {
  const nn::GPT gpt = model();
  CHECK(check::causal([&](const Tensor& ids) { return gpt(ids); }, kIds));
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(2, 5);
  const auto with = [&](const Mask& mask) {
    return check::causal([&](const Tensor& in) { return layer(in, mask); }, x);
  };
  CHECK(with(causal_mask()));
  CHECK(with(causal_mask() & window_mask(1)));
  CHECK(has(words(with(causal_mask(1))), "inputs from position 1 on, so the function depends"));
  CHECK(has(words(with({})), "the function depends on later positions"));
  // The values are correct, but the gradient reaches future tokens.
  const auto leaks_gradient = [&](const Tensor& in) {
    const Tensor nothing = sum(in - in.detach(), {1}, true);  // 0, but with gradients
    return layer(in, causal_mask()) + nothing;
  };
  CHECK(has(words(check::causal(leaks_gradient, x)), "have a gradient of"));
  const auto leaks_to_next = [&](const Tensor& in) {
    const Tensor nothing = slice(in - in.detach(), 1, 1, in.size(1));
    return layer(in, causal_mask()) + cat({nothing, zeros({2, 1, 4}, Dtype::f64)}, 1);
  };
  CHECK(has(words(check::causal(leaks_to_next, x)), "outputs before position 1 have a gradient"));
}

TEST_CASE(
    "padding: a masked model passes, and a mean over padding or a mask shared by the batch fails") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(3, 5);
  const Lengths lengths = {5, 2, 3};
  CHECK(check::padding_invariant(
      [&](const Tensor& in, const Lengths& n) { return layer(in, padding_mask(n)); }, x, lengths));
  CHECK(has(words(check::padding_invariant(
                [&](const Tensor& in, const Lengths&) { return layer(in); }, x, lengths)),
            "example 1 of length 2 with and without padding"));
  const auto first_for_all = [&](const Tensor& in, const Lengths& n) {
    return layer(in, padding_mask(Lengths(n.size(), n.back())));
  };
  CHECK_FALSE(check::padding_invariant(first_for_all, x, lengths));
}

TEST_CASE("cache: a GPT passes, and positions that restart at each step fail") {
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

TEST_CASE("mode: a model without dropout passes, and active dropout fails") {
  nn::GPT gpt = model();
  const auto f = [&](const Tensor& ids) { return gpt(ids); };
  CHECK(check::mode_invariant(gpt, f, kIds));
  gpt.options.block.dropout = 0.5;
  CHECK(has(words(check::mode_invariant(gpt, f, kIds)), "in training mode and after eval()"));
  CHECK(gpt.training());
}

TEST_CASE("permutation: plain attention passes, and added positions fail") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(2, 5);
  CHECK(check::permutation_equivariant([&](const Tensor& in) { return layer(in); }, x));
  const nn::SinusoidalPosition position(5, 4);
  const check::Invariance found =
      check::permutation_equivariant([&](const Tensor& in) { return layer(position(in)); }, x);
  CHECK(has(words(found), "so it depends on positions"));
}

TEST_CASE("batch: attention passes, and statistics over the batch fail") {
  const nn::MultiHeadAttention layer = attention();
  const Tensor x = vectors(3, 4);
  CHECK(check::batch_invariant([&](const Tensor& in) { return layer(in); }, x));
  const check::Invariance found =
      check::batch_invariant([&](const Tensor& in) { return layer(in - mean(in, {0}, true)); }, x);
  CHECK(has(words(found), "example 0 in its batch and in a batch of 1"));
}

TEST_CASE("invariance: each detector rejects input that is not a batch of sequences") {
  const check::SequenceFunction same = [](const Tensor& x) { return x; };
  const auto with_lengths = [](const Tensor& x, const Lengths&) { return x; };
  nn::GPT module = model();
  const auto rejected = [](const std::string& word, const std::function<void()>& call) {
    CHECK(has(message_of<Error>(call), word));
  };
  for (const Tensor& x : {Tensor(), ones({3}), ones({2, 0})}) {
    rejected("causal: ", [&] { check::causal(same, x); });
    rejected("padding_invariant: ", [&] { check::padding_invariant(with_lengths, x, {1}); });
    rejected("cache_invariant: ", [&] {
      check::cache_invariant(
          same, [&] { return same; }, x);
    });
    rejected("mode_invariant: ", [&] { check::mode_invariant(module, same, x); });
    rejected("permutation_equivariant: ", [&] { check::permutation_equivariant(same, x); });
    rejected("batch_invariant: ", [&] { check::batch_invariant(same, x); });
  }
  const Tensor x = vectors(2, 3);
  rejected("i64", [&] { check::causal(same, kIds); });
  rejected("all ids are 0", [&] {
    check::causal([&](const Tensor& ids) { return module(ids); }, zeros({1, 3}, Dtype::i64));
  });
  rejected("1 lengths for a batch of 2", [&] { check::padding_invariant(with_lengths, x, {3}); });
  rejected("there is no padding", [&] { check::padding_invariant(with_lengths, x, {3, 3}); });
  rejected("must be at least 2, got 1", [&] { check::batch_invariant(same, vectors(1, 3)); });
}

TEST_CASE("invariance: outputs of different shapes fail") {
  const auto f = [](const Tensor& in) { return reshape(in, {in.size(0) * 3, 1, 4}); };
  CHECK(has(words(check::batch_invariant(f, vectors(2, 3))), "shapes"));
}

TEST_CASE("invariance: rounding errors are accepted, and the tolerance can be set") {
  const auto passes = [](double error, Dtype dtype, const check::InvarianceOptions& options = {}) {
    const auto f = [error](const Tensor& x) { return x + (x.size(0) == 1 ? error : 0.0); };
    return check::batch_invariant(f, ones({2, 3}, dtype), options).holds;
  };
  CHECK((passes(5e-10, Dtype::f64) && !passes(5e-9, Dtype::f64)));
  CHECK((passes(5e-5, Dtype::f32) && !passes(5e-4, Dtype::f32)));
  CHECK((passes(5e-3, Dtype::f64, {.tolerance = 1e-2}) && !passes(5e-2, Dtype::f64, {1e-2})));
}

TEST_CASE("invariance: an output that is NaN or infinite in only one of two results fails") {
  for (const double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const bool alone : {false, true}) {  // true: one example; false: the batch
      const auto f = [&](const Tensor& x) { return (x.size(0) == 1) == alone ? x + odd : x; };
      CHECK(!check::batch_invariant(f, ones({2, 3}, Dtype::f64)).holds);
    }
}

TEST_CASE("causal: a gradient from the future is found even if no value shows it") {
  const Tensor weight = tensor({1.0, -1.0, 2.0}, Dtype::f64);
  const Tensor x = reshape(tensor({0.5, -1.0, 2.0, 4.0}, Dtype::f64), {1, 4, 1});
  const auto f = [&](const Tensor& in) {
    const Tensor last = slice(in, 1, 3, 4);
    return (last - last.detach()) * weight + weight + in * 0.0;
  };
  const check::Invariance found = check::causal(f, x);
  CHECK(!found.holds);
  CHECK(has(found.words, "have a gradient of"));
  CHECK(check::causal([](const Tensor& in) { return in.detach(); }, x).holds);
  const Tensor other = ones({1}, Dtype::f64).requires_grad_();
  CHECK(check::causal([&](const Tensor& in) { return in.detach() * other; }, x).holds);
}

TEST_CASE("padding: a model that reads the padding of a single example fails") {
  const auto f = [](const Tensor& x, const Lengths& lengths) {
    const std::int64_t n = x.size(0) == 1 ? x.size(1) : lengths[0];
    return x + sum(slice(x, 1, 0, n), {1}, true);
  };
  const Tensor row = reshape(tensor({0.5, -1.0, 2.0, 4.0}, Dtype::f64), {1, 4, 1});
  const Tensor two = cat({row, row}, 0);
  const check::Invariance found = check::padding_invariant(f, two, {2, 2});
  CHECK_FALSE(found.holds);
  CHECK(has(found.words, "change of the padding of example 0, so the function reads the padding"));
}

}  // namespace gradus::testing::test_invariance
