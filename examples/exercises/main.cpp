// Grades the exercises of this folder; see README.md.
#include <cstdio>
#include <string>

#include "gradus/examples/exercises/grader.h"
#include "gradus/examples/exercises/hints.h"

using namespace gradus;

namespace {

constexpr const char* kHelp =
    "exercises: grades the backward passes in examples/exercises; its README.md tells the rest\n"
    "  exercises              all of them, the first wrong one with its report\n"
    "  exercises 4            one by its number, or by its name: exercises relu\n"
    "  exercises --strict     exit code 1 unless all are done\n"
    "  exercises --hint 4     a hint, by number or name: --hint relu 2 and 3 say more\n"
    "  exercises --help       this\n";

/// The exercise with this name or number, or an empty string.
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
    std::fprintf(stderr, "exercises: --hint wants an exercise, 1 to %zu or its name, %s '%s %s'\n",
                 all.size(), "and 1, 2 or 3, not", word.c_str(), level.c_str());
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
    std::fprintf(stderr, "exercises: what is '%s'? It knows 1 to %zu, their names, %s\n",
                 arguments[count - 1], all.size(), "--strict, --hint and --help");
    return 2;
  }
  std::printf("%s", result.text.c_str());
  return strict && result.done < all.size() ? 1 : 0;
}
