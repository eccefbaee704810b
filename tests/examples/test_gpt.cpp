#include <string>

#include "gradus/engine/base/version.h"
#include "gradus/tests/examples/gpt_program.h"

namespace gradus::testing::test_gpt {
namespace {

TEST_CASE("gpt reports usage errors in one line with exit code 2") {
  const Workplace here;
  check_refused(here.gpt("train text.txt --out run --nonsense 3"), {"--nonsense"});
  check_refused(here.gpt("train"), {"needs a text"});
  check_refused(here.gpt("train --out run"), {"needs a text"});
  check_refused(here.gpt("train --resume"), {"needs a run", "--out"});
  check_refused(here.gpt("train text.txt --minutes 1 --steps 5"), {"--minutes", "--steps"});
  check_refused(here.gpt("train text.txt --minutes 1 --no-trial"), {"--minutes", "--no-trial"});
  check_refused(here.gpt("train text.txt --minutes 0"), {"--minutes 0", "positive"});
  check_refused(here.gpt("train text.txt --minutes nan"), {"--minutes", "positive"});
  check_refused(here.gpt("train text.txt --tokenizer morse"), {"morse", "auto", "char", "bpe"});
  check_refused(here.gpt("train text.txt --tokenizer bpe --vocab 7"), {"--vocab 7", "256", "bpe"});
  check_refused(here.gpt("train text.txt --tokenizer word --vocab 1"), {"--vocab 1", "2", "word"});
  check_refused(here.gpt("train text.txt --vocab 300"), {"--vocab", "--tokenizer word or bpe"});
  check_refused(here.gpt("train text.txt --out run --config huge"), {"huge", "toy", "baby12"});
  check_refused(here.gpt("train text.txt --out run --steps many"), {"--steps"});
  check_refused(here.gpt("train missing.txt --out run"), {"missing.txt"});
  check_refused(here.gpt("train . --out run"), {"directory"});
  check_refused(here.gpt("train text.txt --out text.txt"), {"text.txt", "another"});
  check_refused(here.gpt("train text.txt --out text.txt/run"), {"text.txt/run", "another"});
  check_refused(here.gpt("sample nowhere"), {"nowhere", "settings.json"});
  check_refused(here.gpt("info nowhere"), {"nowhere", "no gpt run"});
  check_refused(here.gpt("info text.txt"), {"text.txt", "no gpt run"});
  check_refused(here.gpt(""), {"subcommand"});
  check_refused(here.gpt("trian text"), {"subcommand", "trian"});
  CHECK_FALSE(fs::exists(here.directory / "run"));
  CHECK_FALSE(fs::exists(here.directory / "runs"));
  CHECK(here.gpt("--help").code == 0);
  const Outcome asked = here.gpt("--version");
  CHECK(asked.code == 0);
  CHECK(asked.out.find(version()) != std::string::npos);
}

TEST_CASE("gpt trains, samples and evaluates, and rejects flags that contradict the run") {
  const Workplace here;
  const Outcome trained = here.gpt("train text.txt --out run --steps 40 --eval-every 20 " + kSmall);
  REQUIRE(trained.code == 0);
  CHECK(trained.err.find("held-out") != std::string::npos);  // progress lines contain the loss
  // Progress lines do not contain each head's metrics.
  CHECK(trained.err.find(".entropy") == std::string::npos);
  const Outcome sampled = here.gpt("sample run --prompt 'the ' --tokens 30 --seed 3");
  CHECK(sampled.code == 0);
  CHECK(sampled.out.substr(0, 4) == "the ");
  CHECK(here.gpt("sample run --prompt 'the ' --tokens 30 --seed 3").out == sampled.out);
  CHECK(here.gpt("sample run --prompt 'the ' --tokens 30 --seed 4").out != sampled.out);
  CHECK(here.gpt("eval run text.txt").out.find("nats") != std::string::npos);

  check_refused(here.gpt("sample run --prompt 'Ω'"), {"U+03A9"});
  const std::string one = "sample run --prompt 'the ' --tokens 30 --seed 4";
  CHECK(here.gpt(one + " --top-p 1e-9").out == here.gpt(one + " --temperature 0").out);
  CHECK(contents(here.directory / "run/metrics.jsonl").find("blocks.0.attention.head0.entropy") !=
        std::string::npos);
  check_refused(here.gpt("train text.txt --out run " + kSmall), {"--resume", "--out"});
  check_refused(here.gpt("train --out run --resume --width 32"), {"--width 32", "16"});
  check_refused(here.gpt("train --out run --resume --config cpu"), {"--config cpu", "toy"});
  check_refused(here.gpt("train --out run --resume --tokenizer byte"), {"byte", "char"});
  check_refused(here.gpt("train --out run --resume --val text.txt"), {"--val", "last tenth"});
  check_refused(here.gpt("train --out run --resume --minutes 1"), {"--minutes", "40 steps"});
  check_refused(here.gpt("train --out other --resume"), {"other", "no checkpoint"});
  here.write("text.txt", contents(here.directory / "text.txt") + "more");
  check_refused(here.gpt("train --out run --resume"), {"another text"});
}

TEST_CASE("a run with portable bits is verified, and a difference is named") {
  const Workplace here;
  const std::string train = "train text.txt --steps 30 --eval-every 15 --dropout 0.1 " + kSmall;
  REQUIRE(here.gpt(train + "--bits portable --out run").code == 0);
  for (const char* simd : {"GRADUS_SIMD=baseline ", ""}) {
    const Outcome same = here.shell(simd + Workplace::program() + " verify run --threads 2");
    CAPTURE(same.err);
    CHECK(same.code == 0);
    CHECK(same.out.find("same") == 0);
    CHECK(same.out.find("30") != std::string::npos);
  }
  CHECK(here.gpt("verify run --steps 10-12").out.find("each of 3 steps, of 12") !=
        std::string::npos);
  here.shell("mv text.txt moved.txt");
  check_refused(here.gpt("verify run"), {"text.txt"});
  CHECK(here.gpt("verify run moved.txt --steps 5").code == 0);
  here.shell("mv moved.txt text.txt");
  check_refused(here.gpt("verify run --steps 7-5"), {"7-5", "first"});
  check_refused(here.gpt("verify run --steps x"), {"--steps", "x"});
  check_refused(here.gpt("verify run --steps 31"), {"31"});

  std::string log = contents(here.directory / "run/metrics.jsonl");
  const std::size_t at = log.find("\"weights\": \"", log.find("\"step\": 11,")) + 12;
  log[at] = log[at] == '0' ? '1' : '0';
  here.write("run/metrics.jsonl", log);
  const Outcome other = here.gpt("verify run");
  CHECK(other.code == 1);
  CHECK(other.out.find("step 12") != std::string::npos);
  CHECK(other.out.find("token") != std::string::npos);  // the first parameter

  REQUIRE(here.gpt(train + "--out fast").code == 0);
  check_refused(here.gpt("verify fast"), {"--bits portable"});
  check_refused(here.gpt("train --out fast --resume --bits portable"), {"--bits portable", "fast"});
  check_refused(here.gpt(train + "--bits exact --out other"), {"--bits", "exact", "portable"});
  check_refused(here.shell("GRADUS_BLAS=library " + Workplace::program() + " " + train +
                           "--bits portable --out other"),
                {"GRADUS_BLAS=library", "portable"});
  CHECK_FALSE(fs::exists(here.directory / "other"));
  REQUIRE(
      here.shell("GRADUS_BITS=portable " + Workplace::program() + " " + train + "--out env").code ==
      0);
  CHECK(here.gpt("verify env").code == 0);  // settings.json keeps it
}

TEST_CASE("a killed or interrupted run resumes bit for bit") {
  const Workplace here;
  const std::string train =
      "train text.txt --steps 3000 --eval-every 100 --dropout 0.1 " + kSmall + "--out ";
  REQUIRE(here.gpt(train + "whole").code == 0);

  const Outcome killed = here.shell(Workplace::program() + " " + train + "killed & p=$!; " +
                                    saved("killed") + "sleep 0.1; kill -9 $p; wait $p");
  CHECK(killed.code == 137);
  const std::string resume = Workplace::program() + " train --threads 1 --resume --out ";
  here.shell(resume + "killed & p=$!; sleep 0.5; kill -9 $p; wait $p");
  REQUIRE(here.gpt("train --threads 1 --resume --out killed").code == 0);
  check_same(here, "killed", "whole");

  const Outcome stopped = here.shell(Workplace::program() + " " + train + "stopped & p=$!; " +
                                     saved("stopped") + "sleep 0.1; kill -INT $p; wait $p");
  CHECK(stopped.code == 130);
  CHECK(stopped.err.find("--resume") != std::string::npos);
  REQUIRE(here.gpt("train --threads 1 --resume --out stopped").code == 0);
  check_same(here, "stopped", "whole");
}

TEST_CASE("a loss that is not finite is traced to its operation") {
  const Workplace here;
  const std::string train =
      "train text.txt --steps 60 --eval-every 1 --optimizer adamw --norm layer --lr 1e30 --dropout "
      "0.1 " +
      kSmall + "--out ";
  const Outcome bad = here.gpt(train + "run");
  CAPTURE(bad.err);
  CHECK(bad.code == 2);
  for (const char* words : {"not finite at step", " made ", " from [", "(in GPT", "--lr"})
    CHECK(bad.err.find(words) != std::string::npos);
  CHECK(contents(here.directory / "run/metrics.jsonl").find("\"loss\": null") != std::string::npos);
  // The checkpoint is valid, so resuming reports the same error.
  const Outcome again = here.gpt("train --threads 1 --resume --out run");
  CHECK(again.code == 2);
  const std::size_t at = bad.err.find("gpt: the loss");
  CHECK(again.err.find(bad.err.substr(at, bad.err.find("(node") - at)) != std::string::npos);

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

}  // namespace
}  // namespace gradus::testing::test_gpt
