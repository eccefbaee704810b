#ifdef __linux__
#include <sys/resource.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/platform.h"
#include "gradus/tests/engine/base/mapped.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/sanitizers.h"

#ifdef __linux__
using gradus::tests::mapped_bytes;
#endif
namespace memory = gradus::memory;

constexpr bool kPooled = !gradus::testing::kAddressSanitizer;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Block {
  explicit Block(std::size_t n)
      : bytes(n), data(static_cast<unsigned char*>(memory::allocate(n))) {}
  ~Block() { memory::release(data, bytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::size_t bytes;
  unsigned char* data;
};

std::string refusal(std::size_t bytes) {
  try {
    memory::release(memory::allocate(bytes), bytes);
  } catch (const gradus::MemoryError& e) {
    return e.what();
  }
  return "";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("blocks of every size are aligned, writable and do not overlap") {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n < 700; n += 7) sizes.push_back(n);
  for (std::size_t n = 512; n <= 4 * kMiB; n += n / 3) sizes.insert(sizes.end(), {n - 1, n, n + 1});
  sizes.insert(sizes.end(), {6 * kMiB, 6 * kMiB});
  for (const int round : {0, 1}) {  // round 1 reuses the blocks of round 0
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto* data = static_cast<unsigned char*>(memory::allocate(sizes[i]));
      REQUIRE(data != nullptr);
      REQUIRE(reinterpret_cast<std::uintptr_t>(data) % memory::kAlignment == 0);
      std::memset(data, static_cast<int>(i % 251), sizes[i]);
      blocks.emplace_back(data, sizes[i]);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      CAPTURE(round, i);
      std::size_t wrong = 0;
      for (std::size_t j = 0; j < blocks[i].second; ++j) wrong += blocks[i].first[j] != i % 251;
      REQUIRE(wrong == 0);
    }
    for (const auto& block : blocks) memory::release(block.first, block.second);
  }
}

TEST_CASE("live and peak count the requested bytes") {
  const Block kept(300);
  const auto start = memory::usage().live_bytes;
  memory::reset_peak();
  CHECK(memory::usage().peak_bytes == start);
  {
    const Block a(1000);
    CHECK(memory::usage().live_bytes == start + 1000);
    {
      const Block b(3 * kMiB + 5);
      CHECK(memory::usage().live_bytes == start + 1000 + 3 * static_cast<std::int64_t>(kMiB) + 5);
    }
    const Block empty(0);
    CHECK(memory::usage().live_bytes == start + 1000);
  }
  CHECK(memory::usage().live_bytes == start);
  CHECK(memory::usage().peak_bytes == start + 1000 + 3 * static_cast<std::int64_t>(kMiB) + 5);
  memory::reset_peak();
  CHECK(memory::usage().peak_bytes == start);
}

TEST_CASE("freed blocks are reused, even for somewhat smaller requests") {
  if (!kPooled) return;
  memory::release_cached();
  for (const std::size_t bytes : {std::size_t{1100}, 4 * kMiB, 10 * kMiB}) {
    unsigned char* first = Block(bytes).data;
    const auto reserved = memory::usage().reserved_bytes;
    CHECK(Block(bytes).data == first);
    CHECK(Block(bytes - bytes / 32).data == first);
    CHECK(memory::usage().reserved_bytes == reserved);
  }
}

TEST_CASE("release_cached returns free mappings and keeps the others") {
  if (!kPooled) return;
  memory::release_cached();
  const auto before = memory::usage().reserved_bytes;
  auto* const held = new Block(5 * kMiB);
  const Block& kept = *held;
  std::memset(kept.data, 42, kept.bytes);
  const auto with_kept = memory::usage().reserved_bytes;
  { const Block gone(20 * kMiB); }
  CHECK(memory::usage().reserved_bytes >= with_kept + 20 * static_cast<std::int64_t>(kMiB));
  memory::release_cached();
  CHECK(memory::usage().reserved_bytes == with_kept);
  CHECK(with_kept >= before + 5 * static_cast<std::int64_t>(kMiB));
  CHECK(kept.data[kept.bytes - 1] == 42);
  unsigned char* const data = kept.data;
  delete held;
  CHECK(Block(5 * kMiB).data == data);  // the block is still cached
}

#ifdef __linux__
namespace {

struct AddressLimit {
  explicit AddressLimit(std::size_t bytes) {
    ::getrlimit(RLIMIT_AS, &usual);
    rlimit less = usual;
    less.rlim_cur = mapped_bytes() + bytes;
    ::setrlimit(RLIMIT_AS, &less);
  }
  ~AddressLimit() { ::setrlimit(RLIMIT_AS, &usual); }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;
  rlimit usual{};
};

}  // namespace

TEST_CASE("released mappings are unmapped") {
  if (!kPooled) return;
  const std::size_t before = mapped_bytes();
  for (int i = 0; i < 20; ++i) {
    { const Block gone(64 * kMiB); }
    memory::release_cached();
  }
  CHECK(mapped_bytes() < before + 10 * 64 * kMiB);  // other threads may map memory
}

TEST_CASE("allocation releases the cache before it throws MemoryError", "[process]") {
  if (!kPooled || gradus::platform::physical_memory() < 4096 * kMiB) return;
  memory::release_cached();
  { const Block cached(200 * kMiB); }
  const AddressLimit limit(64 * kMiB);
  CHECK(refusal(220 * kMiB) == "");
  const auto reserved = memory::usage().reserved_bytes;
  const std::string what = refusal(1024 * kMiB);
  CHECK(mentions(what, std::to_string(1024 * kMiB)));
  CHECK(memory::usage().reserved_bytes < reserved);
}
#endif

TEST_CASE("scratch memory is counted while it is alive") {
  const auto live = memory::usage().live_bytes;
  {
    const memory::Scratch<double> space(100);
    CHECK(memory::usage().live_bytes == live + 800);
  }
  CHECK(memory::usage().live_bytes == live);
}

TEST_CASE("the limit is exact, and its error reports the requested, live and limit bytes") {
  const auto live = memory::usage().live_bytes;
  memory::set_limit(live + 4096);
  {
    const Block fits(4096);
    const std::string what = refusal(1);
    CHECK(mentions(what, "1 bytes"));
    CHECK(mentions(what, std::to_string(live + 4096)));
    CHECK(mentions(what, "set_limit"));
  }
  CHECK(refusal(4097) != "");
  CHECK(refusal(4096) == "");  // the failed request was not counted
  memory::set_limit(0);
  CHECK(refusal(1 << 20) == "");
  CHECK_THROWS_AS(memory::set_limit(-1), gradus::ValueError);
}

TEST_CASE("impossible sizes throw, and the pool keeps working") {
  const auto live = memory::usage().live_bytes;
  for (const std::uint64_t bytes :
       std::vector<std::uint64_t>{SIZE_MAX, SIZE_MAX - 63, INT64_MAX, 1ULL << 47, 1ULL << 45}) {
    if (bytes > SIZE_MAX) continue;  // 32-bit machines
    CAPTURE(bytes);
    CHECK(mentions(refusal(static_cast<std::size_t>(bytes)), std::to_string(bytes)));
  }
  CHECK(memory::usage().live_bytes == live);
  CHECK(refusal(100) == "");
}

TEST_CASE("poisoned memory reads as NaN") {
  CHECK_FALSE(memory::set_poison(true));
  CHECK(memory::set_poison(true));
  for (const std::size_t bytes : {std::size_t{256}, 2 * kMiB}) {
    const Block block(bytes);
    float f = 0;
    double d = 0;
    std::memcpy(&f, block.data, sizeof f);
    std::memcpy(&d, block.data + bytes - sizeof d, sizeof d);
    CHECK(std::isnan(f));
    CHECK(std::isnan(d));
  }
  CHECK(memory::set_poison(false));
  CHECK_FALSE(memory::set_poison(false));
}

TEST_CASE("threads may allocate and release concurrently, even each other's blocks") {
  const auto live = memory::usage().live_bytes;
  constexpr int kThreads = 3, kRounds = 300;
  std::vector<std::vector<std::pair<int*, std::size_t>>> handed(kThreads);
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto me = static_cast<std::size_t>(t);
      for (int r = 0; r < kRounds; ++r) {
        const std::size_t bytes =
            64 + static_cast<std::size_t>(r * 997 % 5000) * (r % 50 == 0 ? 500 : 1);
        int* data = static_cast<int*>(memory::allocate(bytes));
        data[0] = t;
        data[bytes / sizeof(int) - 1] = t;
        if (r % 2 == 0) {
          handed[me].emplace_back(data, bytes);
          continue;
        }
        wrong[me] += data[0] != t;
        memory::release(data, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    CHECK(wrong[t] == 0);
    for (const auto& block : handed[t]) {
      REQUIRE(block.first[0] == static_cast<int>(t));
      REQUIRE(block.first[block.second / sizeof(int) - 1] == static_cast<int>(t));
      memory::release(block.first, block.second);
    }
  }
  CHECK(memory::usage().live_bytes == live);
}

namespace {

struct Limit {
  explicit Limit(std::int64_t bytes) { memory::set_limit(bytes); }
  ~Limit() { memory::set_limit(0); }
};

/// A context function that allocates, as members() of a module may.
std::string allocating_context() {
  memory::release(memory::allocate(64), 64);
  return "layer";
}

}  // namespace

TEST_CASE("a MemoryError can report a layer whose name requires an allocation") {
  const auto before = gradus::error_context.load();
  gradus::error_context = allocating_context;
  const Limit limit(memory::usage().live_bytes + 1000);
  const std::string message = refusal(2000);
  gradus::error_context = before;
  CHECK(mentions(message, "2000 bytes"));
  CHECK(mentions(message, "layer"));
}

TEST_CASE("cached memory counts toward the limit") {
  if (!kPooled || gradus::testing::kThreadSanitizer) return;
  memory::release_cached();
  const std::int64_t limit = memory::usage().reserved_bytes + (100 << 20);
  const Limit limited(limit);
  for (const int mebibytes : {20, 30, 45, 65, 85}) {
    const std::size_t bytes = std::size_t(mebibytes) << 20;
    memory::release(memory::allocate(bytes), bytes);
    CHECK(memory::usage().reserved_bytes <= limit);
  }
}

TEST_CASE("a forked child can allocate even if another thread allocated during the fork") {
  if (!kPooled || gradus::testing::kThreadSanitizer) return;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) memory::release(memory::allocate(64), 64);
  });
  int hanging = 0;
  for (int i = 0; i < 300 && hanging == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);  // kills a hanging child
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

namespace {

// Releases memory after main, during the destruction of static objects.
struct AtExit {
  void* data = nullptr;
  ~AtExit() {
    if (data != nullptr) memory::release(data, 5000);
  }
} at_exit;

}  // namespace

TEST_CASE("a block in static storage may be released at exit") {
  if (at_exit.data == nullptr) at_exit.data = memory::allocate(5000);
  CHECK(at_exit.data != nullptr);
}
