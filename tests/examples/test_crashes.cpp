#include "gradus/tests/examples/applications.h"
#include "gradus/tests/support/crashes.h"

namespace gradus::testing::test_crashes {
namespace {

Resumable run_of(const Application& app, const Workplace& here) {
  const auto must = [](const Outcome& outcome) {
    if (outcome.code != 0) throw FileError(outcome.err.substr(0, outcome.err.rfind('\n')));
  };
  const std::string resume = std::string("train --out run --resume --threads 1") +
                             (app.main == gpt_main ? " --no-trial" : "");
  return {(here.directory / "run").string(), [=, &app, &here] { must(app.train(here, "run")); },
          [=, &app, &here] { must(app.run(here, resume)); }, true};
}

TEST_CASE("a run of gpt resumes bit for bit from any state that a crash leaves") {
  const Workplace here;
  check_every_prefix_resumes(run_of(applications().front(), here));
}

TEST_CASE("a run of any other application resumes bit for bit after a crash") {
  for (const Application& app : applications()) {
    if (app.main == gpt_main) continue;
    INFO(app.name << " " << app.flags);
    const Workplace here;
    check_every_prefix_resumes(run_of(app, here), 3);
  }
}

}  // namespace
}  // namespace gradus::testing::test_crashes
