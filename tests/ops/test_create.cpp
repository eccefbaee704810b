#include <numeric>

#include <iomanip>

#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_create {
namespace {

std::string text(const Tensor& x) {
  std::string out = str_cat(x.shape(), " ", x.dtype(), ":");
  const auto add = [&](auto numbers) {
    for (const auto each : numbers) out += str_cat(" ", std::setprecision(9), each);
  };
  x.dtype() == Dtype::bool_ ? add(x.to_vector<bool>()) : add(x.to(Dtype::f64).to_vector<double>());
  return out;
}

using List = std::initializer_list<double>;
using Rows = std::initializer_list<List>;
using Blocks = std::initializer_list<Rows>;

}  // namespace

TEST_CASE("tensor accepts values that fill the shape and rejects others") {
  using Doubles = std::vector<double>;
  using Floats = std::vector<float>;
  using Ints = std::vector<int>;
  using Longs = std::vector<std::int64_t>;
  using Bools = std::vector<bool>;
  CHECK_REFUSES(ShapeError, text(tensor(Doubles{1, 2}, {3})), "tensor", "2");
  CHECK_REFUSES(ShapeError, text(tensor(Doubles{1, 2}, {1})), "tensor", "2");
  CHECK(text(tensor(Doubles{1, 2}, {2})) == "[2] f64: 1 2");
  CHECK_REFUSES(ShapeError, text(tensor(Doubles{1, 2}, {})), "tensor", "2");
  CHECK(text(tensor(Doubles{}, {0, 2})) == "[0, 2] f64:");
  CHECK_REFUSES(ShapeError, text(tensor(Floats{1, 2}, {3})), "tensor", "2");
  CHECK(text(tensor(Floats{1.5, 2}, {2, 1})) == "[2, 1] f32: 1.5 2");
  CHECK_REFUSES(ShapeError, text(tensor(Ints{1, 2}, {3})), "tensor", "2");
  CHECK(text(tensor(Ints{1, 2}, {1, 2})) == "[1, 2] i64: 1 2");
  CHECK_REFUSES(ShapeError, text(tensor(Longs{1, 2}, {3})), "tensor", "2");
  CHECK(text(tensor(Longs{1, -2})) == "[2] i64: 1 -2");
  CHECK_REFUSES(ShapeError, text(tensor(Bools{true, false}, {3})), "tensor", "2");
  CHECK_REFUSES(ShapeError, text(tensor(Bools{true}, {2})), "tensor", "1");
  CHECK(text(tensor(Bools{true, false})) == "[2] bool: 1 0");
  CHECK(text(tensor(List{})) == "[0] f32:");
  CHECK(text(tensor(Rows{})) == "[0, 0] f32:");
  CHECK(text(tensor(Rows{{}})) == "[1, 0] f32:");
  CHECK(text(tensor(Rows{{}, {}})) == "[2, 0] f32:");
  CHECK(text(tensor(Rows{{1, 2}, {3, 4}, {5, 6}})) == "[3, 2] f32: 1 2 3 4 5 6");
  CHECK_REFUSES(ShapeError, text(tensor(Rows{{1, 2}, {3}})), "tensor", "1");
  CHECK_REFUSES(ShapeError, text(tensor(Rows{{1}, {2, 3}})), "tensor", "2");
  CHECK(text(tensor(Blocks{})) == "[0, 0, 0] f32:");
  CHECK(text(tensor(Blocks{{}})) == "[1, 0, 0] f32:");
  CHECK(text(tensor(Blocks{{{}}, {{}}})) == "[2, 1, 0] f32:");
  CHECK(text(tensor(Blocks{{{1}, {2}}})) == "[1, 2, 1] f32: 1 2");
  CHECK(text(tensor(Blocks{{{1, 2}}, {{3, 4}}})) == "[2, 1, 2] f32: 1 2 3 4");
  CHECK_REFUSES(ShapeError, text(tensor(Blocks{{{1}}, {{2}, {3}}})), "tensor", "2");
  CHECK_REFUSES(ShapeError, text(tensor(Blocks{{{1}}, {{2, 3}}})), "tensor", "2");
  CHECK(text(indices({})) == "[0] i64:");
  CHECK(text(indices({3, 1})) == "[2] i64: 3 1");
  CHECK(text(tensor(2.5)) == "[] f32: 2.5");
  CHECK(text(full({2}, 0.5)) == "[2] f32: 0.5 0.5");
  CHECK(text(full({}, 7, Dtype::i64)) == "[] i64: 7");
  CHECK(text(ones({2}, Dtype::bool_)) == "[2] bool: 1 1");
  CHECK(text(eye(0)) == "[0, 0] f32:");
  CHECK(text(eye(1)) == "[1, 1] f32: 1");
  CHECK(text(eye(3, Dtype::i64)) == "[3, 3] i64: 1 0 0 0 1 0 0 0 1");
  CHECK_REFUSES(ShapeError, text(eye(-1)), "-1", "negative");
}

TEST_CASE("arange returns integer, fractional and empty ranges and rejects endless ranges") {
  constexpr double kHuge = 1.7e308;
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;  // not representable in f32
  CHECK(text(arange(0)) == "[0] i64:");
  CHECK(text(arange(3)) == "[3] i64: 0 1 2");
  CHECK_REFUSES(ShapeError, text(arange(-1)), "-1", "negative");
  CHECK(text(arange(2, 5)) == "[3] i64: 2 3 4");
  CHECK(text(arange(5, 2)) == "[0] i64:");
  CHECK(text(arange(5, 2, -1)) == "[3] i64: 5 4 3");
  CHECK(text(arange(0, 7, 3)) == "[3] i64: 0 3 6");
  CHECK(text(arange(0, 6, 3)) == "[2] i64: 0 3");
  CHECK_REFUSES(ValueError, text(arange(0, 1, 0)), "arange", "0");
  CHECK(text(arange(kMany, kMany + 2)) == "[2] i64: 16777217 16777218");
  CHECK(text(arange(kMany - 2, kMany, 1)) == "[2] i64: 16777215 16777216");
  CHECK(text(arange(0, 3 * kMany, kMany)) == "[3] i64: 0 16777217 33554434");
  CHECK(text(arange(0.0, 1.0, 0.25)) == "[4] f32: 0 0.25 0.5 0.75");
  CHECK(text(arange(0.5, 2.0)) == "[2] f32: 0.5 1.5");
  CHECK(text(arange(1.0, 0.0, -0.5)) == "[2] f32: 1 0.5");
  CHECK(text(arange(1.0, 0.0)) == "[0] f32:");
  CHECK_REFUSES(ValueError, text(arange(0.0, 1.0, 0.0)), "arange", "0");
  CHECK_REFUSES(ValueError, text(arange(0.0, INFINITY)), "arange", "inf");
  CHECK_REFUSES(ValueError, text(arange(0.0, NAN)), "arange", "nan");
  CHECK_REFUSES(ValueError, text(arange(-kHuge, kHuge, 1e300)), "arange", "-1.7e+308");
  CHECK(text(arange(kHuge, kHuge, 1.0)) == "[0] f32:");
  CHECK(text(arange(0.0, 2.0, 1.0, Dtype::i64)) == "[2] i64: 0 1");
  CHECK(text(linspace(0, 1, 0)) == "[0] f32:");
  CHECK(text(linspace(2, 1, 1)) == "[1] f32: 2");
  CHECK(text(linspace(2, 1, 2)) == "[2] f32: 2 1");
  CHECK(text(linspace(0, 1, 5, Dtype::f64)) == "[5] f64: 0 0.25 0.5 0.75 1");
  CHECK(text(linspace(0, 0.3, 4, Dtype::f64)) == "[4] f64: 0 0.1 0.2 0.3");
  CHECK_REFUSES(ShapeError, text(linspace(0, 1, -1)), "-1", "negative");
}

TEST_CASE("each random tensor follows its formula and draws one stream") {
  seed(77);
  std::uint32_t place = 0;
  const auto next = [&] { return RandomStream{77, place++, 0}; };
  const auto check = [](const Tensor& x, auto value) {
    const std::vector<double> all = x.to(Dtype::f64).to_vector<double>();
    for (std::size_t i = 0; i < all.size(); ++i)
      REQUIRE(all[i] == static_cast<double>(value(static_cast<std::int64_t>(i))));
  };
  for (int round = 0; round < 2; ++round) {
    const Tensor doubles = rand({5, 7}, Dtype::f64), floats = rand({35}), normal = randn({9}),
                 normals = randn_like(zeros({9}, Dtype::f64)), integers = randint(-3, 4, {50});
    const RandomStream a = next(), b = next(), c = next(), d = next(), e = next();
    check(doubles, [&](std::int64_t i) { return a.uniform(i); });
    check(floats, [&](std::int64_t i) { return static_cast<float>(b.word(i) >> 8) * 0x1p-24F; });
    check(normal, [&](std::int64_t i) { return static_cast<float>(c.normal(i)); });
    check(normals, [&](std::int64_t i) { return d.normal(i); });
    check(integers, [&](std::int64_t i) { return e.below(i, 7) - 3; });
    const Tensor order = randperm(12);
    const RandomStream f = next();
    std::vector<std::int64_t> plain(12);
    std::iota(plain.begin(), plain.end(), 0);
    for (std::int64_t i = 11; i > 0; --i)
      std::swap(plain[std::size_t(i)], plain[std::size_t(f.below(i, i + 1))]);
    CHECK(order.to_vector<std::int64_t>() == plain);
  }
  CHECK(generator().position() == place);
  CHECK_REFUSES(DtypeError, rand({2}, Dtype::i64), "rand", "f32");
  CHECK_REFUSES(DtypeError, randn({2}, Dtype::bool_), "randn", "f32");
  CHECK_REFUSES(DtypeError, randn_like(zeros({2}, Dtype::i64)), "randn", "f32");
  CHECK_REFUSES(ValueError, randint(1, 1, {2}), "randint", "1");
  CHECK_REFUSES(ValueError, randint(2, 1, {2}), "randint", "2");
  CHECK(text(randint(4, 5, {3})) == "[3] i64: 4 4 4");
  CHECK(text(randperm(0)) == "[0] i64:");
  CHECK(text(randperm(1)) == "[1] i64: 0");
}

}  // namespace gradus::testing::test_create
