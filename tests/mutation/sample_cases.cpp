// The registry's conditions (tests/ops/test_registry.cpp), one sample and one condition a case.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/base/parallel.h"
#include "gradus/check/gradients.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/conditions.h"
#include "gradus/tests/support/oracle.h"

namespace gradus::mutation {
namespace {

using testing::Backward;
using testing::differs;
using testing::Result;
using testing::Sample;

constexpr std::int64_t kMostDifferences = 300;  // elements of the inputs

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

/// Finds gradients that backward computes although their input wants none, by asking it once more:
/// the walk drops them before it shows any. One pass of attention's and of swiglu's kernel makes
/// them all; divide's slope is a factor of both; checkpoint's would add to leaves twice.
struct Needless : Observer {
  std::string name;
  void backward_begin(const Node& node, const Tensor& dy) override {
    const std::string op = node.name();
    if (GradMode::enabled()) return;  // a formula is for reading, and makes all
    if (op == "attention" || op == "divide" || op == "swiglu" || op == "checkpoint") return;
    std::vector<std::uint8_t> wanted;
    for (const NodePtr& input : node.inputs) wanted.push_back(input ? 1 : 0);
    const Tensor own = kernel::copy(dy);  // a backward may work in the buffer of its dy
    const Gradients dx = node.op->backward(own, {wanted, false});
    for (std::size_t k = 0; k < dx.size(); ++k)
      if (!wanted[k] && dx[k].defined() && dx[k].part().storage() != own.storage()) name = op;
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

Cases sample_cases() {
  constexpr struct {
    const char* name;
    std::string (*run)(const Sample&);
  } kConditions[] = {{"oracle", testing::run_oracle},
                     {"layouts", testing::layouts},
                     {"upstream", testing::upstream},
                     {"adds up", testing::adding_up},
                     {"subsets", subsets},
                     {"first", first},
                     {"second", second},
                     {"left behind", testing::left_behind},
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
