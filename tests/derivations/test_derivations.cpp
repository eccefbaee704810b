// Compares every line of docs/derivations with the gradient by definition, with its neighboring
// lines, and with Op::backward.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "gradus/tests/derivations/mutants.h"
#include "gradus/tests/derivations/trial.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/operations.h"
#include "gradus/trace/derive.h"

namespace gradus::derivations {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(std::filesystem::path(GRADUS_SOURCE_DIR) / path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<Case> cases_of(const std::string& file) {
  std::vector<Case> out;
  for (Case& each : all_cases())
    if (each.file == file) out.push_back(std::move(each));
  return out;
}

std::string all_failures(const std::string& name, const Document& document, const Case& which) {
  std::ostringstream out;
  for (int trial = 0; trial < kTrials; ++trial) try {
      for (const Failure& failure : Trial(document, which, trial).failures())
        out << "docs/derivations/" << name << ".md:" << failure.line << ": " << failure.what
            << " (trial " << trial + 1 << ")\n";
    } catch (const std::exception& e) {
      out << "docs/derivations/" << name << ".md: " << e.what() << "\n";
    }
  return out.str();
}

/// Ops whose slopes are ±1, so that division by a slope equals multiplication.
const std::set<std::string> kUnitSlopes = {"abs"};

}  // namespace

TEST_CASE("derivations: each line equals the gradient, and the last equals backward") {
  for (const auto& [name, document] : all_documents()) {
    INFO(name);
    const std::vector<Case> cases = cases_of(name);
    CHECK(!cases.empty());  // at least one case executes this derivation
    for (const Case& each : cases) CHECK(all_failures(name, document, each) == "");
  }
}

TEST_CASE("derivations: every operation with a backward has a derivation") {
  const std::vector<std::string> known = derivation_names();
  std::size_t count = 0;
  for (const testing::Operation& op :
       testing::all_operations({"ops", "ops/attention", "ops/mask", "engine"})) {
    if (!op.differentiable) continue;
    for (const std::string& name : op.names) {
      INFO(name << " has no docs/derivations/" << name
                << ".md. CONTRIBUTING.md explains how to write one.");
      CHECK(std::count(known.begin(), known.end(), name) == 1);
      ++count;
    }
  }
  CHECK(count >= 50);  // fails if the sources are not found
}

TEST_CASE("derivations: each derivation has at most twelve lines, with reasons and existing code") {
  for (const auto& [name, document] : all_documents()) {
    INFO("docs/derivations/" << name << ".md");
    CHECK(document.name == name);
    const auto reasons = std::count_if(document.lines.begin(), document.lines.end(),
                                       [](const Line& line) { return !line.defines(); });
    CHECK(reasons >= 2);
    CHECK(reasons <= 12);
    CHECK(!document.anchors.empty());
    for (const Anchor& anchor : document.anchors) {
      INFO(anchor.file << ": " << anchor.text);
      CHECK(contents(anchor.file).find(anchor.text) != std::string::npos);
    }
  }
}

TEST_CASE("derivations: a mistake in any line is detected in that line") {
  std::map<std::string, int> planted;
  int detected_count = 0, total = 0;
  for (const auto& [name, document] : all_documents())
    for (const Case& each : cases_of(name)) {
      std::vector<Trial> trials;
      for (int i = 0; i < kTrials; ++i) trials.emplace_back(document, each, i);
      for (const Line& line : document.lines) {
        if (line.defines()) continue;
        const bool zero = trials[0].is_zero(line);
        for (const Mutant& mutant : mutants(line.right)) {
          // The gradient is 0, so a wrong factor has no effect.
          if (zero && mutant.kind != "number") continue;
          const bool detected = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
            return trial.differs(line, mutant.right).has_value();
          });
          INFO("docs/derivations/" << name << ".md:" << line.number << ": " << line.left << " = "
                                   << spell(mutant.right) << " (" << mutant.kind << ")");
          const bool by_unit = mutant.kind == "operator" && kUnitSlopes.count(name);
          if (!mutant.may_be_equal && !by_unit) CHECK(detected);
          ++planted[mutant.kind];
          ++total;
          detected_count += detected;
        }
      }
    }
  for (const char* kind : {"sign", "index", "factor", "transpose", "number", "term", "operator",
                           "function", "relation"})
    CHECK(planted[kind] > 0);
  std::cout << detected_count << " of " << total
            << " mistakes were detected; the others are equivalent\n";
  CHECK(detected_count > total * 9 / 10);
}

TEST_CASE("derivations: a mistake in a file is reported for its line only") {
  for (const auto& [name, document] : all_documents())
    for (const Case& each : cases_of(name))
      for (std::size_t i = 0; i < document.lines.size(); ++i) {
        if (Trial(document, each, 0).is_zero(document.lines.back())) continue;
        Document wrong = document;
        Expression& right = wrong.lines[i].right;
        right = {.kind = Kind::sum, .signs = {-1}, .children = {Expression(right)}};
        std::set<int> lines;
        for (const Failure& failure : Trial(wrong, each, 0).failures()) lines.insert(failure.line);
        INFO("docs/derivations/" << name << ".md:" << wrong.lines[i].number);
        if (wrong.lines[i].defines())
          // A wrong definition changes forward, or every line that uses the definition.
          CHECK(!lines.empty());
        else
          CHECK(lines == std::set<int>{wrong.lines[i].number});
      }
}

TEST_CASE("derivations: a mistake in a definition is detected") {
  for (const auto& [name, document] : all_documents())
    for (const Case& each : cases_of(name))
      for (std::size_t i = 0; i < document.lines.size(); ++i) {
        if (!document.lines[i].defines()) continue;
        for (const Mutant& mutant : mutants(document.lines[i].right)) {
          Document wrong = document;
          wrong.lines[i].right = mutant.right;
          const bool detected = all_failures(name, wrong, each) != "";
          INFO("docs/derivations/" << name << ".md:" << wrong.lines[i].number << ": "
                                   << wrong.lines[i].left << " = " << spell(mutant.right));
          if (!mutant.may_be_equal) CHECK(detected);
        }
      }
}

}  // namespace gradus::derivations
