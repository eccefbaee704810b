#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __unix__
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/thread_state.h"
#include "gradus/tests/engine/base/mapped.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/sanitizers.h"

using gradus::testing::kThreadSanitizer;
using gradus::testing::VariableScope;
using gradus::tests::Threads;
using std::int64_t;

TEST_CASE("every index is visited once, in chunks that depend only on n and grain") {
  for (const int threads : {1, 2, 3}) {
    const Threads team(threads);
    for (const int64_t n : {0, 1, 5, 63, 64, 65, 1000}) {
      for (const int64_t grain : {-1, 0, 1, 7, 64, 5000}) {
        CAPTURE(threads, n, grain);
        const auto size = static_cast<std::size_t>(n);
        std::vector<int64_t> begins(size, -1), ends(size, -1);
        std::vector<std::atomic<int>> visits(size);
        gradus::parallel_for(n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto at = static_cast<std::size_t>(i);
            visits[at]++, begins[at] = begin, ends[at] = end;
          }
        });
        const int64_t chunk = grain < 1 ? 1 : grain;
        for (std::size_t i = 0; i < size; ++i) {
          const int64_t begin = static_cast<int64_t>(i) / chunk * chunk;
          REQUIRE(visits[i] == 1);
          REQUIRE(begins[i] == begin);
          REQUIRE(ends[i] == std::min(n, begin + chunk));
        }
      }
    }
  }
}

TEST_CASE("an empty loop calls nothing") {
  for (const int64_t n : {0, -1, -5})
    for (const int64_t grain : {0, 1, 7})
      gradus::parallel_for(n, grain, [](int64_t, int64_t) { FAIL("called"); });
}

TEST_CASE("an exception in a chunk reaches the caller, and the thread pool keeps working") {
  for (const int threads : {1, 2, 3}) {
    const Threads team(threads);
    CAPTURE(threads);
    std::mutex guard;
    std::vector<std::thread::id> started;
    const auto all_fail = [&] {
      gradus::parallel_for(100'000, 1, [&](int64_t, int64_t) {
        const std::scoped_lock lock(guard);
        started.push_back(std::this_thread::get_id());
        gradus::fail<gradus::ValueError>("from a chunk");
      });
    };
    CHECK_THROWS_AS(all_fail(), gradus::ValueError);
    // A thread whose chunk has failed does not start another chunk.
    CHECK(std::set<std::thread::id>(started.begin(), started.end()).size() == started.size());
    CHECK_FALSE(gradus::thread_state.parallel);
    std::string what;
    try {
      gradus::parallel_for(50, 1, [](int64_t begin, int64_t) {
        if (begin == 37) throw std::runtime_error("chunk 37");
      });
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    CHECK(what == "chunk 37");
    std::atomic<int64_t> sum{0};
    gradus::parallel_for(1000, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
    CHECK(sum == 1000);
  }
}

// The tests below run these helpers in separate processes.
TEST_CASE("helper: run a loop and exit", "[.]") {
  gradus::set_num_threads(64);
  gradus::parallel_for(30, 1, [](int64_t, int64_t) {});
  std::exit(0);
}

#ifdef __unix__
TEST_CASE("helper: fork a child that runs a loop and exits", "[.]") {
  gradus::set_num_threads(64);
  gradus::parallel_for(30, 1, [](int64_t, int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // lets all threads start
  const pid_t child = fork();
  if (child == 0) {
    gradus::set_num_threads(64);
    gradus::parallel_for(30, 1, [](int64_t, int64_t) {});
    std::exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  std::exit(status == 0 ? 0 : 1);
}
#endif

namespace {

int failures(const std::string& test, int runs, const std::string& variables = "") {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none) return 0;  // not Linux: skip
  const std::string command = variables + " '" + self.string() + "' '" + test + "' >/dev/null 2>&1";
  int count = 0;
  for (int run = 0; run < runs; ++run) count += std::system(command.c_str()) != 0;
  return count;
}

}  // namespace

TEST_CASE("the first valid variable sets the default number of threads") {
  const auto threads_with = [](std::optional<std::string> own,
                               std::optional<std::string> of_openmp) {
    const VariableScope first("GRADUS_NUM_THREADS", own), then("OMP_NUM_THREADS", of_openmp);
    return gradus::default_num_threads();
  };
  CHECK(threads_with("2", "5") == 2);
  CHECK(threads_with("1", "5") == 1);
  CHECK(threads_with("1024", "5") == 1024);
  CHECK(threads_with("7,2", "5") == 7);  // OpenMP's first value is for the outermost level
  for (const char* none : {"", "0", "-1", "3x", "x3", " 3", ",3", "1025", "99999999999"})
    CHECK(threads_with(none, "5") == 5);
  CHECK(threads_with(std::nullopt, "6,2") == 6);
  CHECK(threads_with(std::nullopt, std::nullopt) == gradus::platform::usable_cores());
}

// If exit did not wait for the threads, one run in ten would crash. 40 runs would detect this with
// a probability of 98.5 %.
TEST_CASE("a program may exit while its threads are still starting", "[process]") {
  CHECK(failures("helper: run a loop and exit", 40) == 0);
#ifdef __unix__
  // The child leaks libgomp's records of the parent's threads, which LeakSanitizer would report.
  if (!kThreadSanitizer)
    CHECK(failures("helper: fork a child that runs a loop and exits", 40,
                   "ASAN_OPTIONS=detect_leaks=0") == 0);
#endif
}

TEST_CASE("nested loops run serially on the thread that calls them") {
  const Threads team(3);
  std::atomic<int> strangers{0}, inner{0};
  gradus::parallel_for(30, 1, [&](int64_t, int64_t) {
    const auto me = std::this_thread::get_id();
    gradus::parallel_for(20, 1, [&](int64_t, int64_t) {
      inner++;
      if (std::this_thread::get_id() != me) strangers++;
    });
  });
  CHECK(inner == 600);
  CHECK(strangers == 0);
}

#ifdef _OPENMP
TEST_CASE("loops inside a user's OpenMP region run serially") {
  const Threads team(3);
  std::atomic<int> strangers{0}, visits{0};
#pragma omp parallel num_threads(2)
  {
    const auto me = std::this_thread::get_id();
    gradus::parallel_for(20, 1, [&](int64_t, int64_t) {
      visits++;
      if (std::this_thread::get_id() != me) strangers++;
    });
  }
  CHECK(visits % 20 == 0);
  CHECK(strangers == 0);
}
#endif

TEST_CASE("a single chunk runs as a plain call, so its inner loops may use the thread pool") {
  const Threads team(2);
  gradus::parallel_for(5, 5, [&](int64_t begin, int64_t end) {
    CHECK_FALSE(gradus::thread_state.parallel);
    CHECK(begin == 0);
    CHECK(end == 5);
  });
}

TEST_CASE("concurrent loops from several user threads are independent") {
  const Threads team(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 3; ++u)
    users.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        gradus::parallel_for(100, 3, [&](int64_t begin, int64_t end) { total += end - begin; });
    });
  for (std::thread& user : users) user.join();
  CHECK(total == 3 * 50 * 100);
}

TEST_CASE("set_num_threads rejects values outside 1 to 1024") {
  const int before = gradus::num_threads();
  CHECK(before >= 1);
  for (const int wrong : {0, -1, 1025})
    CHECK_THROWS_AS(gradus::set_num_threads(wrong), gradus::ValueError);
  CHECK(gradus::num_threads() == before);
  const Threads most(1024);
  CHECK(gradus::num_threads() == 1024);
}

#if defined(__unix__) && defined(_OPENMP)
TEST_CASE("a forked child keeps working with one thread", "[process]") {
  if (kThreadSanitizer) return;
  const Threads team(2);
  std::atomic<int> warm{0};
  gradus::parallel_for(10, 1, [&](int64_t, int64_t) { warm++; });
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // kills a child that waits for nonexistent threads
    if (gradus::num_threads() != 1) _exit(2);
    int sum = 0;
    gradus::parallel_for(10, 1, [&](int64_t, int64_t) { sum++; });
    gradus::set_num_threads(2);  // the child may start a new team
    std::atomic<int> begun{0};
    gradus::parallel_for(2, 1, [&](int64_t, int64_t) {
      begun++;
      while (begun < 2) std::this_thread::yield();
    });
    _exit(sum == 10 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

#ifdef __linux__
TEST_CASE("parallel_for runs on one thread if the system cannot create more", "[process]") {
  if (kThreadSanitizer || gradus::testing::kAddressSanitizer) return;  // sanitizers map memory
  const pid_t child = fork();
  if (child == 0) {
    gradus::set_num_threads(2);
    const rlim_t bytes =
        gradus::tests::mapped_bytes() + (1 << 20);  // not enough for the stack of a thread
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    int64_t sum = 0;  // needs no lock, because one thread runs all chunks
    gradus::parallel_for(100, 1, [&](int64_t begin, int64_t) { sum += begin; });
    _exit(sum == 4950 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
