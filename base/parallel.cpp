// One team of threads: OpenMP starts and keeps it, a shared counter hands out the chunks.
//
// The caller does not wait in OpenMP's barrier but sleeps until the workers are done: libgomp's
// spins for milliseconds, on the very core to which the system could move a worker without one.
#include "gradus/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/base/thread_state.h"

namespace gradus {

thread_local constinit ThreadState thread_state;

namespace {

constexpr int kMaxThreads = 1024;
std::atomic<int> team_size{0};  // 0: not asked for yet

// The number at the front of a variable ("4", or OpenMP's list "4,2"); 0 if there is none.
int threads_from(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view list = value != nullptr ? value : "";
  const std::string_view first = list.substr(0, list.find(','));
  int n = 0;
  const auto [end, failure] = std::from_chars(first.data(), first.data() + first.size(), n);
  const bool whole = failure == std::errc() && end == first.data() + first.size();
  return whole && n >= 1 && n <= kMaxThreads ? n : 0;
}

int default_threads() {
  if (const int n = threads_from("GRADUS_NUM_THREADS")) return n;
  if (const int n = threads_from("OMP_NUM_THREADS")) return n;
  return std::min(platform::usable_cores(), kMaxThreads);
}

#ifdef _OPENMP
// What the threads of one parallel_for share.
struct Loop {
  std::int64_t n, grain, chunks;
  FunctionRef<void(std::int64_t, std::int64_t)> body;
  ThreadState inherited;
  std::atomic<std::int64_t> next{0};  // the chunk to be taken next
  std::atomic<int> finished{0};       // workers that will not touch another chunk
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // the first one; written by the thread that set `failed`

  void work() {
    const ThreadState own = thread_state;
    thread_state = inherited;
    thread_state.parallel = true;
    try {
      for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
        body(i * grain, std::min(n, (i + 1) * grain));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
      next.store(chunks, std::memory_order_relaxed);
    }
    thread_state = own;
  }

  // Spins for some tens of microseconds, about what equal shares differ by; then sleeps.
  void wait_for(int workers) {
    int spins = 0;
    for (int seen; (seen = finished.load(std::memory_order_acquire)) != workers;)
      if (++spins > 50'000) finished.wait(seen);
  }
};
#endif

}  // namespace

int num_threads() {
  int n = team_size.load(std::memory_order_relaxed);
  if (n == 0) team_size.store(n = default_threads(), std::memory_order_relaxed);
  return n;
}

void set_num_threads(int n) {
  require(n >= 1 && n <= kMaxThreads, "set_num_threads: ", n, " is not between 1 and ",
          kMaxThreads);
  team_size.store(n, std::memory_order_relaxed);
}

void parallel_for(std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (n <= grain) return body(0, n);
#ifdef _OPENMP
  if (!thread_state.parallel && num_threads() > 1 && !omp_in_parallel()) {
    // The team's threads do not survive a fork; a child that waited for them would wait for ever.
    static const int at_fork = pthread_atfork(nullptr, nullptr, [] { team_size.store(1); });
    static_cast<void>(at_fork);
    Loop loop{n, grain, (n + grain - 1) / grain, body, thread_state, {}, {}, {}, {}};
    // Always the same team, even for few chunks: libgomp ends and starts threads when it changes.
#pragma omp parallel num_threads(num_threads())
    {
      loop.work();
      if (omp_get_thread_num() == 0) {
        loop.wait_for(omp_get_num_threads() - 1);
      } else {
        loop.finished.fetch_add(1, std::memory_order_release);
        loop.finished.notify_one();
      }
    }
    if (loop.error) std::rethrow_exception(loop.error);
    return;
  }
#endif
  for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

}  // namespace gradus
