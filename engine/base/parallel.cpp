// The thread pool. OpenMP creates the threads in a parallel region that never ends, so debuggers,
// sanitizers and an OpenMP BLAS treat them as OpenMP threads. The pool itself distributes the work.
// A new OpenMP region for each loop would wait until all of its threads have started, which takes
// milliseconds if another process uses a core.
#include "gradus/engine/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#endif

#include "gradus/engine/base/thread_state.h"

namespace gradus {

#ifdef _OPENMP
namespace {
/// Spins, then sleeps, until `value` differs from `old`. Returns the new value.
int wait_while(const std::atomic<int>& value, int old) {
  constexpr int kSpins = 4000;  // about 50 µs, the usual gap between loops of a training step
  for (int spins = 0; spins < kSpins; ++spins) {
    if (const int now = value.load(); now != old) return now;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old);
  return value.load();
}

/// The chunks of one thread, in their own cache line.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};

/// State of one parallel_for. In every loop, a thread first processes the same share of the range,
/// because its cache may hold that data. Then it takes chunks from other threads' shares.
struct Loop {
  std::int64_t n, grain, chunks;
  FunctionRef<void(std::int64_t, std::int64_t)> body;
  ThreadState inherited;
  Share* shares;
  int threads;
  std::atomic<bool> failed{false};
  std::exception_ptr error{};  // written by the thread that set `failed`

  void work(int thread) {
    const ThreadState own = thread_state;
    thread_state = inherited;
    thread_state.parallel = true;
    for (int i = 0; i < threads; ++i) run(shares[(thread + i) % threads]);
    thread_state = own;
  }

 private:
  void run(Share& share) {
    try {
      while (!failed.load(std::memory_order_relaxed)) {
        const std::int64_t i = share.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= share.end) return;
        body(i * grain, std::min(n, (i + 1) * grain));
      }
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

class ThreadPool {
 public:
  /// Runs the loop and rethrows its first exception. Returns false without running it if another
  /// thread uses the pool or no thread can be created.
  bool run(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body,
           int threads) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    Loop loop{n, grain, (n + grain - 1) / grain, body, thread_state, shares_, threads};
    if (!start_workers(threads - 1)) return false;
    for (int i = 0; i < threads; ++i) {
      shares_[i].next.store(loop.chunks * i / threads, std::memory_order_relaxed);
      shares_[i].end = loop.chunks * (i + 1) / threads;
    }
    wanted_.store(threads - 1, std::memory_order_relaxed);
    job_.store(&loop);
    loops_.fetch_add(1);
    loops_.notify_all();
    const int others = omp_get_max_threads();
    omp_set_num_threads(1);  // an OpenMP BLAS must not start a team here
    loop.work(0);
    omp_set_num_threads(others);
    job_.store(nullptr);
    for (int inside = inside_.load(); inside != 0;) inside = wait_while(inside_, inside);
    if (loop.error) std::rethrow_exception(loop.error);
    return true;
  }

  void reset_after_fork() {
    asked_for_ = started_ = 0;
    set_num_threads(1);
  }

  /// Called at exit, because LLVM's OpenMP crashes if it shuts down while creating a team. Workers
  /// that need more than a second are assumed never to start.
  void wait_until_started() const {
    for (int i = 0; i < 1000 && started_ < asked_for_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  bool start_workers(int workers) {
    if (workers <= asked_for_) return true;
    const auto start = [this, first = asked_for_.load(), more = workers - asked_for_] {
#pragma omp parallel num_threads(more)
      {
        // Threads that OpenMP did not provide count as started.
        if (omp_get_thread_num() == 0) started_ += more - omp_get_num_threads();
        worker_loop(first + omp_get_thread_num());
      }
    };
    try {
      std::thread(start).detach();
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    asked_for_ = workers;
    return true;
  }

  [[noreturn]] void worker_loop(int number) {
    ++started_;
    omp_set_num_threads(1);
    for (int seen = 0;;) {
      seen = wait_while(loops_, seen);
      if (number >= wanted_.load(std::memory_order_relaxed)) continue;
      inside_.fetch_add(1);
      if (Loop* loop = job_.load()) loop->work(number + 1);
      if (inside_.fetch_sub(1) == 1) inside_.notify_one();
    }
  }

  std::mutex busy_;
  Share shares_[kMaxThreads];
  std::atomic<int> asked_for_{0}, started_{0};  // workers: requested, and started
  std::atomic<int> wanted_{0};
  std::atomic<int> loops_{0};
  std::atomic<int> inside_{0};  // number of workers that may be inside a chunk
  std::atomic<Loop*> job_{nullptr};
};

/// Never destroyed, because its threads wait in it until the process ends. Allocates nothing.
ThreadPool& pool() {
  alignas(ThreadPool) static std::byte memory[sizeof(ThreadPool)];
  static ThreadPool& only = *[] {
    std::atexit([] { pool().wait_until_started(); });
    pthread_atfork(nullptr, nullptr, [] { pool().reset_after_fork(); });
    return new (memory) ThreadPool;
  }();
  return only;
}

}  // namespace
#endif

void parallel_for(std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body) {
  if (n <= 0) return;
  const ScopedValue<Observer*> unobserved(thread_state.observer, nullptr);
  grain = std::max<std::int64_t>(grain, 1);
  if (n <= grain) return body(0, n);
#ifdef _OPENMP
  const bool alone = thread_state.parallel || num_threads() == 1 || omp_in_parallel();
  if (!alone && pool().run(n, grain, body, num_threads())) return;
#endif
  for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

}  // namespace gradus
