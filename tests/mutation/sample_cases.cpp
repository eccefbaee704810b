#include <algorithm>

#include "gradus/check/gradients.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/conditions.h"
#include "gradus/tests/support/oracle.h"

namespace gradus::mutation {
namespace {

using testing::Backward;
using testing::differs;
using testing::Result;
using testing::Sample;

constexpr std::int64_t kMostDifferences = 300;  // limit on the number of input elements

std::string differences(const Sample& sample, bool second) {
  std::int64_t elements = 0;
  for (const Tensor& x : sample.inputs) elements += x.numel();
  if (elements > kMostDifferences) return "";  // the oracle is faster
  check::Options options;
  options.differentiable = testing::wanted_inputs(sample);
  options.conditions = options.smallest = false;  // other cases test these
  const check::Report report = second
                                   ? check::second(sample.op, sample.f, sample.inputs, options)
                                   : check::gradients(sample.op, sample.f, sample.inputs, options);
  // Mutants may round differently, so a derivative of 0 may be inconclusive.
  return report.verdict != check::Verdict::fail ? "" : "not the derivative";
}

std::string first(const Sample& sample) {
  return sample.differences ? differences(sample, false) : "";
}
std::string second(const Sample& sample) {
  return sample.differences && sample.second ? differences(sample, true) : "";
}

std::string with_fewer(const Sample& sample, const std::vector<bool>& wanted,
                       const Result& expected) {
  for (const Backward way : {Backward::kernels, Backward::recorded}) {
    if (way == Backward::recorded && !sample.second) continue;
    const Result seen = testing::run(sample, sample.inputs, wanted, {}, way);
    std::string wrong = differs(expected, seen, "alone or left out");
    if (!wrong.empty()) return wrong;
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
                     {"left behind", testing::left_behind}};
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
