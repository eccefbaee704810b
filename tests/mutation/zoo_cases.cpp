// Wrong derivatives of the checker's zoo (tests/check/test_zoo.cpp), one a case, and right ones.
#include <utility>

#include "gradus/tests/check/tensor_cases.h"
#include "gradus/tests/check/tensor_zoo.h"
#include "gradus/tests/check/zoo.h"
#include "gradus/tests/mutation/cases.h"

namespace gradus::mutation {
namespace {

constexpr std::uint64_t kRight = 200, kTogether = 10;

/// The report fails and names the cause.
std::string caught(const check::Report& report, std::size_t input, const std::string& cause) {
  if (report.verdict != check::Verdict::fail) return "passed: " + report.text();
  return report.inputs[input].cause.name == cause ? "" : "named otherwise: " + report.text();
}

std::string caught(const raw_cases::Beast& beast) {
  raw_cases::Options options;
  options.output_shape = beast.output_shape;
  if (const check::Report right = raw_cases::run(beast.subject, options); !right)
    return "right, and does not pass: " + right.text();
  return caught(raw_cases::run_spoiled(beast.subject, beast.spoil, options), beast.input,
                beast.cause);
}

std::string passes(std::uint64_t first) {
  for (std::uint64_t seed = first; seed < first + kTogether; ++seed)
    if (const check::Report report = tensor_zoo::check_random_case(seed); !report)
      return "right, and does not pass: " + report.text();
  return "";
}

Cases zoo_cases() {
  Cases cases;
  for (const raw_cases::Beast& beast : raw_cases::all_beasts())
    cases.push_back({"beast: " + beast.name, [beast] { return caught(beast); }});
  for (const tensor_zoo::Beast& beast : tensor_zoo::all_beasts()) {
    cases.push_back({"beast: " + beast.name,
                     [beast] { return caught(tensor_zoo::run(beast), beast.input, beast.cause); }});
  }
  for (std::uint64_t first = 1; first <= kRight; first += kTogether)
    cases.push_back(
        {"right derivatives from " + std::to_string(first), [first] { return passes(first); }});
  return cases;
}

const CaseSource source(zoo_cases);

}  // namespace
}  // namespace gradus::mutation
