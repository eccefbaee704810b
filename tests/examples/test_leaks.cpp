// Training sees training examples alone; the rest is for what the documents say it is for.
#include <set>

#include "gradus/io/checkpoint.h"
#include "gradus/tests/examples/applications.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream in(text);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// What a run came to.
struct Result {
  std::map<std::string, std::string> training;  // all that learning made, by name
  Lines judged;                                 // lines of evaluations
  std::string weights;                          // the best ones
  std::string out;                              // the last word
};

std::string bits_of(const Tensor& x) {
  return dispatch(x.dtype(), [&]<class T>() {
    std::ostringstream out;
    out << x.shape() << ' ';
    for (const T each : x.to_vector<T>())
      out.write(reinterpret_cast<const char*>(&each), sizeof each);
    return out.str();
  });
}

Result result_of(const Application& app, const Workplace& here, const std::string& name) {
  const Watching quick;
  const Outcome outcome = app.train(here, name);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  Result result{{}, {}, contents(here.directory / name / "model.safetensors"), ""};
  for (const std::string& line : lines_of(outcome.out))
    if (!has(line, "loss curve: ")) result.out += line + "\n";
  const fs::path run = here.directory / name;
  const io::Checkpoint saved = io::load_checkpoint((run / "checkpoint.safetensors").string());
  for (const auto& [key, tensor] : saved.tensors) result.training[key] = bits_of(tensor);
  const std::set<std::string> judged = {"best",          "best_step",     "rises",
                                        "last_held_out", "metrics_bytes", "texts"};
  for (const auto& [key, value] : saved.facts)
    if (judged.count(key) == 0) result.training["fact " + key] = value;
  for (const std::string& line : lines_of(contents(run / "metrics.jsonl")))
    if (has(line, "held_out"))
      result.judged.push_back(line);
    else
      result.training["steps"] += line + "\n";
  for (const char* file : {"settings.json", "tokenizer.json", "vocabulary.json"})
    for (const std::string& line : lines_of(contents(run / file)))
      if (!has(line, "text_digest")) result.training[file] += line + "\n";
  return result;
}

void check_alike(const Result& a, const Result& b) {
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
    const Result result = result_of(app, here, name);
    exchanged.reset();
    return result;
  };
  const Result usual = with({}, "usual"), other = with(Part::training, "training"),
               held_out = with(Part::validation, "validation");
  CHECK(usual.training.at("steps") != other.training.at("steps"));
  check_alike(usual, held_out);
  CHECK(usual.judged != held_out.judged);
  if (!app.has_test) return;
  const Result test = with(Part::test, "test");
  check_alike(usual, test);
  CHECK(usual.judged == test.judged);
  CHECK(usual.weights == test.weights);
  if (app.main != translate_main) CHECK(usual.out != test.out);  // it has learnt no word yet
}

TEST_CASE("gpt learns of the training part alone, its tokens included") {
  for (const Application& app : applications())
    if (app.main == gpt_main) check_parts(app);
}

TEST_CASE("other examples in a part change what this part is for, and nothing before it") {
  for (const Application& app : applications())
    if (app.main != gpt_main) check_parts(app);
}

}  // namespace
}  // namespace gradus::testing
