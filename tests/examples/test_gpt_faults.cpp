#include <cstdint>
#include <string>

#include "gradus/tests/examples/gpt_program.h"

#ifndef __has_feature  // only clang defines it; GCC defines __SANITIZE_THREAD__
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

namespace gradus::testing::test_gpt_faults {
namespace {

/// Returns a shell command that starts a run with process id $p and waits for its first checkpoint.
std::string in_background(const std::string& arguments, const std::string& directory) {
  return Workplace::program() + " train text.txt --no-trial " + kSmall + arguments + " --out " +
         directory + " 2>background & p=$!; " + saved(directory);
}

TEST_CASE("only one process may write into a run, and its lock ends with the process") {
  const Workplace here;
  const std::string resume = "timeout 20 " + Workplace::program() + " train --resume --out run";
  const Outcome second =
      here.shell(in_background("--steps 1000000", "run") + "echo owner $p.; " + resume +
                 "; code=$?; kill -9 $p; wait $p 2>background; exit $code");
  REQUIRE(second.out.find("owner ") != std::string::npos);
  std::string owner = second.out.substr(6, second.out.find('.') - 6);
  check_refused(second, {"run: process " + owner + " ", "wait"});

  // Resuming removes temporary files, but not user files with similar names.
  here.write("run/checkpoint.safetensors.tmp-4711-0", "half a checkpoint");
  here.write("run/notes.txt.tmp-1-2", "mine");
  const Outcome third =
      here.shell(resume + " & p=$!; " + until("[ ! -e run/checkpoint.safetensors.tmp-4711-0 ]") +
                 "kill -INT $p; wait $p");
  CAPTURE(third.out, third.err);
  CHECK(third.code == 130);
  CHECK_FALSE(fs::exists(here.directory / "run/checkpoint.safetensors.tmp-4711-0"));
  CHECK(contents(here.directory / "run/notes.txt.tmp-1-2") == "mine");
}

TEST_CASE("a run that was killed before its first checkpoint can be started again") {
  const Workplace here;
  fs::create_directory(here.directory / "run");
  here.write("run/settings.json", "{}");
  here.write("run/metrics.jsonl", "");
  const std::string train = "train text.txt --out run --no-trial --steps 2 " + kSmall;
  CHECK(here.gpt(train).code == 0);
  fs::remove(here.directory / "run/checkpoint.safetensors");
  check_refused(here.gpt(train), {"already holds a run", "--out"});
}

/// Requires the resumed run to equal an uninterrupted one.
void check_goes_on(const Workplace& here, const std::string& run) {
  REQUIRE(here.gpt("train --threads 1 --no-trial --resume --out " + run).code == 0);
  check_same(here, run, "whole");
}

TEST_CASE("a full disk ends a run in one line, and the saved state resumes") {
  const Workplace here;
  const std::string sizes = "--steps 1500 --eval-every 100 --dropout 0.1 ";
  REQUIRE(here.gpt("train text.txt --out whole " + sizes + kSmall).code == 0);
  const auto checkpoint = fs::file_size(here.directory / "whole/checkpoint.safetensors");
  const auto metrics = fs::file_size(here.directory / "whole/metrics.jsonl");
  REQUIRE(metrics > 2 * checkpoint);  // the log exceeds the limit first
  // A limit on file sizes, in blocks of 512 bytes, acts like a full disk.
  const auto blocks = [](std::uintmax_t bytes) {
    return "ulimit -f " + std::to_string(bytes / 512) + "; " + Workplace::program() + " train ";
  };

  const Outcome full =
      here.shell("exec 2>err; " + blocks((metrics + checkpoint) / 2) + "text.txt --out run " +
                 sizes + kSmall + " 2>all; code=$?; " + "tail -n 1 all >&2; exit $code");
  check_refused(full, {"run/metrics.jsonl", "File too large", "Stopped at step", "free disk space",
                       "gpt train --out run --resume"});
  CHECK(here.gpt("info run").code == 0);
  CHECK(here.gpt("sample run --tokens 3").code == 0);
  check_goes_on(here, "run");

  // The thread sanitizer's runtime maps a file that exceeds the next limit.
  if (kThreadSanitizer) return;

  // Without space for a checkpoint, the previous one must remain intact.
  here.shell(in_background(sizes, "late") + "kill -9 $p; wait $p 2>background");
  const Outcome late = here.shell(blocks(checkpoint / 2) + "--resume --out late 2>all; code=$?; " +
                                  "tail -n 1 all >&2; exit $code");
  check_refused(late, {"late/", "Stopped at step", "--resume"});
  check_goes_on(here, "late");

  // Without a checkpoint, the user can start the run again.
  const Outcome none =
      here.shell(blocks(checkpoint / 2) + "text.txt --out none --no-trial " + sizes + kSmall +
                 " 2>all; code=$?; tail -n 1 all >&2; exit $code");
  check_refused(none, {"none/checkpoint.safetensors"});
  CHECK(here.gpt("train text.txt --out none --no-trial --steps 1 " + kSmall).code == 0);
}

TEST_CASE("a --lora or --freeze pattern that matches nothing leaves no directory behind") {
  const Workplace here;
  for (const std::string flag : {"--lora", "--freeze"}) {
    check_refused(here.gpt("train text.txt --out run --no-trial " + kSmall + flag + " nothing"),
                  {"nothing"});
    CHECK_FALSE(fs::exists(here.directory / "run"));
  }
}

/// Trains with `flags`, stops the run with signals at random times, and resumes it until it is
/// complete. Its files must equal those of an undisturbed run.
void check_stops(const std::string& program, const std::string& flags, const std::string& resume) {
  constexpr int kMost = 300;  // attempts; the last one is undisturbed
  constexpr const char* kSignals[] = {"TERM", "INT", "KILL"};
  INFO(program);
  const Workplace here;
  const std::string train = "'" GRADUS_BINARY_DIR "/" + program + "' train ";
  const Outcome whole = here.shell(train + flags + " --out whole");
  INFO(whole.err);
  REQUIRE(whole.code == 0);
  std::uint64_t random = 1;
  const auto next = [&] {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return random >> 33U;
  };
  int stops = 0;
  for (int attempt = 0, code = -1; code != 0;) {
    const bool saved = fs::exists(here.directory / "run/checkpoint.safetensors");
    if (!saved) fs::remove_all(here.directory / "run");
    const std::string run = train + (saved ? resume + " --resume" : flags) + " --out run";
    const char* const signal = kSignals[next() % 3];
    const double seconds =
        0.001 * static_cast<double>(20 + next() % (200 + 50 * std::uint64_t(attempt++)));
    const std::string stop = "sleep " + std::to_string(seconds) + "; kill -" + signal + " $p; ";
    const Outcome ended = here.shell(run + " & p=$!; " + (attempt < kMost ? stop : "") + "wait $p");
    INFO(signal << " after " << seconds << " s: " << ended.err);
    REQUIRE((ended.code == 0 || ended.code == 130 || ended.code == 143 || ended.code == 137));
    stops += ended.code != 0;
    code = ended.code;
  }
  check_same(here, "run", "whole");
  for (const auto& entry : fs::directory_iterator(here.directory / "run"))
    CHECK(entry.path().filename().string().find(".tmp-") == std::string::npos);
  WARN(program << ": " << stops << " stops");
}

TEST_CASE("runs that signals stop at random times end with the weights of an undisturbed run",
          "[.nightly]") {
  const std::string small = "--threads 1 --layers 1 --heads 2 --width 8 --batch 4 --dropout 0.1 ";
  check_stops("gpt", "text.txt --no-trial --steps 1500 --eval-every 100 --dropout 0.1 " + kSmall,
              "--threads 1 --no-trial");
  check_stops("translate", small + "--steps 1500 --eval-every 300 --task dates --examples 40",
              "--threads 1");
  check_stops("vision", small + "--steps 1500 --eval-every 300 --patch 8", "--threads 1");
}

}  // namespace
}  // namespace gradus::testing::test_gpt_faults
