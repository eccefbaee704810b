// Quoted lines in the course and docs/guides/custom_operation.md must occur in the outputs, in order.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_course {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

struct Section {
  std::string title;               // from "## 03 Where does …"
  std::vector<Lines> quotes;       // between "```text" and "```"
  std::vector<Lines> code;         // between "```cpp" and "```"
  std::size_t debugger_lines = 0;  // begin with "(gdb) "
};

std::vector<Section> sections_of(const std::string& document) {
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/" + document);
  std::vector<Section> sections;
  Lines* quote = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) sections.push_back({line.substr(3), {}, {}, 0});
    if (sections.empty()) continue;
    Section& section = sections.back();
    section.debugger_lines += line.rfind("(gdb) ", 0) == 0;
    if (line == "```") quote = nullptr;
    if (quote != nullptr) quote->push_back(line);
    if (line == "```text") quote = &section.quotes.emplace_back();
    if (line == "```cpp") quote = &section.code.emplace_back();
  }
  return sections;
}

/// `original` has the lines of `quote`, in order. "    …" stands for omitted lines.
void check_quote(const std::string& document, const Lines& quote, const Lines& original) {
  auto at = original.begin();
  for (const std::string& line : quote) {
    if (line == "    …") continue;
    at = std::find(at, original.end(), line);
    INFO("docs/" << document << " quotes: " << line);
    REQUIRE(at != original.end());
    ++at;
  }
}

/// The lessons' names by number, like "03_tensors"; 00 is examples/nano.
Lines lessons() {
  Lines names = {"00_nano"};
  for (const auto& entry : fs::directory_iterator(GRADUS_SOURCE_DIR "/examples")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && name.size() > 3 && name[2] == '_')
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Lines output_of(const std::string& lesson) {
  const std::string program = lesson == "00_nano" ? "nano' LICENSE 20" : lesson + "'";
  const std::string command = "cd '" GRADUS_SOURCE_DIR "' && '" GRADUS_BINARY_DIR "/" + program;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe);
  Lines lines(1);
  for (int c = std::getc(pipe.get()); c != EOF; c = std::getc(pipe.get())) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(c);
  }
  return lines;
}

}  // namespace

TEST_CASE("the course has each lesson and quotes its output") {
  const Lines names = lessons();
  const std::vector<Section> sections = sections_of("course/index.md");
  REQUIRE(names.size() >= 6);
  REQUIRE(sections.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    REQUIRE(names[i].rfind(sections[i].title.substr(0, 2) + "_", 0) == 0);
    CHECK(sections[i].debugger_lines > 0);
    CHECK(!sections[i].quotes.empty());
    const Lines printed = output_of(names[i]);
    for (const Lines& quote : sections[i].quotes) check_quote("course/index.md", quote, printed);
  }
}

TEST_CASE("docs/guides/custom_operation.md quotes an operation and the checker's report") {
  const Lines printed = output_of("check_your_gradient");
  std::ifstream file(GRADUS_SOURCE_DIR "/examples/check_your_gradient.cpp");
  Lines source;
  for (std::string line; std::getline(file, line);) source.push_back(line);
  std::size_t quotes = 0;
  for (const Section& section : sections_of("guides/custom_operation.md")) {
    for (const Lines& quote : section.quotes) check_quote("guides/custom_operation.md", quote, printed);
    for (const Lines& quote : section.code) check_quote("guides/custom_operation.md", quote, source);
    quotes += section.quotes.size() + section.code.size();
  }
  CHECK(quotes == 5);
}

}  // namespace gradus::testing::test_course
