// Links in documents lead to files, and debugger sessions show functions of the tree.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRADUS_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// README.md and docs/**/*.md.
std::vector<fs::path> documents() {
  std::vector<fs::path> all = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

/// Calls f with the groups of each match.
template <class F>
void each_match(const std::string& text, const std::regex& pattern, F f) {
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) f(*it);
}

}  // namespace

TEST_CASE("every relative link of a document leads to a file") {
  for (const fs::path& document : documents())
    each_match(text_of(document), std::regex(R"(\]\(([^)#: ]+)(#[^)]*)?\))"),
               [&](const auto& match) {
                 INFO(document << " links to " << match[1]);
                 CHECK(fs::exists(document.parent_path() / match[1].str()));
               });
}

TEST_CASE("every frame of a document's debugger session is a function of the named file") {
  std::size_t frames = 0;
  for (const fs::path& document : documents())
    each_match(text_of(document), std::regex(R"(\n#\d+\s+([\w:]+) \(.*\) at ([\w/.]+):\d+)"),
               [&](const auto& match) {
                 const std::string function = match[1], file = match[2];
                 INFO(document << ": " << function << " at " << file);
                 const std::string name = function.substr(function.rfind(':') + 1);
                 CHECK(text_of(kRoot / file).find(name + "(") != std::string::npos);
                 ++frames;
               });
  CHECK(frames > 0);
}

}  // namespace gradus::house
