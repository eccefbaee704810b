#include "gradus/engine/base/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gradus/tests/support/catch.h"

namespace gradus::test_json {
namespace {

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::string out = "|";
  append_json(out, parts...);
  return out.substr(1);
}

TEST_CASE("JSON strings equal those of another writer and read back unchanged") {
  for (int code = 0; code < 128; ++code) {
    const std::string x = std::string("a") + static_cast<char>(code) + "b";
    CHECK(text_of(std::string_view(x)) == nlohmann::json(x).dump());
    const std::string html = text_of(std::string_view(x), JsonEscape::for_html);
    CHECK(nlohmann::json::parse(html) == x);
    CHECK(html.find_first_of("<>&\n") == std::string::npos);
  }
  CHECK(text_of(std::string_view("é\n\x1f<")) == "\"é\\n\\u001f<\"");
  CHECK(text_of(std::string_view("é\n\x1f<"), JsonEscape::for_html) ==
        "\"é\\u000a\\u001f\\u003c\"");
}

TEST_CASE("JSON numbers have the fewest digits that read back, and NaN and infinity are null") {
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(-2.5e-300) == "-2.5e-300");
  CHECK(text_of(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(text_of(std::nan("")) == "null");
  CHECK(text_of(-INFINITY * 1.0) == "null");
  CHECK(text_of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

}  // namespace
}  // namespace gradus::test_json
