#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string>

#include "gradus/examples/apps/gpt/corpus.h"
#include "gradus/examples/apps/gpt/flags.h"
#include "gradus/io/text.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/metrics.h"

namespace gradus::testing::test_gpt_text {
namespace {

/// Returns the first number after `before`, or NaN.
double number_after(const std::string& words, const std::string& before) {
  const std::size_t found = words.find(before);
  if (found == std::string::npos) return std::nan("");
  const std::size_t digits = words.find_first_of("0123456789", found + before.size());
  return digits == std::string::npos ? std::nan("") : std::strtod(words.c_str() + digits, nullptr);
}

const std::string kQuick = kSmall + "--no-trial --steps 4 --eval-every 2 ";

TEST_CASE("gpt train needs only a text") {
  const Workplace here;
  Outcome done = here.gpt("train text.txt --steps 2");
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  for (const char* words :
       {"2,031 characters, vocabulary of 24", "the last tenth, 203",
        "toy, for texts of up to 10,000", "parameters", "2 steps of 8 x 32", "0.28 passes",
        "estimate", "MB", "trial steps of", "runs/text, named after the text"})
    CHECK(has(done.err, words));
  CHECK(has(done.out, "loss curve: runs/text/loss.svg"));
  check_refused(here.gpt("train text.txt"), {"runs/text", "--resume", "--out"});
  CHECK(here.gpt("train text.txt --resume").code == 0);

  std::string longer;
  while (longer.size() <= 10'000) longer += contents(here.directory / "text.txt");
  here.write("long.txt", longer);
  done = here.gpt("train long.txt --no-trial --steps 1");
  CHECK(has(done.err, "cpu, for texts of 10,000 to 10,000,000 characters"));
  CHECK_FALSE(has(done.err, "estimate"));
  while (longer.size() <= 10'000'000) longer += longer;
  here.write("huge.txt", longer);
  done = here.gpt("train huge.txt --val text.txt " + kQuick);
  CHECK(has(done.err, "baby12, for texts of 10,000,000 or more characters"));
}

TEST_CASE("trial steps estimate memory and time, and do not affect the run") {
  const Workplace here;
  const std::string train =
      "train text.txt --layers 2 --width 64 --heads 2 --context 64 --batch 48 --threads 1 "
      "--dropout 0.1 --steps 6 --eval-every 3 --out ";
  const Outcome tried = here.gpt(train + "tried");
  REQUIRE(tried.code == 0);
  REQUIRE(here.gpt(train + "untried --no-trial").code == 0);
  check_same(here, "tried", "untried",
             {"metrics.jsonl", "model.safetensors", "checkpoint.safetensors"});
  // The run takes 60 MB in addition to the program's 15 MB. The allocator may add a fifth.
  CAPTURE(tried.err);
  const double estimated = number_after(tried.err.substr(tried.err.find("estimate")), " and ");
  const double held = number_after(tried.err.substr(tried.err.find("took")), ", and ");
  CHECK(estimated > 0.8 * held);
  CHECK(estimated < 1.25 * held);
}

/// Requires the log to contain each step up to the run's goal.
void check_log_agrees(const Workplace& here, const std::string& run) {
  const std::string log = (here.directory / run / "metrics.jsonl").string();
  const auto losses = train::read_metric(log, "loss"), goals = train::read_metric(log, "steps");
  for (std::size_t i = 0; i < losses.size(); ++i)
    REQUIRE(losses[i].first == static_cast<double>(i));  // each step occurs once, in order
  const double goal =
      goals.empty() ? number_after(contents(here.directory / run / "settings.json"), "\"steps\"")
                    : goals.back().second;
  CHECK(static_cast<double>(losses.size()) == goal);
  const std::string steps = std::to_string(losses.size());
  CHECK(has(here.gpt("info " + run).out, steps + " of " + steps + " steps done"));
}

TEST_CASE("a run with --minutes takes about that time") {
  const Workplace here;
  const Outcome done = here.gpt("train text.txt --out run --minutes 0.05 " + kSmall);
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(has(done.err, "about 3 seconds"));
  check_log_agrees(here, "run");
  const std::string settings = contents(here.directory / "run/settings.json");
  const double steps = number_after(settings, "\"steps\"");
  CHECK(number_after(settings, "\"eval_every\"") == std::ceil(steps / 10));
  CHECK(number_after(settings, "\"warmup\"") == std::min(100.0, std::floor(steps / 10)));
  CHECK(number_after(settings, "\"seconds\"") == 3);
}

TEST_CASE("a killed or stopped run with --minutes resumes with a complete log") {
  const Workplace here;
  const std::string train = Workplace::program() + " train text.txt --minutes 0.05 " + kSmall;
  for (const std::string signal : {"9", "INT"}) {
    const std::string run = "run" + signal;
    here.shell(train + "--out " + run + " & p=$!; " + saved(run) + "sleep 0.6; kill -" + signal +
               " $p; wait $p");
    const Outcome done = here.gpt("train --threads 1 --no-trial --resume --out " + run);
    CAPTURE(done.err);
    REQUIRE(done.code == 0);
    check_log_agrees(here, run);
    CHECK(here.gpt("train --resume --out " + run).code == 0);  // the run was already finished
  }
}

TEST_CASE("the demo samples with its best weights and stops after --minutes") {
  const Workplace here;
  std::string words;
  for (int i = 0; i < 90; ++i) words += "Step " + std::to_string(i * i % 89) + " is one.\n";
  here.write("prose.txt", words);
  const Outcome done = here.gpt("demo prose.txt --minutes 0.02");
  CAPTURE(done.out, done.err);
  REQUIRE(done.code == 0);
  check_log_agrees(here, "build/demo");
  const Outcome again = here.gpt("sample build/demo --prompt '\n' --tokens 400 --temperature 0.8");
  CHECK(has(done.out, again.out));
  const auto losses =
      train::read_metric((here.directory / "build/demo/metrics.jsonl").string(), "held_out_loss");
  double lowest = losses.at(0).second;
  for (const auto& [step, loss] : losses) lowest = std::min(lowest, loss);
  CHECK(std::abs(number_after(done.out, "held-out loss") - lowest) < 1e-4);
  check_refused(here.gpt("demo --minutes 0"), {"--minutes 0", "positive"});
  check_refused(here.gpt("demo nowhere"), {"nowhere"});
}

TEST_CASE("a run that ends above the bigram loss suggests changes") {
  const Workplace here;
  const std::string train = "train text.txt --no-trial --eval-every 5 " + kSmall;
  const Outcome few = here.gpt(train + "--steps 5 --out few");
  CHECK(few.code == 0);
  for (const char* words : {"above the bigram loss", "more steps (20)", "--lr 0.03"})
    CHECK(has(few.err, words));
  const Outcome wild = here.gpt(train + "--steps 5 --optimizer adamw --lr 3 --out wild");
  CAPTURE(wild.err);
  for (const char* words :
       {"above the bigram loss", "the loss rose", "more steps", "warm-up", "--lr 0.001"})
    CHECK(has(wild.err, words));
  CHECK_FALSE(has(here.gpt(train + "--steps 400 --out good").err, "bigram loss"));
}

TEST_CASE("texts with many distinct characters or invalid UTF-8 are read as bytes") {
  const Workplace here;
  std::string bytes, many;
  for (int i = 0; i < 900; ++i) bytes += static_cast<char>(0x80 + i % 7);
  for (char32_t c = 0x4e00; c < 0x4e00 + 513; ++c) many += io::encode_utf8(c);
  here.write("bytes.bin", bytes);
  here.write("many.txt", many);
  REQUIRE(here.gpt("train bytes.bin --out b " + kQuick).code == 0);
  CHECK(has(here.gpt("info b").out, "byte, vocabulary of 256"));
  CHECK(here.gpt("sample b --tokens 5").code == 0);
  const Outcome many_kinds = here.gpt("train many.txt --out m " + kQuick);
  CHECK(has(many_kinds.err, "1,539 bytes, vocabulary of 256"));
  CHECK_FALSE(has(many_kinds.err, "is not text"));
  CHECK(
      has(here.gpt("train many.txt --tokenizer char --out c " + kQuick).err, "vocabulary of 513"));
  CHECK(
      has(here.gpt("train text.txt --tokenizer byte --out t " + kQuick).err, "vocabulary of 256"));
  CHECK(here.gpt("train --resume --out t --tokenizer auto").code == 0);
  check_refused(here.gpt("train bytes.bin --tokenizer char --out x"),
                {"bytes.bin", "UTF-8", "byte 0", "--tokenizer byte"});
  CHECK_FALSE(fs::exists(here.directory / "x"));
}

TEST_CASE("a binary file is reported, unless bytes were requested") {
  const Workplace here;
  here.write("zero.bin", std::string(500, 'a') + std::string(1, '\0') + std::string(500, 'b'));
  here.write("latin.txt", std::string(700, 'a') + "\xE9" + std::string(300, 'b'));
  const std::string note = "; training on bytes";
  CHECK(has(here.gpt("train zero.bin --out z " + kQuick).err,
            "zero.bin is not text: byte 500 is 0" + note));
  CHECK(has(here.gpt("train text.txt latin.txt --out l " + kQuick).err,
            "latin.txt is not text: byte 700 is not UTF-8" + note));
  CHECK_FALSE(has(here.gpt("train --resume --out l").err, "is not text"));
  for (const char* file : {"zero.bin --tokenizer byte", "text.txt"})
    CHECK_FALSE(
        has(here.gpt("train --out b" + std::string(1, file[0]) + " " + file + " " + kQuick).err,
            "is not text"));
}

TEST_CASE("a run given as a text or by --out is rejected with the correct command") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --out run " + kQuick).code == 0);
  for (const std::string command : {"sample", "info"})
    check_refused(here.gpt(command + " --out run"), {"the run is an argument: gpt " + command});
  check_refused(here.gpt("train run"), {"run: is a run", "gpt train --out run --resume"});
  check_refused(here.gpt("train run --resume"), {"gpt train --out run --resume"});
}

TEST_CASE("the model size follows the length of the text") {
  const auto name = [](std::int64_t tokens) -> std::string {
    return examples::config_for(tokens).name;
  };
  CHECK((name(1) == "toy" && name(10'000) == "toy" && name(10'001) == "cpu"));
  CHECK((name(10'000'000) == "cpu" && name(10'000'001) == "baby12"));
  CHECK(examples::config_for(10'000).range == std::string("up to 10,000"));
  CHECK(examples::config_for(10'001).range == std::string("10,000 to 10,000,000"));
  CHECK(examples::config_for(10'000'001).range == std::string("10,000,000 or more"));
}

TEST_CASE("the held-out tenth begins with a complete character") {
  std::string text;
  for (int i = 0; i < 15; ++i) text += "é";  // 30 bytes; byte 27 is inside a character
  const Workplace here;
  here.write("text.txt", text);
  CLI::App app;
  examples::GptFlags flags(app);
  flags.texts = {(here.directory / "text.txt").string()};
  flags.tokenizer = "bpe";
  flags.tokenizer_vocab = 257;
  const auto corpus = examples::read_corpus(flags);
  CHECK(corpus.tokenizer->decode(corpus.held_out) == "é");
  CHECK(corpus.tokenizer->decode(corpus.training) + "é" == text);
}

TEST_CASE("the entropies of a text come from counts of tokens and of pairs") {
  examples::Corpus corpus;
  corpus.tokenizer = std::make_unique<io::CharTokenizer>("abac");
  corpus.training = corpus.tokenizer->encode("abac");
  const auto [unigram, bigram] = examples::entropies(corpus);
  // Half of the tokens are a, a quarter are b, and a quarter are c. Two of three pairs begin with
  // a.
  CHECK(std::abs(unigram - 1.5 * std::log(2.0)) < 1e-15);
  CHECK(std::abs(bigram - 2.0 / 3 * std::log(2.0)) < 1e-15);
}

TEST_CASE("words and byte pairs work in train, resume, info, sample and eval") {
  const Workplace here;
  for (const std::string kind : {"word", "bpe"}) {
    INFO(kind);
    const std::string vocab = kind == "word" ? "20" : "280";
    const Outcome done = here.gpt("train text.txt --tokenizer " + kind + " --vocab " + vocab +
                                  " --out " + kind + " " + kQuick);
    CAPTURE(done.err);
    REQUIRE(done.code == 0);
    const std::string one = kind == "word" ? "word" : "bpe token";
    CHECK(has(done.err, one + "s, vocabulary of " + vocab));
    CHECK(has(done.out, "nats per " + one));
    CHECK(here.gpt("train --resume --out " + kind).code == 0);
    CHECK(here.gpt("train --resume --tokenizer " + kind + " --out " + kind).code == 0);
    check_refused(here.gpt("train --resume --vocab 333 --out " + kind), {"--vocab 333", vocab});
    CHECK(has(here.gpt("info " + kind).out, one + ", vocabulary of " + vocab));
    const Outcome drawn = here.gpt("sample " + kind + " --prompt 'the cat' --tokens 5");
    CHECK(drawn.code == 0);
    CHECK(has(drawn.out, "the cat"));
    const Outcome evaluated = here.gpt("eval " + kind + " text.txt");
    const double a_token = number_after(evaluated.out, ""),
                 a_byte = number_after(evaluated.out, "perplexity ") > 0
                              ? number_after(evaluated.out.substr(evaluated.out.find("perplexity")),
                                             ", ")
                              : 0;
    CHECK(has(evaluated.out, "nats per byte"));
    CHECK(a_byte < 0.7 * a_token);  // each token has at least two bytes
    std::ofstream(here.directory / kind / "tokenizer.json") << "{}";  // an invalid file
    check_refused(here.gpt("train --resume --out " + kind), {"tokenizer.json"});
  }
}

TEST_CASE("a separate text can be held out by --val") {
  const Workplace here;
  here.write("val.txt", "the cat sat on mat 12, and so on.\n");
  here.write("greek.txt", "the cat sat on Ω\n");
  const Outcome done = here.gpt("train text.txt --val val.txt --out run " + kQuick);
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(has(done.err, "held out: val.txt, 34"));
  // The best loss must be that of the saved weights.
  const double best = number_after(done.out, "held-out loss");
  CHECK(number_after(here.gpt("eval run val.txt").out, "") == best);
  CHECK(here.gpt("train --resume --out run").code == 0);
  here.write("elsewhere.txt", contents(here.directory / "val.txt"));
  fs::remove(here.directory / "val.txt");
  check_refused(here.gpt("train --resume --out run"), {"val.txt"});
  CHECK(here.gpt("train --resume --out run --val elsewhere.txt").code == 0);
  here.write("val.txt", "the cat sat on mat 13, and so on.\n");
  check_refused(here.gpt("train --resume --out run"), {"another text"});
  check_refused(here.gpt("train text.txt --val greek.txt --out x"),
                {"greek.txt", "U+03A9", "byte 15", "--tokenizer byte"});
  check_refused(here.gpt("train text.txt --val missing.txt --out x"), {"missing.txt"});
}

TEST_CASE("gpt rejects unsuitable texts and reports the reason") {
  const Workplace here;
  here.write("empty.txt", "");
  here.write("short.txt", "too short");
  check_refused(here.gpt("train empty.txt " + kSmall), {"empty.txt", "no text"});
  check_refused(here.gpt("train short.txt " + kSmall),
                {"short.txt", "9 tokens", "held-out", "at least 9", "--val", "--context"});
  check_refused(here.gpt("train short.txt --val text.txt --context 9 --tokenizer byte"),
                {"9 tokens", "at least 10"});
  check_refused(here.gpt("train text.txt --val short.txt --context 9 --tokenizer byte"),
                {"short.txt", "9 tokens"});
  check_refused(here.gpt("train text.txt --val empty.txt"), {"empty.txt", "no text"});
  check_refused(here.gpt("train text.txt/inner"), {"text.txt/inner"});
  if (fs::exists("/proc/self/mem"))  // the file cannot be read
    check_refused(here.gpt("train /proc/self/mem"), {"/proc/self/mem", "cannot read"});
  if (::geteuid() != 0) {  // root can read every file
    fs::permissions(here.directory / "short.txt", fs::perms::none);
    check_refused(here.gpt("train short.txt"), {"short.txt", "Permission denied"});
  }
  CHECK_FALSE(fs::exists(here.directory / "runs"));
}

TEST_CASE("a held-out loss that rises three times is reported once, and training continues") {
  const Workplace here;
  std::string noise;  // random text, which can only be memorized
  for (unsigned i = 0, x = 1; i < 900; ++i)
    noise += static_cast<char>('a' + (x = x * 69069 + 1) % 23);
  here.write("noise.txt", noise);
  const Outcome done = here.gpt(
      "train noise.txt --out run --layers 1 --width 64 --heads 2 --context 8 --batch 32 "
      "--threads 1 --no-trial --steps 240 --eval-every 20 --lr 0.005");
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const std::size_t warning = done.err.find("risen three times in a row");
  REQUIRE(warning != std::string::npos);
  CHECK(done.err.find("step 240/240", warning) != std::string::npos);
  CHECK(has(done.err, "ended above the bigram loss"));
  const std::string metrics = contents(here.directory / "run/metrics.jsonl");
  const double last = number_after(metrics.substr(metrics.rfind("held_out_loss")), ": ");
  CHECK(std::abs(number_after(done.err, "above the bigram loss, at") - last) < 1e-4);
  CHECK(last > number_after(done.out, "held-out loss") + 0.01);
  CHECK(has(done.err, "the loss rose; try --lr 0.00125"));
  const double step = number_after(done.err.substr(warning), "at step");
  CHECK(number_after(done.out, "best, at step") == step);
  CHECK(number_after(here.gpt("info run").out, "at step") == step);
}

TEST_CASE("gpt info describes a run") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --out run " + kQuick).code == 0);
  const Outcome info = here.gpt("info run");
  CAPTURE(info.out);
  CHECK(info.code == 0);
  for (const char* words :
       {"text.txt", "last tenth", "character, vocabulary of 24",
        "1 layers, 2 heads, width 16, context 8", "3,", "parameters", "4 of 4 steps", "best loss",
        "at step 4", "finished", "settings.json", "checkpoint.safetensors", "kB", "20"})
    CHECK(has(info.out, words));
  std::string half = contents(here.directory / "run/checkpoint.safetensors");
  half.resize(half.size() / 2);
  here.write("run/checkpoint.safetensors", half);
  check_refused(here.gpt("info run"), {"checkpoint.safetensors"});
  check_refused(here.gpt("train --resume --out run"), {"checkpoint.safetensors"});
}

TEST_CASE("sample --follow prints complete characters as they are drawn") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --tokenizer byte --config cpu --no-trial --steps 1 --out run")
              .code == 0);
  // Pauses the program at its first output. Without --follow, this output would be a buffer of 4096
  // bytes.
  const Outcome seen = here.shell(
      Workplace::program() + " sample run --tokens 1000000 --follow >drawn & p=$!; " +
      until("[ -s drawn ]") + "kill -STOP $p; cp drawn part; kill -CONT $p; kill -INT $p; wait $p");
  CHECK(seen.code == 130);
  const std::string part = contents(here.directory / "part");
  CHECK(part.size() < 4096);
  CHECK(io::is_utf8(part));
  const Outcome cut =
      here.shell(Workplace::program() + " sample run --tokens 1000000 --follow | head -c 9");
  CHECK(cut.out.size() == 9);
  CHECK(cut.err.empty());
}

}  // namespace
}  // namespace gradus::testing::test_gpt_text
