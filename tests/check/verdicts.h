#pragma once

#include <string>

#include "gradus/check/raw/report.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// Returns the text of the report with whitespace collapsed.
inline std::string flat(const check::Report& report) {
  std::string result;
  for (const char c : report.text()) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

inline bool says(const check::Report& report, const std::string& words) {
  return flat(report).find(words) != std::string::npos;
}

inline void has_verdict(const check::Report& report, check::Verdict verdict,
                        const std::string& words) {
  INFO(report.text());
  CHECK(report.verdict == verdict);
  if (says(report, words)) return;
  FAIL_CHECK("the report does not contain: " + words);
}

inline void passes(const check::Report& report, const std::string& words = "") {
  has_verdict(report, check::Verdict::pass, words);
}
inline void fails(const check::Report& report, const std::string& words = "") {
  has_verdict(report, check::Verdict::fail, words);
}
inline void undecided(const check::Report& report, const std::string& words = "") {
  has_verdict(report, check::Verdict::inconclusive, words);
}

}  // namespace gradus::testing
