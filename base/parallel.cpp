// One crew of threads. OpenMP makes and keeps them, in a parallel region that never ends; handing
// out work is ours, because a region of its own for each loop would wait, at its end, for threads
// that have not even started: where another process uses a core that is milliseconds a loop. Here a
// loop waits only for threads that are inside a chunk of it, and sleeps while it does, so that the
// system may move such a thread to the core that became free.
#include "gradus/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string_view>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

#include <mutex>
#include <thread>
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
constexpr int kSpins = 4000;  // some 50 µs: about what lies between the loops of a training step

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// The chunks that one thread should run, in a cache line of their own.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};  // the chunk to be taken next
  std::int64_t end = 0;
};

// What the threads of one parallel_for have in common. Each starts with a share of its own, the
// same part of every loop: what it wrote in one, it finds in its own core's cache in the next (a
// step of the `cpu` model takes 5 % less than with chunks in turn). Who is done helps the others.
struct Loop {
  std::int64_t n, grain, chunks;
  FunctionRef<void(std::int64_t, std::int64_t)> body;
  ThreadState inherited;
  Share* shares = nullptr;
  int threads = 0;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // the first one; written by the thread that set `failed`

  void share_out(Share* among, int count) {
    shares = among, threads = count;
    for (int i = 0; i < count; ++i) {
      shares[i].next.store(chunks * i / count, std::memory_order_relaxed);
      shares[i].end = chunks * (i + 1) / count;
    }
  }

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
      for (std::int64_t i; !failed.load(std::memory_order_relaxed) &&
                           (i = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        body(i * grain, std::min(n, (i + 1) * grain));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

class Crew {
 public:
  // False if another thread has the crew now: the caller then works alone.
  bool run(Loop& loop, int threads) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    hire(threads - 1);
    loop.share_out(shares_, threads);
    wanted_.store(threads - 1, std::memory_order_relaxed);
    job_.store(&loop);
    loops_.fetch_add(1);
    loops_.notify_all();
    const int others =
        omp_get_max_threads();  // an OpenMP BLAS must not start a team of its own here
    omp_set_num_threads(1);
    loop.work(0);
    omp_set_num_threads(others);
    job_.store(nullptr);  // who has not come in by now stays out
    int spins = 0;
    for (int seen; (seen = inside_.load()) != 0;)
      if (++spins < kSpins)
        relax();
      else
        inside_.wait(seen);
    return true;
  }

  void forget() { hired_ = arrived_ = 0; }  // in a forked child: threads do not survive that

  // At the end of the program: LLVM's OpenMP, taken down while it makes a team, crashes. Threads
  // that a second is too short for will not come.
  void meet() const {
    for (int i = 0; i < 1000 && arrived_ < hired_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  void hire(int workers) {
    if (workers <= hired_) return;
    std::thread([this, first = hired_.load(), more = workers - hired_] {
#pragma omp parallel num_threads(more)
      {
        if (omp_get_thread_num() == 0) arrived_ += more - omp_get_num_threads();  // were refused
        serve(first + omp_get_thread_num());
      }
    }).detach();
    hired_ = workers;
  }

  [[noreturn]] void serve(int number) {
    ++arrived_;
    omp_set_num_threads(1);  // for an OpenMP BLAS, as in run()
    for (int seen = 0;;) {
      for (int spins = 0; loops_.load() == seen && spins < kSpins; ++spins) relax();
      loops_.wait(seen);
      seen = loops_.load();
      if (number >= wanted_.load(std::memory_order_relaxed)) continue;
      inside_.fetch_add(1);
      if (Loop* loop = job_.load()) loop->work(number + 1);
      if (inside_.fetch_sub(1) == 1) inside_.notify_one();
    }
  }

  std::mutex busy_;
  Share shares_[kMaxThreads];
  std::atomic<int> hired_{0}, arrived_{0};
  std::atomic<int> wanted_{0};
  std::atomic<int> loops_{0};   // counts up: there is, or was, a new one
  std::atomic<int> inside_{0};  // workers that may be in a chunk
  std::atomic<Loop*> job_{nullptr};
};

// Never destroyed: its threads wait in it until the process ends.
Crew& crew() {
  static Crew& only = *[] {
    std::atexit([] { crew().meet(); });
    return new Crew;
  }();
  return only;
}
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
    static const int at_fork =
        pthread_atfork(nullptr, nullptr, [] { crew().forget(), team_size = 1; });
    static_cast<void>(at_fork);
    Loop loop{n, grain, (n + grain - 1) / grain, body, thread_state, {}, {}, {}, {}};
    if (crew().run(loop, num_threads())) {
      if (loop.error) std::rethrow_exception(loop.error);
      return;
    }
  }
#endif
  for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

}  // namespace gradus
