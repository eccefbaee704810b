// Bad input to the checker, and functions with side effects: each has a message that says so.
// Reports as text, as JSON, and of the smallest sizes that fail.
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gradus/check/raw/catch2.h"
#include "gradus/check/raw/check.h"
#include "gradus/check/raw/smallest.h"
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {
namespace {

using V = std::vector<double>;
using check::Report;
using check::Verdict;
using raw_cases::squares;
using raw_cases::squares_vjp;
using testing::has;
using testing::message_of;

const V kX{0.5, -1.25, 2.0};

template <class Forward, class Derivative>
Report with(Forward f, Derivative d) {
  return check::raw("f", f, d, kX);
}

void says(const Report& report, Verdict verdict, const std::string& words) {
  CAPTURE(report.text());
  CHECK(report.verdict == verdict);
  std::string flat = report.text();
  for (std::size_t at; (at = flat.find("\n      ")) != std::string::npos;) flat.replace(at, 7, " ");
  CHECK(has(flat, words));
}

}  // namespace

TEST_CASE("raw: a call that makes no sense throws and says why", "[check][raw]") {
  const auto bad = [](const auto& raw) {
    return message_of<check::BadInput>([&] { raw.report(); });
  };
  CHECK(has(bad(check::raw(
                "ints", [](const std::vector<int>& x) { return double(x[0]); },
                [](const std::vector<int>&) { return 0.0; }, std::vector<int>{1})),
            "none of the 1 inputs is differentiable"));
  CHECK(has(bad(check::raw("shape", squares, squares_vjp, check::input(kX, "x", {2, 2}))),
            "input 'x' has the shape [2,2], which takes 4 values, but 3 were given"));
  CHECK(has(bad(check::raw("dy", squares, squares_vjp, kX).upstream({1})),
            "the upstream gradient has 1 values, but forward gives 3"));
  CHECK(has(bad(check::raw("out", squares, squares_vjp, kX).output({4})),
            "output_shape [4] does not fit the 3 values"));
  CHECK(has(message_of<check::BadInput>([] {
              check::check_vjp("none", {}, {{"x", {1}, {1.0}}});
            }),
            "the function to check, or its derivative, is empty"));
}

TEST_CASE("raw: functions that throw, change, or are random", "[check][raw]") {
  const auto throws = [](const V& x, const V&) -> V {
    throw std::runtime_error("no " + std::to_string(x.size()));
  };
  says(with(squares, throws), Verdict::fail, "the derivative throws: no 3");
  says(with([](const V&) -> V { throw 42; }, squares_vjp), Verdict::inconclusive,
       "forward throws something that is no std::exception");
  says(with(
           [](V& x) {
             x[1] = 0.25;
             return x;
           },
           squares_vjp),
       Verdict::fail,
       "forward changes x0, which it may only read: element [1] was -1.25 and is 0.25");
  says(with(squares,
            [](V& x, const V& dy) {
              V d = squares_vjp(x, dy);
              x[0] = 9;
              return d;
            }),
       Verdict::fail, "the derivative changes x0");
  says(with(squares,
            [](const V& x, V& dy) {
              V d = squares_vjp(x, dy);
              dy[0] = 9;
              return d;
            }),
       Verdict::fail, "the derivative changes dy");
  int calls = 0;
  says(with(
           [&calls](const V& x) {
             V y = squares(x);
             y[0] += 1e-9 * ++calls;
             return y;
           },
           squares_vjp),
       Verdict::inconclusive, "different values for the same inputs");
  const Report random = with(squares, [&calls](const V& x, const V& dy) {
    V d = squares_vjp(x, dy);
    d[0] *= 1 + 1e-12 * ++calls;
    return d;
  });
  says(random, Verdict::fail, "the gradient of 'x0' differs from call to call");
  CHECK(random.inputs[0].cause.name == "NOT DETERMINISTIC");
}

TEST_CASE("raw: writes outside a buffer are found, on both sides", "[check][raw]") {
  const auto at = [](int where) {
    return with(squares, [where](const double* x, const double* dy, double* dx) {
      for (int i = 0; i < 3; ++i) dx[i] = 2 * x[i] * dy[i];
      dx[where] = 0;
    });
  };
  says(at(3), Verdict::fail,
       "the derivative writes past the end of dx0, which has 3 elements: at [3]");
  says(at(-1), Verdict::fail, "writes before the start of dx0");
  const auto forward = [](const double* x, double* y) {
    for (int i = 0; i <= 3; ++i) y[i] = i < 3 ? x[i] * x[i] : 0;
  };
  says(check::raw("forward", forward, squares_vjp, kX).output({3}), Verdict::fail,
       "forward writes past the end of its output");
}

TEST_CASE("raw: NaN, kinks, emptiness, wrong sizes", "[check][raw]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  says(with(
           [nan](const V& x) {
             return V{x[0], nan, x[2]};
           },
           squares_vjp),
       Verdict::fail, "forward gives nan at out[1]");
  says(check::raw(
           "nan", [nan](double) { return nan; }, [](double) { return 1.0; }, 2.0),
       Verdict::inconclusive, "no derivative can be measured there");
  const auto relu = [](const V& x) { return V{std::max(x[0], 0.0)}; };
  const Report kink = check::raw(
      "relu", relu, [](const V& x) { return V{x[0] == 0  ? 0.5
                                              : x[0] > 0 ? 1.0
                                                         : 0.0}; }, V{0.0});
  says(kink, Verdict::pass, "lie at a kink, the first at [0]");
  says(check::raw("empty", squares, squares_vjp, V{}), Verdict::pass, "has no elements");
  says(with(squares,
            [](const V& x, const V& dy) {
              V d = squares_vjp(x, dy);
              d.pop_back();
              return d;
            }),
       Verdict::fail, "the gradient of input 0 'x0' has 2 values, the input has 3");
  says(with(squares, [](const V&, const V&) { return std::vector<V>{}; }), Verdict::fail,
       "the gradient of input 0 'x0' has 0 values, the input has 3");  // no row of rows
}

TEST_CASE("raw: the report as text and as JSON", "[check][raw]") {
  const Report report = check::raw(
      "halved \"y\"", squares,
      [](const V& x, const V& dy) {
        V d = squares_vjp(x, dy);
        d[1] = std::numeric_limits<double>::infinity();
        return d;
      },
      check::input(kX, "angles"));
  const std::string text = report.text();
  CAPTURE(text);
  CHECK(has(text, "GRADCHECK FAIL  halved \"y\""));
  CHECK(has(text, ".?."));
  CHECK(has(text, "reproduce: check::raw(\"halved \"y\"\", …).seed(24301)"));
  CHECK(text.find('\x1b') == std::string::npos);
  std::ostringstream out;
  out << report;
  CHECK(out.str() == text);
  CHECK(has(report.text(true), "\x1b[1;31mFAIL\x1b[0m"));
  const nlohmann::json json = nlohmann::json::parse(report.json());
  CHECK(json["name"] == "halved \"y\"");
  CHECK(json["verdict"] == "FAIL");
  CHECK(json["inputs"][0]["name"] == "angles");
  CHECK(json["inputs"][0]["map"] == ".?.");
  CHECK(json["inputs"][0]["cause"] == "NOT A NUMBER");
  CHECK(json["findings"].size() == report.findings.size());
  const std::string analytic = json["findings"][1]["analytic"].is_string() ? "text" : "number";
  CHECK(analytic == "text");
  CHECK_THAT(Report(check::raw("squares", squares, squares_vjp, kX)), check::HasCorrectGradients());
  CHECK_THAT(report, !check::HasCorrectGradients());
}

TEST_CASE("raw: reports as JUnit's XML") {
  const Report right = check::raw("a < b & \"c\"\x01", squares, squares_vjp, kX);
  const Report wrong = check::raw(
      "wrong", squares, [](const V& x, const V&) { return V(x.size(), 0.0); }, kX);
  const std::string xml = check::junit({right, wrong});
  CAPTURE(xml);
  CHECK(has(xml, "<testsuite name=\"gradus.check\" tests=\"2\" failures=\"1\">"));
  CHECK(has(xml, "name=\"a &lt; b &amp; &quot;c&quot;?\">\n    <system-out>GRADCHECK PASS"));
  CHECK(has(xml, "name=\"wrong\">\n    <failure message=\"FAIL\">GRADCHECK FAIL"));
}

TEST_CASE("raw: no line of a report ends with a blank") {
  for (std::size_t before = 0; before < 80; ++before)
    for (const char* gap : {" ", "  ", "   "})
      for (std::size_t indent : {0U, 4U}) {
        const std::string text =
            check::wrapped(std::string(before, 'x') + gap + "two words ", indent);
        CAPTURE(before, gap, indent, text);
        CHECK(text.find(" \n") == std::string::npos);
        CHECK(has(text, "words\n"));
      }
  const Report nameless = check::raw("", squares, squares_vjp, kX);
  CHECK(has(nameless.text(), "GRADCHECK PASS\n"));
}

TEST_CASE("raw: the smallest sizes that fail", "[check][raw]") {
  // Wrong from the second row on, for rows of three and more.
  const auto sized = [](const check::Shape& n) {
    const auto width = static_cast<std::size_t>(n[1]), rows = static_cast<std::size_t>(n[0]);
    V x(width * rows);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 + static_cast<double>(i);
    return check::raw(
               "rows", squares,
               [width](const V& v, const V& dy) {
                 V d = squares_vjp(v, dy);
                 if (d.size() > width && width >= 3) d[width] = 0;
                 return d;
               },
               check::input(x, "x", n))
        .output(n);
  };
  const Report report = check::smallest({5, 7}, sized);
  CAPTURE(report.text());
  CHECK(has(report.smallest, "[2,3]: d out[1,0] / d x[1,0]"));
  CHECK(has(report.text(), "smallest failing shape: [2,3]"));
  CHECK(check::smallest({1, 7}, sized).smallest.empty());
}

}  // namespace gradus
