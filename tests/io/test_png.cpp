// PNG by its own rules, letters of dots, attention maps as PNG.
#include <algorithm>

#include "gradus/io/attention_map.h"
#include "gradus/io/bitmap_font.h"
#include "gradus/io/crc32.h"
#include "gradus/io/png.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing {
namespace {

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

struct Place {
  std::size_t x, y;
};
/// The first pixel, from the upper left, of this colour.
Place first_of(const std::vector<std::string>& rows, char colour) {
  for (std::size_t y = 0; y < rows.size(); ++y)
    if (const std::size_t x = rows[y].find(colour); x != std::string::npos) return {x, y};
  FAIL("no pixel of colour " << int(colour));
  return {};
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

TEST_CASE("a PNG's cells are an SVG's") {
  const io::AttentionMap map{"block 0, head 1",
                             from(std::vector<double>{1, 0, 0, 0.25, 0.75, 0}, {2, 3}),
                             {"the", " cat"},
                             {"the", " cat", "."}};
  const std::vector<std::string> rows = rows_of(io::png(map));
  const auto [left, top] = first_of(rows, 63);  // the cell of the largest weight
  CHECK(rows[top - 1].substr(left - 1, 3 * 32 + 2) == std::string(3 * 32 + 2, 65));  // the frame
  CHECK(rows[top + 64].substr(left - 1, 3 * 32 + 2) == std::string(3 * 32 + 2, 65));
  CHECK(rows[top + 31].substr(left, 64) == std::string(32, 63) + std::string(32, 0));
  CHECK(rows[top + 63].substr(left, 32) == std::string(32, 16));  // 0.25 · 63
  CHECK(rows[top + 63].substr(left + 32, 32) == std::string(32, 47));

  Tensor weights = zeros({300, 200});  // 100 cells a side, of 6 pixels
  weights.mutable_data<float>()[297 * 200 + 198] = 0.5f;
  const std::vector<std::string> queries(300, "q"), keys(200, "k");
  const std::vector<std::string> of_many = rows_of(io::png({"long", weights, queries, keys}));
  const auto frame = std::find_if(of_many.begin(), of_many.end(), [](const std::string& row) {
    return row.find(std::string(602, 65)) != row.npos;
  });
  REQUIRE(frame != of_many.end());
  CHECK(frame[600].substr(frame->find(std::string(602, 65)) + 595, 7) ==
        std::string(6, 63) + std::string(1, 65));
}

TEST_CASE("letters of dots: at their place, turned, scaled, and a box for what has none") {
  const auto drawn = [](std::string_view words, std::int64_t x, std::int64_t y, std::int64_t scale,
                        io::Writing writing) {
    io::Picture picture{8, 9, std::vector<std::uint8_t>(72, '.'), {}};
    io::draw_text(picture, x, y, words, '#', scale, writing);
    std::vector<std::string> rows;
    for (auto row = picture.pixels.begin(); row != picture.pixels.end(); row += 8)
      rows.emplace_back(row, row + 8);
    return rows;
  };
  using Rows = std::vector<std::string>;
  CHECK(drawn("g", 1, 1, 1, io::Writing::rightwards) == Rows{"........", "........", "........",
                                                             "..####..", ".#...#..", ".#...#..",
                                                             "..####..", ".....#..", "..###..."});
  CHECK(drawn("L'", 0, 8, 1, io::Writing::upwards) ==  // of ' one column is within
        Rows{"###.....", "........", "........", "........", "......#.", "......#.", "......#.",
             "......#.", "#######."});
  CHECK(drawn("'", -4, 0, 2, io::Writing::rightwards) == Rows{"##......", "##......", "##......",
                                                              "##......", "##......", "##......",
                                                              "........", "........", "........"});
  const Rows box{".#####..", ".#...#..", ".#...#..", ".#...#..", ".#...#..",
                 ".#...#..", ".#####..", "........", "........"};
  for (const char* other : {"日", "é", "🙂", "\x01", "\xFF", "\x7F"})
    CHECK(drawn(other, 1, 0, 1, io::Writing::rightwards) == box);
  CHECK(drawn("é", 7, 0, 1, io::Writing::rightwards)[1] == ".......#");
  for (const char* own : {"␣", "↵", "⇥", "·", "…", "~", "!", "0"})
    CHECK(drawn(own, 1, 0, 1, io::Writing::rightwards) != box);
}

TEST_CASE("each letter of dots is another picture") {
  std::vector<std::vector<std::uint8_t>> seen;
  for (char32_t c = ' '; c <= 127; ++c) {  // 127 is the box
    io::Picture picture{6, 8, std::vector<std::uint8_t>(48), {}};
    io::draw_text(picture, 0, 0, io::encode_utf8(c), 1);
    CHECK(std::count(picture.pixels.begin(), picture.pixels.end(), 1) >= (c == ' ' ? 0 : 3));
    CHECK(std::find(seen.begin(), seen.end(), picture.pixels) == seen.end());
    seen.push_back(picture.pixels);
  }
}

TEST_CASE("a PNG has its tokens: queries beside their rows, keys above, long ones cut") {
  const io::AttentionMap map{"block 0, head 1",
                             from(std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}),
                             {"L", "a rather long token, this", "日"},
                             {"L", "\n", "LLLLLLLLLLLLLLLLLLLL"}};
  const std::vector<std::string> rows = rows_of(io::png(map));
  const Place cells = first_of(rows, 63);
  const auto is_ink = [&](std::int64_t x, std::int64_t y) {
    return rows[cells.y + static_cast<std::size_t>(y)][cells.x + static_cast<std::size_t>(x)] == 64;
  };
  // Letters of scale 2: 12 pixels wide, the last one 4 from the cells; 9 pixels below a cell's top.
  const auto lines_of_ink = [&](std::int64_t x, std::int64_t y, bool upwards) {
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < 7; ++i) {
      out.emplace_back();
      for (std::int64_t k = 0; k < 5; ++k)
        out.back() +=
            is_ink(upwards ? x + 2 * i : x + 2 * k, upwards ? y - 2 * k : y + 2 * i) ? '#' : '.';
    }
    return out;
  };
  const std::vector<std::string> letter_l{"#....", "#....", "#....", "#....",
                                          "#....", "#....", "#####"};
  CHECK(lines_of_ink(-4 - 12, 9, false) == letter_l);
  CHECK(lines_of_ink(9, -5, true) == letter_l);
  CHECK(lines_of_ink(-4 - 12, 64 + 9, false) ==
        std::vector<std::string>{"#####", "#...#", "#...#", "#...#", "#...#", "#...#", "#####"});
  // "a rather long…" is 14 letters, of which 13 and three dots are seen
  const std::vector<std::string> dots{".....", ".....", ".....", ".....",
                                      ".....", ".....", "#.#.#"};
  CHECK(lines_of_ink(-4 - 12, 32 + 9, false) == dots);
  CHECK(lines_of_ink(64 + 9, -5 - 13 * 12, true) == dots);
  CHECK(lines_of_ink(64 + 9, -5 - 12 * 12, true) == letter_l);
  for (std::int64_t y = -10 - 14 * 12 + 1; y < -5 - 14 * 12; ++y)
    for (std::int64_t x = 64; x < 96; ++x) CHECK_FALSE(is_ink(x, y));
}

TEST_CASE("64 tokens have room in a PNG; of 200 every so many") {
  const auto ink_left_of_cells = [](std::int64_t n) {
    Tensor weights = zeros({n, n});
    weights.mutable_data<float>()[0] = 1;
    std::vector<std::string> words(static_cast<std::size_t>(n), "L");
    if (n == 200)  // those that are shown
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = i % 4 == 0 ? "L" : "o";
    const std::vector<std::string> rows = rows_of(io::png({"", weights, words, words}));
    const auto [left, top] = first_of(rows, 63);
    std::int64_t letters = 0;  // by their feet, five dots
    for (std::size_t y = top; y < rows.size(); ++y)
      letters += rows[y].substr(left - 4 - 6, 5) == std::string(5, 64);
    return letters;
  };
  CHECK(ink_left_of_cells(64) == 64);
  CHECK(ink_left_of_cells(71) == 71);   // cells of 9 pixels
  CHECK(ink_left_of_cells(128) == 64);  // of 5
  CHECK(ink_left_of_cells(200) == 50);  // 100 cells of 6, each two weights
}

}  // namespace gradus::testing
