#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/version.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/batch_norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/position_bias.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_edge_values {
namespace {

using naive::Numbers;
using naive::numbers;
using Integers = std::vector<std::int64_t>;

Integers integers_of(const Tensor& x) { return x.to_vector<std::int64_t>(); }

/// Returns the positions of the n elements of one line along an axis, in sorted order. The line
/// starts at x[first], and its elements are `inner` apart.
Integers positions(const Numbers& x, std::int64_t n, std::int64_t inner, std::int64_t first) {
  Integers order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(first + i * inner)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return at(a) < at(b); });
  return order;
}

}  // namespace

TEST_CASE("sorting works on each line independently, along any axis") {
  Generator own(41);
  const GeneratorScope scope(own);
  const Tensor x = randn({3, 4, 5}, Dtype::f64);
  const Numbers values = numbers(x);
  for (int axis = 0; axis < 3; ++axis) {
    const Integers order = integers_of(argsort(x, axis)), low = integers_of(argmin(x, axis)),
                   high = integers_of(argmax(x, axis)), two = integers_of(topk(x, 2, axis).indices);
    const std::int64_t n = x.size(axis), inner = axis == 0 ? 20 : axis == 1 ? 5 : 1;
    for (std::int64_t line = 0; line < 60 / n; ++line) {
      const std::int64_t o = line / inner, j = line % inner;
      const Integers right = positions(values, n, inner, o * n * inner + j);
      const auto found = [&](const Integers& all, std::int64_t count, std::int64_t i) {
        return all[static_cast<std::size_t>((o * count + i) * inner + j)];
      };
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(found(order, n, i) == right[static_cast<std::size_t>(i)]);
      CHECK(found(low, 1, 0) == right[0]);
      CHECK(found(high, 1, 0) == right.back());
      CHECK(found(two, 2, 1) == right[static_cast<std::size_t>(n - 2)]);
    }
  }
  CHECK(integers_of(argmax(ones({2, 1}), 1)) == Integers{0, 0});
}

TEST_CASE("multinomial accepts strided, huge and differing weights") {
  const Tensor weights = tensor({{1, 0, 5}, {2, 3, 0}}, Dtype::f64);
  const Tensor turned = transpose(transpose(weights).contiguous());
  for (const bool replacement : {true, false}) {
    seed(5);
    const Integers right = integers_of(multinomial(weights, 2, replacement));
    seed(5);
    CHECK(integers_of(multinomial(turned, 2, replacement)) == right);
  }
  const double huge = std::numeric_limits<double>::max();
  seed(6);
  const Integers drawn = integers_of(multinomial(tensor({huge, huge, huge}, Dtype::f64), 60));
  for (const std::int64_t k : {0, 1, 2}) CHECK(std::count(drawn.begin(), drawn.end(), k) > 5);
  // Each row is one of 8! orders, so two equal rows are unlikely.
  seed(7);
  const Integers rows = integers_of(multinomial(ones({4, 8}), 8, false));
  for (std::ptrdiff_t row = 1; row < 4; ++row)
    CHECK(!std::equal(rows.begin(), rows.begin() + 8, rows.begin() + 8 * row));
}

TEST_CASE("linspace and arange hit exact ends and reject impossible step counts") {
  for (const std::int64_t n : {2, 3, 7}) {
    const Numbers x = numbers(linspace(1e16, 1, n, Dtype::f64));
    CHECK(x.front() == 1e16);
    CHECK(x.back() == 1);
    CHECK(std::is_sorted(x.rbegin(), x.rend()));
  }
  CHECK_REFUSES(ValueError, arange(0.0, 0.0, 0.0), "arange", "0");
  CHECK_REFUSES(ValueError, arange(0, 1e300, 1e-300), "arange", "1e+300");
  CHECK(arange(0, 1e300, 1e299).numel() == 10);
  CHECK(arange(1e300, 0, 1e300).numel() == 0);
}

TEST_CASE("config lists threads, backend, library, kernels, system and compiler") {
  const std::string text = config();
  for (const std::string& part :
       {version(), std::to_string(num_threads()), matmul_backend(), gemm::describe_library(),
        std::string(simd::name(simd::level())), platform::system_name()})
    CHECK(has(text, part));
  for (const char* key : {"gradus ", "threads: ", "matmul backend: ", "library: ", "kernels: ",
                          "system: ", "compiler: "})
    CHECK(has("\n" + text, std::string("\n") + key));
}

TEST_CASE("a strided index may change between forward and backward") {
  const auto check = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f, int rank) {
    Tensor positions = tensor(Integers{2, 0, 1, 1, 0, 2}, {3, 2});
    const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}}, Dtype::f64).requires_grad_();
    const auto index = [&] {
      return rank == 1 ? select(positions, 1, 0) : transpose(reshape(positions, {2, 3}));
    };
    const Tensor right = grad(sum(square(f(x, index()))), x);
    const Tensor y = sum(square(f(x, index())));
    positions.fill_(1);
    CHECK(numbers(grad(y, x)) == numbers(right));
  };
  check([](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); }, 1);
  check([](const Tensor& x, const Tensor& i) { return embedding(x, i); }, 1);
  check([](const Tensor& x, const Tensor& i) { return gather(x, 0, i); }, 2);
  const Tensor zero = zeros({3, 2}, Dtype::f64);
  check([&](const Tensor& x, const Tensor& i) { return scatter_add(zero, 0, i, x); }, 2);
}

TEST_CASE("layer_norm accepts eps 0, and var with too few elements is NaN") {
  const Tensor x = tensor({{1, 3}, {2, 6}}, Dtype::f64);
  CHECK(numbers(layer_norm(x, {}, {}, 0)) == Numbers{-1, 1, -1, 1});
  CHECK(std::isnan(var(tensor({3}, Dtype::f64), {0}, false, 2).item()));
}

TEST_CASE("boolean indexing works on rows, elements and empty rows") {
  const Tensor x = tensor({{1, 2}, {3, 4}}, Dtype::f64);
  CHECK(numbers(x[tensor({1, 0}) > 0.5]) == Numbers{1, 2});
  CHECK(numbers(x[tensor({{1, 0}, {0, 1}}) > 0.5]) == Numbers{1, 4});
  CHECK(zeros({2, 0})[tensor({1, 1}) > 0.5].shape() == Shape{2, 0});
  CHECK(zeros({3, 0, 2})[tensor({1, 0, 1}) > 0.5].shape() == Shape{2, 0, 2});
}

TEST_CASE("clamp of i64 accepts bounds at and beyond the limits of i64") {
  const Tensor x = indices({-5, 0, 5});
  CHECK(integers_of(clamp(x, -0x1p63, 0)) == Integers{-5, 0, 0});
  CHECK(integers_of(clamp(x, -0x1p64, 3)) == Integers{-5, 0, 3});
  CHECK(integers_of(clamp(x, -1, 0x1p63)) == Integers{-1, 0, 5});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(integers_of(clamp(x, -inf, inf)) == Integers{-5, 0, 5});
  CHECK(integers_of(clamp(x, -inf, 1)) == Integers{-5, 0, 1});
  constexpr std::int64_t most =
      std::numeric_limits<std::int64_t>::max();  // not representable in f64
  CHECK(integers_of(clamp(tensor(Integers{most}), 0, inf)) == Integers{most});
  CHECK(integers_of(clamp(x, inf, inf)) == Integers(3, std::numeric_limits<std::int64_t>::max()));
  CHECK(integers_of(clamp(x, -inf, -inf)) ==
        Integers(3, std::numeric_limits<std::int64_t>::lowest()));
  CHECK_REFUSES(ValueError, clamp(Tensor(), 0, 1), "clamp", "undefined");
  CHECK(numbers(clamp(tensor({0.1, 0.3}), 0.2, 0.25)) == Numbers{double(0.2F), double(0.25F)});
}

TEST_CASE("activation members equal the functions of the same name") {
  const Tensor x = tensor({{-1, 2}, {0, 3}}, Dtype::f64);
  CHECK(numbers(x.sigmoid()) == numbers(sigmoid(x)));
  CHECK(numbers(x.relu()) == Numbers{0, 2, 0, 3});
  CHECK(numbers(x.log_softmax(1)) == numbers(log_softmax(x, 1)));
  CHECK(numbers(x.log_softmax(0)) == numbers(log_softmax(x, 0)));
  CHECK(numbers(x.log_softmax(0)) != numbers(x));
}

namespace {

Numbers normalised(const Numbers& x, double eps) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Numbers y;
  for (const double v : x) y.push_back((v - mean) / std::sqrt(square + eps));
  return y;
}

/// The difference of large squares would lose six more digits than Σ (x − mean)², whose error is
/// about 3000 · 2⁻⁵³ = 3e-13.
TEST_CASE("layer_norm and batch_norm keep their accuracy far from zero") {
  const Tensor row = values({1, 9}) + 3000.0;
  expect(near(numbers(layer_norm(row)), normalised(numbers(row), 1e-5), 1e-11),
         "layer_norm far from zero");
  const Tensor column = values({9, 1}) + 3000.0;
  const Tensor y = batch_norm(column, {}, {}, {}, {}, true);
  expect(near(numbers(y), normalised(numbers(column), 1e-5), 1e-11), "batch_norm far from zero");
}

TEST_CASE("FormulaScope replaces fused ops by compositions of other ops") {
  const Tensor x = values({2, 3, 4}).requires_grad_(), w = values({4}, 1);
  const Tensor square = values({4, 4}, 3);
  const Tensor heads = values({1, 2, 3, 4}, 5).requires_grad_();
  const Tensor target = ids({0, 1, 2, 3, 0, 1}, {2, 3});
  const std::vector<std::function<Tensor()>> fused = {
      [&] { return linear(x, square, w); },
      [&] { return gelu(x, Gelu::tanh); },
      [&] { return silu(x); },
      [&] { return swiglu(x, x); },
      [&] { return softplus(x); },
      [&] { return layer_norm(x); },
      [&] { return rms_norm(x); },
      [&] { return cross_entropy(x, target); },
      [&] { return scaled_dot_product_attention(heads, heads, heads); }};
  for (const auto& f : fused) {
    const std::string name = f().node()->name();
    const FormulaScope formula;
    CHECK(f().node()->name() != name);
  }
}

/// The saved view is the only user of its storage, and not contiguous.
TEST_CASE("activation gradients are right for a transposed temporary") {
  const Tensor x = values({3, 4}).requires_grad_();
  for (const auto& f : {silu, +[](const Tensor& in) { return gelu(in); }, relu,
                        +[](const Tensor& in) { return gelu(in, Gelu::erf); }}) {
    const Tensor up = values({4, 3}, 2);
    const Tensor expected = grad(sum(f(transpose(x * 2.0)) * up), x, {.create_graph = true});
    const Tensor loss = sum(f(transpose(x * 2.0)) * up);  // the only user of x · 2
    const Tensor found = grad(loss, x);
    expect(near(numbers(found), numbers(expected)), "an activation of a transposed temporary");
  }
}

TEST_CASE("matmul, repeat and flatten return the documented shapes") {
  const Tensor m = values({2, 3}), v = values({3});
  expect(matmul(m, v).shape() == Shape{2}, "matrix times vector");
  expect(matmul(v, v).shape() == Shape{}, "vector times vector");
  expect(matmul(values({2}), m).shape() == Shape{3}, "vector times matrix");
  expect(matmul(values({2}), values({5, 2, 3})).shape() == Shape{5, 3}, "vector times matrices");
  expect(matmul(values({5, 2, 3}), v).shape() == Shape{5, 2}, "matrices times vector");
  expect(repeat(v, {1, 1}).shape() == Shape{1, 3}, "repeat with an additional axis");
  expect(repeat(m, {1, 2, 1}).shape() == Shape{1, 4, 3}, "repeat along the middle");
  const Tensor cube = values({2, 3, 4, 5});
  expect(flatten(cube, 1, 2).shape() == Shape{2, 12, 5}, "flatten in the middle");
  expect(flatten(cube, -3, -2).shape() == Shape{2, 12, 5}, "flatten counted from the end");
  expect(flatten(cube, 1).shape() == Shape{2, 60}, "flatten to the end");
  expect(flatten(cube, 0, 1).shape() == Shape{6, 4, 5}, "flatten at the front");
  expect(flatten(cube, 3, 3).shape() == cube.shape(), "flatten of one axis");
  expect(flatten(tensor(2.0)).shape() == Shape{1}, "flatten of a scalar");
  expect(flatten(v).shape() == Shape{3}, "flatten of a vector");
}

TEST_CASE("slice clips its ends, and its gradients are right") {
  const Tensor x = arange(10).to(Dtype::f64).requires_grad_();
  expect(numbers(slice(x, 0, 1, 5, 3)) == Numbers{1, 4}, "two elements with a step");
  expect(numbers(slice(x, 0, -20, 2)) == Numbers{0, 1}, "a start before the first");
  expect(numbers(slice(x, 0, 8, 30)) == Numbers{8, 9}, "a stop after the last");
  expect(numbers(slice(x, 0, -3, -1)) == Numbers{7, 8}, "counted from the end");
  expect(numbers(slice(x, 0, -1, 10)) == Numbers{9}, "the last one");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  expect(numbers(slice(x, 0, 1, most, most)) == Numbers{1}, "the largest stop and step");
  expect(slice(x, 0, 20, 30).numel() == 0, "start and stop after the last");
  expect(slice(x, 0, 5, 2).numel() == 0 && slice(x, 0, 3, 0).numel() == 0,
         "a stop before the start");
  expect(slice(x, 0, 0, 0).numel() == 0, "an empty slice at the front");
  for (const bool recorded : {false, true}) {
    const Tensor d = grad(sum(slice(x, 0, 1, 5, 3) * tensor({2.0, 3.0}, Dtype::f64)), x,
                          {.create_graph = recorded});
    expect(numbers(d) == Numbers{0, 2, 0, 0, 3, 0, 0, 0, 0, 0},
           "the gradient of a slice with a step");
  }
}

TEST_CASE("recomputed activations equal saved activations") {
  const Tensor x = values({3, 4}).requires_grad_(), g = values({3, 4}, 1).requires_grad_();
  const Tensor w = values({4}, 2), up = values({3, 5}, 3);
  const Tensor into = values({5, 4}, 4).requires_grad_();
  const std::vector<std::function<Tensor()>> cheap = {[&] { return silu(x); },
                                                      [&] { return gelu(x, Gelu::tanh); },
                                                      [&] { return gelu(x, Gelu::erf); },
                                                      [&] { return swiglu(g, x); },
                                                      [&] { return layer_norm(x, w, w); },
                                                      [&] { return rms_norm(x, w); }};
  for (const auto& f : cheap) {
    const Tensor h = f();
    const Numbers found = numbers(grad(sum(linear(h, into) * up), into));
    const Numbers expected = numbers(grad(sum(linear(h.detach(), into) * up), into));
    expect(near(found, expected), std::string(h.node()->name()) + " recomputed");
  }
}

/// running ← running + momentum (batch − running). The batch variance divides by n − 1.
TEST_CASE("batch_norm updates strided running statistics") {
  Tensor kept = tensor({1.0, 9.0, 2.0, 9.0, 3.0, 9.0}, Dtype::f64);
  Tensor mean = kernel::strided_view(kept, {3}, {2}, 0),
         var = Tensor::empty({3}, Dtype::f64).fill_(1);
  const Tensor x = tensor(std::vector<double>{1, 2, 3, 3, 6, 9}, {2, 3});
  batch_norm(x, {}, {}, mean, var, true, {.momentum = 0.5});
  expect(near(numbers(kept), {1.5, 9, 3, 9, 4.5, 9}), "running means with gaps");
  expect(near(numbers(var), {1.5, 4.5, 9.5}), "running variances of two values");
  Tensor spread = kernel::strided_view(kept, {3}, {2}, 1);
  batch_norm(x, {}, {}, {}, spread, true, {.momentum = 0.5});
  expect(near(numbers(kept), {1.5, 5.5, 3, 8.5, 4.5, 13.5}), "running variances with gaps");
  batch_norm(Tensor::empty({0, 3}, Dtype::f64), {}, {}, mean, var, true, {.momentum = 0.5});
  expect(near(numbers(mean), {1.5, 3, 4.5}), "an empty batch changes nothing");
}

TEST_CASE("scatter_add accepts negative axes") {
  const Tensor x = values({2, 3}), source = values({2, 2}, 1);
  const Tensor index = ids({2, 0, 1, 1}, {2, 2});
  expect(numbers(scatter_add(x, -1, index, source)) == numbers(scatter_add(x, 1, index, source)),
         "scatter_add counts axes from the end");
}

}  // namespace
}  // namespace gradus::testing::test_edge_values
