// README.md: one screen or two, and a debugger session whose lines are those of the sources.
#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(GRADUS_SOURCE_DIR "/" + path);
  REQUIRE(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

struct Frame {
  std::string function, file;
  std::size_t line;
  std::string source() const {
    const std::vector<std::string> lines = lines_of(file);
    return line >= 1 && line <= lines.size() ? lines[line - 1] : "";
  }
};

/// The frames `#n  function (…) at file:line` of a document.
std::vector<Frame> frames_in(const std::string& document) {
  const std::regex form(R"(^#\d+\s+([\w:]+) \(.*\) at ([\w/.]+):(\d+)$)");
  std::vector<Frame> frames;
  std::smatch found;
  for (const std::string& line : lines_of(document))
    if (std::regex_match(line, found, form))
      frames.push_back({found[1], found[2], std::stoul(found[3])});
  return frames;
}

}  // namespace

TEST_CASE("README fits in 120 lines") { CHECK(lines_of("README.md").size() <= 120); }

TEST_CASE("each frame of a document's session calls the one above it, where it says") {
  const std::string document = GENERATE("README.md", "docs/first_hour.md");
  const std::vector<Frame> frames = frames_in(document);
  REQUIRE(frames.size() >= 5);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const std::string& above = frames[i - 1].function;
    const std::string name = above.substr(above.rfind(':') + 1);
    INFO(frames[i].file << ":" << frames[i].line << " has \"" << frames[i].source() << "\"");
    CHECK(frames[i].source().find(name + "(") != std::string::npos);
  }
}

TEST_CASE("the line that a document's session stops at is quoted as it stands") {
  const std::string document = GENERATE("README.md", "docs/first_hour.md");
  const std::vector<std::string> readme = lines_of(document);
  const Frame first = frames_in(document).front();
  const std::string quoted = std::to_string(first.line) + "\t" + first.source();
  INFO(quoted);
  CHECK(std::find(readme.begin(), readme.end(), quoted) != readme.end());
}

}  // namespace gradus::house
