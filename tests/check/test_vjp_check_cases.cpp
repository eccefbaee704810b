// Single cases that the pages beside leave out: where a sum has nothing to add, a side is infinite,
// terms cancel, an input has no name; what a shape of the function itself and a reference change.
#include <numeric>

#include "gradus/tests/check/evidence_cases.h"
#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

/// [x₀x₁, 0, size] whose second row claims `claimed` by each element.
Subject claims(double claimed, const Values& x, double size) {
  return {
      "claims",
      {{"x", {}, x}},
      {[size](const Arguments& in) {
         return Values{in[0][0] * in[0][1], 0, size};
       },
       [claimed](const Arguments& in, const Values& dy) {
         return Arguments{{dy[0] * in[0][1] + dy[1] * claimed, dy[0] * in[0][0] + dy[1] * claimed}};
       }}};
}

/// Squares in float of so many numbers, and a reference of the double ones.
Subject squares(std::size_t count, double ulp, bool sum) {
  Values x(count);
  for (std::size_t j = 0; j < count; ++j) x[j] = 0.5 + 0.125 * static_cast<double>(j);
  Subject s{"squares", {{"x", {}, x}}, {}};
  s.functions.forward = [sum](const Arguments& in) {
    Values y = in[0];
    for (double& v : y) v *= v;
    return sum ? Values{std::accumulate(y.begin(), y.end(), 0.0)} : y;
  };
  s.functions.vjp = [sum](const Arguments& in, const Values& dy) {
    Values dx = in[0];
    for (std::size_t j = 0; j < dx.size(); ++j) dx[j] *= 2 * dy[sum ? 0 : j];
    return Arguments{dx};
  };
  s.functions.reference = s.functions.forward;
  s.functions.ulp = ulp;
  return s;
}

}  // namespace

TEST_CASE("a term is named where four entries agree beside those that fix it, and no sooner") {
  using evidence_cases::plain_entry;
  using evidence_cases::right;
  for (const std::int64_t outputs : {1, 2, 3})
    for (const std::int64_t n : {3, 4, 5, 6}) {
      const Evidence e = evidence_cases::spoiled(
          right({n}, {outputs}, plain_entry),
          [](auto i, auto j) { return plain_entry(i, j) + 1 + evidence_cases::real(i); });
      const Values ones(static_cast<std::size_t>(n), 1.0), none(static_cast<std::size_t>(n), 0.0);
      const Comparison d(e);
      CAPTURE(outputs, n);
      CHECK(is_term(d, groups_along(0, {n}), ones) == (outputs * (n - 1) >= 4));
      CHECK_FALSE(is_term(d, groups_along(0, {n}), none));
    }
  // A group in which nothing is missing, and v is 0, spoils nothing.
  const Evidence half =
      evidence_cases::spoiled(right({2, 5}, {1}, plain_entry),
                              [](auto i, auto j) { return plain_entry(i, j) + (j < 5 ? 2 : 0); });
  CHECK(is_term(Comparison(half), groups_along(1, {2, 5}), {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}));
}

TEST_CASE("where nothing is measured a factor is none, and any gradient is a leak") {
  const Evidence e =
      evidence_cases::spoiled(evidence_cases::right({3}, {3}, [](auto, auto) { return 0.0; }),
                              [](auto i, auto j) { return 1 + evidence_cases::real(i + j); });
  CHECK(constant_factor(Comparison(e)).name.empty());
  CHECK(gradient_leak(Comparison(e)).name == "LEAK");
}

TEST_CASE("a factor beside another is told in seven digits") {
  using evidence_cases::plain_entry;
  const Evidence n = evidence_cases::right({5}, {3}, plain_entry);
  const Values x = n.inputs[0].values;
  const Evidence e =
      evidence_cases::spoiled(n, [x](auto i, auto j) { return 0.7 * x[j] * plain_entry(i, j); });
  const Cause cause = varying_factor(Comparison(e));
  CHECK(cause.name == "FACTOR");
  CHECK(cause.why == "too much in dx is a factor x, and one of 1.428571");
  CHECK(cause.hint == "divide dx by x");
}

TEST_CASE("an infinite side is no number, and a little rounding widens what counts as 0") {
  for (const bool left : {false, true}) {
    Slope s{.value = 1, .noise = 1e-12, .left = 0, .right = 2, .kink = true};
    CHECK(s.finite());
    (left ? s.left : s.right) = left ? -HUGE_VAL : HUGE_VAL;
    CHECK_FALSE(s.finite());
    CHECK_FALSE(s.looks_zero());
    CHECK(judge(1, s, 1, {}).verdict == Verdict::inconclusive);
  }
  for (const double noise : {0.0, 1e-18}) {
    const Judgement j = judge(5e-16, {.value = 0, .noise = noise}, 0, {});
    CHECK((j.verdict == Verdict::pass) == (noise == 0));
    CHECK(j.allowed == Approx(noise == 0 ? 1e-15 : 2e-17));
  }
}

TEST_CASE(
    "how much of a constant's derivative is forgiven as rounding is golden/check/forgiven.txt") {
  Page page;
  RawOptions alone;
  alone.beside = false;
  for (const double x : {0.0, 0.02, 0.03125, 0.0317, 0.5})
    for (const double size : {1e-3, 0.5, 60.0})
      for (const double claimed : {1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10}) {
        const Subject s = claims(claimed, {x, 0.75}, size);
        const Report r = check_vjp(s.name, s.functions, s.inputs, alone);
        page.line(x, size, golden::shown(claimed), to_string(r.verdict), r.inputs[0].wrong,
                  r.inputs[0].unseen);
      }
  page.compare("forgiven.txt");
}

TEST_CASE("references, shapes of functions and inputs without a name are golden/check/cases.txt") {
  Page page;
  for (const std::size_t count : {3U, 20U})
    for (const double ulp : {0x1p-23, 0x1p-52})
      for (const bool sum : {false, true})
        show(page, golden::shown(ulp), squares(count, ulp, sum), {});
  Subject shaped = squares(2, 0x1p-52, false);
  shaped.functions.shape = [] { return Shape{1, 2}; };
  shaped.functions.reference = {};
  shaped.functions.vjp = [](const Arguments&, const Values& dy) {
    return Arguments{{dy[0], 9 * dy[1]}};
  };
  RawOptions options;
  show(page, "its own", shaped, options);
  options.output_shape = {2, 1};
  show(page, "that of the options", shaped, options);
  Subject two = squares(2, 0x1p-52, true);
  two.functions.reference = {};
  two.inputs.push_back({"", {}, {0, 0}});
  two.inputs[0].values = {1, 1};
  two.inputs[0].name = "";
  two.functions.vjp = [](const Arguments& in, const Values& dy) {
    return Arguments{{2 * in[0][0] * dy[0], 2 * in[0][1] * dy[0]}, {0, 0}};
  };
  for (const bool beside : {true, false}) {
    options = {};
    options.beside = beside;
    show(page, "nothing special moves", two, options, {{std::nullopt, std::nullopt}, positive()});
    show(page, "on a manifold", two, options, {{positive(), std::nullopt}});
    show(page, "both", two, options, {{positive(), symmetric()}});
  }
  page.compare("cases.txt");
}

}  // namespace gradus::check::recorded
