// GRADUS_JUDGE_INPUTS=N (inputs per application) and GRADUS_JUDGE_SEED=S select different inputs.
// In this case, no input may take longer than a second.
#include <nlohmann/json.hpp>
#include <random>

#include "gradus/tests/examples/run_subprocess.h"

namespace gradus::testing::test_settings_fuzz {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr std::int64_t kMemory = 50'000'000;  // memory limit of a run, in bytes
constexpr double kMost = 200;                 // memory limit of its process, in MB

Json any_value(std::mt19937& random) {
  static const Json some =
      Json::parse(R"([0, 1, 2, 3, -1, 7, 16, 64, 1000, 1000000, 10000000, 1e7, 1e308, 1e-308, 0.5,
      -0.5, 1.5, 100000000, 1000000000, 9223372036854775807, -9223372036854775808,
      18446744073709551615, "text", "", true, false, null, [], {}, [1, 2], ["text.txt"]])");
  return some[random() % some.size()];
}

Json another(const Json& value, std::mt19937& random) {
  if (!value.is_number() || random() % 2 == 0) return any_value(random);
  static const std::vector<double> factors = {0, 0.5, 2, 3, 10, 1000, -1};
  const double number = value.get<double>() * factors[random() % factors.size()];
  return value.is_number_integer() ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

template <class T>
const T& one_of(const std::vector<T>& some, std::mt19937& random) {
  return some[random() % some.size()];
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

std::string corrupted(const std::string& settings, std::mt19937& random) {
  Json json = Json::parse(settings);
  const std::vector<std::string> keys = keys_of(json);
  std::string text = settings;
  switch (random() % 10) {
    case 0:
      json.erase(one_of(keys, random));
      break;
    case 1:
      json["unknown"] = any_value(random);
      break;
    case 2:
      return text.substr(0, random() % text.size());
    case 3:
      text[random() % text.size()] = static_cast<char>(random());
      return text;
    case 4:
      return one_of<std::string>({"", std::string(200'000, '['), "null", "{\"width\": NaN}",
                                  "{\"a\": 1e999}", std::string(5'000'000, ' ')},
                                 random);
    default:
      for (std::uint32_t i = 0; i <= random() % 2; ++i) {
        Json& value = json[one_of(keys, random)];
        value = another(value, random);
      }
  }
  return json.dump(2);
}

Words corrupted_flags(const std::string& train, const std::string& settings, std::mt19937& random) {
  Words words = words_of(train);
  const Json json = Json::parse(settings);
  for (std::uint32_t i = 0; i <= random() % 2; ++i) {
    const std::string key = one_of(keys_of(json), random);
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    flag = flag == "learning-rate" ? "--lr" : "--" + flag;
    const auto at = std::find(words.begin(), words.end(), flag);
    if (at != words.end()) words.erase(at, at + 2);
    const Json value = another(json[key], random);
    words.push_back(flag + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return words;
}

Words use_of(const std::string& app) {
  static const std::map<std::string, std::string> all = {
      {"gpt", "sample run --tokens 3"},  {"translate", "run run 8"},
      {"recommend", "for run 3 4"},      {"classify", "text run a"},
      {"listen", "to run --class rise"}, {"vision", "look run --digit 3"}};
  return words_of(all.at(app));
}

struct Worst {
  double seconds = 0, megabytes = 0;
  int inputs = 0, refused = 0;

  void add(const Application& app, const Ended& ended, const std::string& input, bool timed) {
    INFO(input);
    CAPTURE(ended.err, ended.code, ended.seconds, ended.megabytes);
    const bool no = ended.code == 2;
    CHECK((no || ended.code == 0 || ended.code == 130));
    const std::string all = "\n" + ended.err;
    const std::size_t line = all.find("\n" + app.name + ": ");
    const bool at_once = line == 0;  // nothing, not even the plan of the run, precedes the error
    if (no) {
      CHECK(all.find('\n', line + 1) == all.size() - 1);
      CHECK(all.size() - line < 1000);
    }
    if (kMeasured) CHECK(ended.megabytes < kMost);
    if (timed) CHECK(ended.seconds < (no && at_once ? 0.2 : 1));
    seconds = std::max(seconds, ended.seconds), megabytes = std::max(megabytes, ended.megabytes);
    ++inputs, refused += no;
  }
};

Worst fuzz(const Application& app, std::int64_t inputs, std::uint32_t seed, bool timed) {
  const Workplace here;
  std::mt19937 random(seed);
  REQUIRE(app.train(here, "kept").code == 0);
  const std::string settings = contents(here.directory / "kept/settings.json");
  Worst worst;
  for (std::int64_t i = 0; i < inputs; ++i) {
    fs::remove_all(here.directory / "run");
    if (i % 3 == 2) {
      const Words words = corrupted_flags("train " + app.flags + " --out run", settings, random);
      std::string line;
      for (const std::string& word : words) line += word + " ";
      const Ended ended = run_subprocess(app, here, words, kMemory);
      worst.add(app, ended, line, timed);
      // Validation cannot predict all allocations.
      CAPTURE(line, ended.err);
      if (ended.code == 2 && ended.err.find("out of memory") == std::string::npos)
        CHECK_FALSE(fs::exists(here.directory / "run/settings.json"));
      continue;
    }
    fs::copy(here.directory / "kept", here.directory / "run");
    const std::string wrong = corrupted(settings, random);
    here.write("run/settings.json", wrong);
    const Words words =
        i % 3 == 0 ? words_of("train --threads 1 --out run --resume") : use_of(app.name);
    worst.add(app, run_subprocess(app, here, words, kMemory),
              words[0] + " " + wrong.substr(0, 1500), timed);
  }
  return worst;
}

TEST_CASE("wrong settings and flags end in one line or in a run") {
  const char *many = std::getenv("GRADUS_JUDGE_INPUTS"), *other = std::getenv("GRADUS_JUDGE_SEED");
  auto seed = other ? static_cast<std::uint32_t>(std::atoll(other)) : 1;
  for (const Application& app : applications()) {
    INFO(app.name << " " << app.flags);
    const Worst worst = fuzz(app, many ? std::atoll(many) : 6, seed++, many);
    CHECK(worst.refused > 0);
    if (many)
      std::printf("%-10s %d inputs, %d refused, at most %.2f s and %.0f MB\n", app.name.c_str(),
                  worst.inputs, worst.refused, worst.seconds, worst.megabytes);
  }
}

}  // namespace
}  // namespace gradus::testing::test_settings_fuzz
