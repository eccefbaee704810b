// Order, picking, creation and logic at their borders: lines in the middle of a tensor, strided
// operands, single elements, what rounding does.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/base/platform.h"
#include "gradus/base/products/backend.h"
#include "gradus/base/products/library.h"
#include "gradus/base/random.h"
#include "gradus/base/simd.h"
#include "gradus/engine/backward.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/position_bias.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using naive::Numbers;
using naive::numbers;
using Whole = std::vector<std::int64_t>;
using Bits = std::vector<bool>;

Whole whole(const Tensor& x) { return x.to_vector<std::int64_t>(); }
Bits bits(const Tensor& x) { return x.to_vector<bool>(); }

/// Positions of a line of [outer, n, inner] in rising order, the smallest first.
Whole positions(const Numbers& x, std::int64_t n, std::int64_t inner, std::int64_t first) {
  Whole order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(first + i * inner)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return at(a) < at(b); });
  return order;
}

}  // namespace

TEST_CASE("each line of a tensor is ordered by itself, along each axis") {
  Generator own(41);
  const GeneratorScope scope(own);
  const Tensor x = randn({3, 4, 5}, Dtype::f64);
  const Numbers values = numbers(x);
  for (int axis = 0; axis < 3; ++axis) {
    const Whole order = whole(argsort(x, axis)), low = whole(argmin(x, axis)),
                high = whole(argmax(x, axis)), two = whole(topk(x, 2, axis).indices);
    const std::int64_t n = x.size(axis), inner = axis == 0 ? 20 : axis == 1 ? 5 : 1;
    for (std::int64_t line = 0; line < 60 / n; ++line) {
      const std::int64_t o = line / inner, j = line % inner;
      const Whole right = positions(values, n, inner, o * n * inner + j);
      const auto found = [&](const Whole& all, std::int64_t count, std::int64_t i) {
        return all[static_cast<std::size_t>((o * count + i) * inner + j)];
      };
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(found(order, n, i) == right[static_cast<std::size_t>(i)]);
      CHECK(found(low, 1, 0) == right[0]);
      CHECK(found(high, 1, 0) == right.back());
      CHECK(found(two, 2, 1) == right[static_cast<std::size_t>(n - 2)]);
    }
  }
  CHECK(whole(argmax(ones({2, 1}), 1)) == Whole{0, 0});
}

TEST_CASE("multinomial: strided weights, huge ones, and rows that differ") {
  const Tensor weights = tensor({{1, 0, 5}, {2, 3, 0}}, Dtype::f64);
  const Tensor turned = transpose(transpose(weights).contiguous());
  for (const bool replacement : {true, false}) {
    seed(5);
    const Whole right = whole(multinomial(weights, 2, replacement));
    seed(5);
    CHECK(whole(multinomial(turned, 2, replacement)) == right);
  }
  const double huge = std::numeric_limits<double>::max();
  seed(6);
  const Whole drawn = whole(multinomial(tensor({huge, huge, huge}, Dtype::f64), 60));
  for (const std::int64_t k : {0, 1, 2}) CHECK(std::count(drawn.begin(), drawn.end(), k) > 5);
  seed(7);  // of 8! orders
  const Whole rows = whole(multinomial(ones({4, 8}), 8, false));
  for (std::ptrdiff_t row = 1; row < 4; ++row)
    CHECK(!std::equal(rows.begin(), rows.begin() + 8, rows.begin() + 8 * row));
}

TEST_CASE("linspace and arange: exact ends, and numbers of steps that are none") {
  for (const std::int64_t n : {2, 3, 7}) {
    const Numbers x = numbers(linspace(1e16, 1, n, Dtype::f64));
    CHECK(x.front() == 1e16);
    CHECK(x.back() == 1);
    CHECK(std::is_sorted(x.rbegin(), x.rend()));
  }
  CHECK(numbers(linspace(3, 9, 1, Dtype::f64)) == Numbers{3});
  CHECK(numbers(linspace(0, 3, 4, Dtype::f64)) == Numbers{0, 1, 2, 3});
  const auto refused = [](double start, double stop, double step) {
    return has(message_of<ValueError>([&] { arange(start, stop, step); }),
               "is not a finite number of steps");
  };
  CHECK(refused(0, 1, 0));
  CHECK(refused(0, 0, 0));
  CHECK(refused(0, 1e300, 1e-300));
  CHECK(arange(0, 1e300, 1e299).numel() == 10);
  CHECK(arange(1e300, 0, 1e300).numel() == 0);
}

TEST_CASE("randperm of two gives both orders") {
  std::int64_t swapped = 0;
  for (std::uint64_t k = 0; k < 40; ++k) {
    seed(k);
    swapped += whole(randperm(2))[0];
  }
  CHECK(swapped > 5);
  CHECK(swapped < 35);
}

TEST_CASE("config says of each part what the part itself says") {
  const std::string right = str_cat(
      "\nthreads: ", num_threads(), " of ", platform::usable_cores(),
      " usable cores\nproducts: ", products::describe(),
      "\nlibrary: ", products::describe_library(), "\nkernels: ", simd::name(simd::level()), " of ",
      simd::name(simd::widest()), "\nsystem: ", platform::system_name(), "\ncompiler: ");
  const std::string said = config();
  CHECK(said.starts_with("gradus "));
  const std::size_t at = said.find('\n');
  REQUIRE(at != std::string::npos);
  CHECK(said.substr(at, right.size()) == right);
  CHECK(said.ends_with("\n"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 7);
}

TEST_CASE("logic: strided and uniform operands") {
  const Tensor x = tensor({{1, 0, 0}, {1, 0, 0}}) > 0.5;
  CHECK(all(slice(x, 1, 0, 1)));
  CHECK(!any(slice(x, 1, 1, 3)));
  CHECK(any(transpose(x)));
  CHECK(!any(select(x, 1, 2)));
  CHECK(!all(select(x, 1, 2)));
  CHECK(any(select(x, 1, 0)));
  const Tensor numbers = tensor({1, 2, 3});
  CHECK(bits(numbers != 2.0) == Bits{1, 0, 1});
  CHECK(bits(numbers == 2.0) == Bits{0, 1, 0});
  const Tensor c = tensor({{1, 0}, {0, 1}}) > 0.5;
  CHECK(where(transpose(c), tensor({1, 2}), -1.0).to_vector<float>() ==
        std::vector<float>{1, -1, -1, 2});
  CHECK(bits(all(c, 0, true)) == Bits{0, 0});
  CHECK(all(c, 0, true).shape() == Shape{1, 2});
  CHECK(all(c, 0).shape() == Shape{2});
  CHECK(any(c, 0).shape() == Shape{2});
}

TEST_CASE("picking by an index that does not lie in a row, and its gradient") {
  const Tensor pairs = tensor(Whole{2, 0, 1, 1, 0, 2}, {3, 2});
  const Tensor strided = select(pairs, 1, 0), packed = contiguous(strided);  // 2, 1, 0
  const Tensor turned = transpose(tensor(Whole{0, 1, 2, 2, 1, 1}, {2, 3}));
  const Tensor square = contiguous(turned);
  const Tensor factors = tensor({{1, 10}, {100, 1000}, {1e4, 1e5}}, Dtype::f64);
  const auto check = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                         const Tensor& index, const Tensor& same) {
    const auto run = [&](const Tensor& i) {
      const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}}, Dtype::f64).requires_grad_();
      const Tensor y = f(x, i);
      Numbers all = numbers(y);
      for (const double d : numbers(grad(sum(y * reshape(factors, y.shape())), x)))
        all.push_back(d);
      return all;
    };
    CHECK(run(index) == run(same));
  };
  check([](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); }, strided, packed);
  check([](const Tensor& x, const Tensor& i) { return gather(x, 0, i); }, turned, square);
  check([](const Tensor& x, const Tensor& i) { return x[i]; }, strided, packed);
  check([](const Tensor& x, const Tensor& i) { return embedding(x, i); }, strided, packed);
  check([](const Tensor& x, const Tensor& i) { return scatter_add(x, 0, i, x); }, turned, square);
}

TEST_CASE("an index that had to be copied may change before backward") {
  const auto check = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f, int rank) {
    Tensor positions = tensor(Whole{2, 0, 1, 1, 0, 2}, {3, 2});
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

TEST_CASE("sums over rows are cut into at most 32 chunks") {
  for (const std::int64_t length : {1, 100, 16384, 40000})
    for (const std::int64_t rows : {1, 31, 32, 33, 63, 64, 65, 1000, 1000000}) {
      CAPTURE(length, rows);
      const Rows all(expand(zeros({1, 1}), {rows, length}));
      std::int64_t least = rows_grain(length);
      while (least * 32 < rows) ++least;
      CHECK(summing_grain(all) == least);
    }
}

TEST_CASE("products with derivatives want a vector for each input, and leave inputs as they were") {
  const Tensor one = tensor(2, Dtype::f64), x = tensor({1, 3}, Dtype::f64).requires_grad_();
  const TensorFunction f = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  CHECK_REFUSES(ShapeError, jvp(f, {one}, {Tensor()}), "undefined");
  CHECK(jvp(f, {one}, {one}).tangent.item() == 8);
  CHECK(!one.requires_grad());
  CHECK_REFUSES(ValueError, hessian_vector_product(sum(x * x), {x}, {x.detach(), x.detach()}),
                "hessian_vector_product", "2", "1");
}

TEST_CASE("norms and variances at the border of what is taken") {
  const Tensor x = tensor({{1, 3}, {2, 6}}, Dtype::f64);
  CHECK(numbers(layer_norm(x, {}, {}, 0)) == Numbers{-1, 1, -1, 1});
  CHECK(std::isnan(var(tensor({3}, Dtype::f64), {0}, false, 2).item()));
}

TEST_CASE("a mask chooses the first row, and rows of nothing") {
  const Tensor x = tensor({{1, 2}, {3, 4}}, Dtype::f64);
  CHECK(numbers(x[tensor({1, 0}) > 0.5]) == Numbers{1, 2});
  CHECK(numbers(x[tensor({{1, 0}, {0, 1}}) > 0.5]) == Numbers{1, 4});
  CHECK(zeros({2, 0})[tensor({1, 1}) > 0.5].shape() == Shape{2, 0});
  CHECK(zeros({3, 0, 2})[tensor({1, 0, 1}) > 0.5].shape() == Shape{2, 0, 2});
}

TEST_CASE("relative buckets: what is wrong is refused, even of no positions") {
  for (const std::int64_t count : {-2, 0, 1, 2, 3, 5, 6}) {
    CAPTURE(count);
    const RelativeBuckets options{.count = count};
    CHECK(has(message_of<ValueError>([&] { relative_buckets({}, {}, options); }),
              str_cat("relative_bucket: ", count, " buckets")));
  }
  for (const std::int64_t count : {0, 1, 3}) {
    const RelativeBuckets options{.count = count, .bidirectional = false};
    CHECK(has(message_of<ValueError>([&] { relative_bucket(1, options); }),
              str_cat("relative_bucket: ", count, " buckets")));
  }
  const Whole two{0, 5};
  CHECK(numbers(position_distances(two, two, 0, Dtype::f64)) == Numbers{0, 5, 5, 0});
}

TEST_CASE("clamp: bounds of an i64 tensor at the ends of its range") {
  const Tensor x = indices({-5, 0, 5});
  CHECK(whole(clamp(x, -0x1p63, 0)) == Whole{-5, 0, 0});
  CHECK(whole(clamp(x, -0x1p64, 3)) == Whole{-5, 0, 3});
  CHECK(whole(clamp(x, -1, 0x1p63)) == Whole{-1, 0, 5});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(whole(clamp(x, -inf, inf)) == Whole{-5, 0, 5});
  CHECK(whole(clamp(x, -inf, 1)) == Whole{-5, 0, 1});
  CHECK(whole(clamp(x, inf, inf)) == Whole(3, std::numeric_limits<std::int64_t>::max()));
  CHECK(whole(clamp(x, -inf, -inf)) == Whole(3, std::numeric_limits<std::int64_t>::lowest()));
  CHECK_REFUSES(ValueError, clamp(Tensor(), 0, 1), "clamp", "undefined");
  CHECK(numbers(clamp(tensor({0.1, 0.3}), 0.2, 0.25)) == Numbers{double(0.2F), double(0.25F)});
}

TEST_CASE("members of an activation are the function of their name") {
  const Tensor x = tensor({{-1, 2}, {0, 3}}, Dtype::f64);
  CHECK(numbers(x.sigmoid()) == numbers(sigmoid(x)));
  CHECK(numbers(x.relu()) == Numbers{0, 2, 0, 3});
  CHECK(numbers(x.log_softmax(1)) == numbers(log_softmax(x, 1)));
  CHECK(numbers(x.log_softmax(0)) == numbers(log_softmax(x, 0)));
  CHECK(numbers(x.log_softmax(0)) != numbers(x));
}

}  // namespace gradus::testing
