// Tensors made of numbers: what is refused, shapes of nested lists, and random numbers by their
// formulas.
#include <numeric>

#include "gradus/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/outcomes.h"

namespace gradus::testing {
namespace {

/// Shape, dtype and numbers.
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

TEST_CASE("tensors of given numbers, and those that do not fill their shape") {
  using Doubles = std::vector<double>;
  using Floats = std::vector<float>;
  using Ints = std::vector<int>;
  using Longs = std::vector<std::int64_t>;
  using Bools = std::vector<bool>;
  check_outcomes("create", {GRADUS_VALUE(text(tensor(Doubles{1, 2}, {3}))),
                            GRADUS_VALUE(text(tensor(Doubles{1, 2}, {1}))),
                            GRADUS_VALUE(text(tensor(Doubles{1, 2}, {2}))),
                            GRADUS_VALUE(text(tensor(Doubles{1, 2}, {}))),
                            GRADUS_VALUE(text(tensor(Doubles{}, {0, 2}))),
                            GRADUS_VALUE(text(tensor(Floats{1, 2}, {3}))),
                            GRADUS_VALUE(text(tensor(Floats{1.5, 2}, {2, 1}))),
                            GRADUS_VALUE(text(tensor(Ints{1, 2}, {3}))),
                            GRADUS_VALUE(text(tensor(Ints{1, 2}, {1, 2}))),
                            GRADUS_VALUE(text(tensor(Longs{1, 2}, {3}))),
                            GRADUS_VALUE(text(tensor(Longs{1, -2}))),
                            GRADUS_VALUE(text(tensor(Bools{true, false}, {3}))),
                            GRADUS_VALUE(text(tensor(Bools{true}, {2}))),
                            GRADUS_VALUE(text(tensor(Bools{true, false}))),
                            GRADUS_VALUE(text(tensor(List{}))),
                            GRADUS_VALUE(text(tensor(Rows{}))),
                            GRADUS_VALUE(text(tensor(Rows{{}}))),
                            GRADUS_VALUE(text(tensor(Rows{{}, {}}))),
                            GRADUS_VALUE(text(tensor(Rows{{1, 2}, {3, 4}, {5, 6}}))),
                            GRADUS_VALUE(text(tensor(Rows{{1, 2}, {3}}))),
                            GRADUS_VALUE(text(tensor(Rows{{1}, {2, 3}}))),
                            GRADUS_VALUE(text(tensor(Blocks{}))),
                            GRADUS_VALUE(text(tensor(Blocks{{}}))),
                            GRADUS_VALUE(text(tensor(Blocks{{{}}, {{}}}))),
                            GRADUS_VALUE(text(tensor(Blocks{{{1}, {2}}}))),
                            GRADUS_VALUE(text(tensor(Blocks{{{1, 2}}, {{3, 4}}}))),
                            GRADUS_VALUE(text(tensor(Blocks{{{1}}, {{2}, {3}}}))),
                            GRADUS_VALUE(text(tensor(Blocks{{{1}}, {{2, 3}}}))),
                            GRADUS_VALUE(text(indices({}))),
                            GRADUS_VALUE(text(indices({3, 1}))),
                            GRADUS_VALUE(text(tensor(2.5))),
                            GRADUS_VALUE(text(full({2}, 0.5))),
                            GRADUS_VALUE(text(full({}, 7, Dtype::i64))),
                            GRADUS_VALUE(text(ones({2}, Dtype::bool_))),
                            GRADUS_VALUE(text(eye(0))),
                            GRADUS_VALUE(text(eye(1))),
                            GRADUS_VALUE(text(eye(3, Dtype::i64))),
                            GRADUS_VALUE(text(eye(-1)))});
}

TEST_CASE("ranges: whole, broken, empty, and those that have no end") {
  constexpr double kHuge = 1.7e308;
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;  // no f32
  check_outcomes("ranges", {GRADUS_VALUE(text(arange(0))),
                            GRADUS_VALUE(text(arange(3))),
                            GRADUS_VALUE(text(arange(-1))),
                            GRADUS_VALUE(text(arange(2, 5))),
                            GRADUS_VALUE(text(arange(5, 2))),
                            GRADUS_VALUE(text(arange(5, 2, -1))),
                            GRADUS_VALUE(text(arange(0, 7, 3))),
                            GRADUS_VALUE(text(arange(0, 6, 3))),
                            GRADUS_VALUE(text(arange(0, 1, 0))),
                            GRADUS_VALUE(text(arange(kMany, kMany + 2))),
                            GRADUS_VALUE(text(arange(kMany - 2, kMany, 1))),
                            GRADUS_VALUE(text(arange(0, 3 * kMany, kMany))),
                            GRADUS_VALUE(text(arange(0.0, 1.0, 0.25))),
                            GRADUS_VALUE(text(arange(0.5, 2.0))),
                            GRADUS_VALUE(text(arange(1.0, 0.0, -0.5))),
                            GRADUS_VALUE(text(arange(1.0, 0.0))),
                            GRADUS_VALUE(text(arange(0.0, 1.0, 0.0))),
                            GRADUS_VALUE(text(arange(0.0, INFINITY))),
                            GRADUS_VALUE(text(arange(0.0, NAN))),
                            GRADUS_VALUE(text(arange(-kHuge, kHuge, 1e300))),
                            GRADUS_VALUE(text(arange(kHuge, kHuge, 1.0))),
                            GRADUS_VALUE(text(arange(0.0, 2.0, 1.0, Dtype::i64))),
                            GRADUS_VALUE(text(linspace(0, 1, 0))),
                            GRADUS_VALUE(text(linspace(2, 1, 1))),
                            GRADUS_VALUE(text(linspace(2, 1, 2))),
                            GRADUS_VALUE(text(linspace(0, 1, 5, Dtype::f64))),
                            GRADUS_VALUE(text(linspace(0, 0.3, 4, Dtype::f64))),
                            GRADUS_VALUE(text(linspace(0, 1, -1)))});
}

TEST_CASE("random numbers are their formulas of one stream each") {
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
                 normals = randn_like(zeros({9}, Dtype::f64)), whole = randint(-3, 4, {50});
    const RandomStream a = next(), b = next(), c = next(), d = next(), e = next();
    check(doubles, [&](std::int64_t i) { return a.uniform(i); });
    check(floats, [&](std::int64_t i) { return static_cast<float>(b.word(i) >> 8) * 0x1p-24F; });
    check(normal, [&](std::int64_t i) { return static_cast<float>(c.normal(i)); });
    check(normals, [&](std::int64_t i) { return d.normal(i); });
    check(whole, [&](std::int64_t i) { return e.below(i, 7) - 3; });
    const Tensor order = randperm(12);
    const RandomStream f = next();
    std::vector<std::int64_t> plain(12);
    std::iota(plain.begin(), plain.end(), 0);
    for (std::int64_t i = 11; i > 0; --i)
      std::swap(plain[std::size_t(i)], plain[std::size_t(f.below(i, i + 1))]);
    CHECK(order.to_vector<std::int64_t>() == plain);
  }
  CHECK(generator().position() == place);
  check_outcomes("random",
                 {GRADUS_CALL(rand({2}, Dtype::i64)), GRADUS_CALL(randn({2}, Dtype::bool_)),
                  GRADUS_CALL(randn_like(zeros({2}, Dtype::i64))), GRADUS_CALL(randint(1, 1, {2})),
                  GRADUS_CALL(randint(2, 1, {2})), GRADUS_VALUE(text(randint(4, 5, {3}))),
                  GRADUS_VALUE(text(randperm(0))), GRADUS_VALUE(text(randperm(1)))});
}

}  // namespace gradus::testing
