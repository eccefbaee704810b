// The registry's conditions (tests/ops/test_registry.cpp), one sample and one condition a case.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/base/memory.h"
#include "gradus/base/parallel.h"
#include "gradus/check/gradients.h"
#include "gradus/engine/graph.h"
#include "gradus/engine/observer.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/oracle.h"

namespace gradus::mutation {
namespace {

using testing::Backward;
using testing::Inputs;
using testing::Layout;
using testing::numbers;
using testing::Numbers;
using testing::Result;
using testing::Sample;

constexpr std::int64_t kMostDifferences = 300;  // elements of the inputs

std::string differs(const Result& a, const Result& b, const char* where) {
  if (a.y.shape() != b.y.shape() || a.dx.size() != b.dx.size()) return where;
  if (!testing::equal_but_for_order(numbers(a.y), numbers(b.y))) return where;
  for (std::size_t k = 0; k < a.dx.size(); ++k)
    if (!testing::equal_but_for_order(a.dx[k], b.dx[k])) return where;
  return "";
}

std::string differences(const Sample& sample, bool second) {
  std::int64_t elements = 0;
  for (const Tensor& x : sample.inputs) elements += x.numel();
  if (elements > kMostDifferences) return "";  // the oracle sees these, and takes no minutes
  check::Options options;
  options.differentiable = testing::wanted_inputs(sample);
  options.conditions = options.smallest = false;  // the other cases are the conditions
  const check::Report report = second
                                   ? check::second(sample.op, sample.f, sample.inputs, options)
                                   : check::gradients(sample.op, sample.f, sample.inputs, options);
  // Rounding differs in this build: a derivative that is exactly 0 may be inconclusive in it.
  return report.verdict != check::Verdict::fail ? "" : "not the derivative";
}

std::string first(const Sample& sample) {
  return sample.differences ? differences(sample, false) : "";
}
std::string second(const Sample& sample) {
  return sample.differences && sample.second ? differences(sample, true) : "";
}

std::string layouts(const Sample& sample) {
  const Result packed = testing::run(sample);
  for (const Layout layout : testing::kLayouts) {
    const Result other = testing::run(sample, testing::laid_out(sample.inputs, layout),
                                      testing::wanted_inputs(sample));
    if (std::string wrong = differs(packed, other, name_of(layout)); !wrong.empty()) return wrong;
  }
  return "";
}

std::string upstream(const Sample& sample) {
  const Result packed = testing::run(sample);
  const auto with = [&](const Tensor& dy) {
    return testing::run(sample, sample.inputs, testing::wanted_inputs(sample), dy);
  };
  for (const Layout layout : testing::kLayouts) {
    const Result other = with(testing::laid_out(testing::upstream_for(packed.y), layout));
    if (std::string wrong = differs(packed, other, name_of(layout)); !wrong.empty()) return wrong;
  }
  const Shape shape = packed.y.shape();
  const Tensor full = Tensor::empty(shape, Dtype::f64).fill_(0.7);
  const Tensor one = Tensor::empty({}, Dtype::f64).fill_(0.7);
  const Tensor spread = one.view(shape, Strides::filled(shape.rank(), 0), 0);
  if (std::string wrong = differs(with(full), with(spread), "expanded"); !wrong.empty())
    return wrong;
  for (const Numbers& dx : with(Tensor::empty(shape, Dtype::f64).fill_(0)).dx)
    if (!std::all_of(dx.begin(), dx.end(), [](double v) { return v == 0; })) return "zero upstream";
  return "";
}

/// Two backward passes into the same leaves; inputs and upstream gradient stay as they are.
std::string adding_up(const Sample& sample) {
  const Result once = testing::run(sample);
  const std::vector<bool> wanted = testing::wanted_inputs(sample);
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
    const Tensor dy = testing::upstream_for(y);
    y.backward(dy);
    if (numbers(dy) != numbers(testing::upstream_for(y))) return "upstream changed";
    for (const Tensor& each : x)
      if (i == 0) after_first.push_back(each.grad());
  }
  for (std::size_t k = 0, next = 0; k < x.size(); ++k) {
    if (x[k].storage()->version() != versions[k] || numbers(x[k]) != numbers(sample.inputs[k]))
      return "an input was written to";
    if (!wanted[k]) continue;
    const Numbers& dx = once.dx[next++];
    if (!x[k].grad().defined() && testing::largest(dx) == 0) continue;
    if (!x[k].grad().defined()) return "no gradient";
    Numbers twice = dx;
    for (double& v : twice) v *= 2;
    if (numbers(after_first[k]) != dx) return "changed after it was handed out";
    if (numbers(x[k].grad()) != twice) return "twice";
  }
  return "";
}

/// Finds gradients that backward computed although their input wants none. One pass of attention's
/// and of swiglu's kernel makes them all; dropout_residual hands its dy on, which costs nothing.
struct Needless : Observer {
  std::string name;
  void backward_end(const Node& node, const Gradients& dx) override {
    const std::string op = node.name();
    if (op == "attention" || op == "swiglu") return;
    for (std::size_t k = 0; k < dx.size(); ++k)
      if (!node.inputs[k] && dx[k].defined() && !(op == "dropout_residual" && k == 1)) name = op;
  }
};

/// The same numbers with fewer inputs that want a gradient, recorded or not.
std::string with_fewer(const Sample& sample, const std::vector<bool>& wanted,
                       const Result& expected) {
  for (const Backward way : {Backward::kernels, Backward::recorded}) {
    if (way == Backward::recorded && !sample.second) continue;
    Needless needless;
    const ObserverScope scope(needless);
    const Result seen = testing::run(sample, sample.inputs, wanted, {}, way);
    if (std::string wrong = differs(expected, seen, "alone or left out"); !wrong.empty())
      return wrong;
    if (!needless.name.empty()) return "computed for nobody: " + needless.name;
  }
  return "";
}

std::string subsets(const Sample& sample) {
  const std::vector<bool> all = testing::wanted_inputs(sample);
  if (std::count(all.begin(), all.end(), true) < 2) return "";
  const Result whole = testing::run(sample);
  for (std::size_t k = 0, which = 0; k < all.size(); ++k) {
    if (!all[k]) continue;
    std::vector<bool> alone(all.size(), false), others = all;
    alone[k] = true;
    others[k] = false;
    Result rest = whole;
    rest.dx.erase(rest.dx.begin() + static_cast<std::ptrdiff_t>(which));
    if (std::string wrong = with_fewer(sample, alone, {whole.y, {whole.dx[which++]}});
        !wrong.empty())
      return wrong;
    if (std::string wrong = with_fewer(sample, others, rest); !wrong.empty()) return wrong;
  }
  return "";
}

/// Loops over many elements are cut into chunks, here short ones; for all inputs, and for each.
std::string chunks(const Sample& sample) {
#ifdef GRADUS_SHORT_CHUNKS
  const Result whole = testing::run(sample);
  struct Short {
    const std::int64_t before = std::exchange(kCheapGrain, 8);
    ~Short() { kCheapGrain = before; }
  } const now;
  const std::vector<bool> all = testing::wanted_inputs(sample);
  for (std::size_t k = 0, which = 0; k < all.size(); ++k) {
    if (!all[k]) continue;
    std::vector<bool> alone(all.size(), false);
    alone[k] = true;
    const Result one = testing::run(sample, sample.inputs, alone);
    if (std::string wrong = differs({whole.y, {whole.dx[which++]}}, one, "short chunks, one input");
        !wrong.empty())
      return wrong;
  }
  return differs(whole, testing::run(sample), "short chunks");
#else
  (void)sample;
  return "";
#endif
}

std::string left_behind(const Sample& sample) {
  testing::run(sample);
  const std::int64_t before = memory::usage().live_bytes;
  testing::run(sample);
  testing::run(sample, sample.inputs, testing::wanted_inputs(sample), {},
               sample.second ? Backward::recorded : Backward::kernels);
  return memory::usage().live_bytes == before ? "" : "memory";
}

Cases sample_cases() {
  constexpr struct {
    const char* name;
    std::string (*run)(const Sample&);
  } kConditions[] = {{"oracle", testing::run_oracle},
                     {"layouts", layouts},
                     {"upstream", upstream},
                     {"adds up", adding_up},
                     {"subsets", subsets},
                     {"first", first},
                     {"second", second},
                     {"left behind", left_behind},
                     {"chunks", chunks}};
  Cases cases;
  for (const auto& condition : kConditions)
    for (const Sample& sample : testing::all_samples())
      cases.push_back({sample.op + ": " + sample.what + ": " + condition.name,
                       [&sample, run = condition.run] { return run(sample); }});
  return cases;
}

const CaseSource source(sample_cases);

}  // namespace
}  // namespace gradus::mutation
