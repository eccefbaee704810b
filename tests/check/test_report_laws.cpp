// Lines of a report that depend on one digit, one element or one finding more or less.
#include "gradus/check/raw/report.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

std::size_t times_said(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("numbers of a finding have ten digits, and what is allowed two") {
  const Finding f{.analytic = 1.23456789012345, .numeric = -2.34567890123456, .allowed = 0.01256};
  CHECK(numbers_in(f) == "analytic 1.23456789  numeric -2.345678901  allowed 0.013");
  const Finding g{.analytic = 0.123456789123, .numeric = 9.87654321987, .allowed = 1};
  CHECK(numbers_in(g) == "analytic 0.1234567891  numeric 9.87654322  allowed 1");
}

TEST_CASE("a single value has no map and no pattern, and two have both") {
  for (const std::int64_t n : {1, 2, 3}) {
    const auto size = static_cast<std::size_t>(n);
    const InputSummary s{.name = "x",
                         .shape = {n},
                         .elements = n,
                         .wrong = 1,
                         .map = std::string(size - 1, '.') + "-"};
    CAPTURE(n);
    CHECK(drawn_map(s).empty() == (n == 1));
    CHECK(drawn_cause(s).empty() == (n == 1));
  }
  const InputSummary row{.name = "x", .shape = {2}, .elements = 2, .map = ".-", .map_rows = 1};
  CHECK(drawn_map(row).find("map of d outputs / d x") != std::string::npos);
  const InputSummary fine{.name = "x", .elements = 1, .looked_at = 1, .compared = 1};
  CHECK(summary_line(fine, 0) == "input 0 'x' []: ok, 1 numbers compared");
  const InputSummary one{.name = "x", .elements = 1, .wrong = 1, .map = "-"};
  CHECK(drawn_map(one).empty());
}

TEST_CASE("a map begins at the page and the row of the first error") {
  for (const std::size_t row : {0U, 11U, 12U, 35U}) {
    std::string map(2 * 20 * 3, '.');
    map[row * 3] = '-';
    const InputSummary s{.name = "x", .shape = {2, 20, 3}, .elements = 120, .map = map};
    const std::size_t page = row / 20, in_page = row % 20, top = in_page > 11 ? in_page - 11 : 0;
    const bool from = page + top > 0;
    CAPTURE(row);
    CHECK((drawn_map(s).find(" from ") != std::string::npos) == from);
    const auto first = Shape{static_cast<std::int64_t>(page), static_cast<std::int64_t>(top), 0};
    if (from) CHECK(drawn_map(s).find(" from " + list(first)) != std::string::npos);
  }
}

TEST_CASE("the map and the cause of an input stand once, after the last of its findings") {
  Report r;
  r.name = "f";
  r.verdict = Verdict::fail;
  for (const char* name : {"x", "w"})
    r.inputs.push_back({.name = name,
                        .shape = {3},
                        .elements = 3,
                        .looked_at = 3,
                        .compared = 9,
                        .wrong = 1,
                        .map = "..-",
                        .cause = {std::string("CAUSE OF ") + name, "of that"}});
  for (const std::size_t k : {0U, 0U, 0U, 1U, 1U})
    r.add({.input = k, .input_name = r.inputs[k].name, .at = {2}, .analytic = 1, .numeric = 2});
  const std::string text = r.text();
  std::size_t before = 0;
  for (const std::string name : {"x", "w"}) {
    CHECK(times_said(text, "map of " + name) == 1);
    CHECK(times_said(text, "CAUSE OF " + name) == 1);
    CHECK(text.rfind("d out / d " + name) < text.find("map of " + name));
    CHECK(before < text.find("d out / d " + name));
    before = text.find("CAUSE OF " + name);
  }
  r.findings.push_back(r.findings.back());
  r.findings.pop_back();  // what was there before is no finding
  CHECK(r.text() == text);
  // A finding of no input that there is has neither.
  r.findings.push_back({.kind = Kind::structure, .input = r.inputs.size(), .note = "elsewhere"});
  CHECK(times_said(r.text(), "map of") == 2);
}

}  // namespace gradus::check
