#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/oracle.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_oracle {
namespace {

/// The samples must outlive the test because oracles are cached by address.
Sample squared(const char* what, std::function<Tensor(const Tensor&)> f) {
  return {"multiply",
          what,
          {tensor({1.5, -2}, Dtype::f64)},
          [f](const Inputs& x) { return f(x[0]); },
          []<class T>(const Arguments<T>& x) {
            List<T> y = x[0].values;
            for (T& v : y) v *= v;
            return y;
          }};
}

std::string verdict(const char* what, std::function<Tensor(const Tensor&)> f) {
  static std::vector<std::unique_ptr<Sample>> kept;
  kept.push_back(std::make_unique<Sample>(squared(what, std::move(f))));
  return run_oracle(*kept.back());
}

}  // namespace

TEST_CASE("oracle: a correct operation passes, and an error is reported with both values") {
  CHECK(verdict("right", [](const Tensor& x) { return x * x; }) == "");
  CHECK(has(verdict("half a gradient", [](const Tensor& x) { return x * x.detach(); }),
            "multiply, half a gradient: gradient: element "));
  CHECK(has(verdict("off by 1e-14", [](const Tensor& x) { return x * x + 1e-14; }),
            "value: element 0 is 2.2500000000000102 instead of 2.25, "));
  CHECK(has(verdict("linear, seen from x",
                    [](const Tensor& x) { return 2.0 * x * x.detach() - x.detach() * x.detach(); }),
            "gradient of the gradient with respect to an input"));
}

TEST_CASE("oracle: rounding errors are accepted in f64 and f32, and NaN is rejected") {
  const double tiny = 0x1p-53;
  CHECK(difference({1 + 3 * tiny}, {{1, 1}}, tiny) == "");
  CHECK(difference({1 + 6 * tiny}, {{1, 1}}, tiny) != "");
  CHECK(difference({1 + 6 * tiny}, {{1, 1}}, 0x1p-24) == "");
  CHECK(difference({NAN}, {{1, 1}}, tiny) != "");
  CHECK(difference({1}, {{NAN, 1}}, tiny) != "");
  CHECK(difference({1}, {{1, NAN}}, tiny) == "");  // equal values pass, even if the bound is NaN
  CHECK(difference({1.5}, {{1, NAN}}, tiny) != "");
  CHECK(difference({}, {}, tiny) == "");
  CHECK(difference({1}, {}, tiny) == "1 elements instead of 0");
  // The bound is at least a thousandth of the worst element's bound.
  CHECK(difference({5, tiny}, {{5, 1000}, {0, 0}}, tiny) == "");
  CHECK(difference({5, 8 * tiny}, {{5, 1000}, {0, 0}}, tiny) != "");
}

TEST_CASE("oracle: a reference gives the same values for all number types") {
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what);
    const List<double> plain = sample.reference(arguments<double>(sample));
    const List<First> once = sample.reference(arguments<First>(sample));
    const List<Second> twice = sample.reference(arguments<Second>(sample));
    REQUIRE(once.size() == plain.size());
    REQUIRE(twice.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      CHECK(once[i].value.value == plain[i]);
      CHECK(twice[i].value.value.value == plain[i]);
    }
  }
}

}  // namespace gradus::testing::test_oracle
