// Runs each mutant in a separate process against the cases that reach its site.
//
//   gradus_mutants LIST JOBS SCRATCH
//
// Each line of LIST describes a mutant: its number, the number of its site, and its source. Each of
// JOBS processes uses a folder in SCRATCH for files.
//
// First runs each case without a mutant, to record the sites that it reaches. Omits cases that
// fail, and prints 0<tab>left out<tab>CASE for each. Then prints a line per mutant:
// NUMBER<tab>killed or survived<tab>CASE.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>

#include "gradus/engine/base/parallel.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/mutation/mutant.h"

/// Disables signal handlers, because Catch2's handler allocates and would deadlock after a crash in
/// malloc. std::signal still works.
extern "C" int sigaction(int, const struct sigaction*, struct sigaction* before) noexcept {
  if (before) *before = {};
  return 0;
}

namespace gradus {

int gradus_mutant = 0;
unsigned char* gradus_mutants_reached = nullptr;

namespace mutation {
namespace {

constexpr rlim_t kMostMemory = rlim_t{8} << 30;  // mutated sizes must not exhaust the machine
constexpr rlim_t kLargestFile = rlim_t{256} << 20;
constexpr uid_t kNobody = 65534;
constexpr double kPatience = 0.4;  // CPU seconds in addition to ten times the usual time
constexpr double kWait = 5;        // additional wall-clock seconds, for deadlocks
constexpr double kLongest = 3;     // CPU seconds; longer cases are not used
constexpr double kBudget = 1;      // CPU seconds per mutant
constexpr std::size_t kMostSites = std::size_t{1} << 22;
constexpr std::size_t kMostReached = std::size_t{1} << 28;  // sites that cases reach

using Makers = std::vector<Cases (*)()>;
Makers& makers() {
  static Makers all;
  return all;
}

Cases all_cases() {
  Cases cases;
  for (Cases (*make)() : makers())
    for (Case& one : make()) cases.push_back(std::move(one));
  return cases;
}

std::string outcome(const Case& one) {
  try {
    std::string wrong = one.run();
    return wrong.empty() && memory_was_overrun() ? "wrote outside a tensor" : wrong;
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

template <class Body>
std::string in_child(Body body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "cannot create a pipe";
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1), dup2(nowhere, 2);
    const rlimit memory{kMostMemory, kMostMemory}, core{0, 0}, file{kLargestFile, kLargestFile};
    setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CORE, &core), setrlimit(RLIMIT_FSIZE, &file);
    const std::string text = body();
    const ssize_t written =
        write(pipe_ends[1], text.data(), std::min<std::size_t>(text.size(), 400));
    _exit(written < 0);
  }
  close(pipe_ends[1]);
  char buffer[401];
  const ssize_t got = read(pipe_ends[0], buffer, 400);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (by != 0)
    return by == SIGPROF || by == SIGALRM ? "hung" : std::string("died: ") + strsignal(by);
  return std::string(buffer, buffer + std::max<ssize_t>(got, 0));
}

void set_timer(__itimer_which clock, double seconds) {
  const double whole = std::floor(seconds);
  const itimerval timer{
      {0, 0}, {static_cast<time_t>(whole), static_cast<suseconds_t>((seconds - whole) * 1e6)}};
  setitimer(clock, &timer, nullptr);
}

/// Limits CPU time, which does not depend on the load, and wall-clock time, for blocked cases.
void set_alarm(double seconds) {
  set_timer(ITIMER_PROF, seconds), set_timer(ITIMER_REAL, kWait + seconds);
}

template <class T>
T* shared(std::size_t count) {
  void* const place = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) std::perror("gradus_mutants"), std::exit(2);
  return static_cast<T*>(place);
}

/// Creates a folder for the job and drops root privileges, because a mutant may write to any path.
std::filesystem::path own_folder(const std::string& scratch, int job) {
  const auto folder = std::filesystem::absolute(scratch) / std::to_string(job);
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  setenv("TMPDIR", folder.c_str(), 1);
  if (chdir(folder.c_str()) != 0) std::exit(2);
  if (geteuid() == 0 && seteuid(kNobody) == 0 && !std::ifstream(GRADUS_SOURCE_DIR "/README.md"))
    if (seteuid(0) != 0) std::exit(2);
  return folder;
}

void empty(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    std::filesystem::remove_all(entry, ignored);
}

template <class Body>
bool side_by_side(int jobs, const std::string& scratch, Body body) {
  std::fflush(stdout);
  for (int job = 0; job < jobs; ++job)
    if (fork() == 0) {
      body(own_folder(scratch, job));
      std::fflush(stdout);
      _exit(0);
    }
  bool good = true;
  for (int status = 0; wait(&status) > 0;) good = status == 0 && good;
  return good;
}

double seconds_computed() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return seconds;
}

/// Results of a case without a mutant. The case reaches sites reached[begin] … of Learned.
struct Known {
  double seconds;
  std::size_t begin, count;
};

struct Learned {
  Known* known;
  int* reached;
  std::atomic<std::size_t>* used;
};

/// Records the sites that a case reaches: none if it fails or is too slow.
void learn(const Case& one, std::size_t sites, Known& known, const Learned& learned) {
  std::memset(gradus_mutants_reached, 0, sites);
  const double start = seconds_computed();
  const std::string wrong = in_child([&] {
    set_alarm(kLongest);
    return outcome(one);
  });
  known = {seconds_computed() - start, 0, 0};
  if (!wrong.empty()) {
    if (wrong != "hung") std::printf("0\tleft out\t%s\n", one.name.c_str());
    return;
  }
  std::vector<int> seen;
  for (std::size_t site = 0; site < sites; ++site)
    if (gradus_mutants_reached[site]) seen.push_back(static_cast<int>(site));
  known.count = seen.size();
  known.begin = learned.used->fetch_add(seen.size());
  std::copy(seen.begin(), seen.end(), learned.reached + known.begin);
}

Learned learn(const Cases& cases, int jobs, const std::string& scratch, std::size_t sites) {
  const Learned learned{shared<Known>(cases.size()), shared<int>(kMostReached),
                        shared<std::atomic<std::size_t>>(1)};
  auto& next = *shared<std::atomic<std::size_t>>(1);
  const bool good = side_by_side(jobs, scratch, [&](const std::filesystem::path& folder) {
    gradus_mutants_reached = shared<unsigned char>(kMostSites);
    for (std::size_t i; (i = next++) < cases.size(); empty(folder))
      learn(cases[i], sites, learned.known[i], learned);
  });
  if (!good) std::exit(2);
  return learned;
}

struct Task {
  int mutant, site;
  std::string source;
};

std::vector<Task> read_tasks(const char* file) {
  std::ifstream in(file);
  std::vector<Task> tasks;
  for (Task task; in >> task.mutant >> task.site >> task.source;) tasks.push_back(task);
  return tasks;
}

/// Returns the time of a case, reduced for tests named after the source or its component.
double price(const Case& one, double seconds, const std::filesystem::path& source) {
  const std::size_t name = one.file.rfind("/test_");
  if (name != one.file.npos && one.file.find("_" + source.stem().string(), name) != one.file.npos)
    return seconds / 100;
  return one.file.starts_with("tests/" + source.begin()->string() + "/") ? seconds / 10 : seconds;
}

/// Returns the cheapest cases within the budget, but at least one.
std::vector<int> affordable(std::vector<int> reaching, const Task& task, const Cases& cases,
                            const Known* known) {
  const auto price_of = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    return price(cases[at], known[at].seconds, task.source);
  };
  std::stable_sort(reaching.begin(), reaching.end(),
                   [&](int a, int b) { return price_of(a) < price_of(b); });
  std::vector<int> some;
  double left = kBudget;
  for (const int i : reaching) {
    const double seconds = known[static_cast<std::size_t>(i)].seconds;
    if (seconds < left) some.push_back(i), left -= seconds;
  }
  if (some.empty() && !reaching.empty()) some.push_back(reaching.front());
  return some;
}

/// Returns the first case that detects the mutant, or "".
std::string detected_by(int mutant, const std::vector<int>& some, const Cases& cases,
                        const Known* known) {
  return in_child([&]() -> std::string {
    gradus_mutant = mutant;
    for (const int each : some) {
      const auto i = static_cast<std::size_t>(each);
      set_alarm(kPatience + 10 * known[i].seconds);
      const std::string wrong = outcome(cases[i]);
      if (!wrong.empty()) return cases[i].name + ": " + wrong;
    }
    return "";
  });
}

void print_verdict(const Task& task, std::string by) {
  std::replace(by.begin(), by.end(), '\n', ' ');
  std::printf("%d\t%s\t%s\n", task.mutant, by.empty() ? "survived" : "killed", by.c_str());
  std::fflush(stdout);
}

}  // namespace

CaseSource::CaseSource(Cases (*make)()) { makers().push_back(make); }

int run(const char* file, int jobs, const std::string& scratch) {
  set_num_threads(1);
  const std::vector<Task> tasks = read_tasks(file);
  std::size_t sites = 1;
  for (const Task& task : tasks) sites = std::max(sites, static_cast<std::size_t>(task.site) + 1);
  const Cases cases = all_cases();
  const Learned learned = learn(cases, jobs, scratch, sites);
  const std::vector<Known> known(learned.known, learned.known + cases.size());
  std::vector<std::vector<int>> reaching(sites);
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (std::size_t k = 0; k < known[i].count; ++k)
      reaching[static_cast<std::size_t>(learned.reached[known[i].begin + k])].push_back(
          static_cast<int>(i));
  munmap(learned.reached, kMostReached * sizeof(int));
  auto& next = *shared<std::atomic<std::size_t>>(1);
  const bool good = side_by_side(jobs, scratch, [&](const std::filesystem::path& folder) {
    for (std::size_t k; (k = next++) < tasks.size(); empty(folder)) {
      const Task& task = tasks[k];
      const std::vector<int> some =
          affordable(reaching[static_cast<std::size_t>(task.site)], task, cases, known.data());
      print_verdict(task, some.empty() ? "" : detected_by(task.mutant, some, cases, known.data()));
    }
  });
  return good ? 0 : 2;
}

}  // namespace mutation
}  // namespace gradus

int main(int count, char** arguments) {
  if (count != 4) return std::fputs("usage: gradus_mutants LIST JOBS SCRATCH\n", stderr), 2;
  return gradus::mutation::run(arguments[1], std::atoi(arguments[2]), arguments[3]);
}
