// The end of a test program: prints reports, and writes them to the files that CI asks for.
#pragma once

#include <cstdio>

#include "gradus/check/raw/sarif.h"

namespace gradus::check {

/// Writes text to the file that an environment variable names. Returns false if that fails.
inline bool write_if_asked(const char* variable, const std::string& text) {
  const char* path = std::getenv(variable);
  if (!path || !*path) return true;
  std::FILE* file = std::fopen(path, "wb");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) == 0 && written) return true;
  std::cerr << variable << ": cannot write " << path << ". Does its folder exist?\n";
  return false;
}

/// Prints the reports and returns the exit code of the program: 0 if all pass, 1 if one does not,
/// 2 if a file cannot be written. On GitHub, also prints annotations. Writes SARIF and JUnit XML to
/// the files that GRADUS_CHECK_SARIF and GRADUS_CHECK_JUNIT name.
///
///   int main() { return check::report_all({check::raw("f", f, f_vjp, x), …}); }
GRADUS_CHECK_INLINE int report_all(const std::vector<Report>& reports) {
  int code = 0;
  for (const Report& report : reports) {
    std::cout << report;
    if (std::getenv("GITHUB_ACTIONS")) std::cout << report.annotation();
    if (!report) code = 1;
  }
  std::cout.flush();
  const bool written = write_if_asked("GRADUS_CHECK_SARIF", sarif(reports));
  return write_if_asked("GRADUS_CHECK_JUNIT", junit(reports)) && written ? code : 2;
}

}  // namespace gradus::check
