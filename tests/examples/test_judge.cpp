// Settings are judged before anything is made of them: files and flags with something wrong in them
// end in one line or in a run, within bounds of time and memory.
//
// GRADUS_JUDGE_INPUTS=N takes N inputs of each program; GRADUS_JUDGE_SEED=S others than ctest's.
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <csignal>

#include <nlohmann/json.hpp>
#include <random>

#include "gradus/tests/examples/gpt_program.h"

namespace gradus::testing {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t number_from(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoll(value) : otherwise;
}

struct Ended {
  int code;
  double seconds;  // of processors
  double megabytes;
  std::string err;
};

/// Runs a program in `where`. One that is at work after a while gets Ctrl-C. The limits are on what
/// it may map and compute; a program that has to be killed has code 137 or the like.
Ended run_within(const fs::path& where, const std::vector<std::string>& words) {
  constexpr rlim_t kMapped = 600'000'000;  // libraries and stacks of threads are 400 MB of these
  constexpr rlim_t kSeconds = 4;
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.data()));
  argv.push_back(nullptr);
  const std::string err = where / "err";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit mapped{kMapped, kMapped}, seconds{kSeconds, kSeconds};
    ::setrlimit(RLIMIT_AS, &mapped), ::setrlimit(RLIMIT_CPU, &seconds);
    ::signal(SIGALRM, SIG_DFL);
    const int file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(file, 1), ::dup2(file, 2);
    if (::chdir(where.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(99);
  }
  int status = 0;
  rusage used{};
  pid_t ended = 0;
  for (int waited = 0; (ended = ::wait4(child, &status, WNOHANG, &used)) == 0; ++waited) {
    if (waited % 300 == 299) ::kill(child, SIGINT);
    ::usleep(1000);
  }
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
          static_cast<double>(used.ru_maxrss) / 1e3, contents(err)};
}

/// A value that does not belong there, or may.
Json any_value(std::mt19937& random) {
  static const std::vector<Json> some = {0,
                                         1,
                                         2,
                                         3,
                                         -1,
                                         7,
                                         16,
                                         64,
                                         1000,
                                         1'000'000,
                                         1e7,
                                         1e308,
                                         1e-308,
                                         0.5,
                                         -0.5,
                                         1.5,
                                         100'000'000,
                                         "text",
                                         "",
                                         true,
                                         false,
                                         nullptr,
                                         Json::array(),
                                         Json::object(),
                                         {1, 2},
                                         10'000'000,
                                         1'000'000'000,
                                         std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::uint64_t>::max()};
  return some[random() % some.size()];
}

std::string one_of(const std::vector<std::string>& some, std::mt19937& random) {
  return some[random() % some.size()];
}

/// The settings with something wrong: one field or two, absent, unknown, or no JSON any more.
std::string spoilt(const std::string& settings, std::mt19937& random) {
  Json json = Json::parse(settings);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  std::string text = settings;
  switch (random() % 10) {
    case 0:
      json.erase(one_of(keys, random));
      return json.dump(2);
    case 1:
      json["unknown"] = any_value(random);
      return json.dump(2);
    case 2:
      return text.substr(0, random() % text.size());
    case 3:
      text[random() % text.size()] = static_cast<char>(random());
      return text;
    case 4:
      return one_of({"", std::string(200'000, '['), "null", "{\"width\": NaN}", "{\"a\": 1e999}",
                     std::string(5'000'000, ' ')},
                    random);
    case 5:
      json[one_of(keys, random)] = any_value(random);
      [[fallthrough]];
    default:
      json[one_of(keys, random)] = any_value(random);
      return json.dump(2);
  }
}

/// A program, how it trains at least, its flags of numbers, and the commands that use a run.
struct Program {
  std::string name;
  std::vector<std::string> train, flags, use;
};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Program> programs() {
  const std::vector<std::string> small = {"--layers", "1", "--width", "16", "--heads",      "2",
                                          "--batch",  "4", "--steps", "2",  "--eval-every", "1"};
  const std::vector<std::string> common = {"--steps", "--batch",      "--lr",
                                           "--seed",  "--eval-every", "--layers",
                                           "--heads", "--width",      "--dropout"};
  return {{"gpt",
           with({"text.txt", "--context", "8", "--no-trial"}, small),
           with(common, {"--context", "--kv-heads", "--window", "--vocab", "--minutes"}),
           {"sample", "run", "--tokens", "3"}},
          {"vision",
           with(small, {"--tested", "20"}),
           with(common, {"--tested", "--patch"}),
           {"look", "run", "--digit", "3"}},
          {"listen",
           with(small, {"--tested", "20"}),
           with(common, {"--tested"}),
           {"to", "run", "--class", "rise"}},
          {"recommend",
           with(small, {"--users", "50"}),
           with(common, {"--users"}),
           {"for", "run", "3", "4"}},
          {"translate",
           with(small, {"--examples", "50"}),
           with(common, {"--examples"}),
           {"run", "run", "May 3, 1998"}}};
}

/// What went too far, of all inputs of a program.
struct Worst {
  double seconds = 0, megabytes = 0;
  std::int64_t inputs = 0, refused = 0;
};

void check_bounds(const Ended& ended, const std::string& input, Worst& worst) {
  INFO(input);
  CAPTURE(ended.err, ended.code, ended.seconds, ended.megabytes);
  const bool refused = ended.code == 2;
  CHECK((refused || ended.code == 0 || ended.code == 130));
  const std::string last = ended.err.substr(ended.err.find_last_of('\n', ended.err.size() - 2) + 1);
  if (refused) CHECK(last.size() < 1000);
  // A run that is under way may be any; one that is refused says so and nothing else.
  if (refused && ended.err.rfind("machine", 0) != 0)
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') <= 4);
  CHECK(ended.megabytes < 200);
  worst.seconds = std::max(worst.seconds, ended.seconds);
  worst.megabytes = std::max(worst.megabytes, ended.megabytes);
  ++worst.inputs, worst.refused += refused;
}

void fuzz(const Program& program, std::int64_t inputs, std::uint32_t seed, Worst& worst) {
  const Workplace here;
  std::mt19937 random(seed);
  const std::string path = GRADUS_BINARY_DIR "/" + program.name;
  const std::vector<std::string> always = {path, "--threads", "1"};
  const auto train = [&](const std::vector<std::string>& more) {
    return run_within(here.directory, with(with(always, {"train"}), more));
  };
  const Ended first = train(with(program.train, {"--out", "run"}));
  CAPTURE(first.err);
  REQUIRE(first.code == 0);
  const std::string settings = contents(here.directory / "run/settings.json");
  for (std::int64_t i = 0; i < inputs; ++i) {
    if (i % 3 == 2) {  // the last of a flag's values counts
      const std::string flag = one_of(program.flags, random);
      const Json value = any_value(random);
      const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
      std::vector<std::string> words = with(program.train, {"--out", "flags"});
      for (std::size_t at = 0; at + 1 < words.size(); ++at)
        if (words[at] == flag)
          words.erase(words.begin() + static_cast<std::ptrdiff_t>(at),
                      words.begin() + static_cast<std::ptrdiff_t>(at) + 2);
      check_bounds(train(with(words, {flag + "=" + word})), flag + " " + word, worst);
      fs::remove_all(here.directory / "flags");
      continue;
    }
    const std::string wrong = spoilt(settings, random);
    here.write("run/settings.json", wrong);
    const Ended ended = i % 3 == 0 ? train({"--out", "run", "--resume"})
                                   : run_within(here.directory, with(always, program.use));
    check_bounds(ended, wrong.substr(0, 1500), worst);
  }
}

TEST_CASE("settings and flags with something wrong end in a run or in one line") {
  const std::int64_t inputs = number_from("GRADUS_JUDGE_INPUTS", 12);
  const auto seed = static_cast<std::uint32_t>(number_from("GRADUS_JUDGE_SEED", 1));
  for (const Program& program : programs()) {
    INFO(program.name);
    Worst worst;
    fuzz(program, inputs, seed, worst);
    CHECK(worst.refused > 0);
    std::printf("%-10s %lld inputs, %lld refused, at most %.2f s and %.0f MB\n",
                program.name.c_str(), static_cast<long long>(worst.inputs),
                static_cast<long long>(worst.refused), worst.seconds, worst.megabytes);
  }
}

/// Each value in the file of a finished run, and what must be said of it.
TEST_CASE("a run's settings are refused by name, with both values and the way on") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --no-trial --steps 2 --out run " + kSmall).code == 0);
  const Json whole = Json::parse(contents(here.directory / "run/settings.json"));
  const auto check = [&](const char* key, const Json& value, const std::vector<std::string>& say) {
    INFO(key << " " << value.dump());
    Json json = whole;
    json[key] = value;
    here.write("run/settings.json", json.dump());
    for (const char* command : {"train --threads 1 --resume --out run", "sample run --tokens 1"})
      check_refused(here.gpt(command), with(say, {"run/settings.json", "put back"}));
  };
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  check("layers", 100'001, {"layers 100001", "at most 100,000"});
  check("context", 1'000'000'001, {"context 1000000001", "at most 1,000,000,000"});
  check("batch", 1'000'000'001, {"batch 1000000001", "at most 1,000,000,000"});
  check("steps", 0, {"steps 0", "positive"});
  check("eval_every", 0, {"eval_every 0", "positive"});
  check("heads", 3, {"heads 3", "must divide", "width 16"});
  check("kv_heads", 0, {"kv_heads 0", "positive"});
  check("kv_heads", 4, {"kv_heads 4", "divide the 2 heads"});
  check("window", -1, {"window -1", "0 for all"});
  check("seed", -1, {"seed -1", "negative"});
  check("seed", std::numeric_limits<std::uint64_t>::max(), {"seed must be a whole number"});
  check("dropout", 1, {"dropout 1", "[0, 1)"});
  check("beta2", 1, {"beta2 1", "[0, 1)"});
  check("final_factor", 1.01, {"final_factor 1.01", "[0, 1]"});
  check("learning_rate", 0, {"learning_rate 0", "positive"});
  check("learning_rate", 1e308, {"learning_rate 1e+308", "at most 1,000"});
  check("weight_decay", -1, {"weight_decay -1"});
  check("clip_norm", -1, {"clip_norm -1"});
  check("warmup", 3, {"warmup 3", "at most the 2 steps"});
  check("width", 16.5, {"width must be a whole number", "16.5"});
  check("width", 16.0, {"width must be a whole number", "16.0"});
  check("width", "16", {"width must be a whole number", "\"16\""});
  check("dropout", "none", {"dropout must be a number", "\"none\""});
  check("checkpoint", 1, {"checkpoint must be true or false"});
  check("config", 5, {"config must be text"});
  check("files", {"text.txt", 1}, {"files must be a list of texts"});
  check("widht", 16, {"nothing is called \"widht\""});
  check("time", {{"seconds", -1}, {"evaluation_steps", 1}, {"most_steps", 5}}, {"seconds -1"});
  check("time", {{"seconds", 1}, {"most_steps", 5}}, {"it lacks \"evaluation_steps\""});
  check("width", huge / 2 * 2, {"width", "at most 1,000,000"});

  Json json = whole;
  json["vocab"] = 20;
  here.write("run/settings.json", json.dump());
  check_refused(here.gpt("train --resume --out run"), {"vocab 20", "kinds of tokens"});
  json = whole, json["context"] = 400;  // the held-out tenth is shorter
  here.write("run/settings.json", json.dump());
  check_refused(here.gpt("train --resume --out run"), {"context of 400", "at least 401"});
}

TEST_CASE("what does not fit into the process's limit is refused before it is made") {
  const Workplace here;
  const std::string limited = "ulimit -v 600000; " + Workplace::program() + " --threads 1 train ";
  const std::string base = "text.txt --no-trial --steps 1 --out x ";
  for (const std::string what :
       {"--layers 100000 --width 64 --heads 2", "--width 8192 --heads 2 --layers 1",
        "--batch 100000000", "--positions alibi --layers 40 --heads 64 --width 64 --context 250"}) {
    INFO(what);
    check_refused(here.shell(limited + base + what), {"of memory, but this process may have"});
    CHECK_FALSE(fs::exists(here.directory / "x"));
  }
  CHECK(here.shell(limited + base + "--layers 2 --width 64 --heads 2 --context 16").code == 0);
}

}  // namespace
}  // namespace gradus::testing
