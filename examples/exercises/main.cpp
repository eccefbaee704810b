// Grades the exercises of this folder; see README.md.
#include <cstdio>
#include <string>

#include "gradus/examples/exercises/grader.h"
#include "gradus/examples/exercises/hints.h"

using namespace gradus;

namespace {

constexpr const char* kHelp =
    "exercises: grades the backward passes in examples/exercises; see its README.md\n"
    "  exercises              grade all, with a report on the first wrong one\n"
    "  exercises 4            grade one, by number or name: exercises relu\n"
    "  exercises --strict     exit with code 1 unless all are done\n"
    "  exercises --hint 4     print a hint, by number or name; levels 2 and 3 add detail:\n"
    "                         exercises --hint relu 3\n"
    "  exercises --help       print this help\n";

/// Returns the exercise with this name or number, or "".
std::string exercise_named(const std::vector<exercises::Exercise>& all, const std::string& word) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (word == all[i].name || word == std::to_string(i + 1)) return all[i].name;
  return {};
}

int print_hint(const std::vector<exercises::Exercise>& all, const std::string& word,
               const std::string& level) {
  const std::string name = exercise_named(all, word);
  const std::string text =
      level.size() == 1 ? exercises::hint(name, level[0] - '0') : std::string();
  if (text.empty()) {
    std::fprintf(stderr, "exercises: --hint needs an exercise, 1 to %zu or its name, %s '%s %s'\n",
                 all.size(), "and a level, 1 to 3, got", word.c_str(), level.c_str());
    return 2;
  }
  std::printf("%s", text.c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string word = count > 1 ? arguments[1] : "";
  if (word == "--help" || word == "-h") {
    std::printf("%s", kHelp);
    return 0;
  }
  const std::vector<exercises::Exercise> all = exercises::exercises();
  if (word == "--hint" && count <= 4)
    return print_hint(all, count > 2 ? arguments[2] : "", count > 3 ? arguments[3] : "1");
  const bool strict = word == "--strict";
  const exercises::Result result = exercises::grade_all(all, strict ? "" : word);
  if (count > 2 || result.graded == 0) {
    std::fprintf(stderr, "exercises: unknown argument '%s'. Arguments: 1 to %zu, a name, %s\n",
                 arguments[count - 1], all.size(), "--strict, --hint and --help");
    return 2;
  }
  std::printf("%s", result.text.c_str());
  return strict && result.done < all.size() ? 1 : 0;
}
