#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/examples/apps/support/program.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_run_flags {
namespace {

struct Flags : examples::RunFlags {
  std::int64_t width = 4;
  double dropout = 0.5;
  std::string kind = "plain";
  bool tied = false;
  Flags() : RunFlags("toy") { steps = 6, eval_every = 3; }
  void describe(CLI::App& app) {
    add_to(app);
    setting(app, "--width", &width, "width of the layer");
    setting(app, "--drop-out", &dropout, "dropout probability, in [0, 1)");
    setting(app, "--kind", &kind, "kind of data");
    setting(app, "--tied", &tied, "share the weights");
  }
};

/// A minimal application that receives Ctrl-C in step `stop_at`.
int learn(Flags& flags, std::int64_t stop_at) {
  const examples::DirectoryLock lock = flags.begin();
  seed(static_cast<std::uint64_t>(flags.seed));
  nn::Linear model(flags.width, 1);
  const Tensor x = randn({flags.batch, flags.width}), y = sum(x, {1}, true);
  optim::AdamW optimizer(model.parameters(), {.lr = flags.learning_rate});
  train::Trainer trainer(model, optimizer, optim::constant_schedule(), flags.options());
  return flags.train(
      trainer,
      [&](std::int64_t i) {
        if (i == stop_at) examples::interrupt_signal = SIGINT;
        return mse_loss(model(x), y);
      },
      [&] {
        return train::Metrics{{"held_out_loss", mse_loss(model(x), y).item()}};
      });
}

struct Outcome {
  int code;
  std::string out, err;
};

Outcome run(const Folder& here, std::vector<std::string> words, std::int64_t stop_at = -1) {
  CLI::App app("a toy");
  Flags flags;
  flags.out = here / "runs/toy";
  flags.describe(*app.add_subcommand("train", "learn"));
  std::string directory;
  app.add_subcommand("use", "use")->add_option("run", directory);
  words.insert(words.begin(), "toy");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());

  std::fflush(stdout), std::fflush(stderr);
  const int out = ::dup(1), err = ::dup(2);
  std::freopen((here / "out").c_str(), "wb", stdout);
  std::freopen((here / "err").c_str(), "wb", stderr);
  const int code =
      examples::program(app, "toy", static_cast<int>(argv.size()), argv.data(), [&]() -> int {
        if (app.got_subcommand("train")) return learn(flags, stop_at);
        flags.load(directory);
        nn::Linear model(flags.width, 1);
        examples::load_best(model, flags.files());
        std::printf("width %d, drop-out %g, %s, %d", static_cast<int>(flags.width), flags.dropout,
                    flags.kind.c_str(), flags.tied);
        return 0;
      });
  std::fflush(stdout), std::fflush(stderr);
  ::dup2(out, 1), ::dup2(err, 2);
  ::close(out), ::close(err);
  examples::interrupt_signal = 0;
  return {code, read_bytes(here / "out"), read_bytes(here / "err")};
}

void check_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(contains(outcome.err, word));
  }
}

TEST_CASE("an application trains, is interrupted, resumes with its settings, and can be used") {
  const Folder here;
  const Outcome whole =
      run(here, {"train", "--out", here / "whole", "--width", "3", "--threads", "1"});
  CAPTURE(whole.err);
  CHECK(whole.code == 0);
  CHECK(contains(whole.out, "loss curve: " + (here / "whole/loss.svg")));
  CHECK(contains(whole.err, "for 6 steps, and "));

  const std::vector<std::string> train = {"train",   "--threads",  "1",     "--width",
                                          "3",       "--drop-out", "0.25",  "--kind",
                                          "a \"b\"", "--tied",     "--out", here / "run"};
  const Outcome stopped = run(here, train, 4);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "toy: stopped and saved; resume with: toy train --out " +
                                  (here / "run") + " --resume\n"));
  const Outcome resumed = run(here, {"--threads", "1", "train", "--out", here / "run", "--resume"});
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(contains(resumed.err, "for 1 steps"));
  CHECK(read_bytes(here / "run/metrics.jsonl") == read_bytes(here / "whole/metrics.jsonl"));
  CHECK(run(here, {"use", here / "run"}).out == "width 3, drop-out 0.25, a \"b\", 1");
}

TEST_CASE("an application reports usage errors in one line") {
  const Folder here;
  const std::string out = here / "run";
  check_refused(run(here, {"train", "--nonsense"}),
                {"toy: ", "--nonsense", "see toy train --help"});
  check_refused(run(here, {"train", "--out", out, "--steps", "0"}),
                {"--steps 0: must be positive"});
  check_refused(run(here, {"train", "--out", out, "--batch", "-1"}), {"--batch -1: must be pos"});
  check_refused(run(here, {"train", "--out", out, "--lr", "nan"}), {"--lr ", "must be positive"});
  check_refused(run(here, {"train", "--out", out, "--seed", "-1"}), {"--seed -1: must not be neg"});
  check_refused(run(here, {"train", "--out", out, "--eval-every", "0"}), {"--eval-every 0: must"});
  check_refused(run(here, {"train", "--out", out, "--resume"}), {out + ": there is no checkpoint"});
  check_refused(run(here, {"use", out}), {out + ": holds no toy run", "toy train --out " + out});
  CHECK_FALSE(std::filesystem::exists(out));

  CHECK(run(here, {"train", "--out", out}).code == 0);
  check_refused(run(here, {"train", "--out", out}), {"already holds a run", "--resume", "--out"});
  check_refused(run(here, {"train", "--out", out, "--resume", "--width", "5"}),
                {"--width 5 contradicts the run in " + out + ", which has 4: leave the flag out"});
  check_refused(run(here, {"train", "--out", out, "--resume", "--kind", "x"}),
                {"--kind x", "plain"});
  const std::string settings = read_bytes(here / "run/settings.json");
  write_bytes(here / "run/settings.json", "{\"program\": \"other\"}");
  check_refused(run(here, {"use", out}), {"run: is a run of \"other\", not of toy"});
  write_bytes(here / "run/settings.json", "{\"program\": \"toy\"}");
  check_refused(run(here, {"use", out}), {"settings.json: not the settings of a toy run"});
  std::string half = settings;
  half.insert(half.find(',', half.find("\"steps\"")), ".5");
  write_bytes(here / "run/settings.json", half);
  check_refused(run(here, {"use", out}),
                {"settings.json: steps is ", ".5", "must be a 64-bit integer"});
  write_bytes(here / "run/settings.json", settings);
  std::filesystem::remove(here / "run/model.safetensors");
  check_refused(run(here, {"use", out}), {"model.safetensors: does not exist yet"});
  {
    const examples::DirectoryLock lock(here / "locked");
    CHECK(examples::lock_holder(here / "nowhere") == 0);
  }
  write_bytes(here / "file", "");
  check_refused(run(here, {"train", "--out", here / "file"}),
                {"file: cannot create the directory"});
  CHECK(run(here, {"--help"}).code == 0);
}

TEST_CASE("a directory that another process uses is rejected with its process id") {
  const Folder here;
  const std::string directory = here / "run";
  int held[2], end[2];
  REQUIRE(::pipe(held) == 0);
  REQUIRE(::pipe(end) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  char byte = 0;
  if (child == 0) {
    const examples::DirectoryLock lock(directory);
    static_cast<void>(::write(held[1], &byte, 1));
    static_cast<void>(::read(end[0], &byte, 1));
    ::_exit(0);
  }
  CHECK(::read(held[0], &byte, 1) == 1);
  const std::string process = "process " + std::to_string(child);
  CHECK(examples::lock_holder(directory) == child);
  for (const bool resume : {false, true}) {
    std::vector<std::string> words = {"train", "--out", directory};
    if (resume) write_bytes(directory + "/checkpoint.safetensors", ""), words.push_back("--resume");
    check_refused(run(here, words), {directory, process});
  }
  CHECK_FALSE(std::filesystem::exists(directory + "/settings.json"));
  CHECK(::write(end[1], &byte, 1) == 1);
  CHECK(::waitpid(child, nullptr, 0) == child);
  for (const int file : {held[0], held[1], end[0], end[1]}) ::close(file);
  CHECK(examples::lock_holder(directory) == 0);
}

#ifdef F_SETLEASE
/// Starts a run in another process. Its exit code is 3 if the run is rejected.
pid_t begin_elsewhere(const std::string& directory) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 0;
  try {
    Flags flags;
    flags.out = directory;
    const examples::DirectoryLock lock = flags.begin();
  } catch (const FileError&) {
    code = 3;
  } catch (...) {
    code = 4;
  }
  ::_exit(code);
}

// A lease on run.lock blocks the other process when it opens the file, after all earlier checks.
TEST_CASE("a run that ends while another begins in its directory is not overwritten") {
  const Folder here;
  for (const bool taken : {false, true}) {
    const std::string directory = here / (taken ? "taken" : "free");
    std::filesystem::create_directory(directory);
    const int file = ::open((directory + "/run.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    REQUIRE(file >= 0);
    const auto before = std::signal(SIGIO, SIG_IGN);  // the signal that reports the broken lease
    if (::fcntl(file, F_SETLEASE, F_WRLCK) != 0) {
      WARN("skipped: no leases on the files of " << directory);
      return;
    }
    const pid_t child = begin_elsewhere(directory);
    REQUIRE(child > 0);
    int status = 0;
    while (::fcntl(file, F_GETLEASE) == F_WRLCK && ::waitpid(child, &status, WNOHANG) == 0)
      ::usleep(1000);
    if (taken) write_bytes(directory + "/model.safetensors", "of a run that has just ended");
    ::fcntl(file, F_SETLEASE, F_UNLCK);
    ::close(file);
    REQUIRE(::waitpid(child, &status, 0) == child);
    std::signal(SIGIO, before);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (taken ? 3 : 0));
    CHECK(std::filesystem::exists(directory + "/settings.json") == !taken);
  }
}
#endif

}  // namespace
}  // namespace gradus::testing::test_run_flags
