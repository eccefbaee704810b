// Attention maps: colours, labels from outside, PNG by its own rules, one page for all heads.
#include <cmath>
#include <limits>

#include "gradus/io/attention_map.h"
#include "gradus/io/crc32.h"
#include "gradus/io/markup.h"
#include "gradus/io/png.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::uint32_t number(const std::string& bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

/// The rows of pixels in a PNG, read by the format's rules: lengths, checksums, stored blocks.
std::vector<std::string> rows_of(const std::string& file) {
  REQUIRE(file.substr(0, 8) == "\x89PNG\r\n\x1A\n");
  std::string zlib;
  std::size_t width = 0;
  for (std::size_t at = 8; at < file.size();) {
    const std::uint32_t n = number(file, at);
    const std::string type = file.substr(at + 4, 4);
    CHECK(number(file, at + 8 + n) == io::crc32(file.data() + at + 4, n + 4));
    if (type == "IHDR") width = number(file, at + 8);
    if (type == "IDAT") zlib = file.substr(at + 8, n);
    at += 12 + n;
  }
  CHECK(number(zlib, 0) >> 16 == 0x7801);
  CHECK((number(zlib, 0) >> 16) % 31 == 0);
  std::string raw;
  for (std::size_t at = 2; at + 4 < zlib.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(zlib[at + i]); };
    const std::size_t n = byte(1) + 256u * byte(2);
    const bool last = byte(0) == 1;
    CHECK(n + byte(3) + 256u * byte(4) == 65535);
    raw += zlib.substr(at + 5, n);
    at += 5 + n;
    CHECK(last == (at + 4 == zlib.size()));
  }
  std::uint32_t a = 1, b = 0;
  for (const char c : raw) a = (a + static_cast<unsigned char>(c)) % 65521, b = (b + a) % 65521;
  CHECK(number(zlib, zlib.size() - 4) == (b << 16 | a));
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < raw.size(); at += width + 1) {
    CHECK(raw[at] == 0);
    rows.push_back(raw.substr(at + 1, width));
  }
  return rows;
}

io::AttentionMap small_map() {
  return {"block 0, head 1",
          from(std::vector<double>{1, 0, 0, 0.25, 0.75, 0}, {2, 3}),
          {"the", " cat"},
          {"the", " cat", "."}};
}

}  // namespace

TEST_CASE("crc32 is that of zip and PNG, in one piece and in several") {
  CHECK(io::crc32("123456789", 9) == 0xCBF43926u);
  CHECK(io::crc32("6789", 4, io::crc32("12345", 5)) == 0xCBF43926u);
  CHECK(io::crc32("", 0) == 0);
}

TEST_CASE("png: pixels by palette, of any size") {
  const io::Picture picture{3, 2, {0, 1, 2, 2, 1, 0}, {{255, 255, 255}, {1, 2, 3}, {0, 0, 9}}};
  const std::string file = io::png(picture);
  const std::vector<std::string> rows = rows_of(file);
  CHECK(rows == std::vector<std::string>{std::string("\0\1\2", 3), std::string("\2\1\0", 3)});
  CHECK(contains(file, std::string("PLTE\xFF\xFF\xFF\x01\x02\x03\x00\x00\x09", 13)));
  const io::Picture large{400, 300, std::vector<std::uint8_t>(120000, 1), {{}, {}}};
  CHECK(rows_of(io::png(large)).size() == 300);  // two stored blocks
  CHECK_THROWS_AS(io::png({3, 2, {0}, {{}}}), ValueError);
  CHECK_THROWS_AS(io::png({0, 2, {}, {{}}}), ValueError);
  CHECK_THROWS_AS(io::png({1, 1, {0}, {}}), ValueError);
  CHECK_THROWS_AS(io::png({1, 1, {1}, {{}}}), ValueError);
}

TEST_CASE("a map's cells go from white to dark blue, by the largest weight") {
  const std::string drawn = io::svg(small_map());
  CHECK(contains(drawn, "<title>block 0, head 1</title>"));
  CHECK(count(drawn, "<path") == 3);  // 1, 0.75, 0.25; 0 is the paper
  CHECK(contains(drawn, "<path fill=\"#08306b\" d=\"M0 0h1v1h-1z\"/>"));
  CHECK(contains(drawn, "d=\"M1 1h1v1h-1z\"/>"));
  CHECK(contains(drawn, ">1.000</text>"));
  CHECK(contains(drawn, ">␣cat</text>"));
  const std::vector<std::string> rows = rows_of(io::png(small_map()));
  CHECK(rows.size() == 2 * 32);
  CHECK(rows[0].size() == 3 * 32);
  CHECK(rows[0][0] == 63);
  CHECK(rows[0][40] == 0);
  CHECK(rows[63][0] == 16);  // 0.25 · 63
  CHECK(rows[63][40] == 47);
}

TEST_CASE("labels come from outside and stay labels") {
  CHECK(io::label("a\nb\t\x01\x7F") == "a↵b⇥␁␡");
  CHECK(io::label(" the") == "␣the");
  CHECK(io::label("a rather long token, this") == "a␣rather␣long…");
  CHECK(io::label("日本語日本語日本語") == "日本語日本語…");
  CHECK(io::label("\xFF") == "\xEF\xBF\xBD");
  CHECK(io::label("<&>\"'") == "<&>\"'");
  CHECK(io::columns_of("a日🙂") == 5);
  CHECK(io::base64("") == "");
  CHECK(io::base64("f") == "Zg==");
  CHECK(io::base64("fo") == "Zm8=");
  CHECK(io::base64("foobar") == "Zm9vYmFy");

  io::AttentionMap map = small_map();
  map.title = "<script> & \"more\"";
  map.keys = {"</text>", "\"&\"", "\n"};
  const std::string drawn = io::svg(map);
  CHECK(contains(drawn, "&lt;script&gt; &amp; &quot;more&quot;"));
  CHECK(contains(drawn, ">&lt;/text&gt;</text>"));
  CHECK(contains(drawn, ">&quot;&amp;&quot;</text>"));
  CHECK(contains(drawn, ">↵</text>"));
  const std::string page =
      io::attention_page(map.title, {{"layer </script>", reshape(map.weights, {1, 2, 3})}},
                         map.queries, {"</script>", "\"\\", "\n"});
  CHECK(count(page, "</script>") == 2);  // the page's own
  CHECK(contains(page, "K = [\"\\u003c/script>\", \"\\\"\\\\\", \"↵\"]"));
  CHECK_FALSE(contains(page, "http"));
}

TEST_CASE("long sequences are drawn in at most 128 cells a side, by the largest of several") {
  Tensor weights = zeros({300, 200});
  weights.mutable_data<float>()[297 * 200 + 198] = 0.5f;
  const std::vector<std::string> queries(300, "q"), keys(200, "k");
  const std::string drawn = io::svg({"long", weights, queries, keys});
  CHECK(contains(drawn, "d=\"M99 99h1v1h-1z\"/>"));
  CHECK(count(drawn, "<path") == 1);
  CHECK(count(drawn, "<text") < 100);  // labels that have room
  const std::vector<std::string> rows = rows_of(io::png({"long", weights, queries, keys}));
  CHECK(rows.back().back() == 63);
  CHECK(drawn.size() < 30'000);
}

TEST_CASE("a page has every head of every layer") {
  seed(3);
  const Tensor weights = softmax(randn({2, 3, 4, 5}), -1);  // B 2, H 3, T 4, S 5
  const std::vector<std::string> q(4, "q"), k(5, "k");
  const std::string page = io::attention_page("all", {{"one", weights}, {"two", weights}}, q, k, 1);
  CHECK(count(page, "largest: ") == 6);
  CHECK(page != io::attention_page("all", {{"one", weights}, {"two", weights}}, q, k, 0));
  // 16 bits of the largest: 4 · 5 · 2 bytes in base64
  const std::size_t at = page.find("data: \"") + 7;
  CHECK(page.find('"', at) - at == 56);

  const io::AttentionMap head = io::head_of({"one", weights}, 2, q, k, 1);
  CHECK(head.title == "one, head 2");
  CHECK(same(head.weights.contiguous(), select(select(weights, 0, 1), 0, 2).contiguous()));
}

TEST_CASE("a map says what is wrong") {
  const auto fault = [](auto change) {
    io::AttentionMap map = small_map();
    change(map);
    return message_of<Error>([&] { io::svg(map); });
  };
  CHECK(contains(fault([](auto& m) { m.weights = ones({2}); }), "wants weights [T, S], not [2]"));
  CHECK(contains(fault([](auto& m) { m.weights = ones({0, 3}); }), "[0, 3] is empty"));
  CHECK(contains(fault([](auto& m) { m.keys.pop_back(); }),
                 "2 and 2 labels for weights [2, 3]: a label for each query and each key"));
  CHECK(contains(fault([](auto& m) { m.weights = m.weights * -1.0; }), "a weight of -1"));
  CHECK(contains(fault([](auto& m) { m.weights = m.weights / 0.0; }), "must be finite"));
  const Tensor w = ones({3, 2, 2});
  const std::vector<std::string> two = {"a", "b"};
  CHECK(contains(message_of<IndexError>([&] {
                   io::head_of({"one", w}, 3, two, two);
                 }),
                 "layer one has no head 3: there are 3"));
  CHECK(contains(message_of<IndexError>([&] {
                   io::head_of({"one", ones({1, 3, 2, 2})}, 0, two, two, 1);
                 }),
                 "there is no example 1: the weights are [1, 3, 2, 2]"));
  CHECK(contains(message_of<ShapeError>([&] {
                   io::head_of({"one", ones({2, 2})}, 0, two, two);
                 }),
                 "wants weights [H, T, S] or [B, H, T, S], not [2, 2]"));
  CHECK(contains(message_of<ShapeError>([&] {
                   io::attention_page("x", {{"one", ones({2, 2})}}, two, two);
                 }),
                 "layer one: wants weights"));
  CHECK_THROWS_AS(io::attention_page("x", {}, two, two), ValueError);
}

}  // namespace gradus::testing
