#include "gradus/io/chart.h"

#include <array>
#include <cmath>
#include <limits>

#include "gradus/engine/base/error.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::io {
namespace {

using testing::has;
using Words = std::vector<std::string>;

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
  CHECK_THROWS_AS(round_ticks(-1e308, 1e308, 5), ValueError);    // the difference overflows
  CHECK_THROWS_AS(round_ticks(-5e-324, 5e-324, 5), ValueError);  // a fifth of the range is 0
  CHECK_THROWS_AS(round_ticks(0, 1, 0), ValueError);
  CHECK(round_ticks(1e20, std::nextafter(1e20, 2e20), 5).size() < 20);  // must terminate
}

TEST_CASE("points of a curve match the axes") {
  Chart chart{"loss", "step", "nats", {{"training", {{0, 4}, {5, 2}, {10, 0}}}}, {}};
  const std::string picture = svg(chart);
  // The axes map 0 … 10 to 72 … 776, and 0 … 4 to 394 … 76.
  CHECK(has(picture, "d=\"M72.0 76.0L424.0 235.0L776.0 394.0\""));
  for (const char* words : {">loss</text>", ">step</text>", ">nats</text>", ">training</text>",
                            ">10</text>", ">4</text>", "prefers-color-scheme: dark"})
    CHECK(has(picture, words));
  CHECK(count(picture, "<circle") == 0);
  chart.curves[0].dots = true;
  chart.mark = {5, 2, "here"};
  CHECK(count(svg(chart), "<circle") == 5);  // three points, the legend and the mark
  CHECK(has(svg(chart), "\"start\">here</text>"));
  chart.mark->text =
      "here, where a text as long as this would end outside of the picture, on the right";
  CHECK(has(svg(chart), "\"end\">here, where"));
}

TEST_CASE("a curve of many points is drawn as a mean over a band") {
  Curve many{"many", {}};
  for (int i = 0; i <= 100'000; ++i) many.points.emplace_back(i, i % 2 ? 1.0 : 3.0);
  const std::string picture = svg({"", "", "", {many}, {}});
  CHECK(count(picture, "class=\"band c0\"") == 1);
  CHECK(picture.size() < 40'000);
  // The mean is 2, in the middle of the band from 1 to 3.
  const std::string line = picture.substr(picture.find("class=\"line c0\" d=\"M7", 0));
  CHECK(has(picture, " 235.0"));
  CHECK(has(picture, " 76.0"));
  CHECK(has(picture, " 394.0"));
}

TEST_CASE("no point, one point, a flat line, NaN and infinity give valid charts") {
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

std::vector<Chart> gallery() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Curve band{"a band", {}}, dotted{"60 dots", {}, true};
  for (int i = 0; i < 353; ++i) band.points.emplace_back(i, i % 16 * (i % 2 ? 1.0 : -0.25));
  for (int i = 0; i < 60; ++i) dotted.points.emplace_back(i, i % 4);
  const Curve few{"few", {{0, 4}, {5, 2}, {10, 0}}, true};
  const std::string long_words(80, 'w');
  return {{"loss", "step", "nats", {few, {"second", {{1, nan}, {2, 1}, {4, 3}}}}, {{5, 2, "here"}}},
          {"many", "x", "y", {few, few, few, few, few, few, few}, {{10, 0, long_words}}},
          {"band", "x", "y", {band, dotted}, {{0, 15, long_words}}},
          {"small", "x", "y", {{"small", {{0, 1e-7}, {3e-5, 4e-7}}}}, {{0, 1e-7, ""}}},
          {"large", "x", "y", {{"large", {{-2e6, -3e9}, {1e6, 9e9}}}}, {}},
          {"flat below", "x", "y", {{"flat", {{0, -7}, {1, -7}}}}, {{0.5, -7, "there"}}},
          {"zero", "x", "y", {{"zero", {{0, 0}, {0, 0}}}}, {}},
          {"nothing finite", "x", "y", {{"none", {{INFINITY, 1}, {2, nan}, {nan, nan}}}}, {}},
          {"empty", "x", "y", {}, {}}};
}

bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = xml.find('<', at)) != xml.npos;) {
    const std::size_t end = xml.find('>', at);
    if (end == xml.npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != name) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

TEST_CASE("every chart is a well-formed SVG without NaN, with each title, label and curve name") {
  for (const Chart& chart : gallery()) {
    const std::string picture = svg(chart);
    INFO(chart.title << "\n" << picture);
    CHECK(well_formed(picture));
    CHECK_FALSE(has(picture, "nan"));
    CHECK_FALSE(has(picture, "inf,"));
    CHECK(has(picture, "<title>" + chart.title + "</title>"));
    for (const Curve& curve : chart.curves) CHECK(has(picture, ">" + curve.name + "</text>"));
  }
}

TEST_CASE("text in charts is escaped") {
  const std::string picture = svg({"<a & \"b\">\x01\xff", "", "", {}, {}});
  CHECK(has(picture, "<title>&lt;a &amp; &quot;b&quot;&gt;\xEF\xBF\xBD</title>"));
}

TEST_CASE("tick labels have enough digits to differ") {
  const auto across = [](double from, double to) {
    return svg({"", "<x>", "", {{"", {{from, 0}, {to, 1}}}}, {}});
  };
  CHECK(has(across(0, 10), ">&lt;x&gt;</text>"));
  const std::vector<std::pair<std::array<double, 2>, Words>> cases = {
      {{0.1, 0.8}, {">0.1<", ">0.2<", ">0.8<"}},  // in f64, 0.2 − 0.1 differs from 0.1
      {{100.1, 100.8}, {">100.1<", ">100.2<", ">100.8<"}},
      {{0.7, 1.4}, {">0.7<", ">0.8<", ">1.4<"}},
      {{-1, 1}, {">-1.0<", ">0.0<", ">1.0<"}},
      {{0, 8e-5}, {">0.00000<", ">0.00001<", ">0.00008<"}},
      {{0, 8e-6}, {">0<", ">1e-06<", ">8e-06<"}},
      {{0.001, 0.001016}, {">0.001<", ">0.00101<", ">0.00102<"}},
      {{2e6, 2.08e6}, {">2e+06<", ">2.01e+06<", ">2.08e+06<"}}};
  for (const auto& [ends, expected] : cases)
    for (const std::string& each : expected) {
      INFO(ends[0] << " to " << ends[1] << ": " << each);
      CHECK(has(across(ends[0], ends[1]), each));
    }
}

}  // namespace
}  // namespace gradus::io
