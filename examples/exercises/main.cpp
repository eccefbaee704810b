// Grades what stands in this folder; README.md tells the rest.
//   exercises              all of them
//   exercises relu, 4      one, by name or number
//   exercises --strict     exit code 1 unless all are done
#include <cstdio>
#include <string>

#include "gradus/examples/exercises/grader.h"

using namespace gradus;

namespace {

constexpr const char* kHelp =
    "exercises: grades the backward passes in examples/exercises; its README.md tells the rest\n"
    "  exercises              all of them, the first wrong one with its report\n"
    "  exercises 4            one by its number, or by its name: exercises relu\n"
    "  exercises --strict     exit code 1 unless all are done\n"
    "  exercises --help       this\n";

}  // namespace

int main(int count, char** arguments) {
  const std::string word = count > 1 ? arguments[1] : "";
  if (word == "--help" || word == "-h") {
    std::printf("%s", kHelp);
    return 0;
  }
  const std::vector<exercises::Exercise> all = exercises::exercises();
  const bool strict = word == "--strict";
  const exercises::Result result = exercises::grade_all(all, strict ? "" : word);
  if (count > 2 || result.graded == 0) {
    std::fprintf(stderr, "exercises: what is '%s'? It knows 1 to %zu, their names, %s\n",
                 arguments[count - 1], all.size(), "--strict and --help");
    return 2;
  }
  std::printf("%s", result.text.c_str());
  return strict && result.done < all.size() ? 1 : 0;
}
