// Files that are whole or untouched.
#include "gradus/io/write_file.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gradus/base/error.h"
#include "gradus/tests/support/catch.h"

namespace fs = std::filesystem;

namespace {

// An empty directory, gone when the test is over.
struct Directory {
  Directory()
      : path(fs::temp_directory_path() / ("gradus-write-file-" + std::to_string(getpid()))) {
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
  gradus::io::write_file_atomically(path.string(), text.data(), text.size());
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
