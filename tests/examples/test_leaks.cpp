#include "gradus/tests/examples/result.h"

namespace gradus::testing::test_leaks {
namespace {

void check_same(const Result& a, const Result& b) {
  CHECK(a.training.size() == b.training.size());
  for (const auto& [name, bits] : a.training) {
    INFO(name);
    CHECK((b.training.count(name) != 0 && b.training.at(name) == bits));
  }
}

void check_parts(const Application& app) {
  INFO(app.name << " " << app.flags);
  const Workplace here;
  const auto with = [&](std::optional<Part> part, const char* name) {
    exchanged = part;
    const Result result = result_of(app, here, app.flags, name);
    exchanged.reset();
    return result;
  };
  const Result usual = with({}, "usual"), other = with(Part::training, "training"),
               held_out = with(Part::validation, "validation");
  CHECK(usual.training.at("steps") != other.training.at("steps"));
  check_same(usual, held_out);
  CHECK(usual.judged != held_out.judged);
  if (!app.has_test) return;
  const Result test = with(Part::test, "test");
  check_same(usual, test);
  CHECK(usual.judged == test.judged);
  CHECK(usual.weights == test.weights);
  if (app.main != translate_main) CHECK(usual.out != test.out);
}

TEST_CASE("gpt learns weights and tokens from the training part only") {
  for (const Application& app : applications())
    if (app.main == gpt_main) check_parts(app);
}

TEST_CASE("changed examples in one part affect only the results of that part") {
  for (const Application& app : applications())
    if (app.main != gpt_main) check_parts(app);
}

}  // namespace
}  // namespace gradus::testing::test_leaks
