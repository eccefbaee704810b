// Every step of writing a file in their order, and what is said and left where one of them fails:
// tests/golden/io/writes.txt.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gradus/io/output_file.h"
#include "gradus/io/write_file.h"
#include "gradus/tests/io/golden.h"

namespace gradus::testing {
namespace {

std::string shown(const io::FileChange& change) {
  const char* kinds[] = {"create",   "open",   "write",  "sync",          "close",
                         "truncate", "rename", "remove", "sync_directory"};
  return std::string(kinds[change.kind]) + " " + change.path +
         (change.to.empty() ? "" : " " + change.to) +
         (change.bytes.empty() ? "" : " '" + std::string(change.bytes) + "'") + "\n";
}

/// Of a folder: names and contents.
std::string contents(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    all.push_back(each.path().filename().string() + "=" + read_bytes(each.path().string()));
  std::sort(all.begin(), all.end());
  std::string out;
  for (const std::string& each : all) out += " " + each;
  return out;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at; (at = text.find(from)) != text.npos;) text.replace(at, from.size(), to);
}

/// Writes over an old file. Step number `failing` ends with `cause`.
std::string steps(int failing, int cause, bool occupied = false) {
  const Folder folder;
  const std::string path = folder / "f", root = folder / "";
  write_bytes(path, "old");
  if (occupied) write_bytes(path + ".tmp-0", "theirs");
  std::string out;
  int number = 0;
  io::file_watch = [&](const io::FileChange& change) {
    out += shown(change);
    return number++ == failing ? cause : 0;
  };
  const std::string said = refusal([&] { io::write_file_atomically(path, "new!", 4); });
  io::file_watch = nullptr;
  out += said + "\nthere:" + contents(root) + "\n";
  replace(out, root, "");
  if (cause > 0) replace(out, std::strerror(cause), "the cause");
  return out;
}

}  // namespace

TEST_CASE("a file is written in steps, each of which may fail") {
  std::string out =
      "== none fails\n" + steps(-1, 0) + "== a file of that name\n" + steps(-1, 0, true);
  const std::pair<const char*, int> causes[] = {{"ENOSPC", ENOSPC},
                                                {"EDQUOT", EDQUOT},
                                                {"EACCES", EACCES},
                                                {"EEXIST", EEXIST},
                                                {"skipped", io::kSkipped}};
  for (int failing = 0; failing < 6; ++failing)
    for (const auto& [name, cause] : causes)
      if (cause != io::kSkipped || failing == 2 || failing == 5)
        out += "== step " + std::to_string(failing) + " " + name + "\n" + steps(failing, cause);
  check_golden("io/writes.txt", out);
}

TEST_CASE("a write that fails leaves the first half") {
  const Folder folder;
  io::OutputFile file;
  REQUIRE(file.create(folder / "f") == 0);
  io::file_watch = [](const io::FileChange& change) {
    return change.kind == io::FileChange::write ? ENOSPC : 0;
  };
  CHECK(file.write("abcdefg", 7) == ENOSPC);
  io::file_watch = [](const io::FileChange& change) {
    return change.kind == io::FileChange::sync_directory ? EIO : 0;
  };
  CHECK(io::sync_directory_of(folder / "f") == EIO);
  io::file_watch = [](const io::FileChange&) { return io::kSkipped; };
  CHECK(io::sync_directory_of(folder / "f") == 0);
  CHECK(file.sync() == 0);
  io::file_watch = nullptr;
  CHECK(file.close() == 0);
  CHECK(file.close() == 0);
  CHECK(read_bytes(folder / "f") == "abc");
}

}  // namespace gradus::testing
