// Allocation failures, the memory limit, and fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "gradus/base/error.h"
#include "gradus/base/memory.h"
#include "gradus/tests/support/catch.h"

namespace {

namespace memory = gradus::memory;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The limit while it lives.
struct Limit {
  explicit Limit(std::int64_t bytes) { memory::set_limit(bytes); }
  ~Limit() { memory::set_limit(0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
};

/// Names a layer, which takes memory, as members() of a module may.
std::string allocating_context() {
  memory::release(memory::allocate(64), 64);
  return "layer";
}

// Sanitizers keep what is released, and the thread sanitizer follows no fork of threads.
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

TEST_CASE("a MemoryError can report a layer whose name itself needs memory") {
  const auto before = gradus::error_context.load();
  gradus::error_context = allocating_context;
  const Limit limit(memory::usage().live_bytes + 1000);
  std::string message;
  try {
    memory::release(memory::allocate(2000), 2000);
  } catch (const gradus::MemoryError& error) {
    message = error.what();
  }
  gradus::error_context = before;
  CHECK(message.find("2000 bytes") != std::string::npos);
  CHECK(message.find("(in layer)") != std::string::npos);
}

TEST_CASE("cached memory counts toward the limit") {
  if (kSanitized) return;
  memory::release_cached();
  const std::int64_t limit = memory::usage().reserved_bytes + 100 * kMiB;
  const Limit limited(limit);
  for (const std::size_t size : {20, 30, 45, 65, 85}) {
    const std::size_t bytes = size << 20;
    memory::release(memory::allocate(bytes), bytes);
    CHECK(memory::usage().reserved_bytes <= limit);
  }
}

TEST_CASE("a forked child can allocate even if another thread allocated during the fork") {
  if (kSanitized) return;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) memory::release(memory::allocate(64), 64);
  });
  int hanging = 0;
  for (int i = 0; i < 300 && hanging == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);  // kills a child that hangs
      memory::release(memory::allocate(64), 64);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) ++hanging;
  }
  stop = true;
  busy.join();
  CHECK(hanging == 0);
}
