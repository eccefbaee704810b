// The registry's samples under every condition. Fresh memory is NaN throughout.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/base/parallel.h"
#include "gradus/check/gradients.h"
#include "gradus/engine/graph.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/oracle.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {
namespace {

/// body(sample) for each, with its name in whatever fails or is thrown inside.
template <class Body>
void each_sample(Body body) {
  const Poison poison;
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what);
    body(sample);
  }
}

/// Differences call a function of a few numbers thousands of times; waking a second thread for each
/// would take most of the time. Other conditions run with all threads.
struct OneThread {
  const int before = num_threads();
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(before); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

void check_same(const Result& a, const Result& b) {
  CHECK(a.y.shape() == b.y.shape());
  CHECK(equal_but_for_order(numbers(a.y), numbers(b.y)));
  REQUIRE(a.dx.size() == b.dx.size());
  for (std::size_t k = 0; k < a.dx.size(); ++k) {
    CAPTURE(k, a.dx[k], b.dx[k]);
    CHECK(equal_but_for_order(a.dx[k], b.dx[k]));
  }
}

}  // namespace

TEST_CASE("registry: values, gradients and second derivatives are those of the reference") {
  each_sample([](const Sample& sample) { CHECK(run_oracle(sample) == ""); });
}

TEST_CASE("registry: gradients are the derivatives") {
  const OneThread one;
  each_sample([](const Sample& sample) {
    if (!sample.differences || sample.large) return;
    check::Options options;
    options.differentiable = wanted_inputs(sample);
    const check::Report report = check::gradients(sample.op, sample.f, sample.inputs, options);
    INFO(report);
    CHECK(report.verdict == check::Verdict::pass);
  });
}

TEST_CASE("registry: gradients have the right gradients") {
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

TEST_CASE("registry: inputs may have any strides") {
  each_sample([](const Sample& sample) {
    const Result packed = run(sample);
    for (const Layout layout : kLayouts) {
      INFO("inputs " << name_of(layout));
      check_same(packed, run(sample, laid_out(sample.inputs, layout), wanted_inputs(sample)));
    }
  });
}

TEST_CASE("registry: upstream gradients may have any strides, one value, or be zero") {
  each_sample([](const Sample& sample) {
    const std::vector<bool> wanted = wanted_inputs(sample);
    const Result packed = run(sample);
    const auto with = [&](const Tensor& dy) { return run(sample, sample.inputs, wanted, dy); };
    for (const Layout layout : kLayouts) {
      INFO("upstream " << name_of(layout));
      check_same(packed, with(laid_out(upstream_for(packed.y), layout)));
    }
    const Shape shape = packed.y.shape();
    const Tensor full = Tensor::empty(shape, Dtype::f64).fill_(0.7);
    const Tensor one = Tensor::empty({}, Dtype::f64).fill_(0.7);
    INFO("upstream expanded from one number");
    check_same(with(full), with(one.view(shape, Strides::filled(shape.rank(), 0), 0)));
    const Tensor zeros = Tensor::empty(shape, Dtype::f64).fill_(0);
    for (const Numbers& dx : with(zeros).dx) {
      CAPTURE(dx);
      CHECK(std::all_of(dx.begin(), dx.end(), [](double v) { return v == 0; }));
    }
  });
}

TEST_CASE("registry: gradients add up in grad(), and inputs are left alone") {
  each_sample([](const Sample& sample) {
    const Result once = run(sample);
    const std::vector<bool> wanted = wanted_inputs(sample);
    Inputs x;
    std::vector<std::uint32_t> versions;
    for (std::size_t k = 0; k < sample.inputs.size(); ++k) {
      x.push_back(sample.inputs[k].clone());
      if (wanted[k]) x[k].requires_grad_();
      versions.push_back(x[k].storage()->version());
    }
    std::vector<Tensor> after_first;
    for (int i = 0; i < 2; ++i) {
      const Tensor y = sample.f(x);
      const Tensor dy = upstream_for(y);
      y.backward(dy);
      CHECK(numbers(dy) == numbers(upstream_for(y)));
      if (i == 0)
        for (const Tensor& each : x) after_first.push_back(each.grad());
    }
    for (std::size_t k = 0, next = 0; k < x.size(); ++k) {
      CHECK(x[k].storage()->version() == versions[k]);
      CHECK(numbers(x[k]) == numbers(sample.inputs[k]));
      if (!wanted[k]) continue;
      const Numbers& dx = once.dx[next++];
      if (!x[k].grad().defined()) {
        CHECK(largest(dx) == 0);
        continue;
      }
      Numbers twice = dx;
      for (double& v : twice) v *= 2;
      CHECK(numbers(after_first[k]) == dx);  // what was handed out does not change later
      CHECK(numbers(x[k].grad()) == twice);
    }
  });
}

TEST_CASE("registry: nothing is left behind") {
  each_sample([](const Sample& sample) {
    run(sample);  // what is made once and kept, is made now
    const std::int64_t before = memory::usage().live_bytes;
    run(sample);
    run(sample, sample.inputs, wanted_inputs(sample), {},
        sample.second ? Backward::recorded : Backward::kernels);
    CHECK(memory::usage().live_bytes == before);
  });
}

}  // namespace gradus::testing
