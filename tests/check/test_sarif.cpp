#include <cmath>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/check/raw/check.h"
#include "gradus/io/json.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/environment.h"

namespace gradus::testing::test_sarif {
namespace {

double square(double x) { return x * x; }
double wrong(double x) { return x; }

check::Report failed(const std::string& file, int line) {
  return check::raw("square", square, wrong, 1.5).at(file, line);
}

io::Json run_of(const std::string& sarif) {
  const io::Json log = io::Json::parse(sarif, "SARIF");
  CHECK(log.at("version").text() == "2.1.0");
  REQUIRE(log.at("runs").elements().size() == 1);
  return log.at("runs").elements()[0];
}

std::vector<io::Json> results_of(const std::string& sarif) {
  return run_of(sarif).at("results").elements();
}

io::Json place_of(const io::Json& result) {
  REQUIRE(result.at("locations").elements().size() == 1);
  return result.at("locations").elements()[0].at("physicalLocation");
}

}  // namespace

TEST_CASE("SARIF has one result, at the caller's line, for each report that is not a PASS") {
  const int line = __LINE__ + 1;
  const check::Report report = check::raw("square", square, wrong, 1.5);
  const check::Report right = check::raw("sin", std::sin, std::cos, 1.5);
  CHECK(report.place.file == __FILE__);
  const io::Json run = run_of(check::sarif({right, report, report}));
  const io::Json driver = run.at("tool").at("driver");
  CHECK(driver.at("name").text() == "gradus-check");
  REQUIRE(driver.at("rules").elements().size() == 1);
  REQUIRE(run.at("results").elements().size() == 2);
  const io::Json result = run.at("results").elements()[0];
  CHECK(result.at("ruleId").text() == driver.at("rules").elements()[0].at("id").text());
  CHECK(result.at("level").text() == "error");
  const std::string message = result.at("message").at("text").text();
  CHECK(message.rfind("square: d out / d x0: 0.5 times what it should be", 0) == 0);
  CHECK(place_of(result).at("region").at("startLine").as_int() == line);
  CHECK(results_of(right.sarif()).empty());
}

TEST_CASE("SARIF names the cause as its rule, and warns if nothing could be measured") {
  const std::vector<double> x{1, 2, 3};
  const auto f = [](const std::vector<double>& v) { return v; };
  const auto negated = [](const std::vector<double>&, const std::vector<double>& dy) {
    return check::scaled(dy, -1);
  };
  const io::Json sign = results_of(check::raw("negated", f, negated, x).report().sarif())[0];
  CHECK(sign.at("ruleId").text() == "sign");
  const auto root = [](double v) { return std::sqrt(v); };
  const auto slope = [](double v) { return 0.5 / std::sqrt(v); };
  const check::Report unseen = check::raw("root", root, slope, 0.0);
  REQUIRE(unseen.verdict == check::Verdict::inconclusive);
  CHECK(results_of(unseen.sarif())[0].at("ruleId").text() == "not-measured");
  CHECK(results_of(unseen.sarif())[0].at("level").text() == "warning");
  CHECK(unseen.annotation().rfind("::warning file=", 0) == 0);
}

TEST_CASE("SARIF writes places as URIs, relative to the checkout") {
  const auto uri = [](const std::string& file) {
    const io::Json result = results_of(failed(file, 0).sarif())[0];
    return place_of(result).at("artifactLocation").at("uri").text();
  };
  const VariableScope workspace("GITHUB_WORKSPACE", "/home/runner/work");
  CHECK(uri("src/my op.cpp") == "src/my%20op.cpp");
  CHECK(uri("/home/runner/work/a+b.cpp") == "a%2Bb.cpp");
  CHECK(uri("/usr/include/ä.h") == "file:///usr/include/%C3%A4.h");
  CHECK(uri("C:\\op.cpp") == "file:///C:/op.cpp");
  check::Report report = failed("a.cpp", 3);
  report.place = {};
  CHECK(results_of(report.sarif())[0].at("locations").elements().empty());
}

TEST_CASE("an annotation escapes what GitHub reads as syntax") {
  const VariableScope workspace("GITHUB_WORKSPACE", "");
  check::Report report = failed("a,b:c%.cpp", 3);
  report.name = "100%";
  const std::string line = report.annotation();
  CHECK(line.rfind("::error file=a%2Cb%3Ac%25.cpp,line=3,title=GRADCHECK FAIL::100%25: d out", 0) ==
        0);
  CHECK(line.find('\n') == line.size() - 1);
  report.name = "two\r\nlines";
  CHECK(report.annotation().find("::two%0D%0Alines: ") != std::string::npos);
  CHECK(check::Report(check::raw("sin", std::sin, std::cos, 1.5)).annotation().empty());
}

TEST_CASE("checks of tensors report the line that calls them") {
  const Tensor x = full({2}, 0.5, Dtype::f64);
  const auto f = [](const check::Tensors& in) { return sin(in[0]); };
  const check::Report named = check::gradients("sin", f, {x});
  CHECK(named.place.line == __LINE__ - 1);
  CHECK(check::gradients(f, {x}).place.line == __LINE__);
  CHECK(check::second("sin", f, {x}).place.line == __LINE__);
  CHECK(named.place.file == __FILE__);
}

TEST_CASE("report_all prints all reports, writes the files that CI asks for, and returns 1") {
  const std::string folder = GRADUS_BINARY_DIR;
  const VariableScope sarif("GRADUS_CHECK_SARIF", (folder + "/report_all.sarif").c_str());
  const VariableScope junit("GRADUS_CHECK_JUNIT", (folder + "/report_all.xml").c_str());
  const check::Report right = check::raw("sin", std::sin, std::cos, 1.5);
  CHECK(check::report_all({right}) == 0);
  CHECK(check::report_all({right, failed("a.cpp", 1)}) == 1);
  CHECK(results_of(io::read_text(folder + "/report_all.sarif")).size() == 1);
  CHECK(io::read_text(folder + "/report_all.xml").find("failures=\"1\"") != std::string::npos);
  const VariableScope nowhere("GRADUS_CHECK_SARIF", (folder + "/no/such/folder/x").c_str());
  CHECK(check::report_all({right}) == 2);
}

}  // namespace gradus::testing::test_sarif
