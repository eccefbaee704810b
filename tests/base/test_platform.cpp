// Pages, symbols, calls, and counts of the machine.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/tests/support/catch.h"

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

TEST_CASE("the machine is described") {
  CHECK(platform::usable_cores() >= 1);
  CHECK(platform::usable_cores() <=
        static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  CHECK_FALSE(platform::system_name().empty());
  CHECK(platform::physical_memory() > (std::size_t{16} << 20));
}

TEST_CASE("memory is what the control groups around a process grant") {
  namespace fs = std::filesystem;
  std::random_device random;
  const fs::path root = fs::temp_directory_path() / ("gradus-groups-" + std::to_string(random()));
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  };
  const auto memory = [&] { return platform::physical_memory(root.string()); };
  const std::string groups = "sys/fs/cgroup/";
  const std::size_t machine = memory();  // no groups
  CHECK(machine >= platform::physical_memory());
  write("proc/self/cgroup", "12:cpu:/other\n0::/outer/inner");
  write(groups + "outer/inner/memory.max", "max");
  CHECK(memory() == machine);
  write(groups + "memory.max", "9000000");
  CHECK(memory() == 9'000'000);
  write(groups + "outer/memory.max", "7000000");
  CHECK(memory() == 7'000'000);
  write(groups + "outer/inner/memory.max", "8000000");
  CHECK(memory() == 7'000'000);
  write(groups + "outer/inner/memory.max", "6000000");
  CHECK(memory() == 6'000'000);
  fs::remove_all(root / "proc");  // version 1
  fs::remove(root / groups / "memory.max");
  CHECK(memory() == machine);
  write(groups + "memory/memory.limit_in_bytes", "5000000");
  CHECK(memory() == 5'000'000);
  write(groups + "memory/memory.limit_in_bytes", "9223372036854771712");  // its word for none
  CHECK(memory() == machine);
  fs::remove_all(root);
}

#ifdef __linux__
TEST_CASE("memory is what may still be mapped") {
  const std::size_t before = platform::physical_memory();
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_AS, &usual) == 0);
  std::ifstream statm("/proc/self/statm");
  std::size_t mapped = 0;
  statm >> mapped, mapped *= static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  rlimit less = usual;
  less.rlim_cur = mapped + before / 2;  // far more than this process maps meanwhile
  REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  const std::size_t now = platform::physical_memory();
  ::setrlimit(RLIMIT_AS, &usual);
  CHECK(now <= before / 2);
  CHECK(now > before / 4);
}

TEST_CASE("resident memory follows what is touched") {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  const std::size_t before = platform::resident_bytes();
  void* pages = platform::map_pages(bytes);
  REQUIRE(pages != nullptr);
  std::memset(pages, 1, bytes);
  // Other pages of the process may come and go meanwhile: half is far beyond what they amount to.
  CHECK(platform::resident_bytes() > before + bytes / 2);
  CHECK(platform::peak_resident_bytes() >= platform::resident_bytes() - bytes / 2);
  platform::unmap_pages(pages, bytes);
  CHECK(platform::resident_bytes() < before + bytes / 2);
  CHECK(platform::peak_resident_bytes() > before + bytes / 2);
}
#endif

TEST_CASE("a variable switches something on unless it is absent, empty or 0") {
  constexpr const char* kName = "GRADUS_TEST_OF_A_SWITCH";
  ::unsetenv(kName);
  CHECK_FALSE(platform::is_switched_on(kName));
  for (const auto& [value, on] : {std::pair{"", false}, {"0", false}, {"1", true}, {"yes", true}}) {
    CAPTURE(value);
    ::setenv(kName, value, 1);
    CHECK(platform::is_switched_on(kName) == on);
  }
  ::unsetenv(kName);
}

TEST_CASE("functions are found by name, or not") {
  CHECK(platform::find_symbol("malloc") != nullptr);
  CHECK(platform::find_symbol("no_library_has_a_function_of_this_name") == nullptr);
}

TEST_CASE("types are named as they are written") {
  CHECK(platform::readable_type(typeid(gradus::ShapeError).name()) == "gradus::ShapeError");
  CHECK(platform::readable_type(typeid(int).name()) == "int");
  CHECK(platform::readable_type("not a mangled name") == "not a mangled name");
}

#ifdef __GLIBC__
TEST_CASE("the calls that led here go back to main", "[process]") {
  std::vector<std::string> functions;
  for (const std::vector<platform::Frame>& frames : platform::frames_of(platform::calls()))
    for (const platform::Frame& frame : frames) functions.push_back(frame.function);
  CHECK(std::count(functions.begin(), functions.end(), "main") == 1);
  CHECK(platform::frames_of({nullptr}).at(0).empty());
}
#endif
