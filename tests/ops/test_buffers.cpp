#include <functional>
#include <memory>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::test_buffers {
namespace {

using naive::Numbers;
using naive::numbers;

Tensor leaf(const Numbers& values) { return tensor(values, {std::ssize(values)}).requires_grad_(); }

struct Late final : Observer {
  Numbers values;
  void on_op_end(const Op&, std::span<const Tensor* const> x, const Tensor&) override {
    for (const Tensor* each : x)
      for (const double value : numbers(*each)) values.push_back(value);
  }
};

/// Returns the peak memory of f in addition to its result.
std::int64_t extra_bytes(const std::function<Tensor()>& f) {
  const std::int64_t live = memory::usage().live_bytes;
  memory::reset_peak();
  const Tensor y = f();
  return memory::usage().peak_bytes - live - static_cast<std::int64_t>(y.storage()->bytes());
}

}  // namespace

TEST_CASE("a factor, quotient or power is saved only if a gradient needs it") {
  const Tensor constant = tensor({2, 3}, Dtype::f64), w = leaf({5, 7});
  const auto input_kept = [&](const std::function<Tensor(const Tensor&)>& f) {
    Tensor x = w * 2.0;
    const std::weak_ptr<const Storage> storage = x.storage();
    const Tensor y = f(x);
    x = {};
    return !storage.expired();
  };
  CHECK(!input_kept([&](const Tensor& x) { return constant * x; }));
  CHECK(!input_kept([&](const Tensor& x) { return x * constant; }));
  CHECK(input_kept([&](const Tensor& x) { return w * x; }));
  const auto output_kept = [](Tensor y) {
    const std::weak_ptr<const Storage> storage = y.storage();
    const Tensor sum = y + 1.0;
    y = {};
    return !storage.expired();
  };
  CHECK(!output_kept(w / constant));
  CHECK(output_kept(constant / w));
  CHECK(!output_kept(pow(w, constant)));
  CHECK(output_kept(pow(constant, w)));
}

TEST_CASE("addition does not reuse the buffer of a transposed temporary") {
  Tensor turned = tensor({{1, 2}, {3, 4}}, Dtype::f64);
  turned = transpose(turned);
  const Tensor sum = tensor({{10, 20}, {30, 40}}, Dtype::f64) + std::move(turned);
  CHECK(numbers(sum) == Numbers{11, 23, 32, 44});
}

TEST_CASE("an observer receives the operands of a sum unchanged") {
  const Tensor x = leaf({1, 2});
  Late late;
  {
    const ObserverScope scope(late);
    x + tensor({10, 20}, Dtype::f64);
  }
  CHECK(late.values == Numbers{1, 2, 10, 20});
}

TEST_CASE("compound assignment equals the binary operation, for tensors and numbers") {
  const Tensor x = tensor({6, 8}, Dtype::f64), y = tensor({3, 2}, Dtype::f64);
  const auto after = [&](const std::function<void(Tensor&)>& f) {
    Tensor changed = x;
    f(changed);
    CHECK(numbers(x) == Numbers{6, 8});
    return numbers(changed);
  };
  CHECK(after([&](Tensor& t) { t += y; }) == Numbers{9, 10});
  CHECK(after([&](Tensor& t) { t -= y; }) == Numbers{3, 6});
  CHECK(after([&](Tensor& t) { t *= y; }) == Numbers{18, 16});
  CHECK(after([&](Tensor& t) { t /= y; }) == Numbers{2, 4});
  CHECK(after([&](Tensor& t) { t += 2; }) == Numbers{8, 10});
  CHECK(after([&](Tensor& t) { t -= 2; }) == Numbers{4, 6});
  CHECK(after([&](Tensor& t) { t *= 2; }) == Numbers{12, 16});
  CHECK(after([&](Tensor& t) { t /= 2; }) == Numbers{3, 4});
}

TEST_CASE("flip always returns a contiguous copy") {
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{2, 3}}) {
    const Tensor x = arange(numel(shape)).view(shape), y = flip(x, {0});
    CHECK(y.storage() != x.storage());
    CHECK(y.is_contiguous());
  }
  const Tensor one = ones({1, 1});
  CHECK(numbers(triu(one, 1)) == Numbers{0});
  CHECK(numbers(tril(one, -1)) == Numbers{0});
  CHECK(tril(zeros({3, 0})).shape() == Shape{3, 0});
  CHECK(triu(zeros({0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("reshape returns a view if axes can be joined, across axes of size 1") {
  const Tensor x = arange(4 * 6 * 5).view({4, 6, 5});
  const Tensor part = slice(x, 2, 0, 3), apart = slice(x, 1, 0, 4);
  const auto check_view = [&](const Tensor& from, const Shape& shape) {
    CAPTURE(from.shape(), shape);
    const Tensor y = reshape(from, shape);
    CHECK(y.storage() == x.storage());
    CHECK(numbers(y.to(Dtype::f64)) == numbers(from.to(Dtype::f64)));
  };
  check_view(part, {24, 3});
  check_view(part, {2, 12, 3});
  check_view(unsqueeze(part, 1), {24, 3});
  check_view(unsqueeze(unsqueeze(part, 1), 3), {24, 3});
  check_view(unsqueeze(part, 3), {24, 3});
  check_view(kernel::strided_view(x, {4, 1, 6, 3}, {30, 7, 5, 1}, 0), {24, 3});
  check_view(kernel::strided_view(x, {4, 6, 1, 3, 1}, {30, 5, 0, 1, 9}, 0), {24, 3});
  check_view(unsqueeze(slice(x, 2, 2, 3), 3), {24});
  check_view(unsqueeze(apart, 0), {4, 20});
  check_view(unsqueeze(apart, 1), {2, 2, 4, 5});
}

TEST_CASE("matmul of views copies nothing for any strides of axes of size 1") {
  const Tensor x = randn({6, 8}, Dtype::f64), wide = randn({8, 3}, Dtype::f64);
  const auto view = [&](const Shape& shape, const Strides& strides) {
    return kernel::strided_view(x, shape, strides, 0);
  };
  const auto check = [&](const Tensor& a, const Tensor& b) {
    CAPTURE(a.shape(), a.strides(), b.shape(), b.strides());
    const Tensor left = clone(a), second = clone(b);
    const Numbers right = numbers(matmul(left, second)), got = numbers(matmul(a, b));
    for (std::size_t i = 0; i < right.size(); ++i) CHECK(std::abs(got[i] - right[i]) < 1e-12);
    CHECK(extra_bytes([&] { return matmul(a, b); }) <=
          extra_bytes([&] { return matmul(left, second); }));
  };
  check(transpose(wide), transpose(x));
  check(x, wide);
  check(transpose(x), clone(x));
  check(view({1, 8}, {8, 1}), wide);
  check(view({1, 8}, {1, 1}), wide);                  // rows do not overlap if there is only one
  check(view({1, 6}, {1, 8}), view({6, 2}, {8, 1}));  // a column viewed as a row
  check(view({6, 1}, {8, 1}), view({1, 3}, {2, 1}));
  check(view({6, 1}, {1, 48}), view({1, 3}, {1, 8}));
  check(view({6, 1}, {8, 5}), view({1, 3}, {7, 8}));
  check(view({3, 4}, {8, 1}), view({4, 1}, {8, 3}));
  check(view({3, 4}, {1, 8}), view({4, 1}, {1, 3}));
}

TEST_CASE("a moved operand never contains the values of the sum") {
  Tensor b = full({3}, 5.0);
  const Tensor y = ones({3}) + std::move(b);
  CHECK(y.to_vector<float>() == std::vector<float>{6, 6, 6});
  if (b.defined())
    CHECK(b.to_vector<float>() == std::vector<float>{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("a moved operand never contains other values after the sum throws") {
  struct Throws : Observer {
    bool reads_values() const override { return false; }
    void on_op_end(const Op&, std::span<const Tensor* const>, const Tensor&) override {
      throw std::runtime_error("observer");
    }
  } observer;
  Tensor b = full({3}, 5.0);
  const Tensor a = ones({3});
  {
    const ObserverScope scope(observer);
    CHECK_THROWS_AS(a + std::move(b), std::runtime_error);
  }
  if (b.defined())
    CHECK(b.to_vector<float>() == std::vector<float>{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("a parameter that is moved into a sum keeps its values") {
  Tensor w = full({3}, 5.0).requires_grad_();
  const Tensor y = full({3}, 2.0) + std::move(w);
  CHECK(y.to_vector<float>() == std::vector<float>{7, 7, 7});
  CHECK(w.to_vector<float>() == std::vector<float>{5, 5, 5});  // NOLINT: after the move
}

TEST_CASE("run_again does not write to its arguments") {
  const Tensor w = ones({64}).requires_grad_();
  const Tensor y = dropout(w * 2.0, 0.5);
  const std::vector<Tensor> again = {full({64}, 7.0)};
  static_cast<void>(y.node()->run_again(again));
  CHECK(again[0].to_vector<float>() == std::vector<float>(64, 7));
}

}  // namespace gradus::testing::test_buffers
