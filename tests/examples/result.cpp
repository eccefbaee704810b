#include "gradus/tests/examples/result.h"

#include <set>
#include <sstream>

#include "gradus/io/checkpoint.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

std::string bits_of(const Tensor& x) {
  return dispatch(x.dtype(), [&]<class T>() {
    std::ostringstream out;
    out << x.shape() << ' ';
    for (const T each : x.to_vector<T>())
      out.write(reinterpret_cast<const char*>(&each), sizeof each);
    return out.str();
  });
}

}  // namespace

Result result_of(const Application& app, const Workplace& here, const std::string& flags,
                 const std::string& name) {
  const Watching quick;
  const Outcome outcome = app.run(here, "train " + flags + " --out " + name);
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

}  // namespace gradus::testing
