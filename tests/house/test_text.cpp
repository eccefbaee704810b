#include <string>
#include <utility>
#include <vector>

#include "gradus/tests/house/sources.h"
#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

constexpr std::size_t kColumns = 100;

/// Returns the number of characters. In UTF-8, a byte 10xxxxxx continues a character.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

bool has_word(const std::string& line, const std::string& word) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool begins = at == 0 || letters.find(line[at - 1]) == std::string::npos;
    const std::size_t end = at + word.size();
    if (begins && (end == line.size() || letters.find(line[end]) == std::string::npos)) return true;
  }
  return false;
}

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

}  // namespace

TEST_CASE("the text check recognizes words, columns and comments") {
  CHECK(columns("dx → dy") == 7);
  CHECK(has_word("x = assert(y);", "assert"));
  CHECK(!has_word("static_assert(y);", "assert"));
  CHECK(without_comment("a;  // b") == "a;  ");
}

TEST_CASE("lines fit in 100 columns, without tabs or trailing blanks") {
  for (const Source& source : all_sources()) {
    INFO(source.path);
    CHECK(source.ends_with_newline);
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      INFO("line " << i + 1 << ": " << line);
      CHECK(columns(line) <= kColumns);
      CHECK(line.find_first_of("\t\r") == std::string::npos);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
}

TEST_CASE("the library uses only what libc++ 13 and clang 14 have, as the playground's compiler") {
  const std::vector<std::pair<std::string, std::string>> replacements = {
      {"std::ranges", "an algorithm of iterators"},
      {"std::bit_cast", "gradus::bit_cast (engine/base/bit_cast.h)"},
      {"std::source_location", "SourceLocation (engine/base/source_location.h)"},
      {"std::format", "str_cat (engine/base/error.h)"},
      {"std::jthread", "std::thread"}};
  for (const Source& source : all_sources()) {
    if (!contains(kLibrary, source.component)) continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      for (const auto& [word, replacement] : replacements) {
        INFO(source.path << ":" << i + 1 << ": instead of " << word << ", use " << replacement);
        CHECK(without_comment(source.lines[i]).find(word) == std::string::npos);
      }
  }
}

TEST_CASE("a source opens with a description or its header, and headers have guards") {
  for (const Source& source : all_sources()) {
    INFO(source.path);
    REQUIRE(!source.lines.empty());
    if (source.header) {  // a comment on its only type may replace the header's description
      CHECK(contains(source.lines, "#pragma once"));
      continue;
    }
    if (source.path.rfind("tests/", 0) == 0) continue;  // test titles describe the file
    const std::string own = std::filesystem::path(source.path).stem().string() + ".h\"";
    const std::string& first = source.lines[0];
    const bool opens_with_header =
        first.rfind("#include \"", 0) == 0 && first.find(own) == first.size() - own.size();
    CHECK((first.rfind("// ", 0) == 0 || opens_with_header));
  }
}

// In a CMake list, an element continues until its brackets are closed. After a name with an open
// bracket, ctest would merge all other tests.
TEST_CASE("names of tests close their brackets") {
  for (const Source& source : all_sources())
    for (const std::string& line : source.lines) {
      if (line.rfind("TEST_CASE(", 0) != 0) continue;
      INFO(source.path << ": " << line);
      CHECK(std::count(line.begin(), line.end(), '[') == std::count(line.begin(), line.end(), ']'));
    }
}

TEST_CASE("sources contain no TODO, FIXME, XXX or HACK") {
  for (const Source& source : all_sources()) {
    if (source.path == "tests/house/test_text.cpp") continue;
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      for (const char* word : {"TODO", "FIXME", "XXX", "HACK"}) CHECK(!has_word(line, word));
    }
  }
}

TEST_CASE("the library neither ends the program nor uses global random state") {
  // std::regex recurses for each character; std::rand and std::time ignore the user's seed.
  const std::vector<std::string> banned = {
      "abort()",   "std::abort", "std::exit",  "std::quick_exit", "std::signal",
      "std::rand", "std::srand", "std::regex", "std::time",       "using namespace std"};
  for (const Source& source : library_sources()) {
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      for (const std::string& word : banned) CHECK(!has_word(without_comment(line), word));
    }
  }
}

/// C has no other constants, and macros let projects compile the checker's headers only once.
bool may_have_macros(const std::string& path) {
  return path.rfind("engine/base/", 0) == 0 || path.rfind("check/c/", 0) == 0 ||
         path == "check/raw/values.h" || path == "check/raw/compiled.cpp";
}

TEST_CASE("macros are defined only in files for platform differences") {
  for (const Source& source : library_sources()) {
    if (may_have_macros(source.path)) continue;
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      CHECK(line.rfind("#define", 0) != 0);
    }
  }
}

TEST_CASE("no op is in an anonymous namespace") {
  for (const Source& source : library_sources()) {
    bool anonymous = false;
    for (const std::string& line : source.lines) {
      if (line == "namespace {") anonymous = true;
      if (line == "}  // namespace") anonymous = false;
      INFO(source.path << ": " << line);
      CHECK(!(anonymous && (line.find(": Op {") != std::string::npos ||
                            line.find(": public Op {") != std::string::npos)));
    }
  }
}

}  // namespace gradus::house
