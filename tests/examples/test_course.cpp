// The course quotes what the lessons print: each quoted line must be there, in that order.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

namespace fs = std::filesystem;

struct Section {
  std::string number;                            // "03", of "## 03 Where does …"
  std::vector<std::vector<std::string>> quotes;  // what stands between "```text" and "```"
  std::size_t debugger_lines = 0;                // that begin with "(gdb) "
};

std::vector<Section> course() {
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/course.md");
  std::vector<Section> sections;
  bool quoting = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) sections.push_back({line.substr(3, 2), {}, 0});
    if (sections.empty()) continue;
    Section& section = sections.back();
    section.debugger_lines += line.rfind("(gdb) ", 0) == 0;
    if (line == "```") quoting = false;
    if (quoting) section.quotes.back().push_back(line);
    if (line != "```text") continue;
    quoting = true;
    section.quotes.emplace_back();
  }
  return sections;
}

/// The lessons by number, as their files are named: "03_tensors".
std::vector<std::string> lessons() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(GRADUS_SOURCE_DIR "/examples")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && name.size() > 3 && name[2] == '_')
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> output_of(const std::string& lesson) {
  const std::string command =
      "cd '" GRADUS_SOURCE_DIR "' && '" GRADUS_BINARY_DIR "/" + lesson + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe);
  std::vector<std::string> lines(1);
  for (int c = std::getc(pipe.get()); c != EOF; c = std::getc(pipe.get())) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(c);
  }
  return lines;
}

}  // namespace

TEST_CASE("the course has each lesson, and quotes what it prints") {
  const std::vector<std::string> names = lessons();
  const std::vector<Section> sections = course();
  REQUIRE(names.size() >= 6);
  REQUIRE(sections.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    REQUIRE(names[i].rfind(sections[i].number + "_", 0) == 0);
    CHECK(sections[i].debugger_lines > 0);
    CHECK(!sections[i].quotes.empty());
    const std::vector<std::string> printed = output_of(names[i]);
    for (const std::vector<std::string>& quote : sections[i].quotes) {
      auto at = printed.begin();
      for (const std::string& line : quote) {
        at = std::find(at, printed.end(), line);
        INFO("docs/course.md quotes: " << line);
        REQUIRE(at != printed.end());
        ++at;
      }
    }
  }
}

}  // namespace gradus::testing
