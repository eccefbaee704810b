// Compares text with tests/golden. To update a golden file, run the test with GRADUS_WRITE_GOLDEN=1
// and review `git diff`.
#pragma once

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// Requires `text` to equal tests/golden/NAME.
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
    return std::getline(from, line) ? line : "(end of file, or of its last line)";
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

/// Renumbers the values that follow `marks` ("#17", "node 17") as 1, 2, … in increasing order.
inline std::string renumbered(const std::string& text, std::initializer_list<const char*> marks) {
  std::map<std::size_t, std::string> found;  // position in the text → number of digits
  for (const std::string mark : marks)
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size();
      const std::size_t end = text.find_first_not_of("0123456789", begin);
      if (const std::string digits = text.substr(begin, end - begin); !digits.empty())
        found[begin] = digits;
    }
  std::map<unsigned long long, int> ranks;
  for (const auto& [at, digits] : found) ranks[std::stoull(digits)] = 0;
  int rank = 0;
  for (auto& [number, its] : ranks) its = ++rank;
  std::string out;
  std::size_t from = 0;
  for (const auto& [at, digits] : found) {
    out += text.substr(from, at - from) + std::to_string(ranks.at(std::stoull(digits)));
    from = at + digits.size();
  }
  return out + text.substr(from);
}

}  // namespace gradus::testing
