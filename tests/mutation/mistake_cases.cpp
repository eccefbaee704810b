#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/tests/mutation/cases.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::mutation {
namespace {

std::string error_in(const testing::Mistake& mistake) {
  const std::string message = testing::message_of<Error>(mistake.make);
  for (const std::string& noun : mistake.nouns)
    if (message.find(noun) == message.npos) return "the message lacks \"" + noun + "\"";
  const NoGrad quiet;
  return testing::message_of<Error>(mistake.make) == message ? "" : "another message under NoGrad";
}

Cases mistake_cases() {
  Cases cases;
  for (testing::Mistake& each : testing::all_mistakes()) {
    std::string name = "mistake: " + each.function;
    for (const std::string& noun : each.nouns) name += ", " + noun;
    cases.push_back({name, [mistake = std::move(each)] { return error_in(mistake); }});
  }
  return cases;
}

const CaseSource source(mistake_cases);

}  // namespace
}  // namespace gradus::mutation
