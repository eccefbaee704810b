#include <sstream>

#include "gradus/check/raw/smallest.h"
#include "gradus/io/json.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes, testing::says;

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

/// Contains text that needs escaping, and values that JSON cannot represent.
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

io::Json parsed(const Report& report) { return io::Json::parse(report.json(), "report"); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("report: a wrong element is shown with its input, its output and both values") {
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

TEST_CASE("report: both values are divided by the weight of dy") {
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
  fails(report, "hint: ");
  CHECK(report.inputs[0].map.size() == 15);
  const std::string text = report.text();
  CHECK(text.find("map of x") < text.find("likely cause"));
  CHECK(text.rfind("d x[") < text.find("map of x"));
  CHECK(report.findings.size() == 3);
}

TEST_CASE("report: characters of the map show how each element is wrong") {
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

TEST_CASE("report: findings follow the order of inputs, worst first") {
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
  CHECK(silent.verdict == Verdict::fail);  // hidden findings count
  CHECK(silent.findings.empty());
}

TEST_CASE("report: lines have at most 76 characters and no trailing blank") {
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
  std::string broken = wrapped("a few words " + std::string(180, 'x') + " more", 2);
  CHECK(longest_line(broken) <= 76);
  CHECK(std::count(broken.begin(), broken.end(), 'x') == 180);
}

TEST_CASE("report: a failure shows how to reproduce it, and a pass does not") {
  Report report = one_element();
  report.reproduce = "check::raw(\"matmul\", …).seed(7)";
  CHECK(says(report, "reproduce: check::raw(\"matmul\", …).seed(7)"));
  report.verdict = Verdict::pass;
  CHECK(!says(report, "reproduce"));
}

TEST_CASE("report: only text in color has escape sequences") {
  const Report report = one_element();
  CHECK(report.text().find('\x1b') == std::string::npos);
  CHECK(report.text(true).find("\x1b[1;31mFAIL\x1b[0m") != std::string::npos);
  std::ostringstream out;  // not a terminal
  out << report;
  CHECK(out.str() == report.text());
}

TEST_CASE("report: JSON parses and has the documented fields") {
  const io::Json json = parsed(missing_mean());
  CHECK(json.at("name").text() == "layer_norm");
  CHECK(json.at("verdict").text() == "FAIL");
  CHECK(json.at("seed").as_int() == 24301);
  for (const char* count : {"forward_calls", "vjp_calls", "conditions"})
    CHECK(json.at(count).as_int() >= 0);
  REQUIRE(json.at("inputs").elements().size() == 3);
  const io::Json x = json.at("inputs").elements()[0];
  CHECK(x.at("name").text() == "x");
  CHECK(x.at("shape").sizes(2) == std::vector<std::uint64_t>{3, 5});
  CHECK(x.at("differentiable").as_bool());
  CHECK((x.at("elements").as_int() == 15 && x.at("wrong").as_int() == 15));
  CHECK((x.at("unseen").as_int() == 0 && x.at("kinks").as_int() == 0 &&
         x.at("compared").as_int() > 0));
  CHECK(x.at("largest").number() > 0);
  CHECK(x.at("map").text().size() == 15);
  CHECK(x.at("cause").text() == "MISSING TERM");
  CHECK((x.at("why").is_text() && x.at("hint").is_text()));
  REQUIRE(json.at("findings").elements().size() == 3);
  const io::Json finding = json.at("findings").elements()[0];
  CHECK((finding.at("kind").text() == "element" && finding.at("verdict").text() == "FAIL"));
  CHECK(finding.at("input").text() == "x");
  CHECK(finding.at("at").sizes(2).size() == 2);
  CHECK(finding.at("output").sizes(1).size() == 1);
  CHECK(finding.at("allowed").number() > 0);
  CHECK(finding.at("analytic").number() != finding.at("numeric").number());
  CHECK((json.at("notes").is_list() && json.at("reproduce").is_text()));
}

TEST_CASE("report: JSON and XML represent any text, and NaN and infinity as text") {
  const io::Json json = parsed(odd());
  CHECK(json.at("name").text() == odd().name);
  const io::Json input = json.at("inputs").elements().at(0);
  CHECK(input.at("name").text() == "x\\y");
  CHECK(input.at("largest").text() == "inf");
  const io::Json finding = json.at("findings").elements().at(0);
  CHECK(finding.at("analytic").text() == "nan");
  CHECK(finding.at("numeric").text() == "-inf");
  CHECK(finding.at("note").text() == "a \"quoted\"\nline");
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
  // In inputs with at least three elements per row, gradients are wrong after the first row.
  const auto sized = [](const Dims& n) {
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
  CHECK(smallest({1, 7}, sized).smallest.empty());  // without a fault, the check passes
  CHECK(smallest({5, 2}, sized).smallest.empty());
}

}  // namespace gradus::raw_cases
