#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/tests/house/sources.h"
#include "gradus/tests/support/catch.h"

namespace gradus::house::words {
namespace {

namespace fs = std::filesystem;

struct Phrase {
  std::string_view odd, better;
};

/// Phrases that are always wrong. Add a phrase only if it cannot occur in a good sentence.
constexpr Phrase kPhrases[] = {
    {"a matter of", "depends on"},
    {"amongst", "among"},
    {"anew", "again"},
    {"as it were", "nothing"},
    {"at the hands of", "by"},
    {"behaviour", "behavior"},
    {"beside", "next to, or compared with"},
    {"by turns", "interleaved"},
    {"go on with", "continue"},
    {"goes on", "continues"},
    {"guilty", "faulty"},
    {"handed on", "passed on"},
    {"in less room", "in less memory"},
    {"in the manner of", "like"},
    {"initialised", "initialized"},
    {"is no part of", "is not part of"},
    {"likewise", "also, or the same"},
    {"mended", "fixed"},
    {"normalised", "normalized"},
    {"of one's own", "your own"},
    {"of other people", "pretrained, or of other projects"},
    {"of yours", "your"},
    {"other people's", "pretrained, or other projects'"},
    {"recognised", "recognized"},
    {"reckoned", "computed"},
    {"room for weights", "memory for weights"},
    {"shall", "must"},
    {"so many as", "as many as"},
    {"somebody", "someone, or say who"},
    {"stands there twice", "appears twice"},
    {"thereof", "of it"},
    {"told apart", "distinguished"},
    {"turned round", "reversed"},
    {"walk back", "backward pass"},
    {"what bears", "say what it is"},
    {"what is told", "the message"},
    {"what multiplies", "the matmul backend"},
    {"whilst", "while"},
};

/// Text in lower case with single spaces, and the line number of each character.
struct Prose {
  std::string text;
  std::vector<int> lines;

  void add(char c, int line) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (text.empty() || text.back() == ' ')) return;
    text += blank ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    lines.push_back(line);
  }
  void end(int line) {  // ends any phrase at this line
    if (!text.empty() && text.back() != '|') add('|', line);
  }
};

bool is_letter(char c) {
  return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Returns a message for each phrase in the text, such as "line 3: \"beside\". Write next to, or
/// compared with."
std::vector<std::string> findings(const Prose& prose) {
  std::vector<std::string> out;
  for (const Phrase& phrase : kPhrases) {
    const std::string_view odd = phrase.odd;
    for (std::size_t at = prose.text.find(odd); at != std::string::npos;
         at = prose.text.find(odd, at + 1)) {
      const std::size_t end = at + odd.size();
      if (at > 0 && is_letter(prose.text[at - 1])) continue;
      if (end < prose.text.size() && is_letter(prose.text[end])) continue;
      out.push_back("line " + std::to_string(prose.lines[at]) + ": \"" + std::string(odd) +
                    "\". Write " + std::string(phrase.better) + ".");
    }
  }
  return out;
}

Prose prose_of(const std::vector<std::string>& lines) {
  Prose out;
  bool code = false, fence = false;
  int number = 0;
  for (const std::string& line : lines) {
    ++number;
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 3, "```") == 0) fence = !fence;
    if (fence || first == std::string::npos) {
      code = false;
      out.end(number);
      continue;
    }
    for (const char c : line) {
      if (c == '`') code = !code;
      if (!code) out.add(c, number);
    }
    out.add(' ', number);
  }
  return out;
}

/// Returns the string literals of a C++ source, or its comments. A phrase may continue in the next
/// literal or comment line, but not across code.
Prose cpp_prose(const std::vector<std::string>& lines, bool comments) {
  Prose out;
  std::string raw;  // the end marker of the raw string, or ""
  int number = 0;
  for (const std::string& line : lines) {
    ++number;
    if (line.rfind("#include", 0) == 0) continue;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!raw.empty()) {
        if (line.compare(i, raw.size(), raw) == 0) {
          i += raw.size() - 1;
          raw.clear();
        } else if (!comments) {
          out.add(line[i], number);
        }
      } else if (line.compare(i, 2, "//") == 0) {
        if (comments)
          for (std::size_t k = i; k < line.size(); ++k)
            if (line[k] != '/' || k > i + 2) out.add(line[k], number);
        break;
      } else if (line.compare(i, 2, "R\"") == 0) {
        const std::size_t open = line.find('(', i);
        raw = ")" + line.substr(i + 2, open - i - 2) + "\"";
        i = open;
      } else if (line[i] == '"') {
        for (++i; i < line.size() && line[i] != '"'; ++i) {
          if (line[i] == '\\') ++i;
          if (!comments && i < line.size()) out.add(line[i], number);
        }
      } else if (line[i] == '\'' && (i == 0 || !is_letter(line[i - 1]))) {
        for (++i; i < line.size() && line[i] != '\''; ++i)
          if (line[i] == '\\') ++i;
      } else if (line[i] != ' ') {
        out.end(number);
      }
    }
    out.add(' ', number);
  }
  return out;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> documents() {
  const fs::path root = GRADUS_SOURCE_DIR;
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  for (const char* folder : {".github", "bench", "check", "docs", "examples", "tests"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (fs::recursive_directory_iterator at(root / folder), end; at != end; ++at) {
      if (at->path() == root / "examples/data") at.disable_recursion_pending();
      if (at->path().extension() == ".md") all.push_back(at->path());
    }
  }
  return all;
}

void check_words(const std::string& path, const Prose& prose) {
  for (const std::string& finding : findings(prose)) FAIL_CHECK(path + ", " + finding);
}

}  // namespace

TEST_CASE("the word check finds phrases across lines, and skips code") {
  const std::vector<std::string> found = findings(prose_of({"A, beside", "b, as it", "were."}));
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "line 2: \"as it were\". Write nothing.");
  CHECK(found[1] == "line 1: \"beside\". Write next to, or compared with.");
  CHECK(findings(prose_of({"`beside`, besides", "```", "beside", "```", "as it", "", "were"}))
            .empty());

  const std::vector<std::string> source = {"say(\"as it \"  // beside", "    \"were\", '\"',",
                                           "    \"go on \" + x + \"with\");"};
  CHECK(findings(cpp_prose(source, false)).size() == 1);
  CHECK(findings(cpp_prose(source, true)).size() == 1);
}

TEST_CASE("documents use plain words") {
  const fs::path root = GRADUS_SOURCE_DIR;
  const std::vector<fs::path> all = documents();
  CHECK(all.size() > 100);
  for (const fs::path& path : all)
    check_words(path.lexically_relative(root).generic_string(), prose_of(lines_of(path)));
}

TEST_CASE("messages, help texts and comments of public headers use plain words") {
  std::vector<std::string> components = kLibrary;
  components.insert(components.end(), {"examples", "bench"});
  for (const Source& source : read_components(components)) {
    check_words(source.path, cpp_prose(source.lines, false));
    if (source.header && contains(kLibrary, source.component))
      check_words(source.path, cpp_prose(source.lines, true));
  }
}

}  // namespace gradus::house::words
