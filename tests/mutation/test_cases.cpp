#define CATCH_CONFIG_RUNNER
#include <algorithm>

#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::mutation {
namespace {

Catch::Session& session() {
  static Catch::Session only;  // Catch2 version 2 allows only one session
  return only;
}

struct Test {
  std::string name, file;
};

/// Returns all tests except slow and hidden tests, and those that start programs.
std::vector<Test> all_tests() {
  std::vector<Test> all;
  const auto& registry = Catch::getRegistryHub().getTestCaseRegistry();
  const auto add = [&](const std::string& name, const std::string& tags, const std::string& file) {
    for (const char* tag : {"[process]", "[slow]", "[.]", "[.nightly]", "[nightly]"})
      if (tags.find(tag) != tags.npos) return;
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
  Cases cases;
  for (const Test& test : all_tests())
    cases.push_back(
        {"test: " + test.name, [name = test.name] { return run_test(name); }, test.file});
  return cases;
}

const CaseSource source(test_cases);

}  // namespace
}  // namespace gradus::mutation
