// What is said of one input: scales, kinks, findings, notes; and the search by halves.
#include "gradus/check/raw/compare.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

/// Slopes of many kinds, known well and not.
std::vector<std::pair<std::string, Slope>> kinds() {
  return {
      {"well", {.value = 2, .change = 1e-12, .noise = 1e-13}},
      {"negative", {.value = -3, .change = 1e-12, .noise = 1e-13}},
      {"zero", {.value = 0, .change = 0, .noise = 1e-13}},
      {"exactly zero", {.value = 0}},
      {"bent zero", {.value = 0, .change = 0, .noise = 1e-13, .bend = 5}},
      {"a little bent", {.value = 0, .noise = 0.01, .bend = 1}},
      {"more bent", {.value = 0, .noise = 0.01, .bend = 1.005}},
      {"roughly", {.value = 1, .change = 1e-3, .noise = 1e-5}},
      {"hidden", {.value = 1e-3, .change = 1e-2, .noise = 1e-2}},
      {"jittering", {.value = 1, .change = 0.5, .noise = 1e-9, .jitter = 0.1}},
      {"lost", {}},
      {"infinite", {.value = HUGE_VAL}},
      {"kink", {.value = 1, .noise = 1e-13, .left = 0.5, .right = 1.5, .kink = true}},
      {"falling kink", {.value = 1, .noise = 1e-13, .left = 4, .right = -1, .kink = true}},
      {"declared",
       {.value = 1.5, .noise = 1e-13, .left = 0.5, .right = 1.5, .kink = true, .declared = true}}};
}

std::string said(const Finding& f) {
  return std::string(to_string(f.kind)) + " " + to_string(f.verdict) + " d" + f.input_name +
         list(f.at) + (f.along ? " along " : " ") + golden::shown(f.analytic) + " " +
         golden::shown(f.numeric) + " " + golden::shown(f.allowed);
}

Move to(std::size_t element) { return {element}; }
Move along(const Values& direction) { return {{}, direction}; }

}  // namespace

TEST_CASE("findings about all kinds of slopes are golden/check/findings.txt") {
  Page page;
  InputSummary summary{.name = "x", .shape = {2, 3}, .elements = 6};
  const std::vector<Probe> probes{{{-1.6}, 2}, {{1.5, -2, 2.25}}};
  for (const auto& [name, slope] : kinds())
    for (const double a : {0.0, 2.0, -3.0, HUGE_VAL, std::nan("")})
      for (const Probe& probe : probes)
        for (const Move& move : {to(4), along({1, 1, 1, 1, 1, 1})}) {
          const Slope n = contract({slope, slope, slope}, probe);
          Finding finding = located(1, summary, move);
          describe_numbers(finding, a, n, probe, judge(a, n, 2, {}));
          page.line(name, said(finding), page.once(finding.note));
        }
  page.compare("findings.txt");
}

TEST_CASE("scales, blindness, flatness and kinks of columns are golden/check/numeric.txt") {
  Page page;
  const std::vector<Probe> probes{{{1.5}, 0}, {{-2}, 1}, {{1, 1}}};
  const auto all = kinds();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j) {
      const Slope &one = all[i].second, &two = all[j].second;
      Numeric n{{to(0), to(1)}, {{one, two, two}, {two, one, one}}};
      page.line(all[i].first, "and", all[j].first, "scales", n.scale(0, false, probes, {}),
                n.scale(0, true, probes, {}), n.scale(1, true, probes, {}), "blind", n.blind(0),
                "flat", n.flat(), n.flat(true), "kinked", n.kinked(1));
    }
  page.line(Numeric().flat(), Numeric().flat(true));
  page.compare("numeric.txt");
}

TEST_CASE("zeros must give zeros: golden/check/not_zero.txt") {
  Page page;
  const InputSummary summary{.name = "x", .shape = {3}, .elements = 3};
  Numeric n{{to(1), to(0), along({1, -2, 0.5})},
            {{kinds()[0].second}, {kinds()[10].second}, {kinds()[0].second}}};
  const double nan = std::nan("");
  for (const Values& dx : {Values{0, 0, 0},
                           {0, 1.25, 0},
                           {-2, 0, 0},
                           {0, 0, 3},
                           {2, 1, 0},
                           {nan, 0, 0},
                           {0, nan, 0},
                           {HUGE_VAL, 0, 0},
                           {0, -HUGE_VAL, 1},
                           {1e-300, 0, 0}}) {
    const auto finding = not_zero(2, summary, n, dx);
    page.line(dx, finding ? said(*finding) + " of " + std::to_string(finding->input) + ": " +
                                finding->note
                          : "right");
  }
  page.compare("not_zero.txt");
}

TEST_CASE("notes about an input are golden/check/notes.txt") {
  Page page;
  const auto all = kinds();
  const auto show = [&](const std::string& name, InputSummary summary, const Numeric& n) {
    for (const bool known : {false, true}) {
      InputSummary now = summary;
      for (const std::string& note : notes_about(now, n, {}, known))
        page.line("  ", page.once(note));
      page.line(name, "kinks", now.kinks, "largest", now.largest);
    }
  };
  for (const auto& [name, slope] : all)
    for (const auto& [other, second] : {all[0], all[3], all[7], all[12]})
      show(name + ", " + other, {.name = "x", .shape = {3}, .elements = 3, .looked_at = 2},
           {{to(2), to(1), along({1, 1, 1})}, {{slope, second}, {second, slope}, {slope, slope}}});
  show("all", {.name = "x", .shape = {2}, .elements = 2, .looked_at = 2},
       {{to(1), to(0)}, {{all[12].second}, {all[13].second}}});
  show("none", {.name = "x", .shape = {0}}, {});
  page.compare("notes.txt");
}

TEST_CASE("the worse of two candidates: failures, rows, then the largest excess") {
  std::vector<Candidate> all;
  for (const Verdict verdict : {Verdict::fail, Verdict::inconclusive})
    for (const Kind kind : {Kind::element, Kind::projection})
      for (const double excess : {9.0, 2.0})
        all.push_back({{.kind = kind, .verdict = verdict}, 0, 0, excess});
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j) CHECK(worse_than(all[i], all[j]) == (i < j));
}

TEST_CASE("what was not measured is left out") {
  for (std::size_t elements = 0; elements <= 4; ++elements)
    for (std::size_t done = 0; done <= elements; ++done)
      for (std::size_t seen = elements; seen <= 6; ++seen) {
        Numeric n;
        for (std::size_t m = 0; m < 6; ++m) {
          n.moves.push_back(to(m));
          n.slopes.push_back({{.value = static_cast<double>(m)}});
        }
        n.keep(done, elements, seen);
        std::vector<std::size_t> left, right;
        for (const Move& move : n.moves) left.push_back(*move.element);
        for (std::size_t m = 0; m < 6; ++m)
          if (m < done || (m >= elements && m < seen)) right.push_back(m);
        CHECK(left == right);
        REQUIRE(n.slopes.size() == right.size());
        for (std::size_t m = 0; m < right.size(); ++m)
          CHECK(n.slopes[m][0].value == static_cast<double>(right[m]));
      }
}

TEST_CASE("one place is found among any number, and no place where halves are right") {
  for (std::size_t count = 1; count <= 20; ++count)
    for (std::size_t place = 0; place < count; ++place) {
      std::string asked;
      const auto wrong = [&](std::size_t from, std::size_t end) {
        REQUIRE((from < end && end <= count));
        return from <= place && place < end;
      };
      CHECK(find_place(count, wrong) == place);
      const auto two = [&](std::size_t from, std::size_t end) {  // both are needed
        return from <= place && place + 1 < end;
      };
      if (place + 1 < count) CHECK(find_place(count, two) == std::nullopt);
    }
  CHECK(find_place(4, [](auto, auto) { return true; }) == 0U);
  CHECK(find_place(4, [](auto, auto) { return false; }) == std::nullopt);
}

}  // namespace gradus::check
