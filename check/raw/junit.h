// Reports as JUnit's XML, which CI systems read. It is written only.
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

/// XML 1.0 has no control characters but these three.
inline std::string xml_of(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\t' || c == '\r';
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < 0x20 && !space ? '?' : c;
  }
  return result;
}

GRADUS_CHECK_INLINE std::string junit(const std::vector<Report>& reports) {
  std::string cases;
  std::size_t failures = 0;
  for (const Report& report : reports) {
    cases += "  <testcase classname=\"gradus.check\" name=\"" + xml_of(report.name) + "\">\n";
    const std::string text = xml_of(report.text());
    failures += report ? 0 : 1;
    cases += report ? "    <system-out>" + text + "</system-out>\n"
                    : joined("    <failure message=\"", to_string(report.verdict), "\">", text,
                             "</failure>\n");
    cases += "  </testcase>\n";
  }
  return joined(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"gradus.check\" tests=\"",
      reports.size(), "\" failures=\"", failures, "\">\n", cases, "</testsuite>\n");
}

}  // namespace gradus::check
