#include <algorithm>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes, testing::says;

/// y_i = Σ_j x_j² / 2^(i mod 3). The gradient of element j is multiplied by factor(j).
Report sums(Index outputs, Index elements, const std::function<double(Index)>& factor,
            const Options& options = {}) {
  const auto weight = [](Index i) { return std::ldexp(1.0, -static_cast<int>(i % 3)); };
  Values x(elements);
  for (Index j = 0; j < elements; ++j) x[j] = 1 + static_cast<double>(j) / 2048;
  return run("sums",
             {[=](const Arguments& in) {
                double sum = 0;
                for (const double v : in[0]) sum += v * v;
                Values y(outputs);
                for (Index i = 0; i < outputs; ++i) y[i] = weight(i) * sum;
                return y;
              },
              [=](const Arguments& in, const Values& dy) {
                double sum = 0;
                for (Index i = 0; i < dy.size(); ++i) sum += weight(i) * dy[i];
                Values dx = in[0];
                for (Index j = 0; j < dx.size(); ++j) dx[j] *= 2 * sum * factor(j);
                return Arguments{dx};
              }},
             {{"x", {}, x}}, options);
}

double right(Index) { return 1; }

}  // namespace

TEST_CASE("samples: everything is checked up to 256 outputs, 2048 elements and 100 000 pairs") {
  const auto whole = [](Index outputs, Index elements) {
    const Report report = sums(outputs, elements, right);
    passes(report);
    return report.inputs[0].looked_at == std::ssize(Values(elements)) &&
           !says(report, "the Jacobian was sampled");
  };
  CHECK(whole(256, 3));
  CHECK(!whole(257, 3));
  CHECK(whole(1, 2048));
  CHECK(!whole(1, 2049));
  CHECK(whole(48, 2048));
}

TEST_CASE("samples: the report counts the checked rows and elements") {
  Options options;
  options.mode = Mode::projections;
  options.rows = 5;
  options.columns = 7;
  options.projections = 2;
  const Report report = sums(20, 100, right, options);
  passes(report, "5 of its 20 rows, and 2 weighted sums");
  passes(report, "7 of 100 elements of input 'x' were compared one by one");
  CHECK(report.inputs[0].looked_at == 7);
  options.mode = Mode::full;
  CHECK(sums(20, 100, right, options).inputs[0].looked_at == 100);
}

TEST_CASE("samples: a quick check takes fewer calls, and names the cause of an error") {
  Case c = matmul(5, 7, 3);
  Options quick;
  quick.mode = Mode::quick;
  const Report right = run(c, quick);
  passes(right, "with a probability of at most");
  CHECK(right.missed > 0);
  CHECK(right.missed < 1e-9);
  CHECK(3 * right.counts.forward < run(c).counts.forward);
  const auto scaled = [](Arguments& dx, const Arguments&, const Values&) {
    for (double& v : dx[1]) v *= 1.5;
  };
  const Report wrong = run_spoiled(c, scaled, quick);
  fails(wrong);
  CHECK(wrong.inputs[1].cause.name == "SCALE");
  CHECK(wrong.missed == 0);  // every entry was compared
}

TEST_CASE("samples: without sums and directions, a sample may miss anything") {
  Options options;
  options.mode = Mode::projections;
  options.rows = options.columns = 1;
  options.projections = 0;
  CHECK(run(matmul(5, 7, 3), options).missed == 1);
}

TEST_CASE("samples: an error in one output among 400 is traced to it") {
  const Case c = matmul(20, 3, 20);
  passes(run(c), "of its 400 rows");
  for (const Index output : {Index{0}, Index{77}, Index{399}}) {
    const Report report =
        run_spoiled(c, [output](Arguments& dx, const Arguments&, const Values& dy) {
          dx[1][4] += 1e-3 * dy[output];
        });
    fails(report);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].at == At{0, 4});
    CHECK(report.findings[0].output == At{static_cast<std::int64_t>(output)});
  }
}

TEST_CASE("samples: an error in one element among 5000 is traced to it, and reported once") {
  const Case c = elementwise("cube", random_values(5000, 1), cube, d_cube);
  passes(run(c), "of 5000 elements of input 'x' were compared one by one");
  CHECK(run(c).counts.forward < 1000);  // all elements would take 30 000 calls
  for (const Index element : {Index{0}, Index{1234}, Index{4999}}) {
    const Report report = run_spoiled(
        c, [element](Arguments& dx, const Arguments&, const Values&) { dx[0][element] *= 1.01; });
    fails(report, "1.01 times what it should be");
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].at == At{static_cast<std::int64_t>(element)});
    CHECK(report.findings[0].output == At{static_cast<std::int64_t>(element)});
  }
}

TEST_CASE("samples: a permuted gradient fails") {
  const Report report =
      run_spoiled(matmul(20, 3, 20), [](Arguments& dx, const Arguments&, const Values&) {
        std::rotate(dx[0].begin(), dx[0].begin() + 1, dx[0].end());
      });
  fails(report);
  CHECK(report.inputs[0].wrong == 60);
}

TEST_CASE("samples: a small Jacobian that fails in a sample is checked fully for its cause") {
  Options few;
  few.mode = Mode::projections;
  few.columns = few.rows = 2;
  const Report report = sums(
      9, 30, [](Index) { return 2.0; }, few);
  fails(report);
  CHECK(report.inputs[0].wrong == 30);
  CHECK(report.inputs[0].cause.name == "SCALE");
}

TEST_CASE("samples: if the input is too large, the map shows only the checked elements") {
  Options few;
  few.mode = Mode::projections;
  few.columns = 2;
  const Report report = sums(
      1001, 2000, [](Index j) { return j == 1234 ? 2.0 : 1.0; }, few);
  fails(report, "unknown from a sample");
  const std::string& map = report.inputs[0].map;
  REQUIRE(map.size() == 2000);
  CHECK(report.findings.at(0).at == At{1234});
  CHECK(std::count(map.begin(), map.end(), '.') == 2);
  CHECK(std::count(map.begin(), map.end(), '~') == 1998);
}

TEST_CASE("samples: without rows, an inconclusive sum of outputs makes the report inconclusive") {
  Options sums_only;
  sums_only.mode = Mode::projections;
  sums_only.rows = 0;
  const Report report = run("jump",
                            {[](const Arguments& in) {
                               return Values{in[0][0] < 1 ? 0.0 : 1.0, in[0][0]};
                             },
                             [](const Arguments&, const Values& dy) { return Arguments{{dy[1]}}; }},
                            {{"x", {}, {1}}}, sums_only);
  testing::undecided(report);
}

}  // namespace gradus::raw_cases
