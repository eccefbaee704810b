#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "gradus/engine/base/random.h"
#include "gradus/examples/play/exercises.h"
#include "gradus/examples/play/play.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::play {
namespace {

using nlohmann::json;
using testing::has;

json listed() { return json::parse(play_exercises()); }

json checked(int exercise, int choice) {
  const char* answer = play_check(exercise, choice);
  INFO(play_error());
  REQUIRE(answer != nullptr);
  return json::parse(answer);
}

/// Calls f(exercise, choice) for each choice.
template <class F>
void for_each_choice(F&& f) {
  for (const json& each : listed())
    for (int choice = 0; choice < static_cast<int>(each["choices"].size()); ++choice) {
      INFO(each["number"] << " " << each["title"] << ", choice " << choice);
      f(each, choice);
    }
}

int number_of(const json& exercise) { return exercise["number"].get<int>(); }

}  // namespace

TEST_CASE("play: there are ten exercises of two kinds and six bugs, numbered from 1") {
  std::map<std::string, int> kinds;
  int number = 0;
  for (const json& each : listed()) {
    CHECK(number_of(each) == ++number);
    ++kinds[each["kind"].get<std::string>()];
  }
  CHECK(kinds == std::map<std::string, int>{{"which", 10}, {"factor", 10}, {"bug", 6}});
}

TEST_CASE("play: texts of exercises are not empty, and choices and explanations are distinct") {
  std::set<std::string> titles;
  for (const Exercise& each : exercises()) {
    INFO(each.title);
    CHECK(!each.title.empty());
    CHECK(titles.insert(each.title).second);
    CHECK(!each.statement.empty());
    for (const std::string& line : each.statement) CHECK(!line.empty());
    if (each.kind != "bug") CHECK(each.choices.size() == 4);
    std::set<std::string> texts, explanations;
    for (const Choice& choice : each.choices) {
      INFO(choice.text);
      CHECK(!choice.text.empty());
      CHECK(texts.insert(choice.text).second);
      CHECK(!choice.explanation.empty());
      CHECK(explanations.insert(choice.explanation).second);
    }
  }
}

TEST_CASE("play: the checker passes exactly one choice of each exercise, and fails the others") {
  std::map<int, int> correct;
  std::map<std::string, std::set<int>> positions;
  for_each_choice([&](const json& exercise, int choice) {
    const json grade = checked(number_of(exercise), choice);
    const auto report = grade["report"].get<std::string>();
    CAPTURE(report);
    if (grade["correct"].get<bool>()) {
      ++correct[number_of(exercise)];
      positions[exercise["kind"].get<std::string>()].insert(choice);
      CHECK(has(report, "GRADCHECK PASS  "));
    } else {
      CHECK(has(report, "GRADCHECK FAIL  "));
      CHECK(!has(report, "GRADCHECK PASS  "));
    }
    CHECK(!has(report, "INCONCLUSIVE"));
    CHECK(!grade["explanation"].get<std::string>().empty());
  });
  for (const json& each : listed()) CHECK(correct[number_of(each)] == 1);
  for (const auto& [kind, places] : positions) CHECK(places.size() >= 3);
}

TEST_CASE("play: the report on a bug names the cause, and its source is documented") {
  const std::map<std::string, std::string> causes = {
      {"https://github.com/stan-dev/math/issues/3322", "SIGN"},
      {"https://github.com/jax-ml/jax/issues/2140", "LEFT OUT"},
      {"https://github.com/PoseLib/PoseLib/issues/97", "SCALE"},
      {"https://github.com/pytorch/pytorch/issues/36820", "LEFT OUT"},
      {"https://github.com/NVIDIA/warp/issues/1732", "backward writes to its upstream gradient"},
      {"https://github.com/jax-ml/jax/issues/37992", "SUBSET"}};
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/found/seen_in_the_wild.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for_each_choice([&](const json& exercise, int choice) {
    const auto source = exercise["source"].get<std::string>();
    if (exercise["kind"] != "bug") {
      CHECK(source.empty());
      return;
    }
    CHECK(has(page, "(" + source + ")"));
    const json grade = checked(number_of(exercise), choice);
    const auto report = grade["report"].get<std::string>();
    CAPTURE(report);
    CHECK(report.rfind("The code as given:\n\nGRADCHECK FAIL  ", 0) == 0);
    CHECK(has(report, causes.at(source)));
    CHECK(has(report, "With this line instead: ") == grade["correct"].get<bool>());
  });
}

TEST_CASE("play: a bad exercise or choice is an error, and the next call works") {
  for (const auto& [exercise, choice] :
       {std::pair{0, 0}, {27, 0}, {-1, 0}, {1, 4}, {1, -1}, {21, 100}}) {
    CHECK(play_check(exercise, choice) == nullptr);
    const json error = json::parse(play_error());
    CHECK(error["field"] == "");
    CHECK(has(error["message"].get<std::string>(), "play: there is no "));
    CHECK(checked(1, 2)["correct"] == true);
    CHECK(std::string(play_error()) == "{}");
  }
  play_check(27, 0);
  CHECK(has(play_error(), "play: there is no exercise 27. Use 1 to 26."));
  play_check(1, 4);
  CHECK(has(play_error(), "play: there is no choice 4. Use 0 to 3."));
}

TEST_CASE("play: grading takes less than a second and does not depend on the default dtype") {
  const Dtype before = default_dtype();
  for_each_choice([&](const json& exercise, int choice) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    set_default_dtype(Dtype::f32);
    const json single = checked(number_of(exercise), choice);
    CHECK(std::chrono::duration<double>(Clock::now() - start).count() < 1);
    set_default_dtype(Dtype::f64);
    CHECK(single == checked(number_of(exercise), choice));
  });
  set_default_dtype(before);
}

TEST_CASE("play: grading leaves the random state unchanged") {
  seed(5);
  const std::vector<float> expected = rand({4}, Dtype::f32).to_vector<float>();
  seed(5);
  for_each_choice([&](const json& exercise, int choice) { checked(number_of(exercise), choice); });
  CHECK(rand({4}, Dtype::f32).to_vector<float>() == expected);
}

}  // namespace gradus::play
