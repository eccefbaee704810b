// The raw checker: planted faults fail, at the right place.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {

TEST_CASE("raw: no fault of one part in a million escapes", "[check][raw]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Options options;
    options.seed = seed;
    const double scale = std::pow(10.0, static_cast<double>(seed % 4) - 3);
    for (const Case& c : {softmax(2, 4, random_values(8, seed, scale)),
                          layer_norm(2, 3, scale, seed), matmul(2, 1, 3, seed)}) {
      Random random(seed);
      const auto k = static_cast<Index>(random.below(static_cast<std::int64_t>(c.inputs.size())));
      const auto fault = [k, seed](Arguments& dx, const Arguments&, const Values&) {
        // Alternately all elements of one input, and only the one with the largest gradient.
        Values& d = dx[k];
        const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
        if (seed % 2 == 0) {
          for (double& v : d) v *= 1 + 1e-6;
        } else {
          *std::max_element(d.begin(), d.end(), smaller) *= 1 + 1e-6;
        }
      };
      const Report report = run_spoiled(c, fault, options);
      CAPTURE(seed, k, report.text());
      CHECK(report.verdict == Verdict::fail);
      REQUIRE_FALSE(report.findings.empty());
      CHECK(report.findings[0].input == k);
    }
  }
}

TEST_CASE("raw: planted faults fail and are found", "[check][raw]") {
  const Case norm = layer_norm(3, 5, 1);
  const Case product = matmul(3, 3, 3);
  const auto times = [](Index k, double factor) {
    return [k, factor](Arguments& dx, const Arguments&, const Values&) {
      for (double& v : dx[k]) v *= factor;
    };
  };
  struct Fault {
    const char* name;
    const Case* subject;
    Spoil spoil;
    Index input;
    std::int64_t wrong;  // elements
  };
  const Fault faults[] = {
      {"sign", &norm, times(0, -1), 0, 15},
      {"twice", &norm, times(1, 2), 1, 5},
      {"a little", &norm, times(2, 1 + 1e-6), 2, 5},
      {"a little in the product", &product, times(1, 1 + 1e-6), 1, 9},
      {"zero", &product, times(0, 0), 0, 9},
      {"missing mean", &norm,
       [](Arguments& dx, const Arguments& in, const Values& dy) {
         dx = layer_norm_vjp(in, dy, false);
       },
       0, 15},
      {"transposed", &product,
       [](Arguments& dx, const Arguments&, const Values&) {
         for (Index i = 0; i < 3; ++i) {
           for (Index j = 0; j < i; ++j) std::swap(dx[1][i * 3 + j], dx[1][j * 3 + i]);
         }
       },
       1, 6},
      {"swapped", &product,
       [](Arguments& dx, const Arguments&, const Values&) { std::swap(dx[0], dx[1]); }, 0, 9},
      {"last element", &norm,
       [](Arguments& dx, const Arguments&, const Values&) { dx[0].back() = 0; }, 0, 1},
      {"NaN", &norm, [](Arguments& dx, const Arguments&, const Values&) { dx[1][4] = nan_value; },
       1, 1},
      {"positive part of dy only", &norm,
       [](Arguments& dx, const Arguments& in, const Values& dy) {
         Values positive = dy;
         for (double& v : positive) v = std::max(v, 0.0);
         dx[2] = layer_norm_vjp(in, positive, true)[2];
       },
       2, 5},
  };
  for (const Fault& fault : faults) {
    const Report report = run_spoiled(*fault.subject, fault.spoil);
    CAPTURE(fault.name, report.text());
    CHECK(report.verdict == Verdict::fail);
    CHECK_FALSE(report);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].input == fault.input);
    CHECK(report.inputs[fault.input].wrong == fault.wrong);
    CHECK(longest_line(report.text()) <= 76);
  }
}

TEST_CASE("raw: one wrong element is named with its output", "[check][raw]") {
  Options options;
  options.output_shape = {2, 5};
  const Spoil spoil = [](Arguments& dx, const Arguments& in, const Values& dy) {
    dx[1][2 * 5 + 3] += 0.25 * in[0][1 * 3 + 2] * dy[1 * 5 + 3];  // b[2,3], through out[1,3] only
  };
  const Report report = run_spoiled(matmul(2, 3, 5), spoil, options);
  CAPTURE(report.text());
  REQUIRE(report.findings.size() == 1);
  const Finding& finding = report.findings[0];
  CHECK(finding.kind == Kind::element);
  CHECK(finding.input == 1);
  CHECK(finding.input_name == "b");
  CHECK(finding.at == At{2, 3});
  CHECK(finding.output == At{1, 3});
  const double a = matmul(2, 3, 5).inputs[0].values[1 * 3 + 2];
  CHECK(std::abs(finding.numeric - a) < 1e-10);
  CHECK(std::abs(finding.analytic - 1.25 * a) < 1e-10);
  CHECK(finding.allowed < 1e-6);
  CHECK(mentions(report, "d out[1,3] / d b[2,3]"));
  CHECK(mentions(report, "GRADCHECK FAIL  matmul"));
  CHECK(mentions(report, "input 0 'a' [2,3]: ok"));
}

TEST_CASE("raw: an ignored upstream gradient is found", "[check][raw]") {
  const Case c = elementwise("cube", {0.5, 2}, cube, d_cube);
  const Spoil ignore = [](Arguments& dx, const Arguments& in, const Values&) {
    for (Index i = 0; i < dx[0].size(); ++i) dx[0][i] = d_cube(in[0][i]);
  };
  const Report report = run_spoiled(c, ignore);
  CAPTURE(report.text());
  CHECK(report.verdict == Verdict::fail);
  REQUIRE_FALSE(report.findings.empty());
  CHECK(report.findings[0].kind == Kind::zero_upstream);

  // The same where the output is a single number, which dy = 1 would hide.
  const Case sum{"sum",
                 {{"x", {2}, {1, 2}}},
                 [](const Arguments& in) { return Values{in[0][0] + in[0][1]}; },
                 [](const Arguments&, const Values&) {
                   return Arguments{{1, 1}};
                 }};
  CHECK(run(sum).verdict == Verdict::fail);
  CHECK(run(sum).inputs[0].wrong == 2);
}

TEST_CASE("raw: missing values and gradients are structural", "[check][raw]") {
  const Case norm = layer_norm(2, 3, 1);
  const Report shorter =
      run_spoiled(norm, [](Arguments& dx, const Arguments&, const Values&) { dx[1].pop_back(); });
  CAPTURE(shorter.text());
  CHECK(shorter.verdict == Verdict::fail);
  REQUIRE(shorter.findings.size() == 1);
  CHECK(shorter.findings[0].kind == Kind::structure);
  CHECK(shorter.findings[0].input_name == "gamma");
  CHECK(mentions(shorter, "has 2 values, the input has 3"));
  const Report fewer =
      run_spoiled(norm, [](Arguments& dx, const Arguments&, const Values&) { dx.pop_back(); });
  CHECK(fewer.verdict == Verdict::fail);
  CHECK(mentions(fewer, "2 gradients for 3 inputs"));
}

TEST_CASE("raw: large outputs are sampled, and a fault is traced to its output", "[check][raw]") {
  const Case c = matmul(20, 3, 20);
  const Report right = run(c);
  CAPTURE(right.text());
  CHECK(right);
  CHECK(right.counts.vjp == 1 + 16 + 3 + 3);
  CHECK(mentions(right, "16 of its 400 rows"));

  for (Index output : {Index{0}, Index{77}, Index{399}}) {
    const Spoil spoil = [output](Arguments& dx, const Arguments&, const Values& dy) {
      dx[1][4] += 1e-3 * dy[output];
    };
    const Report report = run_spoiled(c, spoil);
    CAPTURE(output, report.text());
    CHECK(report.verdict == Verdict::fail);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == Kind::element);
    CHECK(report.findings[0].at == At{0, 4});
    CHECK(report.findings[0].output == At{static_cast<std::int64_t>(output)});
  }
  // A permuted gradient, which one positive projection cannot tell from the right one.
  const Spoil roll = [](Arguments& dx, const Arguments&, const Values&) {
    std::rotate(dx[0].begin(), dx[0].begin() + 1, dx[0].end());
  };
  CHECK(run_spoiled(c, roll).inputs[0].wrong == 60);
  Options full;
  full.mode = Mode::full;
  CHECK(run(c, full).counts.vjp == 1 + 400 + 3 + 3);
}

TEST_CASE("raw: large inputs are sampled, and a fault is traced to its element", "[check][raw]") {
  const Case c = elementwise("cube", random_values(5000, 1), cube, d_cube);
  const Report right = run(c);
  CAPTURE(right.text());
  CHECK(right);
  CHECK(right.counts.forward == 2 + 6 * (64 + 3));  // 64 elements, three directions of all
  CHECK(mentions(right, "64 of 5000 elements of input 'x' were compared one by one"));
  for (Index element : {Index{0}, Index{1234}, Index{4999}}) {
    const Report report = run_spoiled(
        c, [element](Arguments& dx, const Arguments&, const Values&) { dx[0][element] *= 1.5; });
    CAPTURE(element, report.text());
    CHECK(report.verdict == Verdict::fail);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].at == At{static_cast<std::int64_t>(element)});
    CHECK(report.findings[0].output == At{static_cast<std::int64_t>(element)});
    CHECK(longest_line(report.text()) <= 76);
  }
}

}  // namespace gradus::raw_cases
