// docs/from_query_to_transformer.md leads through the files: what it names must be in them.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kDocs = GRADUS_SOURCE_DIR "/docs";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Link {
  std::string words, path;  // of "[words](path)"
};

std::vector<Link> links_of(const std::string& text) {
  std::vector<Link> links;
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::size_t open = text.rfind('[', at), close = text.find(')', at);
    links.push_back({text.substr(open + 1, at - open - 1), text.substr(at + 2, close - at - 2)});
  }
  return links;
}

/// Is `name` a function or a class of this source: "name(" or "class name "?
bool defines(const std::string& source, const std::string& name) {
  if (source.find("class " + name + " ") != std::string::npos) return true;
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = source.find(name + "("); at != std::string::npos;
       at = source.find(name + "(", at + 1))
    if (at == 0 || !in_name(source[at - 1])) return true;
  return false;
}

}  // namespace

TEST_CASE("links and what they name are seen") {
  const std::vector<Link> links = links_of("a [`f`](../x.cpp) and [b.md](b.md)");
  REQUIRE(links.size() == 2);
  CHECK(links[0].words == "`f`");
  CHECK(links[0].path == "../x.cpp");
  CHECK(links[1].words == "b.md");
  CHECK(defines("Tensor A::f(int)", "A::f"));
  CHECK(defines("class F : G {", "F"));
  CHECK(!defines("Tensor my_f(int) { return f; }", "f"));
  CHECK(!defines("class FG {", "F"));
}

TEST_CASE(
    "the way from the query to the Transformer names what is there, and a file at each step") {
  const std::string page = text_of(kDocs / "from_query_to_transformer.md");
  std::set<std::string> lessons;
  std::size_t functions = 0;
  for (const Link& link : links_of(page)) {
    INFO("[" << link.words << "](" << link.path << ")");
    const fs::path file = kDocs / link.path;
    REQUIRE(fs::is_regular_file(file));
    if (link.words.front() != '`') continue;
    const std::string name = link.words.substr(1, link.words.size() - 2);
    if (link.path.rfind("../examples/", 0) == 0 && std::isdigit(name.front())) {
      CHECK(file.stem() == name);
      lessons.insert(name.substr(0, 2));
    } else {
      CHECK(defines(text_of(file), name));
      ++functions;
    }
  }
  CHECK(lessons == std::set<std::string>{"05", "06", "07", "08", "09", "10"});
  CHECK(functions > 40);
  std::size_t steps = 0;
  for (std::size_t at = page.find("\n## "); at != std::string::npos; ++steps) {
    const std::size_t next = page.find("\n## ", at + 1);
    const std::string step = page.substr(at, next - at);
    INFO(step.substr(0, 60));
    CHECK(step.find("](../") != std::string::npos);
    at = next;
  }
  CHECK(steps == 11);
}

}  // namespace gradus::testing
