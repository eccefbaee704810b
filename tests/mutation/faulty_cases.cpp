// Makes a case for each faulty op, and for correct derivatives.
#include <utility>

#include "gradus/tests/check/faulty_ops.h"
#include "gradus/tests/check/faulty_tensor_ops.h"
#include "gradus/tests/check/tensor_cases.h"
#include "gradus/tests/mutation/cases.h"

namespace gradus::mutation {
namespace {

constexpr std::uint64_t kRight = 200, kTogether = 10;

/// Returns "" if the report fails and contains the correct cause.
std::string caught(const check::Report& report, std::size_t input, const std::string& cause) {
  if (report.verdict != check::Verdict::fail) return "passed: " + report.text();
  return report.inputs[input].cause.name == cause ? "" : "another cause: " + report.text();
}

std::string caught(const raw_cases::FaultyOp& faulty) {
  raw_cases::Options options;
  options.output_shape = faulty.output_shape;
  if (const check::Report right = raw_cases::run(faulty.subject, options); !right)
    return "correct, but does not pass: " + right.text();
  return caught(raw_cases::run_spoiled(faulty.subject, faulty.spoil, options), faulty.input,
                faulty.cause);
}

std::string passes(std::uint64_t first) {
  for (std::uint64_t seed = first; seed < first + kTogether; ++seed)
    if (const check::Report report = faulty_tensor_ops::check_random_case(seed); !report)
      return "correct, but does not pass: " + report.text();
  return "";
}

Cases faulty_cases() {
  Cases cases;
  for (const raw_cases::FaultyOp& faulty : raw_cases::all_faulty_ops())
    cases.push_back({"faulty op: " + faulty.name, [faulty] { return caught(faulty); }});
  for (const faulty_tensor_ops::FaultyOp& faulty : faulty_tensor_ops::all_faulty_ops()) {
    cases.push_back({"faulty op: " + faulty.name, [faulty] {
                       return caught(faulty_tensor_ops::run(faulty), faulty.input, faulty.cause);
                     }});
  }
  for (std::uint64_t first = 1; first <= kRight; first += kTogether)
    cases.push_back(
        {"correct derivatives from " + std::to_string(first), [first] { return passes(first); }});
  return cases;
}

const CaseSource source(faulty_cases);

}  // namespace
}  // namespace gradus::mutation
