#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::test_matmul {
namespace {

using naive::Numbers;
using naive::numbers;

/// Returns the error in units of the rounding error of `terms` products of size 1.
double roundings(const Tensor& x, const Numbers& right, std::int64_t terms) {
  const double unit = (x.dtype() == Dtype::f32 ? 0x1p-24 : 0x1p-53) * static_cast<double>(terms);
  const Numbers got = numbers(x);
  REQUIRE(got.size() == right.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - right[i]) / unit);
  return worst;
}

}  // namespace

TEST_CASE("matmul over an inner size of 0 gives zeros of the right shape") {
  CHECK(matmul(ones({2, 3, 0}), ones({0, 4})).shape() == Shape{2, 3, 4});
  CHECK(sum(matmul(ones({2, 3, 0}), ones({0, 4}))).item() == 0);
  CHECK(matmul(ones({0, 3}), ones({3, 0})).shape() == Shape{0, 0});
  CHECK(matmul(ones({0}), ones({0})).item() == 0);
  CHECK(matmul(ones({2, 0, 3}), ones({2, 3, 5})).shape() == Shape{2, 0, 5});
  const Tensor bias = tensor({1, 2});
  const Tensor y = linear(ones({3, 0}), ones({2, 0}), bias);
  CHECK(numbers(y) == Numbers{1, 2, 1, 2, 1, 2});
  CHECK(numbers(linear(ones({1, 0}), ones({2, 0}))) == Numbers{0, 0});
}

TEST_CASE("matmul propagates NaN and infinity into their sums only") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor({{1, std::nan("")}, {2, 3}, {inf, 1}}, Dtype::f64);
  const Numbers y = numbers(matmul(a, tensor({{1, 0}, {1, 1}}, Dtype::f64)));
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 5);
  CHECK(y[3] == 3);
  CHECK(y[4] == inf);
  CHECK(std::isnan(y[5]));  // ∞ · 0
  // The poisoned output must not be read.
  memory::set_poison(true);
  const Tensor plain = linear(ones({3, 4}), ones({2, 4}));
  const Tensor product = matmul(ones({3, 4}), ones({4, 2}));
  memory::set_poison(false);
  CHECK(numbers(plain) == Numbers(6, 4.0));
  CHECK(numbers(product) == Numbers(6, 4.0));
}

TEST_CASE("a large matmul equals naive loops") {
  const std::int64_t m = 301, k = 203, n = 157;
  Generator own(3);
  const GeneratorScope scope(own);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor a = randn({m, k}, dtype), b = randn({k, n}, dtype);
    const Numbers right = naive::matmul(numbers(a), {m, k}, numbers(b), {k, n});
    // The products and partial sums have 203 rounding errors, of at most 60 ulps together. With
    // random signs, a few ulps remain.
    CHECK(roundings(matmul(a, b), right, k) < 8);
    CHECK(roundings(linear(a, transpose(b)), right, k) < 8);
    const Tensor at_ = transpose(transpose(a).contiguous()),
                 bt = transpose(transpose(b).contiguous());
    CHECK(!at_.is_contiguous());
    CHECK(roundings(matmul(at_, bt), right, k) < 8);
  }
}

TEST_CASE("matmul of views makes no copies") {
  Generator own(4);
  const GeneratorScope scope(own);
  // The built-in matmul packs parts of B into at most 1 MiB per thread. The matrices are larger.
  constexpr std::int64_t kPacked = 1 << 20;
  const std::int64_t n = 640, matrix = n * n * 8;
  const int before = num_threads();
  set_num_threads(2);
  REQUIRE(matrix > 3 * kPacked);
  const Tensor a = randn({n, n}, Dtype::f64), b = randn({n, n}, Dtype::f64);
  const auto extra_bytes = [](const std::function<Tensor()>& f) {
    const std::int64_t live = memory::usage().live_bytes;
    memory::reset_peak();
    const Tensor y = f();
    return memory::usage().peak_bytes - live - 8 * y.numel();
  };
  CHECK(extra_bytes([&] { return matmul(a, b); }) <= 2 * kPacked);
  CHECK(extra_bytes([&] { return matmul(transpose(a), transpose(b)); }) <= 2 * kPacked);
  CHECK(extra_bytes([&] { return matmul(slice(a, 1, 0, 320), slice(b, 0, 0, 320)); }) <=
        2 * kPacked);
  const auto heads = [](const Tensor& x) { return transpose(reshape(x, {10, 64, 8, 80}), 1, 2); };
  CHECK(extra_bytes([&] { return matmul(heads(a), transpose(heads(b))); }) <= 2 * kPacked);
  CHECK(extra_bytes([&] { return linear(a, b); }) <= 2 * kPacked);
  set_num_threads(before);
}

TEST_CASE("matmul and linear compute only needed gradients, even of expanded operands") {
  Tensor a = ones({3, 2}).requires_grad_(), b = ones({2, 4});
  sum(matmul(a, b)).backward();
  CHECK(numbers(a.grad()) == Numbers(6, 4.0));
  CHECK(!b.grad().defined());
  Tensor weight = ones({2, 3}).requires_grad_(), row = ones({1, 3}).requires_grad_();
  sum(linear(expand(row, {5, 3}), weight)).backward();
  CHECK(row.grad().shape() == Shape{1, 3});
  CHECK(numbers(row.grad()) == Numbers(3, 10.0));
  CHECK(numbers(weight.grad()) == Numbers(6, 5.0));
}

TEST_CASE("linear accepts an upstream gradient of any strides") {
  Tensor x = ones({3, 2}).requires_grad_(), w = ones({4, 2}).requires_grad_();
  const Tensor bias = zeros({4}).requires_grad_();
  linear(x, w, bias).backward(expand(tensor({{1, 2, 3, 4}}), {3, 4}));
  CHECK(numbers(x.grad()) == Numbers(6, 10.0));
  CHECK(numbers(w.grad()) == Numbers{3, 3, 6, 6, 9, 9, 12, 12});
  CHECK(numbers(bias.grad()) == Numbers{3, 6, 9, 12});
}

TEST_CASE("a linear map of width 0 can be differentiated twice") {
  for (const auto& [out, in] : {std::pair{3, 0}, {0, 3}, {0, 0}}) {
    const Tensor w = ones({out, in}).requires_grad_(), x = ones({2, in}).requires_grad_();
    const Tensor y = sum(linear(x, w));
    const auto first = grad({y}, {w, x}, {.create_graph = true});
    CHECK(first[0].shape() == w.shape());
    CHECK(first[1].shape() == x.shape());
    const auto second = grad({sum(first[0]) + sum(first[1])}, {w, x}, {.allow_unused = true});
    if (second[0].defined()) CHECK(second[0].shape() == w.shape());
    if (second[1].defined()) CHECK(second[1].shape() == x.shape());
  }
}

}  // namespace gradus::testing::test_matmul
