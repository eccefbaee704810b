// The gpt program as its user sees it: exit codes, one-line errors, interrupted and resumed runs.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

struct Outcome {
  int code;  // 128 + n where signal n ended it, as in a shell
  std::string out, err;
};

/// A directory of its own, with a small text, and a way to run gpt in it.
struct Workplace {
  fs::path directory;

  Workplace() {
    static int count = 0;
    directory = fs::temp_directory_path() /
                ("gradus-gpt-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    fs::create_directories(directory);
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += "the cat sat on mat " + std::to_string(i * i % 97) + ", and so on.\n";
    write("text.txt", text);
  }
  ~Workplace() { fs::remove_all(directory); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory / name, std::ios::binary) << text;
  }

  Outcome shell(const std::string& command) const {
    const std::string line =
        "cd '" + directory.string() + "' && ( " + command + " ) >out 2>err </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            contents(directory / "out"), contents(directory / "err")};
  }
  Outcome gpt(const std::string& arguments) const { return shell(program() + " " + arguments); }

  static std::string program() { return "'" GRADUS_BINARY_DIR "/gpt'"; }
};

const std::string kSmall = "--layers 1 --width 16 --heads 2 --context 8 --batch 4 --threads 1 ";

/// One line that says it, and exit code 2.
void check_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(outcome.err.find(word) != std::string::npos);
  }
}

TEST_CASE("gpt refuses wrong flags in one line, with exit code 2") {
  const Workplace here;
  check_refused(here.gpt("train text.txt --out run --nonsense 3"), {"--nonsense"});
  check_refused(here.gpt("train --out run"), {"which text"});
  check_refused(here.gpt("train text.txt --out run --config huge"), {"huge", "toy", "baby12"});
  check_refused(here.gpt("train text.txt --out run --steps 0"), {"--steps 0"});
  check_refused(here.gpt("train text.txt --out run --steps many"), {"--steps"});
  check_refused(here.gpt("train text.txt --out run --heads 3 --width 16"), {"--heads 3", "divide"});
  check_refused(here.gpt("train text.txt --out run --dropout 1"), {"--dropout 1"});
  check_refused(here.gpt("train text.txt --out run --lr -1"), {"--lr -1"});
  check_refused(here.gpt("train missing.txt --out run"), {"missing.txt"});
  check_refused(here.gpt("train . --out run"), {"directory"});
  check_refused(here.gpt("sample nowhere"), {"nowhere", "settings.json"});
  check_refused(here.gpt(""), {"subcommand"});
  CHECK_FALSE(fs::exists(here.directory / "run"));
  CHECK(here.gpt("--help").code == 0);
}

TEST_CASE("gpt says what a text lacks") {
  const Workplace here;
  here.write("empty.txt", "");
  here.write("short.txt", "too short");
  check_refused(here.gpt("train empty.txt --out run " + kSmall), {"empty.txt", "no text"});
  check_refused(here.gpt("train short.txt --out run " + kSmall), {"held-out", "at least"});
}

TEST_CASE("gpt trains, samples and evaluates; refuses what does not fit the run") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --out run --steps 40 --eval-every 20 " + kSmall).code == 0);
  const Outcome sampled = here.gpt("sample run --prompt 'the ' --tokens 30 --seed 3");
  CHECK(sampled.code == 0);
  CHECK(sampled.out.substr(0, 4) == "the ");
  CHECK(here.gpt("sample run --prompt 'the ' --tokens 30 --seed 3").out == sampled.out);
  CHECK(here.gpt("sample run --prompt 'the ' --tokens 30 --seed 4").out != sampled.out);
  CHECK(here.gpt("eval run text.txt").out.find("nats") != std::string::npos);

  check_refused(here.gpt("sample run --prompt 'Ω'"), {"U+03A9"});
  check_refused(here.gpt("sample run --temperature -1"), {"--temperature -1"});
  check_refused(here.gpt("sample run --top-k -2"), {"--top-k -2"});
  check_refused(here.gpt("train text.txt --out run " + kSmall), {"--resume"});
  check_refused(here.gpt("train --out run --resume --width 32"), {"--width 32", "16"});
  check_refused(here.gpt("train --out other --resume"), {"other", "no checkpoint"});
  here.write("text.txt", contents(here.directory / "text.txt") + "more");
  check_refused(here.gpt("train --out run --resume"), {"another text"});
}

TEST_CASE("a text that is not UTF-8 is learnt as bytes") {
  const Workplace here;
  std::string text;
  for (int i = 0; i < 900; ++i) text += static_cast<char>(0x80 + i % 7);
  here.write("bytes.bin", text);
  REQUIRE(here.gpt("train bytes.bin --out run --steps 4 --eval-every 2 " + kSmall).code == 0);
  CHECK(here.gpt("sample run --tokens 5").code == 0);
}

TEST_CASE("a run that was killed, or stopped by Ctrl-C, resumes bit for bit") {
  const Workplace here;
  const std::string train =
      "train text.txt --steps 3000 --eval-every 100 --dropout 0.1 " + kSmall + "--out ";
  REQUIRE(here.gpt(train + "whole").code == 0);

  // killed at once and at later moments: each leaves a checkpoint that goes on
  const Outcome killed = here.shell(Workplace::program() + " " + train +
                                    "killed & p=$!; sleep 0.4; kill -9 $p; wait $p");
  CHECK(killed.code == 137);
  const std::string resume = Workplace::program() + " train --threads 1 --resume --out ";
  here.shell(resume + "killed & p=$!; sleep 0.5; kill -9 $p; wait $p");
  REQUIRE(here.gpt("train --threads 1 --resume --out killed").code == 0);
  CHECK(contents(here.directory / "killed/metrics.jsonl") ==
        contents(here.directory / "whole/metrics.jsonl"));
  CHECK(contents(here.directory / "killed/model.safetensors") ==
        contents(here.directory / "whole/model.safetensors"));

  const Outcome stopped = here.shell(Workplace::program() + " " + train +
                                     "stopped & p=$!; sleep 0.4; kill -INT $p; wait $p");
  CHECK(stopped.code == 130);
  CHECK(stopped.err.find("--resume") != std::string::npos);
  REQUIRE(here.gpt("train --threads 1 --resume --out stopped").code == 0);
  CHECK(contents(here.directory / "stopped/metrics.jsonl") ==
        contents(here.directory / "whole/metrics.jsonl"));
}

TEST_CASE("a loss that is not finite is traced to the operation that made it") {
  const Workplace here;
  const std::string train =
      "train text.txt --steps 60 --eval-every 1 --lr 1e30 --dropout 0.1 " + kSmall + "--out ";
  const Outcome bad = here.gpt(train + "run");
  CAPTURE(bad.err);
  CHECK(bad.code == 2);
  for (const char* words : {"not finite at step", " made ", " from [", "(in GPT", "--lr"})
    CHECK(bad.err.find(words) != std::string::npos);
  CHECK(contents(here.directory / "run/metrics.jsonl").find("\"loss\": null") != std::string::npos);
  // the checkpoint is whole: a resumed run comes to the same numbers
  const Outcome again = here.gpt("train --threads 1 --resume --out run");
  CHECK(again.code == 2);
  const std::size_t at = bad.err.find("gpt: the loss");
  CHECK(again.err.find(bad.err.substr(at, bad.err.find("(node") - at)) != std::string::npos);

  // the environment asks for the same from the first operation on
  const Outcome asked =
      here.shell("GRADUS_CHECK_NAN=1 " + Workplace::program() + " " + train + "b");
  CAPTURE(asked.err);
  CHECK(asked.code == 2);
  CHECK(asked.err.find(" made ") != std::string::npos);
  CHECK(asked.err.find("not finite at step") == std::string::npos);
  const Outcome good = here.shell("GRADUS_CHECK_NAN=1 " + Workplace::program() +
                                  " train text.txt --steps 5 --eval-every 5 " + kSmall + "--out c");
  CHECK(good.code == 0);
}

TEST_CASE("a full disk does not stop a run nor hurt what was saved") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --out run --steps 400 --eval-every 400 " + kSmall).code == 0);
  const std::string metrics = contents(here.directory / "run/metrics.jsonl");
  // a limit on the size of files (blocks of 512 bytes) fails as a full disk does
  const Outcome full =
      here.shell("ulimit -f 20; " + Workplace::program() +
                 " train text.txt --out second --steps 40 --eval-every 10 " + kSmall);
  CAPTURE(full.err);
  CHECK(full.code == 2);  // not even the first checkpoint fits: nothing to go on from
  CHECK(contents(here.directory / "run/metrics.jsonl") == metrics);
  CHECK(here.gpt("sample run --tokens 3").code == 0);
}

}  // namespace
}  // namespace gradus::testing
