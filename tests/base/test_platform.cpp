// Pages, symbols, counts of the machine, and files that are whole or untouched.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/tests/support/catch.h"

namespace platform = gradus::platform;
namespace fs = std::filesystem;

namespace {

// An empty directory, gone when the test is over.
struct Directory {
  Directory() : path(fs::temp_directory_path() / ("gradus-platform-" + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Directory() { fs::remove_all(path); }
  std::size_t entries() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path)) ++n;
    return n;
  }
  fs::path path;
};

void write(const fs::path& path, const std::string& text) {
  platform::write_file_atomically(path.string(), text.data(), text.size());
}

std::string content(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

std::string refusal(const fs::path& path, const std::string& text) {
  try {
    write(path, text);
  } catch (const gradus::FileError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

// First in this file, so that the child is forked from a process with as few threads as can be. It
// exits with the number of the first thing that went wrong.
TEST_CASE("a write that the system cuts short leaves the old file and nothing else") {
  const Directory directory;
  const fs::path path = directory.path / "checkpoint";
  write(path, "the old one");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);  // then write() fails with EFBIG, after a short write
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    const std::string what = refusal(path, std::string(5000, 'x'));
    if (what.find(path.string()) == std::string::npos) _exit(2);
    if (what.find(std::strerror(EFBIG)) == std::string::npos) _exit(3);
    if (what.find("unchanged") == std::string::npos) _exit(4);
    if (refusal(path, std::string(1000, 'y')) != "") _exit(5);  // what fits is still written
    if (content(path) != std::string(1000, 'y')) _exit(6);
    write(path, "the old one");
    if (refusal(path, std::string(1001, 'z')) == "") _exit(7);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content(path) == "the old one");
  CHECK(directory.entries() == 1);
}

TEST_CASE("files are written whole, replaced whole, and leave nothing beside them") {
  const Directory directory;
  const fs::path path = directory.path / "file";
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 256);
    write(path, text);
    CHECK(content(path) == text);
  }
  CHECK(directory.entries() == 1);
}

TEST_CASE("a reader sees one version or the other while a file is replaced") {
  const Directory directory;
  const fs::path path = directory.path / "file";
  const std::string a(200'000, 'a'), b(100'000, 'b');
  write(path, a);
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) write(path, i % 2 == 0 ? b : a);
  });
  int wrong = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string seen = content(path);
    wrong += seen != a && seen != b;
  }
  writer.join();
  CHECK(wrong == 0);
}

TEST_CASE("a file that cannot be written is named with its cause") {
  const Directory directory;
  const std::string missing = refusal(directory.path / "no such directory" / "file", "x");
  CHECK(missing.find("no such directory/file") != std::string::npos);
  CHECK(missing.find(std::strerror(ENOENT)) != std::string::npos);
  fs::create_directories(directory.path / "a directory" / "with content");
  CHECK(refusal(directory.path / "a directory", "x") != "");
  CHECK(directory.entries() == 1);  // the temporary file is gone
}

TEST_CASE("a relative path without a directory works") {
  const Directory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path);
  write("plain name", "text");
  fs::current_path(before);
  CHECK(content(directory.path / "plain name") == "text");
}

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
  CHECK_FALSE(platform::instruction_set().empty());
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
