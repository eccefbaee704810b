#include <algorithm>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"

namespace gradus::raw_cases {
namespace {

using testing::fails, testing::passes;

using Write = std::function<void(Values& buffer, const Values& right)>;

/// y = [a₀b, a₁ + b²]
Report written(const Write& a, const Write& b, bool accumulates) {
  Functions f;
  f.forward = [](const Arguments& in) {
    const double b0 = in[1][0];
    return Values{in[0][0] * b0, in[0][1] + b0 * b0};
  };
  f.accumulates = accumulates;
  f.into = [=](const Arguments& in, const Values& dy, const Arguments& start) {
    Arguments dx = start;
    a(dx[0], {dy[0] * in[1][0], dy[1]});
    b(dx[1], {dy[0] * in[0][0] + 2 * dy[1] * in[1][0]});
    return dx;
  };
  return run("written", f,
             {{"a", {2}, {0.75, -1.5}}, {"b", {1}, {2.5}}, {"c", {2}, {1, 0}, false}});
}

const Write kSets = [](Values& dx, const Values& right) { dx = right; };
const Write kAdds = [](Values& dx, const Values& right) {
  for (Index i = 0; i < dx.size(); ++i) dx[i] += right[i];
};
const Write kHalf = [](Values& dx, const Values& right) { dx[0] = right[0]; };
const Write kNothing = [](Values&, const Values&) {};
const Write kMixes = [](Values& dx, const Values& right) {
  for (Index i = 0; i < dx.size(); ++i) dx[i] = right[i] + 0.5 * dx[i];
};

Report with_upstream(const std::function<double(double)>& g, const Options& options = {}) {
  return run("twice",
             {[](const Arguments& in) {
                return Values{2 * in[0][0], 3 * in[0][0]};
              },
              [g](const Arguments&, const Values& dy) {
                return Arguments{{2 * g(dy[0]) + 3 * g(dy[1])}};
              }},
             {{"x", {}, {0.75}}}, options);
}

}  // namespace

TEST_CASE("buffers: gradients may be written, or added if declared") {
  passes(written(kSets, kSets, false));
  passes(written(kAdds, kAdds, true));
}

TEST_CASE("buffers: a deviation from the declaration fails at its input, with its cause") {
  struct Fault {
    Write way;
    bool declared;
    std::string cause, words;
  };
  for (const Fault& fault : std::vector<Fault>{
           {kAdds, false, "ADDS", "is added to"},
           {kSets, true, "OVERWRITES", "is overwritten"},
           {kHalf, false, "NEVER WRITTEN", "1 of 2 elements of da are never written"},
           {kNothing, false, "NEVER WRITTEN", "are never written"},
           {kMixes, false, "DEPENDS ON ITS BUFFER",
            "depends on the previous contents of its buffer"}}) {
    const Write right = fault.declared ? kAdds : kSets;
    const Report first = written(fault.way, right, fault.declared);
    fails(first, fault.words);
    CHECK(first.inputs[0].cause.name == fault.cause);
    CHECK(first.inputs[1].cause.name.empty());
    if (fault.words.find("of 2") != std::string::npos) continue;  // b has size 1
    const Report second = written(right, fault.way, fault.declared);
    fails(second, fault.words);
    CHECK(second.inputs[0].cause.name.empty());
    CHECK(second.inputs[1].cause.name == fault.cause);
  }
}

TEST_CASE("buffers: an undeclared addition or overwrite counts no element as wrong") {
  CHECK(written(kAdds, kSets, false).inputs[0].wrong == 0);
  CHECK(written(kSets, kAdds, true).inputs[0].wrong == 0);
}

TEST_CASE("linearity: a derivative that is not linear in dy fails for any kind of deviation") {
  passes(with_upstream([](double w) { return w; }));
  for (const auto& g : std::vector<std::function<double(double)>>{
           [](double w) { return std::clamp(w, -9.0, 9.0); },
           [](double w) { return std::abs(w) < 0.01 ? 1.5 * w : w; },
           [](double w) { return std::abs(w) > 100 ? 1.5 * w : w; },
           [](double w) { return std::abs(w) > 100 ? 1.001 * w : w; },
           [](double w) { return std::max(w, 0.0); }}) {
    const Report report = with_upstream(g);
    fails(report);
    CHECK(report.inputs[0].cause.name == "NOT LINEAR");
  }
}

TEST_CASE("linearity: rounding and errors within the tolerance count as linear") {
  passes(with_upstream([](double w) { return std::abs(w) > 100 ? (1 + 1e-8) * w : w; }));
  Options coarse;
  coarse.rtol = 1e-2;
  passes(with_upstream([](double w) { return std::abs(w) > 100 ? 1.001 * w : w; }, coarse));
}

}  // namespace gradus::raw_cases
