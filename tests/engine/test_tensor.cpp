#include "gradus/engine/tensor.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_tensor {
namespace {

using testing::has;
using testing::message_of;
using List = std::vector<double>;

List numbers(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

Tensor counted(const Shape& shape) {
  return arange(0, double(numel(shape)), 1, Dtype::f64).view(shape);
}

}  // namespace

TEST_CASE("operations on an undefined tensor throw") {
  Tensor none;
  CHECK(!none.defined());
  CHECK(!none.requires_grad());
  CHECK(!none.grad().defined());
  CHECK_REFUSES(GraphError, none.item(), "item", "undefined");
  CHECK_THROWS_AS(none.data<float>(), GraphError);
  CHECK_THROWS_AS(none.clone(), ValueError);
  CHECK_THROWS_AS(none.to_vector<float>(), GraphError);
  CHECK_THROWS_AS(none.fill_(0), GraphError);
  CHECK_THROWS_AS(none.copy_(none), GraphError);
  CHECK_REFUSES(GraphError, tensor(1.0).copy_(none), "copy_", "undefined");
}

TEST_CASE("tensors copy or borrow values and return them row-major") {
  std::vector<double> own = {1, 2, 3, 4, 5, 6};
  const Tensor copied = tensor(own, {2, 3});
  Tensor lent = borrow(std::span<double>(own), {3, 2});
  own[0] = 10;
  CHECK(numbers(copied)[0] == 1);
  CHECK(numbers(lent)[0] == 10);
  lent.mutable_data<double>()[5] = 60;
  CHECK(own[5] == 60);
  CHECK(!lent.has_unique_storage());  // `own` and `lent` share the storage
  CHECK(kernel::strided_view(lent, {2, 3}, {1, 2}, 0).to_vector<double>() ==
        List{10, 3, 5, 2, 4, 60});
  CHECK(tensor(std::vector<std::int64_t>{1, 2}, {2}).dtype() == Dtype::i64);
  const bool flags[] = {true, false};
  CHECK(tensor(std::span<const bool>(flags), {2}).to_vector<bool>() ==
        std::vector<bool>{true, false});
  CHECK_REFUSES(ShapeError, tensor(own, {4}), "6");
  CHECK_THROWS_AS(borrow(std::span<double>(own), {7}), ShapeError);
}

TEST_CASE("borrowed values keep their owner alive") {
  auto owner = std::make_shared<std::vector<float>>(3, 1.5f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  Tensor view;
  {
    const Tensor whole = borrow(std::span<float>(*owner), {3}, owner);
    owner.reset();
    view = kernel::strided_view(whole, {1}, {1}, 2);
  }
  CHECK(!watch.expired());
  CHECK(view.item() == 1.5);
  view = Tensor();
  CHECK(watch.expired());
}

TEST_CASE("an access with the wrong dtype reports both types and the shape") {
  const Tensor x = zeros({2, 3});
  const std::string message = message_of<DtypeError>([&] { x.data<double>(); });
  CHECK(has(message, "f64"));
  CHECK(has(message, "f32"));
  CHECK(has(message, "[2, 3]"));
  CHECK_THROWS_AS(x.to_vector<std::int64_t>(), DtypeError);
  CHECK_THROWS_AS(set_default_dtype(Dtype::i64), DtypeError);
}

TEST_CASE("the default dtype can be changed") {
  set_default_dtype(Dtype::f64);
  const Dtype made = tensor({1.0}).dtype();
  set_default_dtype(Dtype::f32);
  CHECK(made == Dtype::f64);
  CHECK(tensor({1.0}).dtype() == Dtype::f32);
}

TEST_CASE("item requires exactly one element") {
  CHECK(full({1, 1}, 2.5).item() == 2.5);
  CHECK(indices({7}).item() == 7);
  CHECK(kernel::strided_view(counted({6}), {}, {}, 4).item() == 4);
  CHECK_REFUSES(ShapeError, tensor({1, 2}).item(), "[2]");
  CHECK_THROWS_AS(zeros({0}).item(), ShapeError);
}

TEST_CASE("handles and views share their elements, and clones do not") {
  Tensor x = counted({2, 3});
  const Tensor handle = x, view = kernel::strided_view(x, {3}, {1}, 3), copy = x.clone();
  x.fill_(9);
  CHECK(numbers(handle) == List(6, 9));
  CHECK(numbers(view) == List(3, 9));
  CHECK(numbers(copy) == List{0, 1, 2, 3, 4, 5});
  CHECK(view.storage() == x.storage());
  CHECK(!x.has_unique_storage());
  CHECK(copy.has_unique_storage());
  CHECK(copy.size(-1) == 3);
  CHECK_THROWS_AS(copy.size(2), IndexError);
}

TEST_CASE("contiguous returns the same storage or a packed copy") {
  const Tensor x = counted({2, 3});
  CHECK(x.is_contiguous());
  CHECK(x.contiguous().storage() == x.storage());
  const Tensor turned = kernel::strided_view(x, {3, 2}, {1, 3}, 0);
  CHECK(!turned.is_contiguous());
  CHECK(numbers(turned.contiguous()) == List{0, 3, 1, 4, 2, 5});
  CHECK(turned.contiguous().is_contiguous());
  CHECK(kernel::strided_view(x, {1, 3}, {77, 1}, 3).is_contiguous());  // axis 0 has size 1
  CHECK(kernel::strided_view(x, {0, 2}, {5, 5}, 0).is_contiguous());
  CHECK(tensor(1.0).is_contiguous());
  CHECK(numbers(turned.reshape({6})) == List{0, 3, 1, 4, 2, 5});  // copied
  const std::string message = message_of<ShapeError>([&] { x.view(Shape{4}); });
  CHECK(has(message, "[2, 3]"));
  CHECK(has(message, "[4]"));
}

TEST_CASE("copy_ writes in place, converts, and requires equal shapes") {
  Tensor x = counted({2, 3});
  const Tensor handle = x;
  x.copy_(tensor(std::vector<std::int64_t>{6, 5, 4, 3, 2, 1}, {2, 3}));
  CHECK(numbers(handle) == List{6, 5, 4, 3, 2, 1});
  kernel::strided_view(x, {3}, {2}, 1).copy_(tensor({-1, -2, -3}));
  CHECK(numbers(handle) == List{6, -1, 4, -2, 2, -3});
  const std::string message = message_of<ShapeError>([&] { x.copy_(zeros({3, 2})); });
  CHECK(has(message, "[2, 3]"));
  CHECK(has(message, "[3, 2]"));
}

TEST_CASE("copy_ of a transposed matrix moves each element correctly for all sizes") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::i64})
    for (const auto& [m, n] : {std::pair{37, 61}, {61, 37}, {8, 16}, {1, 5}, {5, 1}, {0, 3}}) {
      INFO(dtype << " " << m << " x " << n);
      const Tensor source = arange(m * n).reshape({n, m}).to(dtype);
      // Rows and columns of a larger matrix, so that the target's rows have gaps.
      Tensor larger = zeros({m + 2, n + 3}, dtype);
      slice(slice(larger, 0, 1, m + 1), 1, 2, n + 2).copy_(transpose(source));
      List expected(static_cast<std::size_t>((m + 2) * (n + 3)));
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          expected[static_cast<std::size_t>((i + 1) * (n + 3) + j + 2)] = j * m + i;
      CHECK(numbers(larger.to(Dtype::f64)) == expected);
    }
}

TEST_CASE("copy_ between overlapping views reads the old values") {
  Tensor x = counted({2, 2});
  x.copy_(kernel::strided_view(x, {2, 2}, {1, 2}, 0));
  CHECK(numbers(x) == List{0, 2, 1, 3});
  Tensor row = counted({5});
  kernel::strided_view(row, {4}, {1}, 1).copy_(kernel::strided_view(row, {4}, {1}, 0));
  CHECK(numbers(row) == List{0, 0, 1, 2, 3});
}

TEST_CASE("writes increase the version and record their source location") {
  Tensor x = zeros({2});
  const std::uint32_t before = x.storage()->version();
  x.fill_(1);
  CHECK(x.storage()->version() > before);
  CHECK(has(x.storage()->last_write().file_name(), "test_tensor.cpp"));
  const std::uint32_t filled = x.storage()->version();
  (void)x.data<float>();
  CHECK(x.storage()->version() == filled);
  (void)x.mutable_data<float>();
  CHECK(x.storage()->version() > filled);
}

TEST_CASE("to converts between types and shares storage if the type is the same") {
  const Tensor x = tensor({-1.75, 0, 2.5}, Dtype::f64);
  CHECK(x.to(Dtype::i64).to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, 0, 2});
  CHECK(x.to(Dtype::bool_).to_vector<bool>() == std::vector<bool>{true, false, true});
  CHECK(x.to(Dtype::f32).to_vector<float>() == std::vector<float>{-1.75f, 0, 2.5f});
  CHECK(x.to(Dtype::f64).storage() == x.storage());
}

TEST_CASE("conversion to i64 rejects NaN, infinity and values out of range") {
  constexpr double kHuge = 0x1p63, kInfinity = std::numeric_limits<double>::infinity();
  for (const double v : {std::nan(""), kInfinity, -kInfinity, kHuge, -1.1 * kHuge})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      const Tensor x = tensor({1, v, 2}).to(dtype);
      CHECK_REFUSES(ValueError, x.to(Dtype::i64), "i64");
      CHECK_THROWS_AS(zeros({3}, Dtype::i64).copy_(x), ValueError);
      CHECK_THROWS_AS(zeros({3}, Dtype::i64).fill_(v), ValueError);
    }
  CHECK(tensor({-kHuge}, Dtype::f64).to(Dtype::i64).item() == -kHuge);
  CHECK(tensor({std::nan("")}).to(Dtype::bool_).to_vector<bool>() == std::vector<bool>{true});
}

TEST_CASE("impossible shapes throw instead of crashing") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(Tensor::empty({huge, huge}, Dtype::f32), ShapeError);
  CHECK_THROWS_AS(Tensor::empty({huge, 1 << 20}, Dtype::f32), MemoryError);
  CHECK_THROWS_AS(Tensor::empty({huge}, Dtype::f32), MemoryError);
  CHECK_THROWS_AS(Tensor::empty({-1}, Dtype::f32), ShapeError);
  CHECK_THROWS_AS((zeros({1, 1, 1, 1, 1, 1, 1, 1, 1})), ShapeError);
  CHECK(zeros({huge, 0}).numel() == 0);
  CHECK(zeros({2, 1, 1, 1, 1, 1, 1, 2}).numel() == 4);
  CHECK_THROWS_AS(eye(-1), ShapeError);
  CHECK_THROWS_AS(arange(std::int64_t{-3}), ShapeError);
  CHECK_THROWS_AS(linspace(0, 1, -2), ShapeError);
}

TEST_CASE("a kernel view stays within its storage") {
  const Tensor x = arange(6);
  const auto view = [&](const Shape& shape, const Strides& strides, std::int64_t offset) {
    return kernel::strided_view(x, shape, strides, offset);
  };
  CHECK(numbers(view({2, 3}, {3, 1}, 0)) == List{0, 1, 2, 3, 4, 5});
  CHECK(numbers(view({6}, {-1}, 5)) == List{5, 4, 3, 2, 1, 0});
  CHECK(numbers(view({2, 2}, {4, -1}, 1)) == List{1, 0, 5, 4});
  CHECK(numbers(view({}, {}, 5)) == List{5});
  CHECK(numbers(view({1, 1}, {99, 99}, 5)) == List{5});
  CHECK(view({0}, {1}, 99).numel() == 0);  // empty
  CHECK_REFUSES(ShapeError, view({2, 3}, {3, 1}, 1), "1 to 6", "6 elements");
  CHECK_REFUSES(ShapeError, view({6}, {-1}, 4), "-1 to 4", "6 elements");
  CHECK_REFUSES(ShapeError, view({2, 2}, {5, -1}, 1), "0 to 6");
  CHECK_REFUSES(ShapeError, view({}, {}, 6), "6 to 6");
}

TEST_CASE("reuse_or_empty reuses only a buffer without other users") {
  Tensor x = counted({2, 3});
  CHECK(reuse_or_empty(x).storage() == x.storage());
  const Tensor handle = x;
  CHECK(reuse_or_empty(x).storage() != x.storage());
  const Tensor turned = kernel::strided_view(counted({2, 3}), {3, 2}, {1, 3}, 0);
  CHECK(reuse_or_empty(turned).storage() != turned.storage());
  CHECK(reuse_or_empty(turned).shape() == turned.shape());
  std::vector<double> own(6);
  CHECK(reuse_or_empty(borrow(std::span<double>(own), {6})).data<double>() != own.data());
}

TEST_CASE("the memory of tensors is freed") {
  const std::int64_t before = memory::usage().live_bytes;
  {
    const Tensor x = zeros({1000}, Dtype::f64);
    CHECK(memory::usage().live_bytes == before + 8000);
    const Tensor view = kernel::strided_view(x, {10}, {1}, 5);
    CHECK(memory::usage().live_bytes == before + 8000);
  }
  CHECK(memory::usage().live_bytes == before);
}

}  // namespace gradus::testing::test_tensor
