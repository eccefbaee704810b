// Saved seeds must make the same task in every version (tests/golden/example_data).
#include <cmath>
#include <fstream>
#include <sstream>

#include "gradus/examples/apps/listen/sounds.h"
#include "gradus/examples/apps/vision/digits.h"
#include "gradus/tests/examples/result.h"
#include "gradus/tests/support/golden.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_example_data {
namespace {

using examples::Example;
using examples::Labelled;

/// Numbers may differ by 1/500, which is far above rounding errors.
bool same_word(const std::string& is, const std::string& wanted) {
  if (is == wanted) return true;
  char *end_is = nullptr, *end_wanted = nullptr;
  const double a = std::strtod(is.c_str(), &end_is), b = std::strtod(wanted.c_str(), &end_wanted);
  return end_is != is.c_str() && std::string(end_is) == end_wanted &&
         std::abs(a - b) <= 2e-3 * std::max(1.0, std::abs(b));
}

void check_data(const std::string& name, const std::string& text) {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/example_data/" + name + ".txt";
  if (std::getenv("GRADUS_WRITE_GOLDEN")) std::ofstream(path) << text;
  std::istringstream ours(text), theirs(contents(path));
  int word = 0;
  for (std::string is, wanted; ++word;) {
    const bool more = static_cast<bool>(ours >> is), expected = static_cast<bool>(theirs >> wanted);
    INFO(path << ", word " << word << ": is " << is << ", golden: " << wanted);
    REQUIRE(more == expected);
    if (!more) return;
    REQUIRE(same_word(is, wanted));
  }
}

std::string labelled(const Labelled& examples) {
  const std::vector<float> x = examples.x.to_vector<float>();
  const std::vector<std::int64_t> kinds = examples.y.to_vector<std::int64_t>();
  const std::size_t each = x.size() / kinds.size();
  std::ostringstream out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    out << kinds[i] << ':';
    for (std::size_t k = 0; k < 8; ++k) out << ' ' << x[i * each + each * (2 * k + 1) / 16];
    out << '\n';
  }
  return out.str();
}

TEST_CASE("applications generate the same examples from the same seed in every version") {
  check_data("sounds", labelled(examples::make_sounds(20, 5, 1)));
  check_data("digits", labelled(examples::draw_digits(20, 5, 1)));
  std::ostringstream users, pairs;
  for (const examples::History& each : examples::histories(12, 3)) {
    for (const std::int64_t item : each) users << item << ' ';
    users << '\n';
  }
  check_data("users", users.str());
  for (const char* name : {"dates", "sentences"}) {
    const examples::Task task = examples::make_task(name, 12, 3);
    pairs << task.what << '\n';
    for (const std::vector<Example>& part : {task.training, task.validation, task.test})
      for (std::size_t i = 0; i < 12; ++i)
        pairs << part[i].source << " -> " << part[i].target << " | "
              << task.baseline(part[i].source) << '\n';
  }
  check_data("pairs", pairs.str());
}

}  // namespace
}  // namespace gradus::testing::test_example_data
