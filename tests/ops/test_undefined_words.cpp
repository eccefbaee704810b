// What operations say of operands that are undefined, of the wrong dtype, or do not fit each
// other: the operation that was called is named, and operands in the order in which they were
// given.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using Call = std::function<void(const Tensor&)>;
using Calls = std::vector<std::pair<std::string, Call>>;
using Pair = std::function<Tensor(const Tensor&, const Tensor&)>;
using Pairs = std::vector<std::pair<std::string, Pair>>;

const std::string kUndefined = ": the tensor is undefined (no numbers were ever put in it)";

Tensor bools(const Shape& shape) { return full(shape, 1, Dtype::bool_); }

Calls of_numbers() {
  return {{"scale", [](const Tensor& x) { scale(x, 2); }},
          {"shift", [](const Tensor& x) { shift(x, 2); }},
          {"negative", [](const Tensor& x) { negative(x); }},
          {"to", [](const Tensor& x) { to(x, Dtype::f64); }},
          {"equal", [](const Tensor& x) { equal(x, 1); }},
          {"less", [](const Tensor& x) { less(x, 1); }},
          {"isnan", [](const Tensor& x) { isnan(x); }},
          {"isfinite", [](const Tensor& x) { isfinite(x); }}};
}

Calls of_truth() {
  return {{"logical_not", [](const Tensor& x) { logical_not(x); }},
          {"logical_and", [](const Tensor& x) { logical_and(bools({2}), x); }},
          {"logical_or", [](const Tensor& x) { logical_or(x, bools({2})); }},
          {"all", [](const Tensor& x) { all(x); }},
          {"any", [](const Tensor& x) { any(x); }},
          {"all", [](const Tensor& x) { all(x, 0); }},
          {"any", [](const Tensor& x) { any(x, 0); }},
          {"masked_fill", [](const Tensor& x) { masked_fill(ones({2}), x, 0); }},
          {"where", [](const Tensor& x) { where(x, ones({2}), ones({2})); }}};
}

Calls of_places() {
  return {{"cat",
           [](const Tensor& x) {
             cat({ones({2}), x}, 0);
           }},
          {"stack",
           [](const Tensor& x) {
             stack({ones({2}), x}, 0);
           }},
          {"pad", [](const Tensor& x) { pad(x, 0, 1, 1); }},
          {"tril", [](const Tensor& x) { tril(x); }},
          {"flip", [](const Tensor& x) { flip(x, {0}); }},
          {"repeat", [](const Tensor& x) { repeat(x, {2}); }},
          {"select", [](const Tensor& x) { select(x, 0, 0); }},
          {"slice", [](const Tensor& x) { slice(x, 0, 0, 1); }},
          {"split", [](const Tensor& x) { split(x, 1, 0); }},
          {"split",
           [](const Tensor& x) {
             split(x, {1, 1}, 0);
           }},
          {"chunk", [](const Tensor& x) { chunk(x, 2, 0); }},
          {"[]", [](const Tensor& x) { x[{Index(0)}]; }},
          {"[]", [](const Tensor& x) { x[indices({0})]; }},
          {"[]", [](const Tensor& x) { ones({2})[x]; }},
          {"sort", [](const Tensor& x) { sort(x); }},
          {"argsort", [](const Tensor& x) { argsort(x); }},
          {"topk", [](const Tensor& x) { topk(x, 1); }}};
}

}  // namespace

TEST_CASE("an undefined tensor: the operation that was called says so") {
  for (const Calls& calls : {of_numbers(), of_truth(), of_places()})
    for (const auto& [name, call] : calls) {
      const Call& f = call;
      CAPTURE(name);
      CHECK(message_of<ValueError>([&] { f(Tensor()); }) == name + kUndefined);
    }
  CHECK_REFUSES(ValueError, embedding(Tensor(), indices({0})), "embedding", "undefined");
  CHECK_REFUSES(ValueError, multinomial(Tensor(), 1), "multinomial", "undefined");
  CHECK_REFUSES(ValueError, pack(Tensor(), products::Precision::int8), "pack", "undefined");
  CHECK_REFUSES(ValueError, stack(std::vector<Tensor>()), "stack", "tensors");
}

TEST_CASE("truth is wanted: the operation that was called says so") {
  for (const auto& [name, call] : of_truth()) {
    const Call& f = call;
    CAPTURE(name);
    CHECK(message_of<DtypeError>([&] { f(zeros({2})); }) ==
          name + ": wants bool tensors, not f32 [2]: compare first, as in not_equal(x, 0)");
  }
  for (const char* name : {"isnan", "isfinite"})
    CHECK(message_of<DtypeError>([&] {
            *name == 'i' && name[2] == 'n' ? isnan(indices({1})) : isfinite(indices({1}));
          }) == std::string(name) + ": wants f32 or f64, not i64: convert with to(x, Dtype::f32)");
}

TEST_CASE("two operands are named in the order in which they were given") {
  const Pairs of_floats = {
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
      {"add", [](const Tensor& a, const Tensor& b) { return a + b.clone(); }},
      {"subtract", [](const Tensor& a, const Tensor& b) { return a - b; }},
      {"multiply", [](const Tensor& a, const Tensor& b) { return a * b; }},
      {"divide", [](const Tensor& a, const Tensor& b) { return a / b; }},
      {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
      {"equal", [](const Tensor& a, const Tensor& b) { return a == b; }},
      {"not_equal", [](const Tensor& a, const Tensor& b) { return a != b; }},
      {"less", [](const Tensor& a, const Tensor& b) { return a < b; }},
      {"greater_equal", [](const Tensor& a, const Tensor& b) { return a >= b; }}};
  const Pairs of_bools = {
      {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor}};
  const auto check = [](const Pairs& all, const Tensor& a, const Tensor& b) {
    for (const auto& [name, call] : all) {
      const Pair& f = call;
      CAPTURE(name);
      const std::string said = message_of<ShapeError>([&] { f(a, b); });
      CHECK(said.starts_with(name + ": shapes [2, 3] and [4] do not "));
    }
  };
  check(of_floats, ones({2, 3}), ones({4}));
  check(of_bools, bools({2, 3}), bools({4}));
  for (const auto& [name, call] : of_floats) {
    const Pair& f = call;
    CAPTURE(name);
    CHECK(message_of<DtypeError>([&] { f(ones({2}), ones({2}, Dtype::f64)); }) ==
          name + ": the operands are f32 [2] and f64 [2]: convert one with to(x, dtype)");
    CHECK(message_of<ValueError>([&] { f(Tensor(), ones({})); }) == name + kUndefined);
  }
  CHECK(message_of<ValueError>([] { ones({}) + Tensor(); }) == "add" + kUndefined);
}

TEST_CASE("an axis that is not there: the operation that was called says so") {
  const Tensor x = ones({2, 3});
  const Calls calls = {{"argsort: axis 5", [](const Tensor& a) { argsort(a, 5); }},
                       {"pad: axis 5", [](const Tensor& a) { pad(a, 5, 1, 1); }},
                       {"split: axis 5", [](const Tensor& a) { split(a, 1, 5); }},
                       {"split: axis 5",
                        [](const Tensor& a) {
                          split(a, {1, 1}, 5);
                        }},
                       {"chunk: axis 5", [](const Tensor& a) { chunk(a, 2, 5); }},
                       {"stack: axis 5",
                        [](const Tensor& a) {
                          stack({a, a}, 5);
                        }},
                       {"stack: axis 3",
                        [](const Tensor& a) {
                          stack({a, ones({1, 2, 3})}, 3);
                        }},
                       {"transpose: axis 5", [](const Tensor& a) { transpose(a, 5, 7); }},
                       {"transpose: axis 5", [](const Tensor& a) { a.transpose(5, 7); }}};
  for (const auto& [words, call] : calls) {
    const Call& f = call;
    CAPTURE(words);
    CHECK(message_of<IndexError>([&] { f(x); }).starts_with(words + " of a tensor with "));
  }
}

TEST_CASE("numbers at the border of what is taken") {
  const Tensor x = ones({2, 3});
  CHECK_REFUSES(IndexError, select(x, 1, -4), "select", "-4");
  CHECK(select(x, 1, -3).shape() == Shape{2});
  CHECK_REFUSES(ShapeError, split(x, {-1, 4}, 1), "split", "0");
  CHECK_REFUSES(ShapeError, split(x, {1, -2, 4}, 1), "split", "1");
  CHECK(chunk(x, 1, 1).size() == 1);
  CHECK(x.split(2, 1).size() == 2);
  CHECK(x.split(2, 0).size() == 1);
  CHECK_REFUSES(ValueError, pad(x, 0, 1, -1), "pad", "-1", "1");
  CHECK_REFUSES(ValueError, pad(x, 0, -1, 1), "pad", "-1", "1");
  CHECK(one_hot(indices({0, 0}), 1).to_vector<float>() == std::vector<float>{1, 1});
  CHECK_REFUSES(ValueError, embedding(x, indices({0}), -1), "embedding", "[2, 3]", "-1");
  CHECK_REFUSES(ShapeError, stack({ones({2, 3}), ones({4, 3})}), "stack", "[2, 3]", "[4, 3]");
  CHECK_REFUSES(ShapeError, cat({ones({2, 3}), ones({4, 3})}, 1), "cat", "[2, 3]", "[4, 3]");
  const std::vector<double> none = {0x1p63, -0x1p63, 1e19, -1e19, 1e300, -1e300};
  for (const double c : none) CHECK_REFUSES(DtypeError, scale(indices({1}), c), "integer");
}

}  // namespace gradus::testing
