// Runs the applications in the test process with fewer examples. tests/CMakeLists.txt renames the
// functions that they call.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/examples/apps/recommend/world.h"
#include "gradus/examples/apps/support/training/classification.h"
#include "gradus/examples/apps/translate/task.h"
#include "gradus/tests/examples/gpt_program.h"

int gpt_main(int argc, char** argv);
int translate_main(int argc, char** argv);
int recommend_main(int argc, char** argv);
int classify_main(int argc, char** argv);
int listen_main(int argc, char** argv);
int vision_main(int argc, char** argv);

namespace gradus::examples {
Labelled draw_digits_of_test(std::int64_t count, std::uint64_t seed, std::int64_t block);
Labelled make_sounds_of_test(std::int64_t count, std::uint64_t seed, std::int64_t block);
std::vector<History> histories_of_test(std::int64_t users, std::int64_t seed);
Task make_task_of_test(const std::string& name, std::int64_t count, std::int64_t seed);
}  // namespace gradus::examples

namespace gradus::testing {

using examples::Part;

/// If set, this part of the data is replaced with other examples.
inline std::optional<Part> exchanged;
/// If set, these target sentences replace those of translate's data.
inline std::map<Part, std::vector<std::string>> translations_wanted;
/// The part and block of each request for examples by listen and vision.
inline std::vector<std::pair<Part, std::int64_t>> asked;
constexpr std::int64_t kSeed = 12;

struct Application {
  std::string name;
  int (*main)(int, char**);
  std::string flags;     // flags for train, without --out
  bool has_test = true;  // gpt has no test part

  /// Writes the input files and runs the application in `here`.
  Outcome run(const Workplace& here, const std::string& arguments) const;
  Outcome train(const Workplace& here, const std::string& out) const {
    return run(here, "train " + flags + " --out " + out);
  }
};
const std::vector<Application>& applications();

}  // namespace gradus::testing
