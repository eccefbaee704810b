// What the judge says that a run needs at least, beside what a run takes.
#include <regex>

#include "gradus/base/memory.h"
#include "gradus/tests/examples/judge_child.h"

namespace gradus::testing {
namespace {

/// `words` with another value for a flag.
std::string with(const std::string& words, const std::string& flag, const std::string& value) {
  return std::regex_replace(words, std::regex(" " + flag + " [^ ]+"), "") + " " + flag + " " +
         value;
}

/// What the judge says where not even a byte is allowed: it comes before any tensor.
double estimate(const Application& app, const Workplace& here, const std::string& command) {
  memory::set_limit(1);
  const Outcome said = app.run(here, command);
  memory::set_limit(0);
  check_refused(said, {"need at least ", " of memory, but this process may have 1 bytes"});
  std::smatch found;
  REQUIRE(std::regex_search(said.err, found, std::regex("least ([0-9.]+) (bytes|kB|MB|GB)")));
  const std::map<std::string, double> units = {
      {"bytes", 1e-6}, {"kB", 1e-3}, {"MB", 1}, {"GB", 1e3}};
  return std::stod(found[1]) * units.at(found[2]);
}

/// Sizes with which one of parameters, step and evaluation is most of it, some 20 to 40 MB.
struct Size {
  std::string app, flags;
};
const std::vector<Size> kSizes = {
    {"gpt", "--width 256 --layers 1 --checkpoint"},
    {"gpt", "--width 64 --layers 4 --context 64 --batch 40"},
    {"gpt", "--width 64 --layers 4 --context 64 --batch 80 --checkpoint"},
    {"gpt", "--width 32 --layers 4 --context 64 --batch 60 --positions alibi --activation relu"},
    {"gpt", "--width 16 --layers 4 --heads 16 --context 160"},
    {"gpt", "--width 256 --layers 1 --kv-heads 1 --activation swiglu --norm rms"},
    {"translate", "--width 128 --layers 2"},
    {"recommend", "--width 128 --layers 4"},
    {"recommend", "--width 32 --layers 4 --batch 200"},
    {"classify", "--width 256 --layers 1"},
    {"classify", "--width 64 --layers 4 --batch 300 --length 16"},
    {"listen", "--width 256 --layers 1 --tested 20"},
    {"listen", "--width 64 --layers 4 --batch 60 --tested 20"},
    {"vision", "--width 256 --layers 1 --tested 20"},
    {"vision", "--width 64 --layers 4 --batch 300 --tested 20"}};

TEST_CASE("a run takes as much memory as the judge said at least") {
  std::map<std::string, double> without;  // megabytes of a run of next to nothing
  for (const Size& size : kSizes) {
    const auto app = std::find_if(applications().begin(), applications().end(),
                                  [&](const Application& each) { return each.name == size.app; });
    const Workplace here;
    if (without.count(app->name) == 0) {
      app->run(here, "--help");
      without[app->name] =
          run_apart(*app, here, words_of("train --out tiny " + app->flags), 0).megabytes;
    }
    std::string words = "train --out run " + app->flags;
    std::istringstream in(size.flags);
    for (std::string flag, value; in >> flag;)
      if (flag == "--checkpoint")
        words += " " + flag;
      else
        in >> value, words = with(words, flag, value);
    const double said = estimate(*app, here, words);
    const Ended done = run_apart(*app, here, words_of(words), 0);
    std::printf("%-10s said %5.1f took %5.1f over %5.1f, ratio %.2f in %.2f s (%d)  %s\n",
                app->name.c_str(), said, done.megabytes - without[app->name], without[app->name],
                (done.megabytes - without[app->name]) / said, done.seconds, done.code,
                size.flags.c_str());
    CAPTURE(done.err);
  }
}

}  // namespace
}  // namespace gradus::testing
