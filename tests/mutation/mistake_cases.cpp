// What functions and layers refuse (tests/ops/test_complete.cpp), one mistake a case.
#include <utility>

#include "gradus/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::mutation {
namespace {

std::string refused(const testing::Mistake& mistake) {
  const std::string said = testing::message_of<Error>(mistake.make);
  const NoGrad quiet;
  const bool same = testing::message_of<Error>(mistake.make) == said;
  return same && said.find(mistake.words) != said.npos ? "" : "said: " + said;
}

Cases mistake_cases() {
  Cases cases;
  for (testing::Mistake& each : testing::all_mistakes()) {
    const std::string name = "mistake: " + each.function + ": " + each.words;
    cases.push_back({name, [mistake = std::move(each)] { return refused(mistake); }});
  }
  return cases;
}

const CaseSource source(mistake_cases);

}  // namespace
}  // namespace gradus::mutation
