// The course of a small run of each application, and what its examples are made of, against
// tests/golden/courses: what is learned from, in which order, at which rate and from which weights
// is a choice that no formula knows, so each change of it shall show.
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "gradus/examples/listen/sounds.h"
#include "gradus/examples/vision/digits.h"
#include "gradus/tests/examples/result.h"
#include "gradus/tests/support/golden.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using examples::Example;
using examples::Labelled;

/// Vectors of another width add in another order: roundings of 2⁻²⁴ in sums of some hundred terms,
/// which a few small steps of Adam make larger; a part in 500 is far from them and from any fault.
bool same_word(const std::string& is, const std::string& wanted) {
  if (is == wanted) return true;
  char *end_is = nullptr, *end_wanted = nullptr;
  const double a = std::strtod(is.c_str(), &end_is), b = std::strtod(wanted.c_str(), &end_wanted);
  return end_is != is.c_str() && std::string(end_is) == end_wanted &&
         std::abs(a - b) <= 2e-3 * std::max(1.0, std::abs(b));
}

void check_course(const std::string& name, const std::string& text) {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/courses/" + name + ".txt";
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

/// What a run said, but for how long it took.
std::string said(const std::string& out) {
  std::string text;
  for (const std::string& line : lines_of(out))
    if (line == "files")  // and when they were written
      break;
    else if (!line.starts_with("took ") && !line.starts_with("machine "))
      text += line + "\n";
  return text;
}

/// What is asked of a run, by the application's name, or by what it learnt.
const std::map<std::string, std::vector<std::string>> kAsked = {
    {"gpt",
     {"sample run --prompt abc --tokens 30 --top-k 5 --seed 3",
      "sample run --prompt abc --tokens 30 --temperature 1.5 --top-k 6 --repetition-penalty 1.2",
      "sample run --tokens 20 --top-k 5 --seed 4",
      "sample run --prompt abc --tokens 1 --temperature 50 --seed 1",  // half a character of bytes
      "eval run held_out.txt", "info run"}},
    {"translate", {"run run 1999-1-25 7.3.2011", "run run 1999-1-25 --beams 3", "eval run"}},
    {"sentences", {"run run king dogs --beams 2", "eval run"}},
    {"recommend", {"for run 1 2 3 250", "eval run"}},
    {"classify", {"text run tree/a/0.h", "fill run abc[MASK]d"}},
    {"listen", {"make x.wav --class trill --seed 3", "to run x.wav", "to run --class fall"}},
    {"vision", {"look run --digit 4 --seed 2", "look run --digit 4 --seed 3"}}};

std::string with(const std::string& flags, const char* before, const char* after) {
  return std::regex_replace(flags, std::regex(before), after);
}

void check_course_of(const Application& app, const std::string& flags, const std::string& name,
                     const std::vector<std::string>& asked) {
  const Workplace here;
  const Result result = result_of(app, here, flags, "run");
  std::string text = flags + "\n" + result.training.at("steps");
  for (const std::string& line : result.judged) text += line + "\n";
  text += said(result.out);
  for (const std::string& command : asked) {
    const Outcome outcome = app.run(here, command);
    INFO(app.name << " " << command << ": " << outcome.err);
    REQUIRE(outcome.code == 0);
    text += "\n" + command + "\n" + said(outcome.out);
  }
  check_course(name, text);
}

TEST_CASE("runs of the applications take the course that they took") {
  int number = 0;
  for (const Application& app : applications()) {
    // Enough for templates to know some dates; a rate at which roundings stay small.
    const std::string flags =
        with(with(app.flags, "--examples 40", "--examples 1000"), "--lr \\S+", "--lr 0.02");
    check_course_of(app, flags, std::to_string(number++) + "_" + app.name, kAsked.at(app.name));
    if (app.name == "translate")  // of unequal lengths, in shards of unequal weight
      check_course_of(app, with(flags, "--task dates", "--task sentences --shards 2"), "sentences",
                      kAsked.at("sentences"));
  }
}

/// Of each example the label, and some of its numbers.
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

TEST_CASE("the examples that applications make are those that they made") {
  check_course("sounds", labelled(examples::make_sounds(20, 5, 1)));
  check_course("digits", labelled(examples::draw_digits(20, 5, 1)));
  std::ostringstream users, pairs;
  for (const examples::History& each : examples::histories(12, 3)) {
    for (const std::int64_t item : each) users << item << ' ';
    users << '\n';
  }
  check_course("users", users.str());
  for (const char* name : {"dates", "sentences"}) {
    const examples::Task task = examples::make_task(name, 12, 3);
    pairs << task.what << '\n';
    for (const std::vector<Example>& part : {task.training, task.validation, task.test})
      for (std::size_t i = 0; i < 12; ++i)
        pairs << part[i].source << " -> " << part[i].target << " | "
              << task.baseline(part[i].source) << '\n';
  }
  check_course("pairs", pairs.str());
}

}  // namespace
}  // namespace gradus::testing
