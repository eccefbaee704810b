// A report names the function, the input, the element, the cause and the call that repeats it; as
// text, JSON and JUnit's XML.
#include "gradus/check/raw/junit.h"
#include "gradus/check/raw/smallest.h"

#include <cstdlib>
#include <sstream>

#include <nlohmann/json.hpp>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"
#include "gradus/tests/support/environment.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes, testing::says;

/// b[2,3] is wrong, by out[1,3] only.
Report one_element() {
  Options options;
  options.output_shape = {2, 5};
  return run_spoiled(
      matmul(2, 3, 5),
      [](Arguments& dx, const Arguments& in, const Values& dy) {
        dx[1][2 * 5 + 3] += 0.25 * in[0][1 * 3 + 2] * dy[1 * 5 + 3];
      },
      options);
}

Report missing_mean() {
  return run_spoiled(layer_norm(3, 5, 1), [](Arguments& dx, const Arguments& in, const Values& dy) {
    dx = layer_norm_vjp(in, dy, false);
  });
}

/// A report of all kinds of text, with numbers that JSON does not have.
Report odd() {
  Report report;
  report.name = "f < \"g\" & 'h'\t\x02";
  report.inputs.push_back({.name = "x\\y", .shape = {2}, .elements = 2, .largest = infinity});
  report.add({.input_name = "x\\y",
              .at = {1},
              .analytic = nan_value,
              .numeric = -infinity,
              .note = "a \"quoted\"\nline"});
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("report: a wrong element is named with its input, its output and both numbers") {
  const Report report = one_element();
  fails(report, "GRADCHECK FAIL matmul");
  fails(report, "input 0 'a' [2,3]: ok");
  fails(report, "input 1 'b' [3,5]: 1 of 15 elements wrong");
  fails(report, "d out[1,3] / d b[2,3]: 1.25 times what it should be");
  REQUIRE(report.findings.size() == 1);
  const Finding& finding = report.findings[0];
  CHECK(finding.kind == Kind::element);
  CHECK(finding.input == 1);
  CHECK(finding.input_name == "b");
  CHECK(finding.at == At{2, 3});
  CHECK(finding.output == At{1, 3});
  const double a = matmul(2, 3, 5).inputs[0].values[1 * 3 + 2];
  CHECK(std::abs(finding.numeric - a) < 1e-9);
  CHECK(std::abs(finding.analytic - 1.25 * a) < 1e-9);
  CHECK(finding.allowed < 1e-6);
}

TEST_CASE("report: the weight of dy is divided out of both numbers") {
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    Options options;
    options.seed = seed;
    const Report report = run_spoiled(
        elementwise("cube", {2}, cube, d_cube),
        [](Arguments& dx, const Arguments&, const Values&) { dx[0][0] *= 1.5; }, options);
    REQUIRE(!report.findings.empty());
    CHECK(report.findings[0].analytic == Approx(18));
    CHECK(report.findings[0].numeric == Approx(12));
  }
}

TEST_CASE("report: a map has one character for each element, and the cause follows it") {
  const Report report = missing_mean();
  fails(report, "15 of 15 elements wrong");
  fails(report, "map of x");
  fails(report, "likely cause: MISSING TERM");
  fails(report, "try: ");
  CHECK(report.inputs[0].map.size() == 15);
  const std::string text = report.text();
  CHECK(text.find("map of x") < text.find("likely cause"));
  CHECK(text.rfind("d x[") < text.find("map of x"));
  CHECK(report.findings.size() == 3);  // the worst three
}

TEST_CASE("report: characters of the map say how each element is wrong") {
  const Report report =
      run_spoiled(elementwise("cube", {1, -1.1, 1.2, -1.3, 1.4, 1.5}, cube, d_cube),
                  [](Arguments& dx, const Arguments&, const Values&) {
                    const double factors[] = {1, 0.5, 2, 0, -1, nan_value};
                    for (Index j = 0; j < 6; ++j) dx[0][j] *= factors[j];
                  });
  fails(report, ".-+0!?");
  for (const char* legend : {"- too small", "+ too large", "0 missing", "! wrong sign"})
    CHECK(says(report, legend));
}

TEST_CASE("report: the map of a large input shows the part with the first error") {
  for (const Index row : {0U, 5U, 30U, 35U}) {
    Options options;
    options.mode = Mode::full;
    Case c = elementwise("cube", random_values(2 * 20 * 3, 1), cube, d_cube);
    c.inputs[0].shape = {2, 20, 3};
    const Report report = run_spoiled(
        c, [row](Arguments& dx, const Arguments&, const Values&) { dx[0][row * 3 + 1] = 0; },
        options);
    fails(report, ".0.");
    const At first{static_cast<std::int64_t>(row / 20), static_cast<std::int64_t>(row % 20), 1};
    CHECK(report.findings.at(0).at == first);
  }
}

TEST_CASE("report: findings stand in the order of inputs, the worst of each first") {
  const Report report =
      run_spoiled(matmul(2, 3, 5), [](Arguments& dx, const Arguments&, const Values&) {
        for (Values& part : dx)
          for (Index j = 0; j < part.size(); ++j) part[j] += 1e-3 * static_cast<double>(j + 1);
      });
  fails(report);
  std::vector<Index> order;
  for (const Finding& finding : report.findings) order.push_back(finding.input);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(order.back() == 1);
  Options fewer;
  fewer.findings = 0;
  const Case c = elementwise("cube", {1, 2}, cube, d_cube);
  const Report silent = run_spoiled(
      c, [](Arguments& dx, const Arguments&, const Values&) { dx[0][0] = 0; }, fewer);
  CHECK(silent.verdict == Verdict::fail);  // also of what is not shown
  CHECK(silent.findings.empty());
}

TEST_CASE("report: lines have 76 characters at most, and no blank at their end") {
  Options options;
  options.output_shape = {3, 5};
  for (const Report& report :
       {one_element(), missing_mean(), run(softmax(2, 5, random_values(10, 1))),
        run(elementwise("relu", {0, 0, 1}, relu, two_at_zero)),
        run(elementwise("ein langer Name mit Wörtern, die länger sind als eine Zeile, und weiter",
                        {-1, 2}, logarithm, reciprocal))})
    for (const std::string& line : lines_of(report.text())) {
      CAPTURE(line);
      CHECK(longest_line(line) <= 76);
      CHECK((line.empty() || line.back() != ' '));
    }
  for (std::size_t before = 0; before < 80; ++before)
    for (const char* gap : {" ", "  ", "   "}) {
      const std::string text = wrapped(std::string(before, 'x') + gap + "two words ", 4);
      CHECK(text.find(" \n") == std::string::npos);
      CHECK(text.find("words\n") != std::string::npos);
    }
  // A word that is longer than a line is broken, and nothing of it is lost.
  std::string broken = wrapped("a few words " + std::string(180, 'x') + " more", 2);
  CHECK(longest_line(broken) <= 76);
  CHECK(std::count(broken.begin(), broken.end(), 'x') == 180);
}

TEST_CASE("report: a failure says how to repeat it, and a pass does not") {
  Report report = one_element();
  report.reproduce = "check::raw(\"matmul\", …).seed(7)";
  CHECK(says(report, "reproduce: check::raw(\"matmul\", …).seed(7)"));
  report.verdict = Verdict::pass;
  CHECK(!says(report, "reproduce"));
}

TEST_CASE("report: only text that is asked to be in color has escape sequences") {
  const Report report = one_element();
  CHECK(report.text().find('\x1b') == std::string::npos);
  CHECK(report.text(true).find("\x1b[1;31mFAIL\x1b[0m") != std::string::npos);
  std::ostringstream out;  // not a terminal
  out << report;
  CHECK(out.str() == report.text());
  const testing::VariableScope scope("NO_COLOR", "1");
  CHECK(!in_colour(std::cerr));
}

TEST_CASE("report: JSON parses and has the documented fields") {
  const auto json = nlohmann::json::parse(missing_mean().json());
  CHECK(json["name"] == "layer_norm");
  CHECK(json["verdict"] == "FAIL");
  CHECK(json["seed"] == 24301);
  for (const char* count : {"forward_calls", "vjp_calls", "conditions"})
    CHECK(json[count].is_number_integer());
  REQUIRE(json["inputs"].size() == 3);
  const auto& x = json["inputs"][0];
  CHECK(x["name"] == "x");
  CHECK(x["shape"] == std::vector<int>{3, 5});
  CHECK((x["elements"] == 15 && x["wrong"] == 15 && x["unseen"] == 0 && x["kinks"] == 0));
  CHECK(x["differentiable"] == true);
  CHECK(x["map"].get<std::string>().size() == 15);
  CHECK(x["cause"] == "MISSING TERM");
  CHECK((x["why"].is_string() && x["hint"].is_string() && x["largest"].is_number()));
  REQUIRE(json["findings"].size() == 3);
  const auto& finding = json["findings"][0];
  CHECK((finding["kind"] == "element" && finding["verdict"] == "FAIL" && finding["input"] == "x"));
  CHECK((finding["at"].size() == 2 && finding["output"].size() == 1));
  for (const char* number : {"analytic", "numeric", "allowed"}) CHECK(finding[number].is_number());
  CHECK(json["notes"].is_array());
  CHECK(json["reproduce"].is_string());
}

TEST_CASE("report: JSON and XML hold any text, and numbers that JSON does not have as text") {
  const auto json = nlohmann::json::parse(odd().json());
  CHECK(json["name"] == odd().name);
  CHECK(json["inputs"][0]["name"] == "x\\y");
  CHECK(json["inputs"][0]["largest"] == "inf");
  CHECK(json["findings"][0]["analytic"] == "nan");
  CHECK(json["findings"][0]["numeric"] == "-inf");
  CHECK(json["findings"][0]["note"] == "a \"quoted\"\nline");
  const std::string xml = junit({run(matmul(1, 2, 1)), odd()});
  CAPTURE(xml);
  const auto has = [&xml](const std::string& part) { return xml.find(part) != std::string::npos; };
  CHECK(has("<testsuite name=\"gradus.check\" tests=\"2\" failures=\"1\">"));
  CHECK(has("f &lt; &quot;g&quot; &amp;"));
  CHECK(has("<failure message=\"FAIL\">"));
  CHECK(has("GRADCHECK PASS"));
  CHECK(!has("\x02"));
}

TEST_CASE("report: smallest() finds the smallest sizes that fail") {
  // Wrong from the second row on, for rows of three and more.
  const auto sized = [](const Shape& n) {
    const auto width = static_cast<Index>(n[1]);
    Case c = elementwise("rows", random_values(count_of(n), 1), cube, d_cube);
    c.inputs[0].shape = n;
    return run_spoiled(c, [width](Arguments& dx, const Arguments&, const Values&) {
      if (dx[0].size() > width && width >= 3) dx[0][width] = 0;
    });
  };
  const Report report = smallest({5, 7}, sized);
  fails(report, "smallest failing shape: [2,3]");
  CHECK(report.smallest.find("d x[1,0]") != std::string::npos);
  CHECK(smallest({1, 7}, sized).smallest.empty());  // which passes
  CHECK(smallest({5, 2}, sized).smallest.empty());
}

}  // namespace gradus::raw_cases
