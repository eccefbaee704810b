// The check of a function of tensors: differences first, then the conditions, then the smallest
// inputs that fail.
#include "gradus/check/gradients.h"

#include <algorithm>

#include "gradus/check/condition.h"
#include "gradus/check/smaller.h"
#include "gradus/engine/grad_mode.h"

namespace gradus::check {
namespace {

/// From here on a second thread is worth its start.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;  // elements

bool holds(const Tensor& x, const std::optional<double>& value) {
  const std::vector<double> all = numbers(x);
  return !value || std::find(all.begin(), all.end(), *value) != all.end();
}

void add_notes(const Subject& subject, Report& report) {
  if (!report && !subject.output.requires_grad())
    report.notes.push_back(
        "the result has no place in the graph: was it computed under NoGrad, or "
        "from detached or converted tensors?");
  for (const Kink& kink : subject.options.kinks)
    if (report.inputs[kink.input].kinks == 0 || !holds(subject.inputs[kink.input], kink.at))
      report.notes.push_back("a kink is declared for input '" + report.inputs[kink.input].name +
                             "', and none was met");
}

Report check(const Subject& subject) {
  Adapter adapter(subject);
  Report report = adapter.compare();
  if (subject.options.conditions) check_conditions(subject, adapter.rows(), report);
  add_notes(subject, report);
  return report;
}

}  // namespace

Report run(const Subject& subject, const std::string& call) {
  const Serial serial(count_of_all(subject.inputs) + subject.output.numel() <= kSmall);
  Report report = check(subject);
  if (report.verdict == Verdict::fail && subject.options.smallest)
    find_smallest(subject, report, check);
  report.reproduce =
      text("check::", call, "(\"", subject.name, "\", …, {.seed = ", subject.options.seed, "})");
  return report;
}

Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options) {
  return run(Subject(std::string(name), f, inputs, options), "gradients");
}

Report gradients(const Function& f, const Tensors& inputs, const Options& options) {
  return gradients("function", f, inputs, options);
}

}  // namespace gradus::check
