// The tree stays small: lines of a function, of a file, of a component.
#include <algorithm>
#include <string>
#include <vector>

#include "gradus/tests/house/sources.h"
#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

constexpr std::size_t kFileAim = 300;
constexpr std::size_t kFileWall = 400;
constexpr std::size_t kFunctionWall = 40;

/// Code, that is: what is neither blank nor a comment. Explaining must cost nothing.
bool is_code(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && line.compare(first, 2, "//") != 0;
}

std::size_t lines_in(const std::vector<std::string>& components) {
  std::size_t lines = 0;
  for (const Source& source : read_components(components))
    lines +=
        static_cast<std::size_t>(std::count_if(source.lines.begin(), source.lines.end(), is_code));
  return lines;
}

/// Does a block open here that is a function's body, by the way the tree is indented?
bool opens_function(const std::string& line, std::size_t indent) {
  if (line.size() <= indent || line.back() != '{') return false;
  if (line.find_first_not_of(' ') != indent) return false;
  if (line[indent] == '}' || line[indent] == '/') return false;  // "} else {", and comments
  if (line.find("= {") == line.size() - 3) return false;         // a table
  const std::string start = line.substr(indent, line.find_first_of(" ({", indent) - indent);
  return !contains({"namespace", "class", "struct", "union", "enum", "extern", "template", "if",
                    "for", "while", "switch", "do", "else", "try", "case", "default:"},
                   start);
}

struct Function {
  std::size_t line;    // where it opens, from 1
  std::size_t length;  // of the body, braces not counted
};

/// Functions at namespace level and members of a class, found by their closing brace: clang-format
/// puts it under the first letter of the line that opens the block.
std::vector<Function> functions(const std::vector<std::string>& lines) {
  std::vector<Function> found;
  for (const std::size_t indent : {std::size_t{0}, std::size_t{2}}) {
    const std::string closing = std::string(indent, ' ') + "}";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!opens_function(lines[i], indent)) continue;
      for (std::size_t end = i + 1; end < lines.size(); ++end) {
        if (lines[end].rfind(closing, 0) != 0) continue;
        found.push_back({i + 1, end - i - 1});
        break;
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the length of a function is seen") {
  const std::vector<Function> found = functions({
      "namespace {",
      "int twice(int x) {",
      "  if (x) {",
      "  }",
      "  return 2 * x;",
      "}",
      "const int table[] = {",
      "  1,",
      "};",
      "struct S {",
      "  int once() {",
      "    return 1;",
      "  }",
      "};",
  });
  REQUIRE(found.size() == 2);
  CHECK(found[0].line == 2);
  CHECK(found[0].length == 3);
  CHECK(found[1].line == 11);
  CHECK(found[1].length == 1);
}

TEST_CASE("a function has at most 40 lines") {
  for (const Source& source : library_sources()) {
    for (const Function& function : functions(source.lines)) {
      INFO(source.path << ":" << function.line);
      CHECK(function.length <= kFunctionWall);
    }
  }
}

TEST_CASE("a file has at most 400 lines, and should have at most 300") {
  for (const Source& source : all_sources()) {
    INFO(source.path);
    CHECK(source.lines.size() <= kFileWall);
    if (source.lines.size() > kFileAim) {
      WARN(source.path << " has " << source.lines.size() << " lines");
    }
  }
}

TEST_CASE("components keep their budgets") {
  CHECK(lines_in({"base"}) <= 2500);
  CHECK(lines_in({"engine"}) <= 2200);
  CHECK(lines_in({"base", "engine", "ops", "nn"}) <= 13800);
  CHECK(lines_in({"models"}) <= 1500);
  const std::size_t raw =
      lines_in({"check/raw"});  // a product of its own: needs no other component
  CHECK(raw <= 4264);
  CHECK(lines_in({"check"}) <= 6176);
  CHECK(raw > 0);
  CHECK(lines_in({"check"}) - raw <= 1912);  // 150 of them adapters for other libraries
  const std::size_t distributed = lines_in({"train/distributed"});
  const std::size_t faults = lines_in({"train/distributed/faults"});
  CHECK(distributed - faults <= 700);  // shards, transports, the optimiser in parts
  CHECK(faults <= 270);                // a process that dies, is silent, or differs
  CHECK(faults > 0);
  CHECK(lines_in({"trace"}) <= 2625);  // of these the recorder of steps 1,480
  CHECK(lines_in({"trace", "io", "train"}) - distributed <= 8825);
  CHECK(lines_in({"io"}) <= 4219);
  CHECK(lines_in({"examples/gpt"}) <= 1460);
  CHECK(lines_in({"base"}) > 0);  // the walk does find the tree
}

TEST_CASE("the trace page is small enough to read") {
  std::size_t code = 0, bytes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(GRADUS_SOURCE_DIR) / "viewer")) {
    if (entry.path().extension() != ".js") continue;
    const Source source = read_source(GRADUS_SOURCE_DIR, entry.path());
    INFO(source.path);
    CHECK(source.lines.size() <= kFileWall);
    code +=
        static_cast<std::size_t>(std::count_if(source.lines.begin(), source.lines.end(), is_code));
    bytes += static_cast<std::size_t>(entry.file_size());
  }
  CHECK(code <= 1500);
  CHECK(bytes <= 80 * 1024);
  CHECK(bytes > 0);
}

}  // namespace gradus::house
