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

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"
#include "gradus/tests/engine/base/mapped.h"
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
  CHECK(platform::map_pages(SIZE_MAX / 16 * 15) == nullptr);
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

/// A directory that contains its own /proc and /sys.
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

TEST_CASE("physical memory is the minimum over the machine and its control groups") {
  const Root root;
  const auto memory = [&] { return platform::physical_memory(root.path()); };
  const std::uint64_t machine = memory();
  const auto is_machine = [&](std::uint64_t bytes) {  // rlimits may change the size slightly
    return bytes > machine - machine / 4 && bytes < machine + machine / 4;
  };
  CHECK(platform::physical_memory() < machine + machine / 4);
  root.write("proc/self/cgroup", "12:cpu:/other\n0::/outer/inner\n1:name=systemd:/another");
  root.write(kGroups + "outer/inner/memory.max", "max");
  CHECK(is_machine(memory()));
  root.write(kGroups + "outer/memory.max", "7000000");
  CHECK(memory() == 7'000'000);
  root.write(kGroups + "outer/inner/memory.max", "6000000");
  CHECK(memory() == 6'000'000);
  root.remove("proc");  // cgroups version 1
  root.write(kGroups + "memory/memory.limit_in_bytes", "5000000");
  CHECK(memory() == 5'000'000);
  root.write(kGroups + "memory/memory.limit_in_bytes", "9223372036854771712");  // unlimited
  CHECK(is_machine(memory()));
}

#ifdef __linux__
TEST_CASE("usable cores are physical cores within the quota of the control groups") {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  const int threads = CPU_COUNT(&mask);
  const Root root;
  const auto cores = [&] { return platform::usable_cores(root.path()); };
  CHECK(cores() == threads);  // without /sys, each thread counts as a core
  for (const int of_one_core : {CPU_SETSIZE, 2, 1}) {
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask))
        root.write(
            "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            "core" + std::to_string(seen++ / of_one_core));
    CHECK(cores() == (threads + of_one_core - 1) / of_one_core);
  }
  root.write("proc/self/cgroup", "0::/outer/inner");
  root.write(kGroups + "outer/inner/cpu.max", "max 100000");
  CHECK(cores() == threads);
  root.write(kGroups + "outer/cpu.max", "160000 100000");
  CHECK(cores() == std::min(threads, 2));  // 1.6 rounds to 2
  root.write(kGroups + "outer/inner/cpu.max", "20000 100000");
  CHECK(cores() == 1);  // 0.2 rounds up to 1
  root.remove("proc");
  root.write(kGroups + "cpu/cpu.cfs_period_us", "100000");  // cgroups version 1
  for (const auto& [quota, expected] :
       {std::pair{"-1", threads}, {"0", threads}, {"1", 1}, {"170000", std::min(threads, 2)}}) {
    root.write(kGroups + "cpu/cpu.cfs_quota_us", quota);
    CHECK(cores() == expected);
  }
}

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

TEST_CASE("physical memory honors the limit on address space", "[process]") {
  const std::size_t before = platform::physical_memory();
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_AS, &usual) == 0);
  const std::size_t mapped = mapped_bytes();
  rlimit less = usual;
  less.rlim_cur = mapped + before / 2;  // other threads map far less in the meantime
  REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  const std::size_t now = platform::physical_memory();
  ::setrlimit(RLIMIT_AS, &usual);
  CHECK(now <= before / 2);
  CHECK(now > before / 4);
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
    CHECK(mapped_bytes() < before + kTimes * kHuge / 4);  // other threads may map memory
  }
}

TEST_CASE("resident memory grows as pages are touched") {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  const std::size_t before = platform::resident_bytes();
  void* pages = platform::map_pages(bytes);
  REQUIRE(pages != nullptr);
  std::memset(pages, 1, bytes);
  // The rest of the process maps and frees far less in the meantime.
  CHECK(platform::resident_bytes() > before + bytes / 2);
  platform::unmap_pages(pages, bytes);
  CHECK(platform::resident_bytes() < before + bytes / 2);
  CHECK(platform::peak_resident_bytes() > before + bytes / 2);
}
#endif

TEST_CASE("a switch is on unless its variable is absent, empty or 0") {
  constexpr auto kVariable = gradus::environment::Variable::silence;
  CHECK_FALSE(gradus::environment::is_on(kVariable));
  CHECK(*gradus::environment::value_of(kVariable) == '\0');
  for (const auto& [value, on] : {std::pair{"", false}, {"0", false}, {"1", true}, {"yes", true}}) {
    CAPTURE(value);
    const gradus::testing::VariableScope scope("GRADUS_SILENCE", value);
    CHECK(gradus::environment::is_on(kVariable) == on);
    CHECK(std::string(gradus::environment::value_of(kVariable)) == value);
  }
}

TEST_CASE("find_symbol finds existing functions only") {
#ifdef __GLIBC__  // programs with musl are often static, without symbols
  CHECK(platform::find_symbol("malloc") != nullptr);
#endif
  CHECK(platform::find_symbol("no_library_has_a_function_of_this_name") == nullptr);
}

TEST_CASE("demangle returns the C++ name of a type") {
  CHECK(platform::demangle(typeid(gradus::ShapeError).name()) == "gradus::ShapeError");
  CHECK(platform::demangle(typeid(int).name()) == "int");
  CHECK(platform::demangle("not a mangled name") == "not a mangled name");
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
TEST_CASE("the call stack leads back to main", "[process]") {
  std::vector<std::string> functions;
  for (const std::vector<platform::Frame>& frames : platform::symbolize(platform::stack_trace()))
    for (const platform::Frame& frame : frames) functions.push_back(frame.function);
  CHECK(std::count(functions.begin(), functions.end(), "main") == 1);
  CHECK(platform::symbolize({nullptr}).at(0).empty());
}
#endif
