// Whole texts against the files of tests/golden.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/golden.h"

namespace gradus::testing {

/// Numbers that come after one of `marks` ("#17", "node 17") become 1, 2, … in their order, so that
/// it does not matter what was made before.
inline std::string renumbered(const std::string& text, std::initializer_list<const char*> marks) {
  std::map<std::size_t, std::string> found;  // where → digits
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

/// The message of the E that f throws; of another, the same with its kind unknown; or that none is.
template <class E = FileError, class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::exception& error) {
    const bool is_one = dynamic_cast<const E*>(&error) != nullptr;
    return std::string(is_one ? "" : "threw something else: ") + error.what();
  }
  return "nothing was thrown";
}

/// While one lives no program is found that is asked for by its name: calls have no lines then, and
/// nothing waits for addr2line.
struct NoPrograms : VariableScope {
  NoPrograms() : VariableScope("PATH", "") {}
};

}  // namespace gradus::testing
