// Tests causes that the faulty ops do not cover, and the list in docs/checking/causes.md.
#include <algorithm>
#include <fstream>
#include <set>

#include "gradus/tests/check/faulty_ops.h"
#include "gradus/tests/check/faulty_tensor_ops.h"
#include "gradus/tests/check/verdicts.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::flat, testing::passes;

/// y[i, j] = Σ w[a, b] x[i + a, j + b]. The gradient of weight k is stored at position at(k).
Report convolution(Index n, const std::function<Index(Index)>& at) {
  const Index out = n - 2;
  const auto each = [n, out](const auto& visit) {
    for (Index i = 0; i < out; ++i)
      for (Index j = 0; j < out; ++j)
        for (Index k = 0; k < 9; ++k) visit(i * out + j, (i + k / 3) * n + j + k % 3, k);
  };
  const auto side = static_cast<std::int64_t>(n);
  return run("convolution",
             {[=](const Arguments& in) {
                Values y(out * out, 0.0);
                each([&](auto o, auto p, auto k) { y[o] += in[1][k] * in[0][p]; });
                return y;
              },
              [=](const Arguments& in, const Values& dy) {
                Arguments d{Values(in[0].size(), 0.0), Values(9, 0.0)};
                each([&](auto o, auto p, auto k) {
                  d[0][p] += dy[o] * in[1][k];
                  d[1][at(k)] += dy[o] * in[0][p];
                });
                return d;
              }},
             {{"x", {side, side}, random_values(n * n, 1)}, {"w", {3, 3}, random_values(9, 2)}});
}

/// h' = tanh(2x + h), c' = c h' + x
Report cell(bool reads_dc) {
  Options options;
  options.output_shape = {2, 3};
  return run(
      "cell",
      {[](const Arguments& in) {
         Values y(6);
         for (Index i = 0; i < 3; ++i) {
           y[i] = std::tanh(2 * in[0][i] + in[1][i]);
           y[3 + i] = in[2][i] * y[i] + in[0][i];
         }
         return y;
       },
       [reads_dc](const Arguments& in, const Values& dy) {
         Arguments d(3, Values(3));
         for (Index i = 0; i < 3; ++i) {
           const double t = std::tanh(2 * in[0][i] + in[1][i]);
           const double late = reads_dc ? dy[3 + i] : 0;
           d[1][i] = (dy[i] + late * in[2][i]) * (1 - t * t);
           d[0][i] = 2 * d[1][i] + late;
           d[2][i] = late * t;
         }
         return d;
       }},
      {{"x", {}, random_values(3, 1)}, {"h", {}, {0.3, -0.2, 0.5}}, {"c", {}, {0.7, 1.1, -0.4}}},
      options);
}

/// Reads the table in docs/checking/causes.md, without the causes that only Python reports.
std::set<std::string> documented() {
  std::ifstream in(std::string(GRADUS_SOURCE_DIR) + "/docs/checking/causes.md");
  std::set<std::string> causes;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("| ", 0) != 0 || line.find("(Python)") != line.npos) continue;
    std::string cell = line.substr(2, line.find(" |", 2) - 2);
    for (std::size_t comma; !cell.empty();
         cell = comma == cell.npos ? "" : cell.substr(comma + 2)) {
      comma = cell.find(", ");
      const std::string name = cell.substr(0, comma);
      if (std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
        causes.insert(name);
    }
  }
  return causes;
}

}  // namespace

TEST_CASE("causes: a flipped or transposed gradient of a kernel is recognized at any size") {
  for (const Index n : {Index{5}, Index{19}}) {
    CAPTURE(n);
    passes(convolution(n, [](Index k) { return k; }));
    const Report flipped = convolution(n, [](Index k) { return 8 - k; });
    CHECK(flipped.inputs[1].cause.name == "FLIPPED");
    const Report transposed = convolution(n, [](Index k) { return k % 3 * 3 + k / 3; });
    CHECK(transposed.inputs[1].cause.name == "TRANSPOSED");
  }
}

TEST_CASE("causes: an ignored upstream gradient is reported once for all inputs") {
  passes(cell(true));
  const Report report = cell(false);
  fails(report, "likely cause: as above");
  for (const InputSummary& input : report.inputs) {
    CHECK(input.cause.name == "UPSTREAM UNREAD");
    CHECK(input.cause.why == "dy at the last index of axis 0 is never read");
  }
  const std::string text = flat(report);
  CHECK(text.find("is never read") == text.rfind("is never read"));
}

TEST_CASE("causes: a wrong factor from a common formula is reported by name") {
  const auto factor = [](double c) {
    const Report report = run("f",
                              {[](const Arguments& in) { return scaled(in[0], in[1][0]); },
                               [c](const Arguments& in, const Values& dy) {
                                 double ds = 0;
                                 for (Index i = 0; i < dy.size(); ++i) ds += dy[i] * in[0][i];
                                 return Arguments{scaled(dy, c * in[1][0]), {ds}};
                               }},
                              {{"x", {4, 5}, random_values(20, 1)}, {"s", {}, {0.7}}});
    fails(report);
    CHECK(report.inputs[0].cause.name == "SCALE");
    return report.inputs[0].cause.why;
  };
  const auto named = [&](double c, const std::string& name) {
    CHECK(testing::has(factor(c), "which is " + name));
  };
  named(4, "4 (axis 0 of 'x')");
  named(1.0 / 5, "1/5 (axis 1 of 'x')");
  named(std::sqrt(5.0), "√5");
  named(1 / std::sqrt(4.0), "1/√4");
  named(5.0 / 4, "5/(5 - 1)");
  named(3.0 / 4, "(4 - 1)/4");
  named(0.7, "s");
  named(std::acos(-1.0), "π");
  CHECK(!testing::has(factor(1.234), "which is"));
}

TEST_CASE("causes: docs/checking/causes.md lists exactly the causes that tests cover") {
  std::set<std::string> tested{"ADDS",
                               "OVERWRITES",
                               "NEVER WRITTEN",
                               "SHAPE",
                               "DEPENDS ON ITS BUFFER",
                               "NOT DETERMINISTIC",
                               "COLUMN MAJOR",
                               "WRONG OPERATION",
                               "UPSTREAM UNREAD",
                               "AMBIENT",
                               "WRONG CHOICE",
                               "DETACHED",
                               "BACKWARD MEMORY"};
  for (const FaultyOp& faulty : all_faulty_ops()) tested.insert(faulty.cause);
  const std::set<std::string> conditions{
      "LAYOUT", "UPSTREAM LAYOUT", "WRITES OUTSIDE",       "ACCUMULATION", "SAME INPUT TWICE",
      "WANTS",  "TWO FORWARDS",    "WRITES TO ITS OUTPUT", "ERRORS",       "PRECISION"};
  for (const faulty_tensor_ops::FaultyOp& faulty : faulty_tensor_ops::all_faulty_ops())
    if (conditions.count(faulty.cause) == 0) tested.insert(faulty.cause);
  tested.erase("");
  CHECK(documented() == tested);
}

}  // namespace gradus::raw_cases
