#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/members.h"
#include "gradus/ops/packed.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_packed {
namespace {

/// Returns small integers. f16 represents them exactly, and their sums are exact in any order.
Tensor integers(const Shape& shape, int first = -4) {
  std::vector<float> all(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((static_cast<int>(i * 7) + first) % 9);
  return tensor(all, shape);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         a.contiguous().to_vector<float>() == b.contiguous().to_vector<float>();
}

const Tensor kWeight = integers({5, 3});

}  // namespace

TEST_CASE("packed: linear equals linear of the rounded weights for any rank and layout") {
  const PackedMatrix packed = pack(kWeight, Precision::f16);
  const Tensor bias = integers({5}, 1);
  const Tensor apart = integers({5, 2}).slice(1, 1, 2).reshape({5});
  const Tensor strided = integers({10}).slice(0, 0, 10, 2);
  const std::vector<Tensor> inputs = {integers({3}),
                                      integers({2, 3}),
                                      integers({2, 4, 3}),
                                      integers({3, 2}).transpose(0, 1),
                                      integers({2, 6}).slice(1, 0, 6, 2),
                                      integers({1, 3}).expand({4, 3}),
                                      integers({0, 3})};
  for (const Tensor& x : inputs) {
    CAPTURE(x.shape());
    CHECK(same(linear(x, packed), linear(x, kWeight)));
    for (const Tensor& b : {bias, apart, strided})
      CHECK(same(linear(x, packed, b), linear(x, kWeight, b)));
  }
  CHECK(same(unpack(packed), kWeight));
  CHECK(same(unpack(pack(integers({3, 5}).transpose(0, 1), Precision::f16)),
             integers({3, 5}).transpose(0, 1)));
}

TEST_CASE("packed: linear gives no gradients and rejects inputs that require one") {
  const PackedMatrix packed = pack(kWeight, Precision::f16);
  const Tensor x = integers({2, 3}), wanted = integers({2, 3}).requires_grad_();
  const Tensor expected = linear(x, kWeight);
  CHECK_FALSE(linear(x, packed).requires_grad());
  CHECK_REFUSES(GraphError, linear(wanted, packed), "NoGrad");
  const NoGrad off;
  CHECK(same(linear(wanted, packed), expected));
  CHECK(same(linear(x, packed), expected));
}

TEST_CASE("packed: linear rejects mismatched arguments") {
  const PackedMatrix packed = pack(kWeight, Precision::f16);
  const Tensor x = integers({2, 3}), f64 = ones({2, 3}, Dtype::f64);
  const char* undefined = "undefined";
  CHECK(has(message_of<ValueError>([&] { linear(Tensor(), packed); }), undefined));
  CHECK(has(message_of<ValueError>([&] { linear(x, PackedMatrix()); }), undefined));
  CHECK(has(message_of<ShapeError>([&] { linear(ones({}), packed); }), "the input [] must end"));
  CHECK_REFUSES(ShapeError, linear(ones({2, 4}), packed), "[2, 4]", "[5, 3]");
  CHECK_REFUSES(ShapeError, linear(x, packed, ones({4})), "[4]", "5");
  CHECK_REFUSES(DtypeError, linear(f64, packed), "f32", "f64");
  CHECK_REFUSES(DtypeError, linear(f64, packed, ones({5})), "f32", "f64");
  CHECK_REFUSES(DtypeError, linear(x, packed, ones({5}, Dtype::f64)), "f32");
}

TEST_CASE("packed: embedding returns rows and rejects ids out of range") {
  const PackedMatrix packed = pack(kWeight, Precision::f16);
  const Tensor rows = embedding(packed, tensor(std::vector<std::int64_t>{4, 0, 4, 2}, {2, 2}));
  CHECK(rows.shape() == Shape{2, 2, 3});
  for (int i = 0; i < 4; ++i)
    CHECK(same(rows.reshape({4, 3})[i],
               kWeight[std::vector{4, 0, 4, 2}[static_cast<std::size_t>(i)]]));
  const auto at = [&](std::int64_t id) {
    return message_of<IndexError>(
        [&] { embedding(packed, tensor(std::vector<std::int64_t>{id}, {1})); });
  };
  CHECK(at(0) == "nothing was thrown");
  CHECK(has(at(5), "embedding: id 5 is not a row of a packed weight with 5 rows"));
  CHECK(has(at(-1), "embedding: id -1 is not a row"));
  const Tensor ids = tensor(std::vector<std::int64_t>{1}, {1});
  const char* undefined = "undefined";
  CHECK(has(message_of<ValueError>([&] { embedding(PackedMatrix(), ids); }), undefined));
  CHECK(has(message_of<ValueError>([&] { embedding(packed, Tensor()); }), undefined));
  CHECK_REFUSES(DtypeError, embedding(packed, ones({1})), "f32");
}

}  // namespace gradus::testing::test_packed
