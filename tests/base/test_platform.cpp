// Pages, symbols, calls, and counts of the machine.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <typeinfo>
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

#ifdef __linux__
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
  for (void* call : platform::calls())
    for (const platform::Frame& frame : platform::frames_of(call))
      functions.push_back(frame.function);
  CHECK(std::count(functions.begin(), functions.end(), "main") == 1);
  CHECK(platform::frames_of(nullptr).empty());
}
#endif
