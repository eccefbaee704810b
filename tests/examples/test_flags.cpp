#include <map>
#include <set>
#include <sstream>

#include "gradus/tests/examples/result.h"

namespace gradus::testing::test_flags {
namespace {

/// Values of a flag, each of which must change the result of the reference run.
struct Other {
  std::string flag;
  std::vector<std::string> values;
  bool learns = true;     // false: only evaluations change
  std::string with = {};  // required flags, also in the reference run
};

const std::vector<Other> kOfAll = {{"--steps", {"5"}},     {"--batch", {"5"}},
                                   {"--lr", {"0.2"}},      {"--seed", {"13"}},
                                   {"--shards", {"2"}},    {"--layers", {"2"}},
                                   {"--heads", {"1"}},     {"--width", {"12"}},
                                   {"--dropout", {"0.2"}}, {"--eval-every", {"3"}, false}};

const std::map<std::string, std::vector<Other>> kOfOne = {
    {"gpt",
     {{"--val", {"held_out.txt"}, false},
      {"--tokenizer", {"byte", "word", "bpe"}},
      {"--vocab", {"50"}, true, "--tokenizer word"},
      {"--context", {"6"}},
      {"--positions", {"learned", "alibi", "relative"}},
      {"--kv-heads", {"1"}},
      {"--window", {"3"}},
      {"--norm", {"layer"}},
      {"--activation", {"gelu_erf", "relu", "relu2", "silu", "swiglu"}},
      {"--qk-norm", {"=false"}},
      {"--bias", {"=true"}},
      {"--zero-init", {"=false"}},
      {"--optimizer", {"adamw"}},
      {"--freeze", {"blocks.*"}},
      {"--lora", {"*.qkv_proj"}},
      {"--lora-rank", {"3"}, true, "--lora *.qkv_proj"}}},
    {"translate", {{"--task", {"sentences"}}, {"--examples", {"30"}}, {"--optimizer", {"muon"}}}},
    {"recommend", {{"--users", {"200"}}, {"--optimizer", {"adamw"}}}},
    {"classify",
     {{"--optimizer", {"adamw"}},
      {"--pretrain", {"3"}},
      {"--length", {"7"}},
      {"--vocabulary", {"30"}}}},
    {"listen", {{"--optimizer", {"adamw"}}, {"--tested", {"10"}, false}}},
    {"vision", {{"--optimizer", {"adamw"}}, {"--tested", {"10"}, false}, {"--patch", {"6"}}}}};

/// Flags that do not affect learning, and --from and --config, which combine other flags.
const std::set<std::string> kElsewhere = {"--help",     "--out",        "--resume", "--minutes",
                                          "--no-trial", "--checkpoint", "--tree",   "--from",
                                          "--config",   "--bits"};

std::string changed(const std::string& flags, const Other& other, const std::string& value) {
  std::istringstream in(flags);
  std::string out;
  for (std::string word; in >> word;) {
    if (word == other.flag)
      in >> word;
    else
      out += word + " ";
  }
  return out + other.flag + (value[0] == '=' ? "" : " ") + value;
}

std::string learned(const Result& result) {
  std::string all;
  for (const auto& [name, bits] : result.training)
    if (name.find(".json") == std::string::npos && !name.starts_with("fact ")) all += name + bits;
  return all;
}

std::string judged(const Result& result) {
  std::string all = result.out;
  for (const std::string& line : result.judged) all += line;
  return all;
}

void check_flags(const Application& app, const std::vector<Other>& others) {
  const Workplace here;
  std::map<std::string, Result> results;  // results by flags
  const auto result = [&](const std::string& flags) -> const Result& {
    INFO(app.name << " " << flags);
    if (results.count(flags) == 0)
      results[flags] = result_of(app, here, flags, std::to_string(results.size()));
    return results[flags];
  };
  for (const Other& other : others) {
    const std::string usual = other.with + " " + app.flags;
    std::vector<std::string> all = {usual};
    for (const std::string& value : other.values) all.push_back(changed(usual, other, value));
    std::set<std::string> seen;
    for (const std::string& flags : all) {
      INFO(app.name << " " << flags);
      CHECK(seen.insert((other.learns ? learned : judged)(result(flags))).second);
    }
  }
}

std::set<std::string> flags_of(const Application& app) {
  const Workplace here;
  std::set<std::string> flags;
  for (const std::string& line : lines_of(app.run(here, "train --help").out))
    if (const std::size_t at = line.find("--"); at != std::string::npos && at < 6)
      flags.insert(line.substr(at, line.find(' ', at) - at));
  return flags;
}

TEST_CASE("each value of each training flag changes the run") {
  std::set<std::string> seen;
  for (const Application& app : applications()) {
    if (!seen.insert(app.name).second) continue;
    std::vector<Other> others = kOfOne.at(app.name);
    others.insert(others.end(), kOfAll.begin(), kOfAll.end());
    check_flags(app, others);
    std::set<std::string> known = kElsewhere;
    for (const Other& other : others) known.insert(other.flag);
    for (const std::string& flag : flags_of(app)) {
      INFO(app.name << " train " << flag << " needs another value in this test");
      CHECK(known.count(flag) == 1);
    }
  }
}

}  // namespace
}  // namespace gradus::testing::test_flags
