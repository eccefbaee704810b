// Whole texts against the files of tests/golden.
//
// What such a file holds was read once and found right; from then on every change of it shows. A
// text that shall change: run the test with GRADUS_WRITE_GOLDEN=1, which writes the file anew, and
// read what `git diff` says.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// `text` must be that of tests/golden/NAME. Shows the first line that differs.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/" + name;
  if (std::getenv("GRADUS_WRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string known{std::istreambuf_iterator<char>(file), {}};
  if (text == known) {
    SUCCEED(name);
    return;
  }
  std::istringstream ours(text), theirs(known);
  const auto next = [](std::istringstream& from) {
    std::string line;
    return std::getline(from, line) ? line : "(the end, or the end of its last line)";
  };
  std::string is, wanted;
  int line = 0;
  for (bool more = true; more && is == wanted; ++line) {
    is = next(ours);
    wanted = next(theirs);
    more = ours || theirs;
  }
  FAIL("tests/golden/" << name << ", line " << line << "\nis:     " << is
                       << "\ngolden: " << wanted);
}

}  // namespace gradus::testing
