#include "gradus/check/gradients.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/conditions.h"
#include "gradus/tests/support/oracle.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_registry {
namespace {

template <class Body>
void each_sample(Body body) {
  const Poison poison;
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what);
    body(sample);
  }
}

/// Uses one thread: finite differences call small functions thousands of times, and waking a second
/// thread would dominate the time.
struct OneThread {
  const int before = num_threads();
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(before); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

}  // namespace

TEST_CASE("registry: values, gradients and second derivatives equal the reference", "[kernel]") {
  each_sample([](const Sample& sample) { CHECK(run_oracle(sample) == ""); });
}

TEST_CASE("registry: gradients pass the numerical check", "[kernel]") {
  const OneThread one;
  each_sample([](const Sample& sample) {
    if (!sample.differences || sample.large) return;
    check::Options options;
    options.differentiable = wanted_inputs(sample);
    check::Report report = check::gradients(sample.op, sample.f, sample.inputs, options);
    // The derivative with respect to a bias of keys is exactly 0. Its rounding error may exceed the
    // bound estimated from one draw of upstream gradients, so an inconclusive check is repeated
    // once with another draw. A wrong derivative fails in the first check.
    if (report.verdict == check::Verdict::inconclusive) {
      options.seed = 1;
      report = check::gradients(sample.op, sample.f, sample.inputs, options);
    }
    INFO(report);
    CHECK(report.verdict == check::Verdict::pass);
  });
}

TEST_CASE("registry: second derivatives pass the numerical check", "[once]") {
  const OneThread one;
  each_sample([](const Sample& sample) {
    if (!sample.second || !sample.differences || sample.large) return;
    check::Options options;
    options.differentiable = wanted_inputs(sample);
    const check::Report report = check::second(sample.op, sample.f, sample.inputs, options);
    INFO(report);
    CHECK(report.verdict == check::Verdict::pass);
  });
}

TEST_CASE("registry: inputs may have any strides", "[kernel]") {
  each_sample([](const Sample& sample) { CHECK(layouts(sample) == ""); });
}

TEST_CASE("registry: upstream gradients may be strided, expanded or zero", "[kernel]") {
  each_sample([](const Sample& sample) { CHECK(upstream(sample) == ""); });
}

TEST_CASE("registry: gradients accumulate in grad(), and inputs do not change", "[kernel]") {
  each_sample([](const Sample& sample) { CHECK(adding_up(sample) == ""); });
}

TEST_CASE("registry: no memory or graph remains after a call", "[kernel]") {
  each_sample([](const Sample& sample) { CHECK(left_behind(sample) == ""); });
}

}  // namespace gradus::testing::test_registry
