// Runs mutants, each in a process of its own, against the cases that reach its place.
//
//   gradus_mutants LIST [PART…]   LIST has a line for each mutant: its number, its place's, and 1
//                                 if it is known to be no fault, else 0.
//                                 Only cases whose name begins with a PART; all without one.
//
// Prints a line for each: number, verdict (killed, survived, unreached) and by what. The cases are
// run once without a mutant to learn which places they reach; one that fails then is an error.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <numeric>

#include "gradus/base/parallel.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/mutation/mutant.h"

namespace gradus {

int gradus_mutant = 0;
unsigned char* gradus_mutants_reached = nullptr;

namespace mutation {
namespace {

constexpr rlim_t kMostMemory = rlim_t{8} << 30;  // a mutated size must not take the machine's
constexpr double kPatience = 1;                  // seconds beyond ten times what a case takes
constexpr double kDoubt = 1;         // seconds of cases for a mutant that is known to be no fault
constexpr std::size_t kLatest = 12;  // quick cases that killed the mutants before: tried first
constexpr double kQuick = 0.3;       // seconds

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

struct Known {
  double seconds = 0;
  std::vector<int> places;
};

std::string outcome(const Case& one) {
  try {
    std::string wrong = one.run();
    return wrong.empty() && memory_was_overrun() ? "wrote outside of a tensor" : wrong;
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

/// Prints what each case takes.
void print_times(const Cases& cases, const std::vector<Known>& known) {
  for (std::size_t i = 0; i < cases.size(); ++i)
    std::printf("%.6f\t%s\n", known[i].seconds, cases[i].name.c_str());
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
    const rlimit memory{kMostMemory, kMostMemory}, core{0, 0};
    setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CORE, &core);
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
  set_timer(ITIMER_PROF, seconds), set_timer(ITIMER_REAL, 20 * seconds);
}

/// Runs each case once without a mutant. False, with a line for each, if some fail.
bool learn(const Cases& cases, std::vector<Known>& known, std::size_t places) {
  void* shared = mmap(nullptr, places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  gradus_mutants_reached = static_cast<unsigned char*>(shared);
  bool good = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::memset(gradus_mutants_reached, 0, places);
    const auto start = std::chrono::steady_clock::now();
    const auto run = [&] { return outcome(cases[i]); };
    const std::string wrong = cases[i].apart ? in_child(run) : run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    known[i].seconds = taken.count();
    for (std::size_t place = 0; place < places; ++place)
      if (gradus_mutants_reached[place]) known[i].places.push_back(static_cast<int>(place));
    if (wrong.empty()) continue;
    std::printf("0\tfails without a mutant\t%s: %s\n", cases[i].name.c_str(), wrong.c_str());
    good = false;
  }
  gradus_mutants_reached = nullptr;
  munmap(shared, places);
  return good;
}

/// A number that a child writes and its parent reads.
std::size_t& shared_number() {
  static void* const place =
      mmap(nullptr, sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<std::size_t*>(place);
}

/// What noticed the mutant, or "". shared_number() is then the case's.
std::string run_mutant(int mutant, const Cases& cases, const std::vector<Known>& known,
                       const std::vector<std::size_t>& reaching) {
  return in_child([&, &running = shared_number()]() -> std::string {
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
  int mutant, place, excused;
};

std::vector<Task> read_tasks(const char* file) {
  std::ifstream in(file);
  std::vector<Task> tasks;
  for (Task task; in >> task.mutant >> task.place >> task.excused;) tasks.push_back(task);
  return tasks;
}

/// The first of `cases`, which are in order, that together take no longer than `seconds`.
std::vector<std::size_t> cheapest(const std::vector<std::size_t>& cases,
                                  const std::vector<Known>& known, double seconds) {
  std::vector<std::size_t> some;
  for (const std::size_t i : cases)
    if (some.empty() || (seconds -= known[i].seconds) > 0) some.push_back(i);
  return some;
}

}  // namespace

CaseSource::CaseSource(Cases (*make)()) { makers().push_back(make); }

int run(const char* file, const std::vector<std::string>& parts) {
  set_num_threads(1);
  const std::vector<Task> tasks = read_tasks(file);
  int places = 0;
  for (const Task& task : tasks) places = std::max(places, task.place + 1);
  const Cases cases = all_cases(parts);
  std::vector<Known> known(cases.size());
  if (!learn(cases, known, 1 << 20)) return 2;
  if (tasks.empty()) print_times(cases, known);
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return known[a].seconds < known[b].seconds;
  });
  std::vector<std::vector<std::size_t>> reaching(static_cast<std::size_t>(places));
  for (const std::size_t i : order)
    for (const int place : known[i].places)
      if (place < places) reaching[static_cast<std::size_t>(place)].push_back(i);
  std::vector<std::size_t> latest;
  for (const Task& task : tasks) {
    std::vector<std::size_t> at = reaching[static_cast<std::size_t>(task.place)];
    if (task.excused) at = cheapest(at, known, kDoubt);
    put_first(latest, at);
    std::string by = at.empty() ? "" : run_mutant(task.mutant, cases, known, at);
    if (!by.empty() && known[shared_number()].seconds < kQuick) remember(shared_number(), latest);
    std::replace(by.begin(), by.end(), '\n', ' ');
    const char* verdict = at.empty() ? "unreached" : by.empty() ? "survived" : "killed";
    if (by.empty()) by = std::to_string(at.size()) + " cases";
    std::printf("%d\t%s\t%s\n", task.mutant, verdict, by.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace mutation
}  // namespace gradus

int main(int count, char** arguments) {
  if (count < 2) return std::fputs("gradus_mutants LIST [PART…]\n", stderr), 2;
  return gradus::mutation::run(arguments[1], {arguments + 2, arguments + count});
}
