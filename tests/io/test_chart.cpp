// Charts: round ticks, points where they belong, nothing from outside left unescaped.
#include "gradus/io/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/base/error.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/golden.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::io {
namespace {

using testing::has;

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_CASE("ticks are round and enclose the range") {
  CHECK(round_ticks(0, 4, 4) == std::vector<double>{0, 1, 2, 3, 4});
  CHECK(round_ticks(0.1, 1.3, 3) == std::vector<double>{0, 0.5, 1, 1.5});
  CHECK(round_ticks(-3, 12, 3) == std::vector<double>{-5, 0, 5, 10, 15});
  for (const double scale : {1e-12, 1e-3, 1.0, 1e9})
    for (const double high : {1.0001, 1.7, 3.3, 9.99}) {
      const std::vector<double> ticks = round_ticks(scale, scale * high, 6);
      CHECK(ticks.front() <= scale * (1 + 1e-9));
      CHECK(ticks.back() >= scale * high * (1 - 1e-9));
      CHECK(ticks.size() >= 4);
      CHECK(ticks.size() <= 12);
    }
  CHECK_THROWS_AS(round_ticks(1, 1, 5), ValueError);
  CHECK_THROWS_AS(round_ticks(2, 1, 5), ValueError);
  CHECK_THROWS_AS(round_ticks(0, INFINITY, 5), ValueError);
  CHECK_THROWS_AS(round_ticks(-1e308, 1e308, 5), ValueError);  // their difference is infinite
  CHECK_THROWS_AS(round_ticks(0, 1, 0), ValueError);
  CHECK(round_ticks(1e20, std::nextafter(1e20, 2e20), 5).size() < 20);  // ends
}

TEST_CASE("a curve's points stand where the axes say") {
  Chart chart{"loss", "step", "nats", {{"training", {{0, 4}, {5, 2}, {10, 0}}}}, {}};
  const std::string picture = svg(chart);
  // 0 to 10 spans 72 to 776 across, 0 to 4 spans 394 to 76 up
  CHECK(has(picture, "d=\"M72.0 76.0L424.0 235.0L776.0 394.0\""));
  for (const char* words : {">loss</text>", ">step</text>", ">nats</text>", ">training</text>",
                            ">10</text>", ">4</text>", "prefers-color-scheme: dark"})
    CHECK(has(picture, words));
  CHECK(count(picture, "<circle") == 0);
  chart.curves[0].dots = true;
  chart.mark = {5, 2, "here"};
  CHECK(count(svg(chart), "<circle") == 5);  // three points, one in the legend, the mark
  CHECK(has(svg(chart), "\"start\">here</text>"));
  chart.mark->text =
      "here, where a text as long as this would end outside of the picture, on the right";
  CHECK(has(svg(chart), "\"end\">here, where"));
}

TEST_CASE("a curve of many points is a mean over a band") {
  Curve many{"many", {}};
  for (int i = 0; i <= 100'000; ++i) many.points.emplace_back(i, i % 2 ? 1.0 : 3.0);
  const std::string picture = svg({"", "", "", {many}, {}});
  CHECK(count(picture, "class=\"band c0\"") == 1);
  CHECK(picture.size() < 40'000);
  // the line runs in the middle, at 2 of 1 to 3, the band from end to end
  const std::string line = picture.substr(picture.find("class=\"line c0\" d=\"M7", 0));
  CHECK(has(picture, " 235.0"));
  CHECK(has(picture, " 76.0"));
  CHECK(has(picture, " 394.0"));
}

TEST_CASE("no point, one point, a flat line, NaN and infinity are pictures too") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(has(svg({}), "</svg>"));
  CHECK(count(svg({"", "", "", {{"one", {{3, 2}}}}, {}}), "<circle") == 1);
  const std::string flat = svg({"", "", "", {{"flat", {{0, 7}, {1, 7}}}}, {}});
  CHECK(has(flat, "M72.0 235.0L776.0 235.0"));
  const std::string odd =
      svg({"", "", "", {{"odd", {{0, 0}, {1, nan}, {2, INFINITY}, {3, 3}}}}, {}});
  CHECK_FALSE(has(odd, "nan"));
  CHECK_FALSE(has(odd, "inf"));
  CHECK(has(odd, "M72.0 394.0L776.0 76.0"));
}

/// A picture of each kind: curves with dots and without, more than there are colours, a band, marks
/// in each corner, ticks of every size.
std::string gallery() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Curve band{"a band", {}}, full{"as many as columns", {}}, dotted{"60 dots", {}, true};
  for (int i = 0; i < 353; ++i) band.points.emplace_back(i, i % 16 * (i % 2 ? 1.0 : -0.25));
  for (int i = 0; i < 352; ++i) full.points.emplace_back(i, i % 8 - 4.0);
  for (int i = 0; i < 60; ++i) dotted.points.emplace_back(i, i % 4);
  Curve crowded = dotted;
  crowded.points.emplace_back(60, 0);
  const Curve few{"few", {{0, 4}, {5, 2}, {10, 0}}, true};
  const std::string long_words =
      "words that would end outside of the picture, on the right of a point that is there";
  const std::vector<Chart> all = {
      {"loss", "step", "nats", {few, {"second", {{1, nan}, {2, 1}, {4, 3}}}}, {{5, 2, "here"}}},
      {"many", "x", "y", {few, few, few, few, few}, {{10, 0, long_words}}},
      {"band", "x", "y", {band, dotted}, {{0, 15, long_words}}},
      {"full", "x", "y", {full, crowded}, {{351, 3, "ö"}}},
      {"one", "x", "y", {{"one", {{3, 2}}}}, {}},
      {"flat", "x", "y", {{"flat", {{0, 7}, {1, 7}}}}, {}},
      {"small", "x", "y", {{"small", {{0, 1e-7}, {3e-5, 4e-7}}}}, {{0, 1e-7, ""}}},
      {"large", "x", "y", {{"large", {{-2e6, -3e9}, {1e6, 9e9}}}}, {}},
      {"hundreds", "x", "y", {{"hundreds", {{0.5, -250}, {0.75, 500}}}}, {}},
      {"flat below", "x", "y", {{"flat", {{0, -7}, {1, -7}}}}, {{0.5, -7, "there"}}},
      {"zero", "x", "y", {{"zero", {{0, 0}, {0, 0}}}}, {}},
      {"nearly flat", "x", "y", {{"level", {{0, 1000}, {1, 1000.5}}}}, {}},
      {"a million", "x", "y", {{"below", {{-9e5, -9e5}, {1, 999999}}}}, {{1, 999999, "high"}}},
      {"beyond a million", "x", "y", {{"beyond", {{-1.1e6, 0}, {1, 1000001}}}}, {}},
      {"five digits", "x", "y", {{"tiny", {{0, 1e-4}, {4e-5, 5e-4}}}}, {{4e-5, 1e-4, "low"}}},
      {"six digits", "x", "y", {{"tinier", {{0, 0}, {8e-6, 4e-6}}}}, {}},
      {"nothing finite", "x", "y", {{"none", {{INFINITY, 1}, {2, nan}, {nan, nan}}}}, {}},
      {"empty", "x", "y", {}, {}}};
  std::string pictures;
  for (const Chart& chart : all) {
    const std::string whole = svg(chart);
    const std::size_t style = whole.find("<style>"), end = whole.find("</style>\n");
    pictures += whole.substr(0, style) + whole.substr(end + 9);
  }
  return pictures;
}

TEST_CASE("pictures are those of golden/charts.svg, to the byte") {
  testing::check_golden("charts.svg", gallery());
}

TEST_CASE("words from outside are escaped") {
  const std::string picture = svg({"<a & \"b\">\x01\xff", "", "", {}, {}});
  CHECK(has(picture, "<title>&lt;a &amp; &quot;b&quot;&gt;\xEF\xBF\xBD</title>"));
}

}  // namespace
}  // namespace gradus::io
