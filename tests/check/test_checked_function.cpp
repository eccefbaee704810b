#include <algorithm>
#include <memory>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes, testing::undecided;

/// y = [a₀b₀, a₁b₁a₀, a₀ + b₁²]
Case products() {
  return {"products",
          {{"a", {2}, {0.75, -2}}, {"b", {2}, {3, 0.5}}},
          [](const Arguments& in) {
            const Values &a = in[0], &b = in[1];
            return Values{a[0] * b[0], a[1] * b[1] * a[0], a[0] + b[1] * b[1]};
          },
          [](const Arguments& in, const Values& dy) {
            const Values &a = in[0], &b = in[1];
            return Arguments{{dy[0] * b[0] + dy[1] * a[1] * b[1] + dy[2], dy[1] * b[1] * a[0]},
                             {dy[0] * a[0], dy[1] * a[1] * a[0] + 2 * dy[2] * b[1]}};
          }};
}

Spoil off_by(double share) {
  return [share](Arguments& dx, const Arguments&, const Values&) {
    for (Values& part : dx)
      for (double& v : part) v *= 1 + share;
  };
}

struct Wish {
  std::string name = {};
  Options options = {};
  double shows = 1e-3;  // smallest relative error that must fail
};

std::vector<Wish> wishes() {
  Options tolerance, coarse, sampled, full, seed, upstream, shape, alone, few, kinks, quick;
  tolerance.rtol = 1e-3, tolerance.atol = 1e-2;
  coarse.resolution = 1e-2;
  sampled.mode = Mode::projections;
  sampled.rows = 2, sampled.columns = 1, sampled.projections = 2;
  full.mode = Mode::full;
  seed.seed = 7;
  upstream.upstream = {1, -2, 0.5};
  shape.output_shape = {3, 1};
  alone.neighborhood = false;
  few.findings = 1, few.projections = 0;
  kinks.kinks = {{0, 0.0, 0.25}, {0, 3.0, 1}};
  quick.mode = Mode::quick;
  return {{"none", {}},
          {"quick", quick},
          {"tolerance", tolerance, 0.1},
          {"coarse", coarse, 0.1},
          {"seed", seed},
          {"sampled", sampled},
          {"upstream", upstream},
          {"shape", shape},
          {"no neighborhood", alone},
          {"few", few},
          {"kinks", kinks},
          {"full", full}};
}

Report changing(const std::function<double(int)>& after) {
  Case c = products();
  c.forward = [after, calls = std::make_shared<int>(0), f = c.forward](const Arguments& in) {
    Values y = f(in);
    y[0] += after((*calls)++);
    return y;
  };
  return run(c);
}

double as_float(double v) { return static_cast<float>(v); }

Functions in_float(double off, bool reference) {
  const Case c = products();
  Functions f{[g = c.forward, off](const Arguments& in) {
                Values y = g(in);
                for (double& v : y) v = as_float(v * (1 + off));
                return y;
              },
              c.vjp};
  if (reference) f.reference = c.forward;
  f.ulp = 0x1p-23;
  return f;
}

}  // namespace

TEST_CASE("options: correct derivatives pass and wrong derivatives fail under every option",
          "[check][raw]") {
  for (const Wish& wish : wishes()) {
    CAPTURE(wish.name);
    passes(run(products(), wish.options));
    fails(run_spoiled(products(), off_by(wish.shows), wish.options));
    fails(run_spoiled(products(), off_by(-2), wish.options));
  }
}

TEST_CASE("determinism: one seed gives one report, with any number of threads", "[check][raw]") {
  for (const Wish& wish : wishes())
    for (const double error : {0.0, 0.25, -2.0}) {
      CAPTURE(wish.name, error);
      const Report first = run_spoiled(products(), off_by(error), wish.options);
      for (const int threads : {1, 2, 3, 7}) {
        Options options = wish.options;
        options.threads = threads;
        const Report again = run_spoiled(products(), off_by(error), options);
        CHECK(again.text() == first.text());
        CHECK(again.json() == first.json());
      }
    }
}

TEST_CASE("determinism: another seed gives other upstream gradients and the same verdict") {
  Options one, two;
  one.seed = 1;
  two.seed = 2;
  const auto upstream = [](const Options& options) {
    std::vector<Values> asked;
    Case c = products();
    c.vjp = [&asked, vjp = c.vjp](const Arguments& in, const Values& dy) {
      asked.push_back(dy);
      return vjp(in, dy);
    };
    passes(run(c, options));
    return asked;
  };
  CHECK(upstream(one) == upstream(one));
  CHECK(upstream(one) != upstream(two));
  // A single weight is random in ±[1.5, 2.5), never 1.
  for (const Values& dy : upstream(one)) {
    const auto weighs = [](double w) { return w != 0; };
    if (std::count_if(dy.begin(), dy.end(), weighs) != 1) continue;
    const double w = std::abs(*std::find_if(dy.begin(), dy.end(), weighs));
    CHECK((w >= 1.5 && w < 2.5));
  }
}

TEST_CASE("state: steady drift between calls is reported as state, not randomness") {
  for (const auto& after : std::vector<std::function<double(int)>>{
           [](int n) { return n; }, [](int n) { return -n; }, [](int n) { return 1.0 / (n + 1); }})
    undecided(changing(after), "Reset the state for each call");
}

TEST_CASE("state: changes without a direction are reported as randomness") {
  for (const auto& after : std::vector<std::function<double(int)>>{
           [](int n) { return n % 2; }, [](int n) { return n * n; },
           [](int n) { return n == 1 ? 1 : 0; }})
    undecided(changing(after), "Fix the random seed");
}

TEST_CASE("state: a derivative that differs between calls fails") {
  Case c = products();
  const Report report = run_spoiled(
      c, [calls = std::make_shared<int>(0)](Arguments& dx, const Arguments&, const Values&) {
        dx[0][1] *= 1 + 1e-12 * ++*calls;
      });
  fails(report, "the gradient of 'a' differs between calls");
  CHECK(report.inputs[0].cause.name == "NOT DETERMINISTIC");
}

TEST_CASE("state: results that differ by rounding are noise, not a change") {
  passes(changing([](int n) { return 0x1p-52 * (n % 3); }));
  passes(run_spoiled(products(), [calls = std::make_shared<int>(0)](Arguments& dx, const Arguments&,
                                                                    const Values&) {
    dx[0][1] *= 1 + 0x1p-52 * (++*calls % 3);
  }));
}

TEST_CASE("float: a function that computes in float without saying so is inconclusive") {
  Functions f = in_float(0, false);
  f.ulp = std::numeric_limits<double>::epsilon();
  undecided(run("f", f, products().inputs), "float");
  const Functions steps{[](const Arguments& in) { return Values{std::floor(in[0][0])}; },
                        [](const Arguments&, const Values&) { return Arguments{{0}}; }};
  passes(run("steps", steps, {{"x", {}, {0.7}}}));
  // Cancellation leaves few digits as well.
  const Functions root{[](const Arguments& in) { return Values{std::sqrt(1 + in[0][0]) - 1}; },
                       [](const Arguments& in, const Values& dy) {
                         return Arguments{{dy[0] / 2 / std::sqrt(1 + in[0][0])}};
                       }};
  passes(run("root", root, {{"x", {}, {3.3e-9}}}));
}

TEST_CASE("unimplemented: a missing derivative has its own verdict") {
  const Report report = run_spoiled(products(), [](Arguments&, const Arguments&, const Values&) {
    throw check::Unimplemented("no rule");
  });
  CHECK(report.verdict == Verdict::unimplemented);
  CHECK_FALSE(report);
  CHECK(report.findings.front().note.find("no rule") != std::string::npos);
  const auto forward = [](const Arguments&) -> Values { throw check::Unimplemented("complex"); };
  undecided(run("f", {forward, products().vjp}, products().inputs), "complex");
}

TEST_CASE("shapes: a gradient of the wrong size has the cause SHAPE") {
  const Report report = run_spoiled(
      products(), [](Arguments& dx, const Arguments&, const Values&) { dx[1].pop_back(); });
  CHECK(report.inputs[1].cause.name == "SHAPE");
}

TEST_CASE("throwing: a forward that throws is inconclusive, a derivative that throws fails") {
  const Case right = products();
  const auto throws = [](const Arguments&) -> Values { throw std::runtime_error("out of cheese"); };
  const auto throws_42 = [](const Arguments&) -> Values { throw 42; };
  undecided(run("f", {throws, right.vjp}, right.inputs), "forward throws: out of cheese");
  undecided(run("f", {throws_42, right.vjp}, right.inputs),
            "forward throws an exception that is not a std::exception");
  fails(run_spoiled(right, [](Arguments&, const Arguments&,
                              const Values&) { throw std::runtime_error("out of cheese"); }),
        "the derivative throws: out of cheese");
  CHECK(run_spoiled(right, [](Arguments&, const Arguments&, const Values&) { throw 42; })
            .inputs[0]
            .cause.name == "THROWS");
  const auto close_by = [&right](const Arguments& in) {
    if (in[0][1] != -2) throw std::runtime_error("not here");
    return right.forward(in);
  };
  for (const int threads : {1, 3}) {
    Options options;
    options.threads = threads;
    undecided(run("f", {close_by, right.vjp}, right.inputs, options), "forward throws: not here");
  }
}

TEST_CASE("shapes: gradients of wrong number or size fail and report their input") {
  const auto with = [](const Spoil& spoil) { return run_spoiled(products(), spoil); };
  const Report shorter =
      with([](Arguments& dx, const Arguments&, const Values&) { dx[1].pop_back(); });
  fails(shorter, "the gradient of input 1 'b' has 1 values, but the input has 2");
  REQUIRE(shorter.findings.size() == 1);
  CHECK(shorter.findings[0].kind == Kind::structure);
  CHECK((shorter.findings[0].input == 1 && shorter.findings[0].input_name == "b"));
  fails(with([](Arguments& dx, const Arguments&, const Values&) { dx.pop_back(); }),
        "1 gradients for 2 inputs");
  fails(with([](Arguments& dx, const Arguments&, const Values&) { dx.emplace_back(); }),
        "3 gradients for 2 inputs");
}

TEST_CASE("shapes: an output whose size changes nearby is inconclusive") {
  const auto grows = [](const Arguments& in) { return Values(in[0][0] > 1 ? 3U : 2U, in[0][0]); };
  const auto vjp = [](const Arguments&, const Values& dy) { return Arguments{{dy[0] + dy[1]}}; };
  undecided(run("grows", {grows, vjp}, {{"x", {}, {1}}}),
            "2 values at the inputs, but 3 nearby. Choose inputs where the count does not change");
}

TEST_CASE("shapes: inputs without a gradient, empty inputs and empty outputs do not fail") {
  Case pick{"pick",
            {{"x", {3}, {1, 2, 3}}, {"index", {}, {2}, false}},
            [](const Arguments& in) { return Values{in[0][static_cast<Index>(in[1][0])]}; },
            [](const Arguments&, const Values& dy) {
              return Arguments{{0, 0, dy[0]}, {}};
            }};
  passes(run(pick), "input 1 'index' []: not differentiable");
  pick.vjp = [](const Arguments&, const Values& dy) { return Arguments{{0, 0, dy[0]}, {1}}; };
  passes(run(pick));  // passes even if the index has a gradient
  const Case empty{"empty",
                   {{"x", {0, 4}, {}}},
                   [](const Arguments&) { return Values{}; },
                   [](const Arguments&, const Values&) { return Arguments{Values{}}; }};
  passes(run(empty), "has no elements to compare");
}

TEST_CASE("zeros: a gradient that is NaN or not 0 for dy = 0 fails") {
  for (const bool reads : {true, false}) {
    const Report report = run_spoiled(elementwise("cube", {0.5, 2}, cube, d_cube),
                                      [reads](Arguments& dx, const Arguments& in, const Values&) {
                                        for (Index j = 0; j < 2; ++j)
                                          dx[0][j] = d_cube(in[0][j]) + (reads ? dx[0][j] : 0);
                                      });
    fails(report);
    REQUIRE(!report.findings.empty());
    CHECK(std::any_of(report.findings.begin(), report.findings.end(),
                      [](const Finding& f) { return f.kind == Kind::zero_upstream; }));
    CHECK((report.inputs[0].cause.name == "UPSTREAM IGNORED") == !reads);
  }
  const Report nan = run_spoiled(
      elementwise("cube", {0.5}, cube, d_cube),
      [](Arguments& dx, const Arguments&, const Values& dy) { dx[0][0] *= dy[0] / dy[0]; });
  fails(nan, "for an upstream gradient of zeros; it must be 0");
  // With a scalar output, dy = 1 would hide the fault.
  const Report sum = run("sum",
                         {[](const Arguments& in) { return Values{in[0][0] + in[0][1]}; },
                          [](const Arguments&, const Values&) {
                            return Arguments{{1, 1}};
                          }},
                         {{"x", {2}, {1, 2}}});
  fails(sum);
  CHECK(sum.inputs[0].wrong == 2);
}

TEST_CASE(
    "float: without a reference the verdict is inconclusive, and the report suggests two fixes") {
  const Case c = products();
  const Report report = run("float", in_float(0, false), c.inputs);
  undecided(report, ".reference(f)");
  undecided(report, ".resolution(1e-3)");
}

TEST_CASE("float: a reference in double detects errors of 0.01 % and must be the same function") {
  const Case c = products();
  const auto with_error = [&](double error) {
    Functions f = in_float(0, true);
    f.vjp = [error, vjp = c.vjp](const Arguments& in, const Values& dy) {
      Arguments dx = vjp(in, dy);
      off_by(error)(dx, in, dy);
      for (Values& part : dx)
        for (double& v : part) v = as_float(v);
      return dx;
    };
    return run("float", f, c.inputs);
  };
  passes(with_error(0));
  passes(with_error(1e-7));
  fails(with_error(1e-4));
  passes(run("off", in_float(5e-4, true), c.inputs));
  undecided(run("off", in_float(5e-3, true), c.inputs), "compute different functions");
  Functions shorter = in_float(0, true);
  shorter.reference = [](const Arguments&) { return Values{1}; };
  undecided(run("shorter", shorter, c.inputs), "the reference gives 1 values, but forward gives 3");
}

TEST_CASE("float: the resolution is the tolerance, and must exceed the noise") {
  const Case c = products();
  Options options;
  options.resolution = 1e-3;
  const auto with_error = [&](double error) {
    Functions f = in_float(0, false);
    f.vjp = [error, vjp = c.vjp](const Arguments& in, const Values& dy) {
      Arguments dx = vjp(in, dy);
      off_by(error)(dx, in, dy);
      return dx;
    };
    return run("float", f, c.inputs, options);
  };
  passes(with_error(0), "a resolution of 0.001");
  passes(with_error(1e-4));
  fails(with_error(1e-2));
  // Values rounded to 1e-4 do not allow a resolution of 1e-6.
  options.resolution = 1e-6;
  const auto rough = [](const Arguments& in) {
    return Values{std::round(in[0][0] * in[0][0] * 1e4) / 1e4};
  };
  const auto vjp = [](const Arguments& in, const Values& dy) {
    return Arguments{{2 * in[0][0] * dy[0]}};
  };
  undecided(run("rough", {rough, vjp}, {{"x", {}, {1.3}}}, options));
  options.resolution = 1e-2;
  passes(run("rough", {rough, vjp}, {{"x", {}, {1.3}}}, options));
}

}  // namespace gradus::raw_cases
