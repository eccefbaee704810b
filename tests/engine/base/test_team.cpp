#ifdef _OPENMP
#include <omp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/base/thread_state.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/support/catch.h"

using gradus::tests::Threads;
using std::int64_t;

TEST_CASE("a loop uses at most the configured number of threads after any earlier loop") {
  const auto taking_part = [](int threads) {
    const Threads team(threads);
    std::mutex guard;
    std::set<std::thread::id> who;
    gradus::parallel_for(24, 1, [&](int64_t, int64_t) {
      const int openmp = omp_get_max_threads();  // other libraries must not start nested teams
      std::this_thread::sleep_for(
          std::chrono::microseconds(300));  // leaves chunks to other threads
      const std::scoped_lock lock(guard);
      if (threads > 1) CHECK(openmp == 1);
      who.insert(std::this_thread::get_id());
    });
    return static_cast<int>(who.size());
  };
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const int threads : {2, 5, 5, 2, 3, 4, 2, 1}) {
    CAPTURE(threads);
    CHECK(taking_part(threads) <= threads);
  }
  omp_set_num_threads(before);
}

TEST_CASE("workers inherit the caller's state except observers, and restore their own") {
  constexpr int kThreads = 3;
  const Threads team(kThreads);
  gradus::Generator own(7);
  const gradus::GeneratorScope scope(own);
  gradus::Observer* const observer = reinterpret_cast<gradus::Observer*>(&own);  // never called
  for (const bool grad : {false, true})
    for (const bool formula : {true, false}) {
      gradus::ThreadState& mine = gradus::thread_state;
      mine.grad_enabled = grad, mine.formula = formula, mine.observer = grad ? observer : nullptr;
      std::atomic<int> arrived{0}, wrong{0};
      std::vector<std::thread::id> who(kThreads);
      gradus::parallel_for(kThreads, 1, [&](int64_t begin, int64_t) {
        arrived++;  // each thread must run one chunk
        const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (arrived < kThreads && std::chrono::steady_clock::now() < late)
          std::this_thread::yield();
        gradus::ThreadState& s = gradus::thread_state;
        if (s.grad_enabled != grad || s.formula != formula || s.generator != &own || !s.parallel ||
            s.observer != nullptr)
          wrong++;
        s.formula = !formula, s.generator = nullptr;  // must not leak from the loop
        who[static_cast<std::size_t>(begin)] = std::this_thread::get_id();
      });
      CHECK(wrong == 0);
      CHECK(std::set<std::thread::id>(who.begin(), who.end()).size() == kThreads);
      CHECK(mine.formula == formula);
      CHECK(mine.generator == &own);
      CHECK_FALSE(mine.parallel);
    }
  gradus::thread_state.grad_enabled = true, gradus::thread_state.formula = false;
  gradus::thread_state.observer = nullptr;
}

TEST_CASE("a loop leaves the user's OpenMP thread count unchanged") {
  const Threads team(2);
  const int before = omp_get_max_threads();
  for (const int wanted : {5, 2, 1}) {
    omp_set_num_threads(wanted);
    gradus::parallel_for(100, 1, [](int64_t, int64_t) {});
    CHECK(omp_get_max_threads() == wanted);
  }
  omp_set_num_threads(before);
}

#ifdef __linux__
TEST_CASE("repeated loops reuse their threads") {
  const auto alive = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const Threads team(3);
  gradus::parallel_for(6, 1, [](int64_t, int64_t) {});
  const auto before = alive();
  for (int i = 0; i < 60; ++i) gradus::parallel_for(6, 1, [](int64_t, int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(alive() < before + 30);  // threads requested earlier may start in the meantime
}
#endif

TEST_CASE("a loop runs on the calling thread if the thread pool is busy") {
  const Threads team(2);
  std::atomic<int> visits{0}, strangers{0};
  gradus::parallel_for(2, 1, [&](int64_t begin, int64_t) {
    if (begin != 0) return;
    std::thread([&] {
      const auto me = std::this_thread::get_id();
      gradus::parallel_for(20, 1, [&](int64_t, int64_t) {
        visits++;
        if (std::this_thread::get_id() != me) strangers++;
      });
    }).join();
  });
  CHECK(visits == 20);
  CHECK(strangers == 0);
}
#endif
