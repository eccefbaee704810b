#include "gradus/tests/derivations/document.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gradus::derivations {
namespace {

constexpr std::string_view kArrow = "⟵";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

Line read_line(const std::string& text, int number, const std::string& before) {
  Line line{.number = number};
  const std::size_t arrow = text.find(kArrow);
  const std::string formula = trimmed(text.substr(0, arrow));
  if (arrow != std::string::npos) line.reason = trimmed(text.substr(arrow + kArrow.size()));
  const std::size_t equals = formula.find('=');
  if (equals == std::string::npos) throw NotationError("no '=' in \"" + formula + "\"");
  line.left = equals == 0 ? before : trimmed(formula.substr(0, equals));
  if (line.left.empty()) throw NotationError("missing left side of \"" + formula + "\"");
  line.text = trimmed(formula.substr(equals + 1));
  line.right = parse(line.text);
  return line;
}

/// Parses "Code: `file`: `text`".
Anchor read_anchor(const std::string& text) {
  std::vector<std::string> quoted;
  for (std::size_t open = text.find('`'); open != std::string::npos;) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    quoted.push_back(text.substr(open + 1, close - open - 1));
    open = text.find('`', close + 1);
  }
  if (quoted.size() != 2) throw NotationError("\"" + text + "\" must have the form `file`: `line`");
  return {quoted[0], quoted[1]};
}

}  // namespace

Document read_document(const std::string& text, const std::string& file) {
  Document out;
  std::istringstream in(text);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      if (line.rfind("```", 0) == 0)
        inside = !inside;
      else if (inside && !trimmed(line).empty())
        out.lines.push_back(
            read_line(line, number, out.lines.empty() ? "" : out.lines.back().left));
      else if (line.rfind("# ", 0) == 0)
        out.name = trimmed(line.substr(2));
      else if (line.rfind("Code: ", 0) == 0)
        out.anchors.push_back(read_anchor(line));
    } catch (const NotationError& e) {
      throw NotationError(file + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  return out;
}

std::vector<std::pair<std::string, Document>> all_documents() {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::string, Document>> out;
  for (const auto& entry :
       fs::directory_iterator(fs::path(GRADUS_SOURCE_DIR) / "docs" / "derivations")) {
    if (entry.path().extension() != ".md") continue;
    const std::string name = entry.path().stem().string();
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    out.emplace_back(name, read_document(text.str(), "docs/derivations/" + name + ".md"));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace gradus::derivations
