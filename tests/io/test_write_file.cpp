#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gradus/io/output_file.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing::test_write_file {
namespace {

std::size_t entries(const Folder& folder) {
  const std::filesystem::directory_iterator all(folder / "");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void write(const std::string& path, const std::string& text) {
  io::write_file_atomically(path, text.data(), text.size());
}

std::string refusal(const std::string& path, const std::string& text) {
  try {
    write(path, text);
  } catch (const FileError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

// Must be the first test in this file, because the process must have few threads when it forks. The
// exit code is the number of the failed check.
TEST_CASE("a write that the system truncates leaves only the old file") {
  const Folder here;
  const std::string path = here / "checkpoint";
  write(path, "the old one");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    const std::string what = refusal(path, std::string(5000, 'x'));
    if (what.find(path) == std::string::npos) _exit(2);
    if (what.find(std::strerror(EFBIG)) == std::string::npos) _exit(3);
    if (what.find("unchanged") == std::string::npos) _exit(4);
    if (refusal(path, std::string(1000, 'y')) != "") _exit(5);  // small files succeed
    if (read_bytes(path) != std::string(1000, 'y')) _exit(6);
    write(path, "the old one");
    if (refusal(path, std::string(1001, 'z')) == "") _exit(7);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_bytes(path) == "the old one");
  CHECK(entries(here) == 1);
}

TEST_CASE("files are written and replaced completely, without leftovers") {
  const Folder here;
  const std::string path = here / "file";
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 256);
    write(path, text);
    CHECK(read_bytes(path) == text);
  }
  CHECK(entries(here) == 1);
}

TEST_CASE("a reader sees the complete old or new version while a file is replaced") {
  const Folder here;
  const std::string path = here / "file", old(200'000, 'a');
  for (const std::size_t size : {0u, 100'000u, 200'000u, 300'000u}) {
    write(path, old);
    std::ifstream reader(path, std::ios::binary);
    std::filesystem::remove(here / "name of the old one");
    std::filesystem::create_hard_link(path, here / "name of the old one");
    const std::string fresh(size, 'b');
    write(path, fresh);
    CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == old);
    CHECK(read_bytes(here / "name of the old one") == old);
    CHECK(read_bytes(path) == fresh);
  }
}

TEST_CASE("an output file is unbuffered") {
  const Folder here;
  const std::string path = here / "file";
  std::string all;
  for (const bool again : {false, true}) {
    io::OutputFile file;
    CHECK((again ? file.open(path) : file.create(path)) == 0);
    for (const std::string part : {"one", "", "two and three", "\n"}) {
      CHECK(file.write(part.data(), part.size()) == 0);
      CHECK(read_bytes(path) == (all += part));
    }
  }
  io::OutputFile other;
  CHECK(other.create(path) == EEXIST);
  CHECK(read_bytes(path) == all);
}

TEST_CASE("a file that cannot be written is reported with its cause") {
  const Folder here;
  const std::string missing = refusal(here / "no such directory/file", "x");
  CHECK(missing.find("no such directory/file") != std::string::npos);
  CHECK(missing.find(std::strerror(ENOENT)) != std::string::npos);
  std::filesystem::create_directories(here / "a directory/with content");
  CHECK(refusal(here / "a directory", "x") != "");
  CHECK(entries(here) == 1);  // no temporary file remains
}

TEST_CASE("a relative path without a directory works") {
  const Folder here;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here / "");
  write("plain name", "text");
  std::filesystem::current_path(before);
  CHECK(read_bytes(here / "plain name") == "text");
}

TEST_CASE("a write that fails at its k-th step leaves only the old or the new file") {
  for (const int cause : {ENOSPC, EDQUOT, EACCES, EIO}) {
    int failing = 0;
    for (bool failed = true; failed; ++failing) {
      CAPTURE(failing, std::strerror(cause));
      const Folder folder;
      const std::string path = folder / "f";
      write_bytes(path, "old");
      int step = 0;
      io::file_watch = [&](const io::FileChange&) { return step++ == failing ? cause : 0; };
      const std::string message = refusal(path, "new!");
      io::file_watch = nullptr;
      failed = !message.empty();
      CHECK(entries(folder) == 1);
      CHECK((read_bytes(path) == "old" || read_bytes(path) == "new!"));
      if (!failed) continue;
      CHECK(contains(message, path));
      CHECK(contains(message, std::strerror(cause)));
      REQUIRE(failing < 20);
    }
    CHECK(failing > 4);  // at least create, write, sync and rename
  }
}

TEST_CASE("a temporary file of another process is kept") {
  const Folder folder;
  write_bytes(folder / "f.tmp-0", "theirs");
  write(folder / "f", "new!");
  CHECK(read_bytes(folder / "f") == "new!");
  CHECK(read_bytes(folder / "f.tmp-0") == "theirs");
}

}  // namespace gradus::testing::test_write_file
