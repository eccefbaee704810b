// Runs an application in a hidden test case of this program, because a fork would inherit the
// memory of the tests. The child reports its own peak memory, because wait4's ru_maxrss includes
// the parent's.
#include "gradus/tests/examples/run_subprocess.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/platform.h"

namespace gradus::testing {
namespace {

constexpr rlim_t kSeconds = 100;                   // CPU time limit
constexpr int kPatience = kMeasured ? 150 : 1500;  // milliseconds until Ctrl-C
constexpr const char* kWords = "GRADUS_TEST_APPLICATION";

TEST_CASE("helper: run an application in a separate process", "[.]") {
  const char* given = std::getenv(kWords);
  if (given == nullptr) return;
  std::istringstream in(given);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\x1f');) words.push_back(word);
  memory::set_limit(std::stoll(words[0]));
  std::vector<char*> argv;
  for (std::size_t i = 1; i < words.size(); ++i) argv.push_back(words[i].data());
  const auto app = std::find_if(applications().begin(), applications().end(),
                                [&](const Application& each) { return each.name == words[1]; });
  std::signal(SIGINT, SIG_DFL);  // Catch2's handler crashes during exit
  const int code = app->main(static_cast<int>(argv.size()), argv.data());
  std::ofstream("peak") << platform::peak_resident_bytes();
  std::exit(code);
}

void become(const Workplace& here, const std::string& words) {
  const rlimit seconds{kSeconds, kSeconds};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setenv(kWords, words.c_str(), 1);
  // The leak check suspends the process, so Ctrl-C would hang it.
  if (kAddressSanitizer) ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  const int err = ::open((here.directory / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int out = ::open((here.directory / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(out, 1), ::dup2(err, 2);
  if (::chdir(here.directory.c_str()) == 0)
    ::execl("/proc/self/exe", "tests", "helper: run an application in a separate process", nullptr);
  ::_exit(99);
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

Ended run_subprocess(const Application& app, const Workplace& here,
                     const std::vector<std::string>& words, std::int64_t limit) {
  std::string all = std::to_string(limit) + '\x1f' + app.name;
  for (const std::string& word : words) all += '\x1f' + word;
  fs::remove(here.directory / "peak");
  const pid_t child = ::fork();
  if (child == 0) become(here, all);
  int status = 0;
  rusage used{};
  for (int waited = 1; ::wait4(child, &status, WNOHANG, &used) == 0; ++waited) {
    if (limit > 0 && waited % kPatience == 0) ::kill(child, SIGINT);
    ::usleep(1000);
  }
  const std::string peak = contents(here.directory / "peak");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
          peak.empty() ? 0 : std::stod(peak) / 1e6, contents(here.directory / "err")};
}

}  // namespace gradus::testing
