// The tests of the library's components as cases, run by Catch2 one at a time.
#define CATCH_CONFIG_RUNNER
#include <algorithm>

#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::mutation {
namespace {

Catch::Session& session() {
  static Catch::Session only;  // version 2 allows no second one
  return only;
}

struct Test {
  std::string name, file;
};

/// Not those that start programs, or are hidden.
std::vector<Test> all_tests() {
  std::vector<Test> all;
  const auto& registry = Catch::getRegistryHub().getTestCaseRegistry();
  const auto add = [&](const std::string& name, const std::string& tags, const std::string& file) {
    if (tags.find("[process]") != tags.npos || tags.find("[.]") != tags.npos) return;
    all.push_back({name, file.substr(std::min(file.size(), file.rfind("tests/")))});
  };
#if __has_include(<catch2/catch_all.hpp>)
  for (const Catch::TestCaseInfo* test : registry.getAllInfos())
    add(test->name, test->tagsAsString(), test->lineInfo.file);
#else
  for (const Catch::TestCase& test : registry.getAllTests())
    add(test.name, test.tagsAsString(), test.lineInfo.file);
#endif
  return all;
}

/// As Catch2 wants a name on its command line.
std::string quoted(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::string(",[]\\\"*").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string run_test(const std::string& name) {
  Catch::ConfigData config = session().configData();
  config.testsOrTags = {quoted(name)};
  config.abortAfter = 1;
  session().useConfigData(config);
  return session().run() == 0 ? "" : "failed";
}

Cases test_cases() {
  // They measure memory, and take seconds where every block has guards. "the graph of a
  // gradient is freed on a small stack" has chains that are long enough for a recursion to fail.
  const std::string left_out[] = {
      "a chain of a million nodes lives and dies on a small stack",
      "a chain of a million nodes that save their inputs lives and dies on a small stack",
      "attention never holds a T × S buffer",
      // Here all memory is poisoned, at any time.
      "conditions: results that are never written",
      "conditions: poisoned memory stays poisoned where it was",
      "fault zoo: wrong derivatives fail with their cause, and right ones pass"};
  Cases cases;
  for (const Test& test : all_tests())
    if (std::find(std::begin(left_out), std::end(left_out), test.name) == std::end(left_out))
      cases.push_back(
          {"test: " + test.name, [name = test.name] { return run_test(name); }, true, test.file});
  return cases;
}

const CaseSource source(test_cases);

}  // namespace
}  // namespace gradus::mutation
