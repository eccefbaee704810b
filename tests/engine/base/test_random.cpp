#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/random.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/simd_levels.h"

using gradus::RandomStream;
using std::int64_t;
using Words = std::array<std::uint32_t, 4>;

TEST_CASE("philox matches the known answers of Random123", "[kernel]") {
  CHECK(gradus::philox({0, 0, 0, 0}, {0, 0}) ==
        Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(gradus::philox({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(
      gradus::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
      Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("index, stream, rank and seed select the word of a random block", "[kernel]") {
  const RandomStream s{0x299f31d0a4093822, 0x13198a2e, 0x03707344};
  const Words block = gradus::philox({5, 0, s.stream, s.rank}, {0xa4093822, 0x299f31d0});
  for (std::uint32_t e = 0; e < 4; ++e) CHECK(s.word(20 + e) == block[e]);
  const int64_t far = int64_t{4} * ((int64_t{7} << 32) + 9);  // uses the counter's upper word
  CHECK(s.word(far) == gradus::philox({9, 7, s.stream, s.rank}, {0xa4093822, 0x299f31d0})[0]);
}

TEST_CASE("words equals word from any start, for any count, at every SIMD level", "[kernel]") {
  const gradus::testing::LevelScope scope(GENERATE(from_range(gradus::testing::simd_levels())));
  const RandomStream s{12345, 6, 7};
  for (const int64_t first :
       {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{130}, (int64_t{1} << 34) - 70}) {
    for (const int64_t count : {0, 1, 2, 3, 4, 5, 63, 64, 127, 128, 129, 131, 260, 1000}) {
      CAPTURE(first, count);
      std::vector<std::uint32_t> words(static_cast<std::size_t>(count) + 1, 77);
      s.words(first, count, words.data());
      int64_t wrong = 0;
      for (int64_t i = 0; i < count; ++i)
        wrong += words[static_cast<std::size_t>(i)] != s.word(first + i);
      CHECK(wrong == 0);
      CHECK(words.back() == 77);  // not overwritten
    }
  }
}

TEST_CASE("uniform and normal numbers are computed from their documented words", "[kernel]") {
  const RandomStream s{3, 1, 0};
  for (int64_t i = 0; i < 20; ++i) {
    const double high = s.word(2 * i) >> 5, low = s.word(2 * i + 1) >> 6;
    CHECK(s.uniform(i) == std::ldexp(high * 0x1p26 + low, -53));
    // Box-Muller makes two normal values from a pair of uniform ones.
    const int64_t pair = i / 2 * 2;
    const double r = std::sqrt(-2 * std::log(1 - s.uniform(pair)));
    const double phi = 2 * std::acos(-1.0) * s.uniform(pair + 1);
    CHECK(std::abs(s.normal(i) - r * (i % 2 == 0 ? std::cos(phi) : std::sin(phi))) < 1e-14);
  }
}

TEST_CASE("normal numbers have the moments of the normal distribution", "[kernel]") {
  const RandomStream s{4, 5, 6};
  constexpr int n = 100'000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pairs = 0;
  int beyond_two = 0;
  for (int i = 0; i < n; ++i) {
    const double z = s.normal(i), z2 = z * z;
    REQUIRE(std::isfinite(z));
    m1 += z, m2 += z2, m3 += z2 * z, m4 += z2 * z2, beyond_two += std::abs(z) > 2;
    if (i % 2 == 1) pairs += z * s.normal(i - 1);  // product of a pair's two values
  }
  const double root = std::sqrt(double{n});
  CHECK(std::abs(m1 / n) < 5 * 1 / root);
  CHECK(std::abs(m2 / n - 1) < 5 * std::sqrt(2.0) / root);   // var z² = 3 − 1
  CHECK(std::abs(m3 / n) < 5 * std::sqrt(15.0) / root);      // E z⁶ = 15
  CHECK(std::abs(m4 / n - 3) < 5 * std::sqrt(96.0) / root);  // E z⁸ − 9 = 105 − 9
  CHECK(std::abs(pairs / (n / 2)) < 5 * std::sqrt(2.0) / root);
  const double p = std::erfc(2 / std::sqrt(2.0));
  CHECK(std::abs(beyond_two / double{n} - p) < 5 * std::sqrt(p * (1 - p)) / root);
}

TEST_CASE("below stays in range and is uniform", "[kernel]") {
  const RandomStream s{8, 9, 0};
  constexpr int n = 70'000, k = 7;
  std::array<int, k> counts{};
  for (int i = 0; i < n; ++i) {
    const int64_t x = s.below(i, k);
    REQUIRE((x >= 0 && x < k));
    ++counts[static_cast<std::size_t>(x)];
  }
  const double deviation = std::sqrt(n * (1.0 / k) * (1 - 1.0 / k));  // of a binomial distribution
  for (const int count : counts) CHECK(std::abs(count - double{n} / k) < 5 * deviation);
  for (int i = 0; i < 10; ++i) CHECK(s.below(i, 1) == 0);
  const int64_t most = INT64_MAX;
  for (int i = 0; i < 100; ++i) {
    const int64_t x = s.below(i, most);
    CHECK((x >= 0 && x < most));
  }
  CHECK_THROWS_AS(s.below(0, 0), gradus::ValueError);
  CHECK_THROWS_AS(s.below(0, -3), gradus::ValueError);
}

TEST_CASE("a generator returns a new stream in each call and can be restored", "[kernel]") {
  gradus::Generator g(42);
  g.next();
  const auto seed = g.seed();
  const auto position = g.position();
  CHECK(seed == 42);
  CHECK(position == 1);
  const RandomStream second = g.next(), third = g.next();
  CHECK(second.word(0) != third.word(0));
  gradus::Generator other(7);
  for (gradus::Generator* each : {&g, &other}) {
    each->restore(seed, position);
    CHECK(each->next().word(0) == second.word(0));
    CHECK(each->next().word(0) == third.word(0));
  }
  g.set_rank(3);
  CHECK(g.next().rank == 3);
}

TEST_CASE("a generator throws after its last stream rather than repeating streams") {
  gradus::Generator g(42);
  const auto first = g.next().word(0);
  g.restore(42, UINT32_MAX - 1);
  CHECK(g.next().word(0) != first);
  for (int again = 0; again < 2; ++again) CHECK_REFUSES(gradus::ValueError, g.next(), "seed");
  CHECK(g.position() == UINT32_MAX);
  g.restore(43, 0);
  CHECK_NOTHROW(g.next());
}

TEST_CASE("seed restarts the global generator, and a scope draws from its own", "[kernel]") {
  gradus::seed(11);
  const auto first = gradus::generator().next().word(0);
  gradus::Generator own(99);
  {
    const gradus::GeneratorScope scope(own);
    CHECK(&gradus::generator() == &own);
    {
      gradus::Generator inner(1);
      const gradus::GeneratorScope nested(inner);
      CHECK(&gradus::generator() == &inner);
    }
    gradus::generator().next();
  }
  CHECK(own.position() == 1);
  CHECK(gradus::generator().position() == 1);  // unchanged
  gradus::seed(11);
  CHECK(gradus::generator().next().word(0) == first);
}
