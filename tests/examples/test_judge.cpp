#include "gradus/examples/apps/support/judge.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/platform.h"
#include "gradus/tests/examples/run_subprocess.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_judge {
namespace {

using Json = nlohmann::ordered_json;
using examples::Judge;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// RAII guard for memory::set_limit.
struct Limit {
  explicit Limit(std::int64_t bytes) { memory::set_limit(bytes); }
  ~Limit() { memory::set_limit(0); }
};

bool accepts(const char* key, double value) {
  try {
    Judge().number(key, value);
    if (std::abs(value) < 1e15 && value == std::floor(value))
      Judge().number(key, static_cast<std::int64_t>(value));
    return true;
  } catch (const ValueError&) {
    return false;
  }
}

TEST_CASE("the ranges of settings include their limits") {
  struct Row {
    double least, most;
    std::vector<const char*> whole, real;
  };
  const double tiny = std::numeric_limits<double>::min(), below1 = std::nextafter(1.0, 0.0);
  const std::vector<Row> rows = {
      {1, 1e9, {"steps", "batch", "eval_every", "context", "vocab", "most_steps"}, {}},
      {1, 1e9, {"users", "examples"}, {}},
      {1, 1e6, {"heads", "width", "kv_heads", "patch", "tested"}, {}},
      {1, 1e5, {"layers"}, {}},
      {1, 1e3, {"beams"}, {}},
      {2, 1e6, {"length"}, {}},
      {5, 1e6, {"vocabulary"}, {}},
      {0, 1e9, {"warmup", "tokens", "top_k", "window", "pretrain", "tokenizer_vocab"}, {}},
      {0, kInfinite, {"seed"}, {}},
      {0, 1e9, {}, {"clip_norm", "weight_decay", "temperature", "evaluation_steps"}},
      {0, below1, {}, {"dropout", "beta2"}},
      {0, 1, {}, {"final_factor", "min_p"}},
      {tiny, 1, {}, {"top_p"}},
      {tiny, std::numeric_limits<double>::max(), {}, {"lr", "learning_rate"}},
      {tiny, 1e6, {}, {"minutes"}},
      {tiny, 1e9, {}, {"seconds", "repetition_penalty"}}};
  for (const Row& row : rows) {
    for (const char* key : row.whole) {
      INFO(key);
      CHECK(accepts(key, row.least));
      CHECK_FALSE(accepts(key, row.least - 1));
      CHECK(accepts(key, std::min(row.most, 1e18)));
      if (row.most < kInfinite) CHECK_FALSE(accepts(key, row.most + 1));
    }
    for (const char* key : row.real) {
      INFO(key);
      CHECK(accepts(key, row.least));
      CHECK_FALSE(accepts(key, std::nextafter(row.least, -1.0)));
      CHECK(accepts(key, row.most));
      CHECK_FALSE(accepts(key, std::nextafter(row.most, kInfinite)));
      CHECK_FALSE(accepts(key, std::nan("")));
    }
  }
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(Judge().number("steps", most), ValueError);
  CHECK_THROWS_AS(Judge().number("seed", -most), ValueError);
}

TEST_CASE("errors name the flag or field, and memory limits apply") {
  CHECK_REFUSES(ValueError, Judge().number("eval_every", 0.0), "--eval-every 0", "1,000,000,000");
  CHECK_REFUSES(FileError, Judge("x.json").number("eval_every", std::int64_t{0}), "x.json",
                "eval_every", "0");
  const Judge judge;
  {
    const Limit limit(5'000'000);
    judge.memory(5e6, {{"batch", 3}});
    CHECK_REFUSES(ValueError, judge.memory(5'000'001, {{"batch", 3}, {"kv_heads", 4}}), "--batch",
                  "--kv-heads");
    CHECK(message_of<FileError>([&] {
            Judge("x.json").memory(kInfinite, {{"width", 4}});
          }).rfind("x.json: width 4: need at least 9000000000 GB of memory", 0) == 0);
  }
  const auto machine = static_cast<double>(platform::physical_memory());
  judge.memory(machine / 2, {});
  CHECK_THROWS_AS(judge.memory(machine * 1.1, {}), ValueError);
}

TEST_CASE("training memory covers weights, gradients, two moments, and the largest phase") {
  using examples::Need;
  // In f32: weights, gradients and two moments in memory, and three of these in a checkpoint.
  CHECK(Need{.parameters = 100}.training() == 2800);
  CHECK(Need{.parameters = 100, .step = 1201}.training() == 2801);
  CHECK(Need{.parameters = 100, .step = 2, .evaluation = 1300, .data = 7}.training() == 2907);
  CHECK(Need{.parameters = 100, .step = 9999, .data = 7}.using_it() == 400);
}

std::string without(const std::string& words, const std::string& flag) {
  return std::regex_replace(words, std::regex(flag + " [^ ]+"), "");
}

std::vector<std::string> all_of(const std::string& text, const char* what) {
  const std::regex pattern(what);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

/// Returns the other arguments of `command`, for a run in "kept".
std::string words_for(const Application& app, const std::string& command) {
  if (command == "train") return app.flags + " --out fresh";
  static const std::map<std::string, std::string> all = {
      {"gpt sample", "kept"},
      {"gpt attend", "kept --prompt a --out x.svg"},
      {"gpt chat", "kept"},
      {"gpt demo", "text.txt"},
      {"translate run", "kept 8"},
      {"listen to", "kept --class rise"},
      {"listen make", "--class rise x.wav"},
      {"vision look", "kept"}};
  INFO(app.name << " " << command << " has numeric flags that this test does not cover");
  REQUIRE(all.count(app.name + " " + command) == 1);
  return all.at(app.name + " " + command);
}

/// Checks that no flag accepts negative values. Returns the number of flags.
int check_flags(const Application& app, const Workplace& here) {
  int tried = 0;
  const std::string help = app.run(here, "--help").out;
  const std::string commands = help.substr(help.find("ubcommands:"));
  for (const std::string& command : all_of(commands, "\n  ([a-z]+) "))
    for (const std::string& flag :
         all_of(app.run(here, command + " --help").out, "(--[a-z0-9-]+) (?:INT|FLOAT)")) {
      INFO(app.name << " " << command << " " << flag);
      std::string words = without(words_for(app, command), flag);
      if (flag == "--vocab") words += " --tokenizer word";
      if (flag == "--minutes") words = command == "demo" ? "text.txt" : "text.txt --out fresh";
      check_refused(app.run(here, command + " " + words + " " + flag + "=-1"), {flag + " -1: "});
      CHECK_FALSE(fs::exists(here.directory / "fresh"));
      ++tried;
    }
  return tried;
}

int check_fields(const Application& app, const Workplace& here) {
  const Json whole = Json::parse(contents(here.directory / "kept/settings.json"));
  int tried = 0;
  for (const auto& [key, value] : whole.items()) {
    if (!value.is_number()) continue;
    INFO(app.name << " " << key);
    Json json = whole;
    json[key] = -1;
    here.write("kept/settings.json", json.dump());
    check_refused(app.run(here, "train --resume --out kept --threads 1"),
                  {"kept/settings.json: " + key + " -1: must ", "; restore the original"});
    ++tried;
  }
  here.write("kept/settings.json", whole.dump());
  return tried;
}

TEST_CASE("every application validates every numeric setting") {
  std::set<std::string> seen;
  for (const Application& app : applications()) {
    if (!seen.insert(app.name).second) continue;
    INFO(app.name);
    const Workplace here;
    REQUIRE(app.train(here, "kept").code == 0);
    CHECK(check_flags(app, here) > 5);
    CHECK(check_fields(app, here) > 5);
    check_refused(app.run(here, "--threads -1 train"), {"--threads", "-1", "1024"});
  }
}

struct Wrong {
  const char *key, *value;  // value is JSON
  std::vector<std::string> say;
};
const std::vector<Wrong> kWrong = {
    {"layers", "1000000", {"layers 1000000", "at most 100,000"}},
    {"context", "10000000", {"context 10000000", "need at least", "reduce one of them"}},
    {"batch", "100000000", {"batch 100000000", "need at least", "reduce one of them"}},
    {"seed", "18446744073709551615", {"seed is 1844", "must be a 64-bit integer"}},
    {"width", "8.0", {"width is 8.0", "must be a 64-bit integer"}},
    {"width", "\"8\"", {"width is \"8\"", "must be a 64-bit integer"}},
    {"width", "null", {"width is null", "must be a 64-bit integer"}},
    {"heads", "3", {"heads 3: must divide run/settings.json: width 8"}},
    {"kv_heads", "4", {"kv_heads 4", "divide the 2 heads"}},
    {"warmup", "4", {"warmup 4", "at most the 3 steps"}},
    {"dropout", "\"none\"", {"dropout is \"none\", but must be a number"}},
    {"dropout", "true", {"dropout is true, but must be a number"}},
    {"checkpoint", "1", {"checkpoint is 1, but must be true or false"}},
    {"positions", "\"odd\"", {"run/settings.json: positions", "odd", "rotary"}},
    {"config", "5", {"config is 5, but must be a string"}},
    {"files", "[]", {"files []", "at least one text"}},
    {"files", "[1]", {"files is [1], but must be a list of strings"}},
    {"widht", "8", {"unknown field \"widht\""}},
    {"time", "3", {"time must be an object"}},
    {"time", R"({"seconds": -1, "evaluation_steps": 1, "most_steps": 5})", {"seconds -1"}},
    {"time", R"({"seconds": 1, "evaluation_steps": -1, "most_steps": 5})", {"evaluation_steps -1"}},
    {"time", R"({"seconds": 1, "evaluation_steps": 1, "most_steps": 0})", {"most_steps 0"}},
    {"time",
     R"({"seconds": 1, "evaluation_steps": 1, "most_steps": 5, "x": 0})",
     {"unknown field \"x\""}},
    {"time", R"({"seconds": 1, "most_steps": 5})", {"it lacks \"evaluation_steps\""}}};

TEST_CASE("gpt validates its flags before it reads a text") {
  const Workplace here;
  const Application& gpt = applications().front();
  const Limit limit(1'000'000'000);
  for (const char* flag : {"--layers 1000000", "--batch 100000000", "--context 10000000"})
    check_refused(gpt.run(here, "train missing.txt " + std::string(flag)), {flag});
  check_refused(gpt.run(here, "train missing.txt --heads 6"), {"missing.txt"});
}

TEST_CASE("invalid fields of settings.json are reported by name, with a fix") {
  const Workplace here;
  const Application& gpt = applications().front();
  REQUIRE(gpt.train(here, "run").code == 0);
  const Json whole = Json::parse(contents(here.directory / "run/settings.json"));
  const auto check = [&](const std::string& file, std::vector<std::string> say, bool to_use) {
    INFO(file);
    say.insert(say.end(), {"run/settings.json", "restore the original files"});
    here.write("run/settings.json", file);
    check_refused(gpt.run(here, "train --threads 1 --resume --out run"), say);
    if (to_use) check_refused(gpt.run(here, "sample run --tokens 1"), say);
  };
  const Limit limit(1'000'000'000);
  for (const auto& [key, value, say] : kWrong) {
    Json json = whole;
    json[key] = Json::parse(value);
    check(json.dump(), say, say[1 % say.size()] != "need at least");
  }
  for (const auto& [key, value] : whole.items()) {
    Json json = whole;
    json.erase(key);
    const std::set<std::string> old = {
        "program",    "shards",     "tokenizer_vocab", "positions", "kv_heads",  "window",
        "norm",       "activation", "qk_norm",         "bias",      "zero_init", "optimizer",
        "checkpoint", "from",       "freeze",          "lora",      "lora_rank", "bits"};
    if (old.count(key) == 0) check(json.dump(), {"it lacks \"" + key + "\""}, true);
  }
  check("{", {"parse error"}, true);
  check("[]", {"it must be an object {...}"}, true);
  check("{\"a\":" + std::string(9, '[') + std::string(9, ']') + "}", {"nested too deeply"}, true);
  check(std::string(4'000'001, ' '), {"has 4000001 bytes"}, true);
  Json json = whole;
  json["batch"] = 100'000'000;  // affects only training
  here.write("run/settings.json", json.dump());
  CHECK(gpt.run(here, "sample run --tokens 1").code == 0);
  json = whole;
  json["vocab"] = 20;
  here.write("run/settings.json", json.dump());
  check_refused(gpt.run(here, "train --resume --out run"), {"vocab 20", "vocabulary of the text"});
  json = whole, json["context"] = 400;  // exceeds the held-out tenth
  here.write("run/settings.json", json.dump());
  check_refused(gpt.run(here, "train --resume --out run"), {"context of 400", "at least 401"});
  json = whole, json["width"] = 16;
  here.write("run/settings.json", json.dump());
  for (const char* command : {"train --resume --out run", "sample run"}) {
    const std::string message = gpt.run(here, command).err;
    CAPTURE(message);
    CHECK(has(message, ".safetensors: holds a model with other sizes than settings.json: "));
    CHECK(message.find("expected [", message.find("other sizes")) <
          message.find("; restore the original"));
  }
}

}  // namespace
}  // namespace gradus::testing::test_judge
