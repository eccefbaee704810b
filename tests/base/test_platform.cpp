// The platform layer: pages, symbols, call stacks, memory and core counts.
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/tests/base/mapped.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/environment.h"

#ifdef __linux__
using gradus::tests::mapped_bytes;
#endif
namespace platform = gradus::platform;

TEST_CASE("pages are zero, writable, and aligned for huge pages") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{5'000'000}}) {
    auto* pages = static_cast<unsigned char*>(platform::map_pages(bytes));
    REQUIRE(pages != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(pages) % (std::size_t{2} << 20) == 0);
    CHECK(pages[0] == 0);
    CHECK(pages[bytes - 1] == 0);
    pages[bytes - 1] = 1;
    platform::unmap_pages(pages, bytes);
  }
  CHECK(platform::map_pages(SIZE_MAX / 4) == nullptr);
}

TEST_CASE("usable cores and the system name match the machine") {
  CHECK(platform::usable_cores() >= 1);
  CHECK(platform::usable_cores() <=
        static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  utsname name{};
  REQUIRE(::uname(&name) == 0);
  CHECK(platform::system_name() ==
        std::string(name.sysname) + " " + name.release + " " + name.machine);
  CHECK(platform::physical_memory() > (std::size_t{16} << 20));
}

namespace {

namespace fs = std::filesystem;

/// A folder with a /proc and a /sys of its own.
class Root {
 public:
  Root() { fs::create_directories(path_); }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text << '\n';
  }
  void remove(const std::string& file) const { fs::remove_all(path_ / file); }
  std::string path() const { return path_.string(); }

 private:
  const fs::path path_ =
      fs::temp_directory_path() / ("gradus-root-" + std::to_string(std::random_device()()));
};

const std::string kGroups = "sys/fs/cgroup/";

}  // namespace

TEST_CASE("physical memory honors the control groups of the process") {
  const Root root;
  const auto memory = [&] { return platform::physical_memory(root.path()); };
  const std::size_t machine = memory();             // no groups
  const auto is_machine = [&](std::size_t bytes) {  // what a limit leaves moves with what is used
    return bytes > machine - machine / 4 && bytes < machine + machine / 4;
  };
  CHECK(platform::physical_memory() < machine + machine / 4);
  root.write("proc/self/cgroup", "12:cpu:/other\n0::/outer/inner\n1:name=systemd:/another");
  root.write(kGroups + "outer/inner/memory.max", "max");
  CHECK(is_machine(memory()));
  root.write(kGroups + "memory.max", "9000000");
  CHECK(memory() == 9'000'000);
  root.write(kGroups + "outer/memory.max", "7000000");
  CHECK(memory() == 7'000'000);
  root.write(kGroups + "outer/inner/memory.max", "8000000");
  CHECK(memory() == 7'000'000);
  root.write(kGroups + "outer/inner/memory.max", "6000000");
  CHECK(memory() == 6'000'000);
  root.remove("proc");  // version 1
  root.remove(kGroups + "memory.max");
  CHECK(is_machine(memory()));
  root.write(kGroups + "memory/memory.limit_in_bytes", "5000000");
  CHECK(memory() == 5'000'000);
  root.write(kGroups + "memory/memory.limit_in_bytes", "9223372036854771712");  // its word for none
  CHECK(is_machine(memory()));
}

#ifdef __linux__
TEST_CASE("hyperthreads of one core count once, and a quota limits the cores") {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  const int threads = CPU_COUNT(&mask);
  const Root root;
  const auto cores = [&] { return platform::usable_cores(root.path()); };
  CHECK(cores() == threads);  // no /sys: each is taken for a core
  const auto all_are_siblings = [&](int of_one_core) {
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask))
        root.write(
            "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            "core" + std::to_string(seen++ / of_one_core));
  };
  all_are_siblings(1);
  CHECK(cores() == threads);
  all_are_siblings(2);
  CHECK(cores() == (threads + 1) / 2);
  all_are_siblings(CPU_SETSIZE);
  CHECK(cores() == 1);
  all_are_siblings(1);
  const auto granted = [&](double some) { return std::min(threads, static_cast<int>(some)); };
  root.write("proc/self/cgroup", "0::/outer/inner");
  root.write(kGroups + "outer/inner/cpu.max", "max 100000");
  CHECK(cores() == threads);
  root.write(kGroups + "outer/cpu.max", "160000 100000");
  CHECK(cores() == granted(2));  // 1.6 are nearer to two
  root.write(kGroups + "outer/inner/cpu.max", "140000 100000");
  CHECK(cores() == 1);
  root.write(kGroups + "cpu.max", "20000 100000");
  CHECK(cores() == 1);  // a fifth
}

TEST_CASE("a quota of version 1 control groups limits the cores") {
  const Root root;
  const auto cores = [&] { return platform::usable_cores(root.path()); };
  const int threads = cores();  // no /sys: each is taken for a core
  const auto granted = [&](double some) { return std::min(threads, static_cast<int>(some)); };
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "-1");  // no quota
  root.write(kGroups + "cpu/cpu.cfs_period_us", "100000");
  CHECK(cores() == threads);
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "0");
  CHECK(cores() == threads);
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "1");
  CHECK(cores() == 1);
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "170000");
  CHECK(cores() == granted(2));
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "130000");
  CHECK(cores() == 1);
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "100000000");
  root.write(kGroups + "cpu.max", "20000 100000");
  CHECK(cores() == 1);  // of both versions the less
  root.remove(kGroups + "cpu.max");
  root.write(kGroups + "cpu/cpu.cfs_quota_us", "130000");
  root.remove(kGroups + "cpu/cpu.cfs_period_us");
  CHECK(cores() == threads);
}
#endif

#ifdef __linux__
TEST_CASE("only cores in the thread's affinity mask count") {
  cpu_set_t all, one;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const int cores = platform::usable_cores(Root().path());
  REQUIRE(::sched_setaffinity(0, sizeof all, &all) == 0);
  CHECK(cores == 1);
}

TEST_CASE("physical memory honors the limit on address space") {
  const std::size_t before = platform::physical_memory();
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_AS, &usual) == 0);
  const std::size_t mapped = mapped_bytes();
  rlimit less = usual;
  less.rlim_cur = mapped + before / 2;  // far more than this process maps meanwhile
  REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  const std::size_t now = platform::physical_memory();
  ::setrlimit(RLIMIT_AS, &usual);
  CHECK(now <= before / 2);
  CHECK(now > before / 4);
}

TEST_CASE("exhausted memory is reported as one byte, because 0 means unknown") {
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_AS, &usual) == 0);
  const Root root;
  const std::string path = root.path();
  platform::physical_memory(path);  // leaves room on the heap for what it reads
  rlimit less = usual;
  less.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  const std::size_t now = platform::physical_memory(path);
  ::setrlimit(RLIMIT_AS, &usual);
  CHECK(now == 1);
}

TEST_CASE("physical memory is that of the machine where nothing limits it") {
  const Root root;
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  std::size_t total = 0;  // kilobytes
  REQUIRE(meminfo >> word >> total);
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_AS, &usual) == 0);
  std::size_t most = total * 1024;
  if (usual.rlim_cur != RLIM_INFINITY) most = std::min(most, usual.rlim_cur - mapped_bytes());
  const std::size_t found = platform::physical_memory(root.path());
  CHECK(found <= most + most / 10);  // the process may map something between the two answers
  CHECK(found >= most - most / 10);
}

TEST_CASE("map_pages leaves nothing mapped around its pages") {
  constexpr std::size_t kTimes = 400, kHuge = std::size_t{2} << 20;
  for (const std::size_t bytes : {std::size_t{4096}, kHuge, 2 * kHuge + 5000}) {
    CAPTURE(bytes);
    const std::size_t before = mapped_bytes();
    for (std::size_t i = 0; i < kTimes; ++i) {
      void* pages = platform::map_pages(bytes);
      REQUIRE(pages != nullptr);
      platform::unmap_pages(pages, bytes);
    }
    CHECK(mapped_bytes() < before + kTimes * kHuge / 4);  // others may map something meanwhile
  }
}

TEST_CASE("resident memory grows as pages are touched") {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  const std::size_t before = platform::resident_bytes();
  void* pages = platform::map_pages(bytes);
  REQUIRE(pages != nullptr);
  std::memset(pages, 1, bytes);
  // Other pages of the process may come and go meanwhile: half is far beyond what they amount to.
  CHECK(platform::resident_bytes() > before + bytes / 2);
  CHECK(platform::resident_bytes() % 1024 == 0);  // the system counts whole kilobytes
  CHECK(platform::peak_resident_bytes() % 1024 == 0);
  CHECK(platform::peak_resident_bytes() >= platform::resident_bytes() - bytes / 2);
  platform::unmap_pages(pages, bytes);
  CHECK(platform::resident_bytes() < before + bytes / 2);
  CHECK(platform::peak_resident_bytes() > before + bytes / 2);
}
#endif

TEST_CASE("a variable is a switch that is on unless absent, empty or 0") {
  constexpr const char* kName = "GRADUS_TEST_OF_A_SWITCH";
  CHECK_FALSE(platform::is_switched_on(kName));
  for (const auto& [value, on] : {std::pair{"", false}, {"0", false}, {"1", true}, {"yes", true}}) {
    CAPTURE(value);
    const gradus::testing::VariableScope scope(kName, value);
    CHECK(platform::is_switched_on(kName) == on);
  }
}

TEST_CASE("find_symbol finds existing functions only") {
  CHECK(platform::find_symbol("malloc") != nullptr);
  CHECK(platform::find_symbol("no_library_has_a_function_of_this_name") == nullptr);
}

TEST_CASE("readable_type demangles type names") {
  CHECK(platform::readable_type(typeid(gradus::ShapeError).name()) == "gradus::ShapeError");
  CHECK(platform::readable_type(typeid(int).name()) == "int");
  CHECK(platform::readable_type("not a mangled name") == "not a mangled name");
}

TEST_CASE("sync_file succeeds on files and pipes and fails on a closed descriptor") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::FILE* pipe = ::fdopen(ends[1], "w");
  REQUIRE(pipe != nullptr);
  CHECK(platform::sync_file(pipe));
  REQUIRE(::close(ends[1]) == 0);
  CHECK_FALSE(platform::sync_file(pipe));
  std::fclose(pipe);
  ::close(ends[0]);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file != nullptr);
  CHECK(platform::sync_file(file.get()));
}

#ifdef __GLIBC__
namespace {

// volatile: no compiler makes a loop of it.
[[gnu::noinline]] std::size_t calls_at(int depth) {
  const volatile int below = depth - 1;
  const volatile std::size_t found = depth == 0 ? platform::calls().size() : calls_at(below);
  return found;
}

}  // namespace

TEST_CASE("calls() returns at most the 64 innermost calls") {
  CHECK(calls_at(0) < 64);
  CHECK(calls_at(100) == 64);
}

TEST_CASE("frames_of resolves addresses in programs and libraries and skips null") {
  const auto after = [](const char* name) {  // a call returns behind its beginning
    return static_cast<char*>(platform::find_symbol(name)) + 1;
  };
  const std::vector<std::vector<platform::Frame>> frames = platform::frames_of(
      {after("_ZSt9terminatev"), nullptr, after("qsort"), after("_ZSt13get_terminatev")});
  REQUIRE(frames.size() == 4);
  CHECK(frames[1].empty());
  CHECK(frames[2].empty());                            // the C library's own calls are left out
  if (frames[0].empty() && frames[3].empty()) return;  // addr2line is not installed
  for (const auto& [call, name] : {std::pair{0, "_ZSt9terminatev"}, {3, "_ZSt13get_terminatev"}}) {
    const std::vector<platform::Frame>& of = frames[static_cast<std::size_t>(call)];
    REQUIRE(of.size() == 1);
    CHECK(of[0].function == name);
  }
}

TEST_CASE("frames_of ignores output of addr2line that belongs to no address") {
  const Root root;
  root.write("addr2line",
             "#!/bin/sh\nshift 2\necho early\necho early.cpp:1\nfor each in \"$@\"; do\n"
             "echo $each\necho nowhere\necho no place\necho f\necho of:colons.cpp:7\ndone");
  fs::permissions(root.path() + "/addr2line", fs::perms::all);
  const gradus::testing::VariableScope scope("PATH", root.path());
  const auto frames = platform::frames_of({platform::find_symbol("_ZSt9terminatev")});
  REQUIRE(frames.size() == 1);
  REQUIRE(frames[0].size() == 1);
  CHECK(frames[0][0].function == "f");
  CHECK(frames[0][0].file == "of:colons.cpp");
  CHECK(frames[0][0].line == 7);
}

TEST_CASE("the call stack leads back to main", "[process]") {
  std::vector<std::string> functions;
  for (const std::vector<platform::Frame>& frames : platform::frames_of(platform::calls()))
    for (const platform::Frame& frame : frames) functions.push_back(frame.function);
  CHECK(std::count(functions.begin(), functions.end(), "main") == 1);
  CHECK(platform::frames_of({nullptr}).at(0).empty());
}
#endif
