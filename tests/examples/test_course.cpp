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
  std::string title;          // taken from "## Try it"; empty for the lines before the first title
  std::vector<Lines> quotes;  // between "```text" and "```"
  std::vector<Lines> code;    // between "```cpp" and "```"
  std::size_t debugger_lines = 0;  // lines that begin with "(gdb) "
  std::size_t answers = 0;         // folded answers
};

Lines lines_of(const std::string& path) {
  std::ifstream file(GRADUS_SOURCE_DIR "/" + path);
  REQUIRE(file);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<Section> sections_of(const std::string& document) {
  std::vector<Section> sections(1);
  Lines* quote = nullptr;
  for (const std::string& line : lines_of("docs/" + document)) {
    if (line.rfind("## ", 0) == 0) sections.push_back({line.substr(3), {}, {}, 0, 0});
    Section& section = sections.back();
    section.answers += line.find("<summary>Answer</summary>") != std::string::npos;
    section.debugger_lines += line.rfind("(gdb) ", 0) == 0;
    if (line == "```") quote = nullptr;
    if (quote != nullptr) quote->push_back(line);
    if (line == "```text") quote = &section.quotes.emplace_back();
    if (line == "```cpp") quote = &section.code.emplace_back();
  }
  return sections;
}

/// Requires `original` to contain the lines of `quote`, in order. "    …" stands for omitted lines.
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

/// Returns the names of the lessons by number, such as "03_tensors"; 00 is examples/nano.
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

TEST_CASE("the page of each lesson has all sections and quotes the program and its output") {
  const Lines names = lessons(), index = lines_of("docs/course/index.md");
  REQUIRE(names.size() >= 6);
  for (const std::string& name : names) {
#ifndef __OPTIMIZE__
    if (name == "14_tiny_gpt") continue;  // takes a quarter of an hour, and is a test of its own
#endif
    const std::string page = "course/" + name + ".md";
    INFO(page);
    const auto links_here = [&](const std::string& line) {
      return line.find("](" + name + ".md)") != std::string::npos;
    };
    CHECK(std::any_of(index.begin(), index.end(), links_here));
    const Lines source = lines_of("examples/" + (name == "00_nano" ? "nano/main" : name) + ".cpp");
    const Lines printed = output_of(name);
    Lines titles;
    Section all;
    for (const Section& section : sections_of(page)) {
      titles.push_back(section.title);
      for (const Lines& quote : section.quotes) check_quote(page, quote, printed);
      for (const Lines& quote : section.code) check_quote(page, quote, source);
      all.quotes.insert(all.quotes.end(), section.quotes.begin(), section.quotes.end());
      all.code.insert(all.code.end(), section.code.begin(), section.code.end());
      all.debugger_lines += section.debugger_lines;
      if (section.title == "Check yourself") CHECK(section.answers == 3);
      if (section.title == "Try it") CHECK(section.answers > 0);
    }
    if (titles.back() == "Exercises") titles.pop_back();
    CHECK(titles == Lines{"", "You will learn", "Before you start", "The idea", "Look at the trace",
                          "Stop in the debugger", "Try it", "Check yourself", "Recap"});
    CHECK(!all.quotes.empty());
    CHECK(!all.code.empty());
    CHECK(all.debugger_lines > 0);
  }
}

TEST_CASE("docs/guides/custom_operation.md quotes an operation and the checker's report") {
  const Lines printed = output_of("check_your_gradient");
  const Lines source = lines_of("examples/check_your_gradient.cpp");
  std::size_t quotes = 0;
  for (const Section& section : sections_of("guides/custom_operation.md")) {
    for (const Lines& quote : section.quotes)
      check_quote("guides/custom_operation.md", quote, printed);
    for (const Lines& quote : section.code)
      check_quote("guides/custom_operation.md", quote, source);
    quotes += section.quotes.size() + section.code.size();
  }
  CHECK(quotes == 5);
}

}  // namespace gradus::testing::test_course
