// Which verdict, counts and findings follow from what was seen; which Jacobians are seen whole.
#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

/// y_i = Σ_j x_j² / 2^(i mod 3); the gradient of each element for which wrong(j) holds is off.
struct Sums {
  std::size_t outputs, elements;
  std::function<bool(std::size_t)> wrong = [](std::size_t) { return false; };

  static double weight(std::size_t i) { return std::ldexp(1.0, -static_cast<int>(i % 3)); }
  Functions functions() const {
    return {[n = outputs](const Arguments& in) {
              double sum = 0;
              for (const double v : in[0]) sum += v * v;
              Values y(n);
              for (std::size_t i = 0; i < n; ++i) y[i] = weight(i) * sum;
              return y;
            },
            [w = wrong](const Arguments& in, const Values& dy) {
              double sum = 0;
              for (std::size_t i = 0; i < dy.size(); ++i) sum += weight(i) * dy[i];
              Values dx = in[0];
              for (std::size_t j = 0; j < dx.size(); ++j)
                dx[j] = (2 * dx[j] + (w(j) ? 1 : 0)) * sum;
              Arguments all(in.size());
              all[0] = dx;
              return all;
            }};
  }
  Input input() const {
    Values x(elements);
    for (std::size_t j = 0; j < elements; ++j) x[j] = 1 + 0.5 * static_cast<double>(j) / 1024;
    return {"x", {}, x};
  }
  Report report(const RawOptions& options = {}) const {
    return check_vjp("sums", functions(), {input()}, options);
  }
};

/// Some outputs of one number, and a gradient of it.
Report of_one(double x, const std::function<Values(double)>& f,
              const std::function<double(const Values& dy)>& df, const RawOptions& options = {}) {
  return check_vjp("f",
                   {[f](const Arguments& in) { return f(in[0][0]); },
                    [df](const Arguments&, const Values& dy) { return Arguments{{df(dy)}}; }},
                   {{"x", {}, {x}}}, options);
}

/// A number that rounding, or what looks like it, hides: known, but not well.
double rough(double x) { return x + 0.05 * std::sin(1e7 * x); }

bool notes(const Report& r, const std::string& words) {
  return std::any_of(r.notes.begin(), r.notes.end(),
                     [&](const std::string& note) { return note.find(words) != note.npos; });
}

double infinite_if_asked(double dy) { return dy == 0 ? 0 : std::copysign(HUGE_VAL, dy); }

}  // namespace

TEST_CASE(
    "a Jacobian that fails is looked at once up to 256 outputs and 100000 pairs, else again") {
  struct Size {
    std::size_t outputs, elements;
    bool once;
  };
  for (const Size& s : {Size{256, 2, true}, {250, 400, true}, {251, 399, false}}) {
    const Report r = Sums{s.outputs, s.elements, [](auto j) { return j == 1; }}.report();
    CAPTURE(s.outputs, s.elements, r.counts.forward);
    CHECK((r.verdict == Verdict::fail && r.inputs[0].wrong == 1));
    const auto columns = static_cast<std::int64_t>(6 * s.elements);
    CHECK(r.counts.forward == (s.once ? 1 : 2) * (2 + columns + 24));
  }
}

TEST_CASE("all rows are asked up to 256 outputs, whatever the number of pairs") {
  CHECK_FALSE(notes(Sums{256, 391}.report(), "the Jacobian was sampled"));
  CHECK(notes(Sums{257, 3}.report(), "the Jacobian was sampled"));
}

TEST_CASE("an input of 2048 elements moves one by one beside others, and one of no columns once") {
  Values x(2048);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = 1 + static_cast<double>(j) / 2048;
  const Functions first{[](const Arguments& in) { return Values{in[0][0] * in[0][0]}; },
                        [](const Arguments& in, const Values& dy) {
                          Values dx(2048, 0.0);
                          dx[0] = 2 * in[0][0] * dy[0];
                          return Arguments{dx, {}};
                        }};
  const Report r = check_vjp("first", first, {{"x", {}, x}, {"mask", {}, {1}, false}});
  CHECK((r && r.inputs[0].looked_at == 2048));
  RawOptions none;
  none.mode = Mode::projections;
  none.columns = 0;
  const Report one = Sums{1, 5}.report(none);
  CHECK((one && one.inputs[0].looked_at == 1));
}

TEST_CASE(
    "where a sample fails and the rest is too large to look at, the map shows what was seen") {
  RawOptions few;
  few.mode = Mode::projections;
  few.columns = 2;
  const Report one = Sums{1001, 2000, [](auto j) { return j == 1234; }}.report(few);
  const std::string& map = one.inputs[0].map;
  CHECK(one.verdict == Verdict::fail);
  CHECK((one.inputs[0].wrong == 1 && one.inputs[0].looked_at == 2));
  CHECK((map.size() == 2000 && map[1234] == '~'));
  CHECK(std::count(map.begin(), map.end(), '.') == 2);
  const Report all = Sums{1001, 2000, [](auto) { return true; }}.report(few);
  CHECK(all.inputs[0].wrong == 2);
  CHECK(std::count(all.inputs[0].map.begin(), all.inputs[0].map.end(), '~') == 1998);
}

TEST_CASE("functions that are empty are refused, and a failure stays one whatever comes after") {
  const auto vjp = [](const Arguments&, const Values& dy) { return Arguments{dy}; };
  CHECK_THROWS_WITH(check_vjp("f", {{}, vjp}, {{"x", {}, {1}}}),
                    "f: the function to check, or its derivative, is empty");
  const auto damage = [](const Arguments&) -> Values { throw Damage(""); };
  CHECK(check_vjp("f", {damage, vjp}, {{"x", {}, {1}}}).verdict == Verdict::fail);
  // `b` is added to where it should be written; then forward cannot be measured.
  Functions f{[](const Arguments& in) {
                if (in[0][0] != 0.5) throw std::runtime_error("not here");
                return Values{in[0][0] + in[1][0]};
              },
              {}};
  f.into = [](const Arguments&, const Values& dy, const Arguments& start) {
    return Arguments{dy, {dy[0] + start[1][0]}};
  };
  const Report r = check_vjp("f", f, {{"a", {}, {0.5}}, {"b", {}, {2}}});
  CHECK(r.verdict == Verdict::fail);
  CHECK(r.findings.size() == 2);
}

TEST_CASE("findings stand in the order of the inputs, though buffers are looked at first") {
  Functions f{[](const Arguments& in) { return Values{in[0][0] + in[1][0]}; }, {}};
  f.into = [](const Arguments&, const Values& dy, const Arguments& start) {
    return Arguments{{2 * dy[0]}, {dy[0] + start[1][0]}};
  };
  const Report r = check_vjp("f", f, {{"a", {}, {0.5}}, {"b", {}, {2}}});
  REQUIRE(r.findings.size() == 2);
  CHECK((r.findings[0].input == 0 && r.findings[0].kind == Kind::element));
  CHECK((r.findings[1].input == 1 && r.findings[1].kind == Kind::buffer));
}

TEST_CASE(
    "without elements or outputs a value that is no number is said, and nothing else is asked") {
  const auto nothing = [](const Arguments&, const Values&) { return Arguments{{}}; };
  for (const double y : {std::nan(""), HUGE_VAL}) {
    const auto f = [y](const Arguments&) { return Values{y}; };
    const Report r = check_vjp("f", {f, nothing}, {{"x", {0}, {}}});
    CHECK(r.verdict == Verdict::inconclusive);
    CHECK(notes(r, "forward gives " + number(y, 3) + " at out[]"));
  }
  Functions none{[](const Arguments&) { return Values(); },
                 [](const Arguments&, const Values&) {
                   return Arguments{{0, 0}};
                 }};
  const Report special = check_vjp("f", none, {{"x", {}, {0, 0}}});
  CHECK_FALSE(notes(special, "which hides mistakes"));
  none.into = [](const Arguments&, const Values&, const Arguments&) { return Arguments{{0, 0}}; };
  none.vjp = {};
  CHECK(check_vjp("f", none, {{"x", {}, {1, 2}}}).counts.vjp == 1);
}

TEST_CASE("the verdict counts what is not shown") {
  RawOptions none;
  none.findings = 0;
  const auto f = [](const Arguments& in) {
    return Values{in[0][0] * in[0][0] + (in[0][1] < 1 ? 0 : 1)};
  };
  const auto df = [](const Arguments& in, const Values& dy) {
    return Arguments{{3 * in[0][0] * dy[0], 0}};
  };
  const Report r = check_vjp("f", {f, df}, {{"x", {}, {2, 1}}}, none);
  CHECK(r.findings.empty());
  CHECK(r.verdict == Verdict::fail);
  CHECK((r.inputs[0].wrong == 1 && r.inputs[0].unseen == 1));
}

TEST_CASE(
    "a step that sees a wave at its zeros only is found out, and what it said is taken back") {
  const double turns = 2 * std::acos(-1.0) * 512;  // the first step at 1 is 1 / 512
  const Report r = of_one(
      1, [turns](double x) { return Values{x + 1e-3 * std::sin(turns * (x - 1))}; },
      [turns](const Values& dy) { return (1 + 1e-3 * turns) * dy[0]; });
  CHECK(r);
  CHECK(r.inputs[0].wrong == 0);
}

TEST_CASE("infinity beside what rounding hides cannot be judged, and NaN is wrong") {
  const auto f = [](double x) { return Values{rough(x), x}; };
  const Report unseen =
      of_one(1, f, [](const Values& dy) { return infinite_if_asked(dy[0]) + dy[1]; });
  CHECK(unseen.verdict == Verdict::inconclusive);
  CHECK(unseen.inputs[0].unseen == 1);
  const Report wrong =
      of_one(1, f, [](const Values& dy) { return dy[0] == 0 ? dy[1] : std::nan(""); });
  CHECK(wrong.verdict == Verdict::fail);
  const Report seen = of_one(
      1,
      [](double x) {
        return Values{x, x};
      },
      [](const Values& dy) { return infinite_if_asked(dy[0]) + dy[1]; });
  CHECK(seen.verdict == Verdict::fail);
}

TEST_CASE("sums that cannot be seen count where no row was asked, and no parts of them are") {
  RawOptions sums;
  sums.mode = Mode::projections;
  sums.rows = 0;
  const Report r = of_one(
      1,
      [](double x) {
        return Values{x < 1 ? 0.0 : 1.0, x};
      },
      [](const Values& dy) { return dy[1]; }, sums);
  CHECK(r.verdict == Verdict::inconclusive);
  CHECK(r.counts.vjp == 1 + 3 + 3);  // zeros, the sums, side effects
}

TEST_CASE("a sum that is wrong though none of its parts is names no output") {
  const Report r = of_one(
      1,
      [](double x) {
        return Values{x, 2 * x, x * x};
      },
      [](const Values& dy) { return dy[0] + 2 * dy[1] + 2 * dy[2] + dy[0] * dy[1]; });
  const auto sum = std::find_if(r.findings.begin(), r.findings.end(),
                                [](const Finding& f) { return f.kind == Kind::projection; });
  REQUIRE(sum != r.findings.end());
  CHECK((sum->output.empty() && sum->verdict == Verdict::fail));
}

TEST_CASE("directions that lead to no single element are all shown") {
  RawOptions coarse;
  coarse.mode = Mode::projections;
  coarse.columns = 1;
  coarse.findings = 9;
  coarse.rtol = 0;
  coarse.atol = 1e-2;
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    coarse.seed = seed;
    const Report r = check_vjp("f",
                               {[](const Arguments& in) { return Values{in[0][0] + in[0][1]}; },
                                [](const Arguments&, const Values& dy) {
                                  return Arguments{{1.012 * dy[0], 1.012 * dy[0]}};
                                }},
                               {{"x", {}, {1, 1.5}}}, coarse);
    const auto along = std::count_if(r.findings.begin(), r.findings.end(),
                                     [](const Finding& f) { return f.along; });
    most = std::max(most, static_cast<std::size_t>(along));
  }
  CHECK(most > 1);
}

TEST_CASE("a gradient that is not 0 for zeros is wrong twice, and reads dy if it changes with it") {
  for (const bool reads : {true, false}) {
    const Report r = of_one(
        1, [](double x) { return Values{x * x}; },
        [reads](const Values& dy) { return (reads ? 2 * dy[0] : 0) + 1; });
    std::vector<Kind> kinds;
    for (const Finding& f : r.findings) kinds.push_back(f.kind);
    CHECK(std::count(kinds.begin(), kinds.end(), Kind::zero_upstream) == 1);
    CHECK(std::count(kinds.begin(), kinds.end(), Kind::element) == 1);
    CHECK((r.inputs[0].cause.name == "UPSTREAM IGNORED") == !reads);
  }
  // Not 0 for zeros, and as good as linear: it does read dy.
  const Report nearly = of_one(
      1, [](double x) { return Values{x * x}; }, [](const Values& dy) { return 3 * dy[0] + 1e-9; });
  CHECK(nearly.inputs[0].wrong > 0);
  CHECK(nearly.inputs[0].cause.name != "UPSTREAM IGNORED");
}

TEST_CASE("in float what is forgiven grows with the outputs, and is never less than was asked") {
  const auto check = [](double error, const RawOptions& options) {
    Functions f{[](const Arguments& in) { return Values(64, static_cast<float>(in[0][0] * 3)); },
                [error](const Arguments&, const Values& dy) {
                  double sum = 0;
                  for (const double w : dy) sum += w;
                  return Arguments{{3 * sum + error * dy[0]}};
                }};
    f.reference = [](const Arguments& in) { return Values(64, in[0][0] * 3); };
    f.ulp = 0x1p-23;
    return check_vjp("f", f, {{"x", {}, {1.25}}}, options);
  };
  CHECK(notes(check(0, {}), "errors below 2e-05"));  // 16 · 2⁻²³ · √64
  RawOptions relative, absolute;
  relative.rtol = 1e-2;
  absolute.atol = 1e-2;
  CHECK(check(1e-3, {}).verdict == Verdict::fail);
  CHECK(check(1e-3, relative));
  CHECK(check(1e-3, absolute));
}

TEST_CASE("with a resolution the rounding of the functions' own arithmetic is allowed") {
  RawOptions options;
  options.resolution = 0.012345;
  Functions f{[](const Arguments& in) { return Values{3 * in[0][0]}; },
              [](const Arguments&, const Values& dy) { return Arguments{{9 * dy[0]}}; }};
  f.ulp = 0x1p-16;
  const Report r = check_vjp("f", f, {{"x", {}, {1}}}, options);
  CHECK(notes(r, "compared with a resolution of 0.0123:"));
  REQUIRE(r.findings.size() == 1);
  const double h = 0x1p-4, rounding = f.ulp * (3 * (1 + 3 * h) + 3) / h;
  CHECK(r.findings[0].allowed == Approx(2 * 0.012345 * 3 + 20 * rounding));
}

TEST_CASE("noise is measured along the seed's direction") {
  const auto direction = [](std::uint64_t seed) {
    RawOptions options;
    options.resolution = 1e-2;
    options.seed = seed;
    std::vector<Values> asked;
    Functions f = Sums{1, 3}.functions();
    f.forward = [&asked, y = f.forward](const Arguments& in) {
      asked.push_back(in[0]);
      return y(in);
    };
    CHECK(check_vjp("sums", f, {Sums{1, 3}.input()}, options));
    REQUIRE(asked.size() > 2);
    return asked[2];  // after two calls at the inputs
  };
  CHECK(direction(3) == direction(3));
  CHECK(direction(3) != direction(4));
}

}  // namespace gradus::check
