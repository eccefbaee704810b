// Runs mutants, each in a process of its own, against the cases that reach its place.
//
//   gradus_mutants LIST JOBS SCRATCH [PART…]
//
// LIST has a line for each mutant: its number, its place's, the seconds of cases it is worth, and
// its source.
// Only cases whose name begins with a PART; all without one. Each of JOBS processes has a folder in
// SCRATCH for the files that tests write.
//
// Prints a line for each: number, verdict (killed, survived, unreached), seconds and by what. The
// cases are run once without a mutant to learn which places they reach; one that fails then is an
// error.
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
#include <numeric>

#include "gradus/base/parallel.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/mutation/mutant.h"

/// No signal is handled here: Catch2's handler allocates, and after a crash inside of malloc waits
/// for its lock for ever. (std::signal is another function.)
extern "C" int sigaction(int, const struct sigaction*, struct sigaction* before) noexcept {
  if (before) *before = {};
  return 0;
}

namespace gradus {

int gradus_mutant = 0;
unsigned char* gradus_mutants_reached = nullptr;

namespace mutation {
namespace {

constexpr rlim_t kMostMemory = rlim_t{8} << 30;  // a mutated size must not take the machine's
constexpr rlim_t kLargestFile = rlim_t{256} << 20;
constexpr uid_t kNobody = 65534;
constexpr double kPatience = 0.4;    // seconds of computing beyond ten times what a case takes
constexpr double kWait = 5;          // seconds by the clock beyond ten times that: a deadlock
constexpr double kLongest = 3;       // a test that takes more seconds has no time for a mutant
constexpr std::size_t kLatest = 12;  // quick cases that killed the mutants before: tried first
constexpr double kQuick = 0.3;       // seconds
constexpr std::size_t kMostPlaces = std::size_t{1} << 22;   // of the program: a list may have few
constexpr std::size_t kMostReached = std::size_t{1} << 28;  // places, by all cases together

using Makers = std::vector<Cases (*)()>;
Makers& makers() {
  static Makers all;
  return all;
}

Cases all_cases(const std::vector<std::string>& parts) {
  Cases cases;
  for (Cases (*make)() : makers())
    for (Case& one : make())
      if (parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
            return one.name.starts_with(part);
          }))
        cases.push_back(std::move(one));
  return cases;
}

std::string outcome(const Case& one) {
  try {
    std::string wrong = one.run();
    return wrong.empty() && memory_was_overrun() ? "wrote outside of a tensor" : wrong;
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

/// body() in a child, what it returns or how it died; "" if it returned nothing.
template <class Body>
std::string in_child(Body body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
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

/// The time that it computes, so that a busy machine decides nothing; and for one that waits, of
/// the clock.
void set_alarm(double seconds) {
  set_timer(ITIMER_PROF, seconds), set_timer(ITIMER_REAL, kWait + seconds);
}

/// `count` numbers that are 0, between this process and its children; pages come when touched.
template <class T>
T* shared(std::size_t count) {
  void* const place = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) std::perror("gradus_mutants"), std::exit(2);
  return static_cast<T*>(place);
}

/// Read-only from here on: a mutant that overruns its memory ends at it.
template <class T>
void protect(T* place, std::size_t count) {
  if (mprotect(place, count * sizeof(T), PROT_READ) != 0) std::perror("gradus_mutants");
}

/// A folder of its own for what the tests of one process write. What a mutant makes of a path can
/// be any path, so it must not be root's to write.
std::filesystem::path own_folder(const std::string& scratch, int job) {
  const auto folder = std::filesystem::absolute(scratch) / std::to_string(job);
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  setenv("TMPDIR", folder.c_str(), 1);
  if (chdir(folder.c_str()) != 0) std::exit(2);
  if (geteuid() == 0 && seteuid(kNobody) == 0 && !std::ifstream(GRADUS_SOURCE_DIR "/README.md"))
    if (seteuid(0) != 0) std::exit(2);  // a tree that only root can read
  return folder;
}

void empty(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    std::filesystem::remove_all(entry, ignored);
}

/// body(folder) in `jobs` processes side by side. False if one of them fails.
template <class Body>
bool side_by_side(int jobs, const std::string& scratch, Body body) {
  std::fflush(stdout);
  for (int job = 0; job < jobs; ++job)
    if (fork() == 0) {
      const bool good = body(own_folder(scratch, job));
      std::fflush(stdout);
      _exit(!good);
    }
  bool good = true;
  for (int status = 0; wait(&status) > 0;) good = status == 0 && good;
  return good;
}

struct Known {
  double seconds;
  std::size_t begin, count;  // the places that it reaches: reached[begin] …
};

struct Learnt {
  Known* known;
  int* reached;
};

/// What this process and those that it has waited for computed: a busy machine decides nothing.
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

/// Runs one case without a mutant; false if it fails. One that takes too long is left out: it
/// reaches nothing.
bool learn(const Case& one, std::size_t places, Known& known, int* reached,
           std::atomic<std::size_t>& used) {
  std::memset(gradus_mutants_reached, 0, places);
  const double start = seconds_computed();
  const auto limited = [&] {
    set_alarm(kLongest);
    return outcome(one);
  };
  const std::string wrong = one.apart ? in_child(limited) : outcome(one);
  const double taken = seconds_computed() - start;
  if (wrong == "hung") {
    known = {taken, 0, 0};
    return true;
  }
  std::vector<int> seen;
  for (std::size_t place = 0; place < places; ++place)
    if (gradus_mutants_reached[place]) seen.push_back(static_cast<int>(place));
  known = {taken, used.fetch_add(seen.size()), seen.size()};
  std::copy(seen.begin(), seen.end(), reached + known.begin);
  if (!wrong.empty())
    std::printf("0\tfails without a mutant\t0\t%s: %s\n", one.name.c_str(), wrong.c_str());
  return wrong.empty();
}

/// Runs each case once without a mutant. False, with a line for each, if some fail.
bool learn(const Cases& cases, int jobs, const std::string& scratch, std::size_t places,
           Learnt& learnt) {
  learnt = {shared<Known>(cases.size()), shared<int>(kMostReached)};
  auto& next = *shared<std::atomic<std::size_t>>(1);
  auto& used = *shared<std::atomic<std::size_t>>(1);
  return side_by_side(jobs, scratch, [&](const std::filesystem::path& folder) {
    gradus_mutants_reached = shared<unsigned char>(kMostPlaces);
    bool good = true;
    for (std::size_t i; (i = next++) < cases.size(); empty(folder))
      good = learn(cases[i], places, learnt.known[i], learnt.reached, used) && good;
    return good;
  });
}

/// What noticed the mutant, or "". `running` is then the case's number.
std::string run_mutant(int mutant, const Cases& cases, const Known* known,
                       const std::vector<std::size_t>& reaching, std::size_t& running) {
  return in_child([&]() -> std::string {
    gradus_mutant = mutant;
    for (const std::size_t i : reaching) {
      running = i;
      set_alarm(kPatience + 10 * known[i].seconds);
      const std::string wrong = outcome(cases[i]);
      if (!wrong.empty()) return cases[i].name + ": " + wrong;
    }
    return "";
  });
}

/// Moves those of `latest` that are among `cases` to the front.
void put_first(const std::vector<std::size_t>& latest, std::vector<std::size_t>& cases) {
  std::stable_partition(cases.begin(), cases.end(), [&](std::size_t i) {
    return std::find(latest.begin(), latest.end(), i) != latest.end();
  });
}

void remember(std::size_t killer, std::vector<std::size_t>& latest) {
  std::erase(latest, killer);
  latest.insert(latest.begin(), killer);
  latest.resize(std::min(latest.size(), kLatest));
}

struct Task {
  int mutant, place;
  double seconds;
  std::string source;  // engine/shape.cpp
};

std::vector<Task> read_tasks(const char* file) {
  std::ifstream in(file);
  std::vector<Task> tasks;
  for (Task task; in >> task.mutant >> task.place >> task.seconds >> task.source;)
    tasks.push_back(task);
  return tasks;
}

/// How dear a case is to a source: a test that bears its name, or is of its component, costs less.
double price(const Case& one, double seconds, const std::filesystem::path& source) {
  const std::size_t name = one.file.rfind("/test_");  // test_attention_kernel is of kernel.cpp, too
  if (name != one.file.npos && one.file.find("_" + source.stem().string(), name) != one.file.npos)
    return seconds / 100;
  return one.file.starts_with("tests/" + source.begin()->string() + "/") ? seconds / 10 : seconds;
}

void sort_for(const std::string& source, const Cases& cases, const Known* known,
              std::vector<std::size_t>& some) {
  std::vector<double> prices(cases.size());
  for (const std::size_t i : some) prices[i] = price(cases[i], known[i].seconds, source);
  std::stable_sort(some.begin(), some.end(),
                   [&](std::size_t a, std::size_t b) { return prices[a] < prices[b]; });
}

/// The first of `cases`, which are in order, that together take no longer than `seconds`: what does
/// not fit is left out. One if none fits.
std::vector<std::size_t> cheapest(const std::vector<std::size_t>& cases, const Known* known,
                                  double seconds) {
  std::vector<std::size_t> some;
  for (const std::size_t i : cases)
    if (known[i].seconds < seconds) some.push_back(i), seconds -= known[i].seconds;
  if (some.empty() && !cases.empty()) some.push_back(cases.front());
  return some;
}

/// The cases that reach each place, quick ones first. It is shared with the children: a fork copies
/// none of it.
struct Reaching {
  std::size_t* first;  // of each place in `cases`; one more: the end
  int* cases;

  std::vector<std::size_t> operator[](int place) const {
    return {cases + first[place], cases + first[place + 1]};
  }
};

Reaching cases_of(std::size_t places, std::size_t count, const Learnt& learnt) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return learnt.known[a].seconds < learnt.known[b].seconds;
  });
  const Reaching reaching{shared<std::size_t>(places + 1), shared<int>(kMostReached)};
  const auto each = [&](auto body) {
    for (const std::size_t i : order)
      for (std::size_t k = 0; k < learnt.known[i].count; ++k)
        body(learnt.reached[learnt.known[i].begin + k], static_cast<int>(i));
  };
  each([&](int place, int) { ++reaching.first[place + 1]; });
  std::partial_sum(reaching.first, reaching.first + places + 1, reaching.first);
  std::vector<std::size_t> next(reaching.first, reaching.first + places);
  each([&](int place, int i) { reaching.cases[next[static_cast<std::size_t>(place)]++] = i; });
  return reaching;
}

void print_verdict(const Task& task, std::size_t reaching, double seconds, std::string by) {
  std::replace(by.begin(), by.end(), '\n', ' ');
  const char* verdict = reaching == 0 ? "unreached" : by.empty() ? "survived" : "killed";
  if (by.empty()) by = std::to_string(reaching) + " cases";
  std::printf("%d\t%s\t%.3f\t%s\n", task.mutant, verdict, seconds, by.c_str());
  std::fflush(stdout);
}

}  // namespace

CaseSource::CaseSource(Cases (*make)()) { makers().push_back(make); }

int run(const char* file, int jobs, const std::string& scratch,
        const std::vector<std::string>& parts) {
  set_num_threads(1);
  const std::vector<Task> tasks = read_tasks(file);
  std::size_t places = 1;
  for (const Task& task : tasks)
    places = std::max(places, static_cast<std::size_t>(task.place) + 1);
  const Cases cases = all_cases(parts);
  Learnt learnt;
  if (!learn(cases, jobs, scratch, places, learnt)) return 2;
  const Reaching reaching = cases_of(places, cases.size(), learnt);
  protect(learnt.known, cases.size());
  protect(learnt.reached, kMostReached);
  protect(reaching.first, places + 1);
  protect(reaching.cases, kMostReached);
  auto& next = *shared<std::atomic<std::size_t>>(1);
  const auto work = [&](const std::filesystem::path& folder) {
    std::size_t& running = *shared<std::size_t>(1);
    std::vector<std::size_t> latest;
    for (std::size_t k; (k = next++) < tasks.size(); empty(folder)) {
      std::vector<std::size_t> at = reaching[tasks[k].place];
      sort_for(tasks[k].source, cases, learnt.known, at);
      put_first(latest, at);
      at = cheapest(at, learnt.known, tasks[k].seconds);
      const double start = seconds_computed();
      const std::string by =
          at.empty() ? "" : run_mutant(tasks[k].mutant, cases, learnt.known, at, running);
      const bool intact = running < cases.size();  // no mutant wrote over it
      if (!by.empty() && intact && learnt.known[running].seconds < kQuick)
        remember(running, latest);
      print_verdict(tasks[k], at.size(), seconds_computed() - start, by);
    }
    return true;
  };
  return side_by_side(jobs, scratch, work) ? 0 : 2;
}

}  // namespace mutation
}  // namespace gradus

int main(int count, char** arguments) {
  if (count < 4) return std::fputs("gradus_mutants LIST JOBS SCRATCH [PART…]\n", stderr), 2;
  return gradus::mutation::run(arguments[1], std::atoi(arguments[2]), arguments[3],
                               {arguments + 4, arguments + count});
}
