#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gradus/tests/support/bounded.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/dual.h"
#include "gradus/tests/support/reference.h"

namespace gradus::testing::test_dual {
namespace {

using math::Bounded;
using math::Dual;
using One = Dual<double>;
using Two = Dual<One>;

struct Known {
  std::string name;
  Generic<OfOne> f;
  double (*first)(double);
  double (*second)(double);
};

std::vector<Known> known() {
  using D = double;
  return {
      {"x³ by products", [](auto x) { return x * x * x; }, [](D x) { return 3 * x * x; },
       [](D x) { return 6 * x; }},
      {"(1 − x) / x²", [](auto x) { return (1 - x) / (x * x); },
       [](D x) { return 1 / (x * x) - 2 / (x * x * x); },
       [](D x) { return 6 / std::pow(x, 4) - 2 / std::pow(x, 3); }},
      {"exp", [](auto x) { return math::exp(2 * x); }, [](D x) { return 2 * std::exp(2 * x); },
       [](D x) { return 4 * std::exp(2 * x); }},
      {"expm1", [](auto x) { return math::expm1(-x); }, [](D x) { return -std::exp(-x); },
       [](D x) { return std::exp(-x); }},
      {"log", [](auto x) { return math::log(x); }, [](D x) { return 1 / x; },
       [](D x) { return -1 / (x * x); }},
      {"log1p", [](auto x) { return math::log1p(x); }, [](D x) { return 1 / (1 + x); },
       [](D x) { return -1 / ((1 + x) * (1 + x)); }},
      {"sqrt", [](auto x) { return math::sqrt(x); }, [](D x) { return 0.5 / std::sqrt(x); },
       [](D x) { return -0.25 / (x * std::sqrt(x)); }},
      {"sin", [](auto x) { return math::sin(x); }, [](D x) { return std::cos(x); },
       [](D x) { return -std::sin(x); }},
      {"cos", [](auto x) { return math::cos(x); }, [](D x) { return -std::sin(x); },
       [](D x) { return -std::cos(x); }},
      {"tanh", [](auto x) { return math::tanh(x); },
       [](D x) { return 1 - std::tanh(x) * std::tanh(x); },
       [](D x) { return -2 * std::tanh(x) * (1 - std::tanh(x) * std::tanh(x)); }},
      {"erf", [](auto x) { return math::erf(x); },
       [](D x) { return 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x); },
       [](D x) { return -4 * x / std::sqrt(std::acos(-1.0)) * std::exp(-x * x); }},
      {"|−x|", [](auto x) { return math::abs(-x); }, [](D) { return 1.0; }, [](D) { return 0.0; }},
      {"floor + nearest", [](auto x) { return math::floor(x) + math::nearest_even(x); },
       [](D) { return 0.0; }, [](D) { return 0.0; }},
      {"x to the 2.5", [](auto x) { return math::pow(x, 2.5); },
       [](D x) { return 2.5 * std::pow(x, 1.5); }, [](D x) { return 3.75 * std::sqrt(x); }},
      {"x to the 0", [](auto x) { return math::pow(x, 0.0); }, [](D) { return 0.0; },
       [](D) { return 0.0; }},
      {"x to the x", [](auto x) { return math::pow(x, x); },
       [](D x) { return std::pow(x, x) * (std::log(x) + 1); },
       [](D x) { return std::pow(x, x) * (std::pow(std::log(x) + 1, 2) + 1 / x); }},
      {"the larger, less the smaller",
       [](auto x) { return math::max(x, x * x) - math::min(x, x * x); },
       [](D x) { return x > 1 ? 2 * x - 1 : 1 - 2 * x; }, [](D x) { return x > 1 ? 2.0 : -2.0; }},
  };
}

}  // namespace

TEST_CASE("dual: derivatives of first and second order are right") {
  for (const Known& each : known())
    for (const double x : {0.3, 0.7, 1.6}) {
      INFO(each.name << " at " << x);
      // 1e-14 is 90 half-ulps. The functions have about a dozen operations, each of which cancels
      // at most half of a value.
      const auto close = [](double a, double b) {
        return std::abs(a - b) <= 1e-14 * std::max(1.0, std::abs(b));
      };
      First once = x;
      once.tangent = -3.0;
      const First y = each.f(once);
      CHECK(close(y.value.value, each.f(x)));
      CHECK(close(y.tangent.value, -3 * each.first(x)));
      Second twice = x;
      twice.value.tangent = 2.0;
      twice.tangent.value = 5.0;
      const Second z = each.f(twice);
      CHECK(close(z.value.tangent.value, 2 * each.first(x)));
      CHECK(close(z.tangent.value.value, 5 * each.first(x)));
      CHECK(close(z.tangent.tangent.value, 10 * each.second(x)));
    }
}

TEST_CASE("dual: constants have no derivative, and comparisons ignore derivatives") {
  const One a(2, 7), b(2, -1);
  CHECK(One(3.0).tangent == 0);
  CHECK(a == b);
  CHECK(a <= b);
  CHECK(!(a < b));
  CHECK(One(1.0) < a);
  CHECK(math::exp(Two(0.0)).tangent.tangent == 0);
}

TEST_CASE("bounded: the bound covers the error of f32 and is not much larger") {
  // Each addition may add an error of half an ulp.
  Bounded sum;
  float single = 0;
  for (int k = 1; k <= 1000; ++k) {
    sum += 1 / Bounded(static_cast<double>(k));
    single += 1 / static_cast<float>(k);
  }
  const double lost = std::abs(static_cast<double>(single) - sum.value);
  CHECK(lost > 0);
  CHECK(lost <= sum.error * 0x1p-24);
  CHECK(sum.error < 1001 * sum.value);  // one rounding per addition

  // 1 − tanh² is small, but its error is as large as that of 1.
  const Bounded t = math::tanh(Bounded(4.0));
  const Bounded difference = 1 - t * t;
  CHECK(difference.error > 1);
  CHECK(difference.value < 0.01);
}

TEST_CASE("bounded: constants are exact if f32 represents them") {
  CHECK(Bounded(0.5).error == 0);
  CHECK(Bounded(0.1).error == 0.1);
  CHECK(Bounded(INFINITY).error == 0);
  CHECK((Bounded(3.0) * Bounded(0.0)).error == 0);
  CHECK((-Bounded(2, 1)).error == 1);
  CHECK((Bounded(2, 1) * Bounded(3, 4)).error == 2 * 4 + 3 * 1 + 6);
  CHECK((Bounded(6, 1) / Bounded(2, 4)).error == (1 + 3 * 4) / 2.0 + 3);
}

}  // namespace gradus::testing::test_dual
