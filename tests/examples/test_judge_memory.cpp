#include <regex>

#include "gradus/engine/base/memory.h"
#include "gradus/tests/examples/run_subprocess.h"

namespace gradus::testing::test_judge_memory {
namespace {

std::string with(const std::string& words, const std::string& flag, const std::string& value) {
  return std::regex_replace(words, std::regex(" " + flag + " [^ ]+"), "") + " " + flag + " " +
         value;
}

/// Returns the memory estimate from the error message that a limit of 1 byte causes.
double estimate(const Application& app, const Workplace& here, const std::string& command) {
  memory::set_limit(1);
  const Outcome outcome = app.run(here, command);
  memory::set_limit(0);
  check_refused(outcome, {"need at least ", " of memory, but this process may use 1 bytes"});
  std::smatch found;
  REQUIRE(std::regex_search(outcome.err, found, std::regex("least ([0-9.]+) (bytes|kB|MB|GB)")));
  const std::map<std::string, double> units = {
      {"bytes", 1e-6}, {"kB", 1e-3}, {"MB", 1}, {"GB", 1e3}};
  return std::stod(found[1]) * units.at(found[2]);
}

constexpr double kHugePage = 2.1;  // MB: resident memory grows by entire pages of 2 MiB

/// Sizes dominated by parameters, a step or an evaluation, and the allowed ratio of actual to
/// estimated memory. In a step, a block saves 14 to 20 vectors of `width` per token. The estimate
/// counts only the 8 that all options need. For evaluations, the estimate counts only the weights
/// of gpt's head.
struct Size {
  std::string app, flags;
  double most = 3;
};
const std::vector<Size> kSizes = {
    {"gpt", "--width 256 --layers 1", 1.8},  // dominated by parameters
    {"gpt", "--width 64 --layers 4 --context 64 --batch 40"},
    {"gpt", "--width 64 --layers 4 --context 64 --batch 80 --checkpoint"},
    {"gpt", "--width 64 --layers 8 --context 128 --batch 1 --heads 32 --positions alibi"},
    {"gpt", "--width 128 --layers 2 --heads 64 --context 160 --batch 1"},
    {"gpt", "--width 256 --layers 1 --kv-heads 1 --activation swiglu --norm rms"},
    {"translate", "--width 128 --layers 2", 12},
    {"recommend", "--width 32 --layers 4 --batch 100", 5},
    {"classify", "--width 256 --layers 1"},
    {"classify", "--width 64 --layers 4 --batch 200 --length 16"},
    {"listen", "--width 256 --layers 1 --tested 20", 5},
    {"vision", "--width 256 --layers 1 --tested 20"},
    {"vision", "--width 64 --layers 12 --batch 60 --tested 20"}};

const Application& called(const std::string& name) {
  return *std::find_if(applications().begin(), applications().end(),
                       [&](const Application& each) { return each.name == name; });
}

std::string words_of(const Application& app, const Size& size) {
  std::string words = "train --out run " + app.flags;
  words = with(with(words, "--steps", "2"), "--eval-every", "2");
  std::istringstream in(size.flags);
  for (std::string flag, value; in >> flag;) {
    if (flag == "--checkpoint") {
      words += " " + flag;
    } else {
      in >> value;
      words = with(words, flag, value);
    }
  }
  return words;
}

void check(const Size& size) {
  const Application& app = called(size.app);
  const Workplace here;
  const double program = run_subprocess(app, here, {"--help"}).megabytes;
  const std::string words = words_of(app, size);
  const double estimated = estimate(app, here, words);
  CHECK_FALSE(fs::exists(here.directory / "run"));
  const Ended done = run_subprocess(app, here, testing::words_of(words));
  const double taken = done.megabytes - program;
  CAPTURE(words, estimated, taken, done.err);
  CHECK(done.code == 0);
  CHECK(estimated > 10);
  if (!kMeasured) return;
  CHECK(taken > 0.98 * estimated);  // the estimate is rounded
  CHECK(taken < size.most * estimated + kHugePage);
}

TEST_CASE("a run of gpt needs at least the estimated memory") {
  for (const Size& size : kSizes)
    if (size.app == "gpt") check(size);
}

TEST_CASE("a run of any other application needs at least the estimated memory") {
  for (const Size& size : kSizes)
    if (size.app != "gpt") check(size);
}

}  // namespace
}  // namespace gradus::testing::test_judge_memory
