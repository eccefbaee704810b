// Detectors at the borders of what they let pass, and the faults that only one of their questions
// finds.
#include "gradus/check/invariance.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using Lengths = std::vector<std::int64_t>;

Tensor row(Dtype dtype = Dtype::f64) {
  return reshape(tensor({0.5, -1.0, 2.0, 4.0}, dtype), {1, 4, 1});
}

/// The words of all detectors for sequences x.
std::vector<std::string> refusals(const Tensor& x) {
  const check::SequenceFunction same = [](const Tensor& in) { return in; };
  nn::Linear module(1, 1);
  return {message_of<Error>([&] { check::causal(same, x); }),
          message_of<Error>([&] {
            check::padding_invariant([](const Tensor& in, const Lengths&) { return in; }, x, {1});
          }),
          message_of<Error>([&] {
            check::cache_invariant(
                same, [&] { return same; }, x);
          }),
          message_of<Error>([&] { check::mode_invariant(module, same, x); }),
          message_of<Error>([&] { check::permutation_equivariant(same, x); }),
          message_of<Error>([&] { check::batch_invariant(same, x); })};
}

}  // namespace

TEST_CASE("each detector refuses what is no batch of sequences, in its own name") {
  const std::vector<std::string> names{
      "causal",         "padding_invariant",       "cache_invariant",
      "mode_invariant", "permutation_equivariant", "batch_invariant"};
  for (const auto& [x, what] : {std::pair<Tensor, std::string>{Tensor(), "an undefined tensor"},
                                {ones({3}), "[3]"},
                                {ones({2, 0}), "[2, 0]"}}) {
    const std::vector<std::string> found = refusals(x);
    for (std::size_t i = 0; i < names.size(); ++i)
      CHECK(has(found[i],
                names[i] + ": wants sequences [batch, length, …] that are not empty, not " + what));
  }
}

TEST_CASE("what differs by a hair more than the tolerance differs") {
  for (const auto& [dtype, tolerance] : {std::pair{Dtype::f64, 1e-9}, {Dtype::f32, 1e-4}})
    for (const double share : {0.9998, 1.0005, -0.9998, -1.0005}) {
      const double off = share * tolerance;
      const auto f = [off](const Tensor& x) { return x * 0.0 + (x.size(0) == 1 ? off : 0.0); };
      CAPTURE(tolerance, share);
      CHECK(check::batch_invariant(f, ones({2, 3}, dtype)).holds == (std::abs(share) < 1));
    }
}

TEST_CASE("a gradient from the future is found where no number shows it") {
  const Tensor weight = tensor({1.0, -1.0, 2.0}, Dtype::f64);
  const auto f = [&](const Tensor& x) {
    const Tensor last = slice(x, 1, 3, 4);
    return (last - last.detach()) * weight +
           reshape(tensor({1.0, 2.0, 3.0}, Dtype::f64), {1, 1, 3}) + x * 0.0;
  };
  // 2 (1·1 - 2·1 + 3·2)
  const check::Invariance found = check::causal(f, row());
  CHECK(found.words ==
        "outputs before position 1 have a gradient of 10 at an input from there on: it sees the "
        "future");
  CHECK_FALSE(found.holds);
  const auto shut = [](const Tensor& x) { return x.detach(); };
  CHECK(check::causal(shut, row()).holds);
  // A gradient is recorded, and none of it is by x.
  const Tensor other = ones({1}, Dtype::f64).requires_grad_();
  CHECK(check::causal([&](const Tensor& x) { return x.detach() * other; }, row()).holds);
}

TEST_CASE("padding that only an example by itself reads is found") {
  const auto f = [](const Tensor& x, const Lengths& lengths) {
    const std::int64_t n = x.size(0) == 1 ? x.size(1) : lengths[0];
    return x + sum(slice(x, 1, 0, n), {1}, true);
  };
  const Tensor two = cat({row(), row()}, 0);
  const check::Invariance found = check::padding_invariant(f, two, {2, 2});
  CHECK_FALSE(found.holds);
  CHECK(has(found.words, "output [0, 0, 0] is 0 and "));
  CHECK(has(found.words, ": the padding of example 0 was changed: it is read"));
}

}  // namespace gradus::testing
