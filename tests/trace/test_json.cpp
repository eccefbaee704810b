// Tests JSON output.
#include "gradus/trace/json.h"

#include <cmath>
#include <limits>

#include "gradus/tests/trace/tape.h"

namespace gradus::trace {
namespace {

template <class T>
std::string text_of(const T& x) {
  std::string out = "|";
  put(out, x);
  return out.substr(1);
}

TEST_CASE("base64 follows RFC 4648") {
  const char* known[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  const std::string word = "foobar";
  for (std::size_t n = 0; n <= word.size(); ++n) CHECK(base64(word.substr(0, n)) == known[n]);
  std::string bytes;
  for (int i = 0; i < 700; ++i) bytes += static_cast<char>(i * 89 + i / 3);
  for (std::size_t n = 0; n <= bytes.size(); n += 7) {
    const std::string text = base64(bytes.substr(0, n));
    CHECK(text.size() == (n + 2) / 3 * 4);
    CHECK(testing::ReadTape::decoded(text) == bytes.substr(0, n));
  }
  for (std::size_t n = 0; n < 20; ++n)  // later bytes must not affect the output
    CHECK(base64(std::string_view(bytes).substr(0, n)) == base64(bytes.substr(0, n)));
}

TEST_CASE("every character can be read back, and none ends an HTML element") {
  for (int code = 0; code < 128; ++code) {
    const std::string x = std::string("a") + static_cast<char>(code) + "b", text = text_of(x);
    CHECK(testing::Json::parse(text) == x);
    CHECK(text.find_first_of("<>&\n") == text.npos);
    const bool plain =
        code >= 32 && std::string("<>&\"\\").find(static_cast<char>(code)) == std::string::npos;
    CHECK((text == "\"" + x + "\"") == plain);
  }
  CHECK(text_of("é\xff") == "\"é\xEF\xBF\xBD\"");
  CHECK(text_of(std::string("<\x1f\n")) == "\"\\u003c\\u001f\\u000a\"");
  CHECK(text_of("\"\\") == "\"\\\"\\\\\"");
}

TEST_CASE("numbers have the shortest form that reads back, and NaN and infinity are strings") {
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(-2.5e-300) == "-2.5e-300");
  CHECK(text_of(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(text_of(INFINITY * 1.0) == "\"inf\"");
  CHECK(text_of(-INFINITY * 1.0) == "\"-inf\"");
  CHECK(text_of(std::nan("")) == "\"nan\"");
  CHECK(text_of(Id{0}) == "0");
  CHECK(text_of(Id{7}) == "7");
  CHECK(text_of(kNone) == "null");
  CHECK(text_of(std::numeric_limits<Id>::max()) == "9223372036854775807");
  CHECK(text_of(true) + text_of(false) == "truefalse");
}

TEST_CASE("lists, maps, objects and tables are written as JSON") {
  CHECK(text_of(std::vector<Id>{}) == "[]");
  CHECK(text_of(std::vector<Id>{3}) == "[3]");
  CHECK(text_of(std::vector<std::vector<Id>>{{1, kNone}, {}}) == "[[1,null],[]]");
  CHECK(text_of(std::map<std::string, Id>{}) == "{}");
  CHECK(text_of(std::map<std::string, std::string>{{"b", "x"}, {"a", "<"}}) ==
        "{\"a\":\"\\u003c\",\"b\":\"x\"}");
  CHECK(object("a", Id{1}).text == "{\"a\":1}");
  CHECK(object("a", Json{"[]"}, "b", true, "c", "x").text == "{\"a\":[],\"b\":true,\"c\":\"x\"}");
  JsonTable table({"a", "b", "c"});
  CHECK(table.json().text == "{\"columns\":[\"a\",\"b\",\"c\"],\"rows\":[]}");
  CHECK(table.add(Id{1}, kNone, Id{2}) == 0);
  CHECK(table.bytes() == 10);
  CHECK(table.add(Id{1}, kNone, kNone) == 1);
  CHECK(table.add(kNone, "null", kNone) == 2);
  CHECK(table.add(kNone, kNone, kNone) == 3);
  CHECK(table.size() == 4);
  CHECK(table.json().text ==
        "{\"columns\":[\"a\",\"b\",\"c\"],\"rows\":[[1,null,2],\n[1],\n[null,\"null\"],\n[null]]}");
}

}  // namespace
}  // namespace gradus::trace
