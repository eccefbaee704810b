// parallel_for where the system refuses to create threads.
#ifdef __linux__
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "gradus/base/num_threads.h"
#include "gradus/base/parallel.h"
#include "gradus/tests/support/catch.h"

namespace {

/// No memory for a thread's stack, from now on.
void forbid_threads() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (1 << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;  // sanitizers map memory of their own
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

TEST_CASE("parallel_for runs on one thread where the system creates no other") {
  if (kSanitized) return;
  const pid_t child = fork();
  if (child == 0) {
    gradus::set_num_threads(2);
    forbid_threads();
    std::int64_t sum = 0;  // one thread: no lock
    gradus::parallel_for(100, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
    _exit(sum == 4950 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
