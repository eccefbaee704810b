// Reports made by hand, as text, as JSON and as XML: each line that one may have.
#include "gradus/check/raw/smallest.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

const std::string kLong =
    "a note of many words which goes on and on, past the last column of a page that is seventy-six "
    "columns wide, and then some; ∂f/∂x is √2·x̂ here\twith a tab and\na new line";

Finding at(const Shape& place, const Shape& output, double a, double n) {
  return {.input_name = "x",
          .at = place,
          .output = output,
          .analytic = a,
          .numeric = n,
          .allowed = 1.234e-7};
}

InputSummary summary(const std::string& name, std::int64_t wrong, std::int64_t unseen,
                     const std::string& map) {
  return {.name = name,
          .shape = {2, 3},
          .elements = 6,
          .looked_at = 6,
          .compared = 36,
          .wrong = wrong,
          .unseen = unseen,
          .kinks = 1,
          .largest = 2.5,
          .map = map};
}

Report passed() {
  Report r;
  r.name = "soft";
  r.counts = {12, 3, 0};
  r.seed = 7;
  r.reproduce = "check::raw(\"soft\", …).seed(7)";
  return r;
}

void show(Page& page, const std::string& what, const Report& r) {
  page.line("== " + what + "\n" + r.text());
}

}  // namespace

TEST_CASE("lines of reports are golden/check/lines.txt") {
  Page page;
  for (const double a :
       {0.0, 1.0, -1.0, 1.38, 2e4, 1e4, -1.1e4, 1e-4, 0.9e-4, 1.0009, 1.0011, 0.9991, 1 + 3e-7,
        -1 - 9e-7, -1 - 2e-6, 1.000123456789, 0.123456789, HUGE_VAL, std::nan("")})
    for (const double n : {1.0, -2.0, 0.0})
      page.line(golden::shown(a, 10), n, in_words(at({1}, {}, a, n)));
  for (const Kind kind : {Kind::structure, Kind::zero_upstream, Kind::linearity, Kind::buffer,
                          Kind::element, Kind::projection, Kind::condition})
    for (const bool along : {false, true})
      for (const Shape& place : {Shape{}, Shape{1, 2}})
        for (const Shape& output : {Shape{}, Shape{3}})
          for (const Verdict verdict : {Verdict::fail, Verdict::inconclusive}) {
            Finding f = at(place, output, 0.5, 1.25);
            f.kind = kind;
            f.along = along;
            f.verdict = verdict;
            f.note = place.empty() ? kLong : "";
            page.line(to_string(kind), place_of(f), "|", in_one_line(f), "\n" + described(f));
          }
  for (const auto& [wrong, unseen] : {std::pair{0, 0}, {2, 0}, {0, 3}, {1, 1}})
    for (const bool caused : {false, true})
      for (const std::int64_t looked_at : {6, 4})
        for (const std::int64_t compared : {0, 12}) {
          InputSummary s = summary("x", wrong, unseen, "");
          s.looked_at = looked_at;
          s.compared = compared;
          if (caused) s.cause.name = "SIGN";
          page.line(summary_line(s, 1));
          s.differentiable = false;
          page.line(summary_line(s, 0));
        }
  page.compare("lines.txt");
}

TEST_CASE("maps are golden/check/maps.txt") {
  Page page;
  const auto draw = [&](const Shape& shape, const std::string& map, std::int64_t rows) {
    InputSummary s{.name = "x",
                   .shape = shape,
                   .elements = static_cast<std::int64_t>(count_of(shape)),
                   .map = map,
                   .map_rows = rows};
    page.line(list(shape), rows, "\n" + drawn_map(s));
    for (const std::int64_t unseen : {0, 1})
      for (const int kind : {0, 1, 2}) {
        s.unseen = unseen;
        s.cause = {kind == 0 ? "" : "SIGN", "a minus is missing", kind == 2 ? "look again" : ""};
        page.line(drawn_cause(s));
      }
  };
  draw({}, "-", 0);
  draw({1}, "0", 0);
  draw({4}, "....", 0);
  draw({4}, ".~..", 0);
  draw({4}, "", 0);
  draw({7}, ".-+0!?~", 0);
  draw({2, 3}, "..0.+.", 0);
  draw({2, 2, 3}, ".......!....", 0);
  draw({3}, "..-+..", 2);
  for (const std::size_t place : {0U, 5U, 11U, 12U, 13U, 29U}) {
    std::string map(90, '.');
    map[place * 3 + 1] = '-';
    draw({30, 3}, map, 0);
    draw({3, 10, 3}, map, 0);
  }
  for (const std::int64_t columns : {60, 61, 75}) {
    std::string map(static_cast<std::size_t>(2 * columns), '.');
    map[3] = '+';
    map[59] = '0';
    draw({2, columns}, map, 0);
  }
  page.compare("maps.txt");
}

TEST_CASE("whole reports are golden/check/reports.txt") {
  Page page;
  Report r = passed();
  show(page, "nothing", r);
  r.inputs = {summary("x", 0, 0, ""), summary("w", 0, 0, "")};
  show(page, "pass", r);
  r.notes = {"short", kLong};
  r.smallest = "[1,2]: out / d x";
  r.counts.conditions = 4;
  show(page, "notes", r);
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::inconclusive}) {
    r.verdict = verdict;
    page.line(r.text(true));
  }
  r.inputs = {summary("x", 1, 0, "..0..."), summary("w", 2, 0, ".+-..."), summary("b", 0, 1, "")};
  for (const std::size_t k : {0U, 0U, 1U, 2U, 7U}) {
    r.findings.push_back(at({1, 0}, {2}, 1, 2));
    r.findings.back().input = k;
  }
  show(page, "without causes", r);
  for (const char* second : {"SIGN", "SCALE"}) {
    r.inputs[0].cause = {"SIGN", "a minus", "look again"};
    r.inputs[1].cause = {second, "a minus", "look again"};
    show(page, "causes", r);
    r.inputs[0].cause = {};
    show(page, "one cause", r);
    r.reproduce = "";
  }
  page.line(r.json());
  r.inputs[0].largest = HUGE_VAL;
  r.findings[0].analytic = std::nan("");
  r.findings[0].numeric = -HUGE_VAL;
  r.findings[1].note = "\"quoted\" \\ \x01\x1f\n<a & b>";
  Report other;
  other.name = "f < \"g\" & 'h'\t\x02\r\n";
  page.line(r.json() + junit({}) + junit({r, other}));
  r.add({.verdict = Verdict::inconclusive});
  page.line(to_string(r.verdict), r.findings.size());
  page.compare("reports.txt");
}

TEST_CASE("the smallest sizes that fail are found in this order of tries") {
  Page page;
  for (const int kind : {0, 1, 2, 3, 4}) {
    const auto fails = [kind](const Shape& n) {
      if (kind == 0) return true;
      if (kind == 1) return n[0] >= 3;
      if (kind == 2) return n[0] * n[1] >= 8;
      if (kind == 3) return n[1] >= 5 || n == Shape{9, 6};
      return false;
    };
    std::string tried;
    const auto make = [&](const Shape& n) {
      tried += list(n) + (fails(n) ? "! " : " ");
      Report report;
      report.name = list(n);
      report.verdict = fails(n) ? Verdict::fail : Verdict::pass;
      if (kind != 0 || n[1] > 2)
        report.findings = {{.kind = Kind::structure, .note = "no, at " + list(n)}};
      return report;
    };
    const Report report = smallest({9, 6}, make);
    page.line(kind, report.name, report.smallest, tried);
  }
  page.compare("smallest.txt");
}

}  // namespace gradus::check
