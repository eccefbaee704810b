#include "gradus/engine/base/number_text.h"

#include <cmath>
#include <limits>
#include <string>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/random.h"
#include "gradus/tests/support/catch.h"

using gradus::append_shortest, gradus::parse_double;

namespace {

template <class T>
std::string text_of(T value) {
  std::string out;
  append_shortest(out, value);
  return out;
}

}  // namespace

TEST_CASE("numbers: the shortest text reads back as the same value") {
  gradus::Generator random(5);
  const gradus::RandomStream bits = random.next();
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const auto value =
        gradus::bit_cast<double>(std::uint64_t{bits.word(2 * i)} << 32U | bits.word(2 * i + 1));
    if (!std::isfinite(value)) continue;
    CAPTURE(value);
    CHECK(parse_double(text_of(value)) == value);
    const auto narrow = static_cast<float>(value);
    if (std::isfinite(narrow)) CHECK(static_cast<float>(*parse_double(text_of(narrow))) == narrow);
  }
  for (const double value : {0.1, 1.0, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 123456789.0}) {
    CHECK(parse_double(text_of(value)) == value);
    CHECK(text_of(value).size() <= 24);
  }
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(0.1F) == "0.1");
  CHECK(std::signbit(*parse_double(text_of(-0.0))));
}

TEST_CASE("numbers: only a number that fills the entire text and fits in a double is parsed") {
  CHECK(parse_double("-1.5e3") == -1500.0);
  CHECK(parse_double(".5") == 0.5);
  CHECK(parse_double("0e99999") == 0.0);
  CHECK(parse_double("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(parse_double("nan").value_or(0)));
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "1,5", "1e", "--1", "e5", "1e400",
                           "1e-400", "-1e400", "one", "1.2.3"}) {
    CAPTURE(text);
    CHECK(parse_double(text) == std::nullopt);
  }
}
