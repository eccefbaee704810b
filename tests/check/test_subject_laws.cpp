// What is said of functions that change from call to call, and what a measurement is unsure of.
#include "gradus/check/raw/subject.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

/// A function that gives these values one call after the other.
Subject giving(const std::vector<Values>& values) {
  return {{[values, n = std::size_t{0}](const Arguments&) mutable { return values[n++]; },
           [](const Arguments&, const Values& dy) { return Arguments{dy}; }},
          {{"x", {1}, {1}}}};
}

std::string note_of(Subject subject) {
  try {
    subject.measure_output();
  } catch (const Stop& stop) {
    return stop.note;
  }
  return "";
}

Subject with_reference(const Values& y, const Values& reference) {
  Functions f{[y](const Arguments&) { return y; },
              [](const Arguments&, const Values& dy) { return Arguments{dy}; }};
  f.reference = [reference](const Arguments&) { return reference; };
  f.ulp = 0x1p-23;
  return {f, {{"x", {1}, {1}}}};
}

Subject of(const std::function<double(double)>& f, double x, double ulp) {
  Functions functions{[f](const Arguments& in) { return Values{f(in[0][0])}; },
                      [](const Arguments&, const Values& dy) { return Arguments{dy}; }};
  functions.ulp = ulp;
  Subject subject(functions, {{"x", {}, {x}}});
  subject.measure_output();
  return subject;
}

}  // namespace

TEST_CASE("what moves on moves in one direction, by steps that do not grow, with all its values") {
  struct Course {
    std::vector<Values> calls;
    bool goes_on;
  };
  const double more = 1 + 1e-12, most = 1 + 1e-6;
  for (const Course& c : {Course{{{0}, {2}, {4}}, true},
                          {{{0}, {-2}, {-4}}, true},
                          {{{0}, {0.5}, {0.5 + 0.5 * more}}, true},
                          {{{0}, {0.5}, {0.5 + 0.5 * most}}, false},
                          {{{0}, {-0.5}, {-0.5 - 0.5 * most}}, false},
                          {{{0}, {4}, {8 * most}}, false},
                          {{{0}, {4}, {8 + 2e-9}}, true},
                          {{{0}, {-1}, {-4}}, false},
                          {{{0}, {2}, {1}}, false},
                          {{{0}, {-2}, {-1}}, false},
                          {{{0}, {0.25}, {0.75}}, false},
                          {{{0, 0}, {2, 1}, {4, 0}}, false},
                          {{{1}, {1, 2}, {1}}, false},
                          {{{1}, {2}, {3, 4}}, false},
                          {{{1}, {2, 2}, {3, 3}}, false}}) {
    const std::string note = note_of(giving(c.calls));
    CAPTURE(c.calls);
    CHECK(note.find("forward gives different values for the same inputs") == 0);
    CHECK((note.find("it keeps something from call to call") != std::string::npos) == c.goes_on);
  }
}

TEST_CASE("a reference may be a thousandth of its largest value away, up or down, and no more") {
  for (const double sign : {1.0, -1.0})
    for (const double share : {0.5, 0.99, 1.01, 2.0}) {
      const Values reference{1, 8};
      for (const std::size_t i : {0U, 1U}) {
        Values y = reference;
        y[i] += sign * share * 8e-3;
        CAPTURE(sign, share, i);
        CHECK(note_of(with_reference(y, reference)).empty() == (share < 1));
      }
    }
  // What is no number in one of them is left to the measurement.
  for (const double none : {std::nan(""), HUGE_VAL})
    for (const bool both : {false, true}) {
      CHECK(note_of(with_reference({none, 8}, {both ? none : 1, 8})).empty());
      CHECK(note_of(with_reference({1, 8}, {none, 8})).empty());
      CHECK_FALSE(note_of(with_reference({none, 9}, {1, 8})).empty());
    }
}

TEST_CASE("noise is half an ulp of an output's size at least, or what it was seen to jitter") {
  const double ulp = 0x1p-20;
  for (const double y : {3.0, -3.0}) {
    Subject s = of([y](double) { return y; }, 1, ulp);
    Goal goal;
    s.measure_noise(goal, 5);
    REQUIRE(goal.noise != nullptr);
    CHECK(goal.noise->at(0) == Approx(0.5 * ulp * 3).epsilon(1e-6));
    CHECK(goal.first == Approx(0.58 * std::pow(0.5 * ulp, 1.0 / 7)).epsilon(1e-9));
  }
  // Of two inputs one jitters, whichever is first; the other takes nothing away.
  for (const std::size_t loud : {0U, 1U}) {
    Subject s(
        {[loud](const Arguments& in) { return Values{1 + 1e-3 * std::sin(1e9 * in[loud][0])}; },
         [](const Arguments& in, const Values&) { return in; }},
        {{"a", {}, {1}}, {"b", {}, {1}}});
    s.measure_output();
    Goal goal;
    s.measure_noise(goal, 5);
    CHECK((goal.noise->at(0) > 1e-4 && goal.noise->at(0) < 1e-2));
    CHECK(goal.first == Approx(0.1).margin(0.1));
  }
  // Where all outputs are 0 the steps stay as they are.
  Subject zero = of([](double) { return 0.0; }, 1, ulp);
  Goal goal;
  const double before = goal.first;
  zero.measure_noise(goal, 5);
  CHECK(goal.first == before);
}

TEST_CASE("a reference forgives four roundings of each slope, falling or rising") {
  for (const double slope : {3.0, -3.0}) {
    Functions f{[slope](const Arguments& in) { return Values{slope * in[0][0]}; },
                [](const Arguments&, const Values& dy) { return Arguments{dy}; }};
    f.reference = f.forward;
    f.ulp = 0x1p-10;
    Subject s(f, {{"x", {}, {1}}});
    s.measure_output();
    CHECK(s.column_of(0, {0}, {}, {})[0].noise >= 12 * 0x1p-10);
  }
}

TEST_CASE("a convention for a kink at 0 says nothing of a direction") {
  Subject s(
      {[](const Arguments& in) { return Values{std::abs(in[0][0] - 1) + std::abs(in[0][1] - 2)}; },
       [](const Arguments& in, const Values&) { return in; }},
      {{"x", {2}, {1, 2}}});
  s.measure_output();
  RawOptions options;
  options.kinks = {{0, {}, 0.5}};
  const Slope alone = s.column_of(0, {0}, {}, options)[0];
  CHECK((alone.kink && alone.declared));
  const Slope along = s.column_of(0, {{}, {1, 1}}, {}, options)[0];
  CHECK((along.kink && !along.declared));
}

TEST_CASE("where places move together their unit is that of the first") {
  Values asked;
  Subject s({[&asked](const Arguments& in) {
               asked.push_back(in[0][0]);
               return Values{in[0][0] + in[0][1]};
             },
             [](const Arguments& in, const Values&) { return in; }},
            {{"x", {2}, {-64, -64}}});
  s.measure_output();
  s.column_of({{0, 0}, {0, 1}}, {});
  const auto [low, high] = std::minmax_element(asked.begin(), asked.end());
  CHECK(*high - *low ==
        Approx(6 * 0.125));  // three steps of 3e-3 · 64, to a power of two, each way
}

TEST_CASE("what bends is measured in the unit of the element, which has no sign") {
  for (const double x : {-0.01, 0.01, -3.0}) {
    Subject s({[](const Arguments& in) { return Values{in[0][0] * in[0][0] + in[0][1]}; },
               [](const Arguments& in, const Values&) { return in; }},
              {{"x", {2}, {x, 10}}});
    s.measure_output();
    CHECK(s.column_of(0, {0}, {}, {})[0].bend == Approx(2 * std::abs(x)).epsilon(1e-3));
    CHECK(s.column_of({{0, 0}}, {})[0].bend > 0);
  }
}

TEST_CASE("an output that stands still may be a rounding of terms, at 0 and far from it") {
  for (const double x : {0.0, 0.01, 0.031, 1.0 / 32, 0.032, 0.05, 1.0, -0.01, -0.5}) {
    Subject s({[](const Arguments& in) {
                 return Values{1 + in[0][0], 0};
               },
               [](const Arguments& in, const Values&) { return in; }},
              {{"x", {}, {x}}});
    s.measure_output();
    CAPTURE(x);
    CHECK((s.column_of(0, {0}, {}, {})[1].noise > 0) == (x == 0 || std::abs(x) > 1.0 / 32));
  }
}

TEST_CASE("along a direction the natural size is that at which its largest element moves by one") {
  for (const double size : {1.0, 1e3}) {
    Subject s({[](const Arguments& in) { return Values{in[0][0] + 3 * in[0][1]}; },
               [](const Arguments& in, const Values&) { return in; }},
              {{"x", {2}, {1, 2}}});
    s.measure_output();
    s.column_of(0, {{}, {0.5 * size, -size}}, {}, {});
    CHECK(s.counts().forward == 2 + 6 + (size > 1 ? 1 : 0));  // one more between long steps
  }
}

TEST_CASE("a gradient that is too long is found at its own input") {
  Subject s({[](const Arguments& in) { return Values{in[0][0] + in[1][0]}; },
             [](const Arguments&, const Values& dy) {
               return Arguments{dy, {dy[0], 0}};
             }},
            {{"a", {}, {1}}, {"b", {}, {2}}});
  Report report;
  CHECK_THROWS_AS(s.vjp({1}, report), Stop);
  REQUIRE(report.findings.size() == 1);
  CHECK((report.findings[0].input == 1 && report.findings[0].input_name == "b"));
}

}  // namespace gradus::check
