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

std::vector<fs::path> documents() {
  std::vector<fs::path> all = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

template <class F>
void each_match(const std::string& text, const std::regex& pattern, F f) {
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) f(*it);
}

}  // namespace

TEST_CASE("every relative link of a document leads to a file") {
  for (const fs::path& document : documents())
    each_match(text_of(document), std::regex(R"(\]\(([^)#: ]+)(#[^)]*)?\))"),
               [&](const auto& match) {
                 fs::path file = document.parent_path() / match[1].str();
                 if (file.parent_path().filename() == "traces")  // generated
                   file = kRoot / "examples" / (file.stem().string() + ".cpp");
                 INFO(document << " links to " << match[1]);
                 CHECK(fs::exists(file));
               });
}

TEST_CASE("every function that a document links to is in the linked file") {
  std::size_t functions = 0;
  for (const fs::path& document : documents())
    each_match(
        text_of(document), std::regex(R"(\[`([\w:]*::)?([a-z_]\w*)`\]\(([^)#: ]+)\))"),
        [&](const auto& match) {
          const fs::path file = document.parent_path() / match[3].str();
          if (!fs::is_regular_file(file) || file.stem() == match[2].str()) return;
          INFO(document << ": " << match[2] << " in " << match[3]);
          CHECK(std::regex_search(text_of(file), std::regex("\\b" + match[2].str() + "\\(")));
          ++functions;
        });
  CHECK(functions > 5);
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
