// Whole texts against the files of tests/golden.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "gradus/tests/io/files.h"

namespace gradus::testing {

/// `text` must be that of tests/golden/NAME. A text that shall change: run the test with
/// GRADUS_NEW_GOLDEN=1, which writes the file, and look at what is different.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/" + name;
  if (std::getenv("GRADUS_NEW_GOLDEN")) return write_bytes(path, text);
  const std::string known = read_bytes(path);
  const auto differ = std::mismatch(text.begin(), text.end(), known.begin(), known.end());
  const auto at = static_cast<std::size_t>(differ.first - text.begin());
  const std::size_t line = text.rfind('\n', at) + 1;  // of both, as they are equal before `at`
  INFO(name << "\nis:     " << text.substr(line, 200) << "\ngolden: " << known.substr(line, 200));
  CHECK((text == known));
}

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
class NoPrograms {
 public:
  NoPrograms() : before_(std::getenv("PATH") ? std::getenv("PATH") : "") { setenv("PATH", "", 1); }
  ~NoPrograms() { setenv("PATH", before_.c_str(), 1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;

 private:
  std::string before_;
};

}  // namespace gradus::testing
