// gpt train: says what it is about to do and what that will cost, does it, says what came of it.
#include <cstdio>
#include <iomanip>

#include "commands.h"
#include "cost_estimate.h"
#include "gradus/base/parallel.h"
#include "gradus/base/products/backend.h"
#include "gradus/examples/support/run.h"
#include "gradus/examples/support/words.h"
#include "gradus/io/text.h"
#include "training.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kEvaluationsInTime = 10;  // of a run with --minutes

std::string three_digits(double value) { return str_cat(std::setprecision(3), value); }

/// Each part of the text must hold a window of the context, and the token after it.
void require_long_enough(const Corpus& corpus, const GptFlags& flags) {
  const std::int64_t wanted = flags.context + 1;
  const bool tenth = flags.validation.empty();
  require(std::ssize(corpus.held_out) >= wanted, tenth ? flags.texts.front() : flags.validation,
          ": ",
          tenth ? str_cat("of its ", corpus.size(), " tokens the last tenth is held out, ") : "",
          corpus.held_out.size(), " tokens, but a context of ", flags.context, " wants at least ",
          wanted, ": give a longer text",
          tenth ? str_cat(" (", 10 * wanted, "), another one with --val,") : "",
          " or a smaller --context");
  require(std::ssize(corpus.training) >= wanted, flags.texts.front(), ": has ",
          corpus.training.size(), " tokens to learn from, but a context of ", flags.context,
          " wants at least ", wanted, ": give a longer text, or a smaller --context");
}

void describe_text_and_model(const Corpus& corpus, const GptFlags& flags, const std::string& why) {
  const std::string token = corpus.tokenizer->name();
  say("machine", num_threads(), num_threads() == 1 ? " thread" : " threads",
      "; products: ", products::describe());
  if (!corpus.not_text.empty())
    say("note", corpus.not_text, "; its bytes are learnt (--tokenizer byte: that is meant)");
  say("text", io::grouped(corpus.size()), " ", token, "s, ", flags.vocab,
      " kinds; held out: ", flags.validation.empty() ? "the last tenth" : flags.validation, ", ",
      io::grouped(std::ssize(corpus.held_out)));
  say("model", flags.config, ", ", why, ": ", flags.layers, " layers, ", flags.heads,
      " heads, width ", flags.width, ", context ", flags.context, flags.non_default_options());
}

void describe_run(const GptFlags& flags, const Corpus& corpus, const Trainer& trainer,
                  const std::optional<CostEstimate>& cost, bool named) {
  const std::int64_t steps = trainer.pace().steps();
  const auto seen =
      static_cast<double>(steps) * static_cast<double>(flags.shards * flags.batch * flags.context);
  say("training", io::grouped(static_cast<std::int64_t>(flags.need().parameters)), " parameters, ",
      io::grouped(steps), " steps of ",
      flags.shards > 1 ? str_cat(flags.shards, " shards of ") : "", flags.batch, " x ",
      flags.context, " ", corpus.tokenizer->name(),
      "s: ", three_digits(seen / static_cast<double>(corpus.training.size())),
      " passes over the text",
      trainer.step() > 0 ? str_cat("; going on from step ", io::grouped(trainer.step())) : "");
  if (cost)
    say("estimate", "about ", duration(seconds_left(*cost, trainer.pace(), trainer.step())),
        " and ", byte_size(cost->peak_bytes), " of memory, going by ", cost->steps, " steps of ",
        three_digits(1e3 * cost->step_seconds), " ms that were thrown away");
  say("run", flags.out, named ? "" : ", after the text's name (--out takes another)");
}

/// A run that is ready to begin, or to go on.
struct ReadyRun {
  DirectoryLock lock;
  Corpus corpus;
  std::optional<CostEstimate> cost;
};

ReadyRun new_run(GptFlags& flags) {
  require(!flags.texts.empty(), "train: which text? Give one or more files");
  const bool fits_time = flags.minutes.has_value();
  require(!fits_time || !flags.given("--steps"), "--minutes contradicts --steps: give one of them");
  require(!fits_time || !flags.no_trial,
          "--minutes contradicts --no-trial: the trial tells how many steps fit");
  if (fits_time) Judge().number("minutes", *flags.minutes);
  require_no_run("gpt", flags.files());
  flags.judge_before_text();
  const bool asked = !flags.config.empty();
  const TokenizerChoice choice{flags.tokenizer, flags.tokenizer_vocab};
  Corpus corpus = tokenized(read_texts(flags.texts, flags.validation, choice), choice);
  flags.take(corpus);
  flags.judge(Judge());
  require_long_enough(corpus, flags);
  DirectoryLock lock = flags.begin({flags.tokenizer_file()});
  describe_text_and_model(corpus, flags,
                          asked ? "as asked"
                                : str_cat("for texts of ", config_for(corpus.size()).range, " ",
                                          corpus.tokenizer->name(), "s"));
  std::optional<CostEstimate> cost;
  if (!flags.no_trial) cost = estimate_cost(flags, corpus);
  if (fits_time) {
    flags.time.seconds = 60 * *flags.minutes;
    fit_to_time(flags, *cost, flags.given("--eval-every") ? 0 : kEvaluationsInTime);
    if (flags.writes()) flags.write();
  }
  return {std::move(lock), std::move(corpus), cost};
}

/// What is said of the text, the steps and the tokenizer agrees with the run, whose settings
/// `flags` get. Texts may be found at another place than when it began.
DirectoryLock resume_with(GptFlags& flags, std::int64_t& steps) {
  const std::vector<std::string> texts = flags.texts;
  const std::string validation = flags.validation, tokenizer = flags.tokenizer;
  const std::int64_t asked = flags.steps;
  DirectoryLock lock = flags.begin({flags.tokenizer_file()});
  const SavedState saved = read_state(flags.files());
  const std::int64_t goal = saved.steps.value_or(flags.steps);
  steps = goal - saved.step;
  if (flags.given("--steps")) must_agree("--steps", asked, goal, flags.out);
  if (flags.given("--tokenizer") && tokenizer != "auto")
    must_agree("--tokenizer", tokenizer, flags.tokenizer, flags.out);
  require(validation.empty() || !flags.validation.empty(), "--val contradicts the run in ",
          flags.out,
          ", which holds out the last tenth of its text: leave the flag out, or start a new run");
  require(!flags.minutes, "--minutes contradicts --resume: the run in ", flags.out, " has its ",
          goal, " steps already");
  if (!texts.empty()) flags.texts = texts;
  if (!validation.empty()) flags.validation = validation;
  return lock;
}

ReadyRun resumed_run(GptFlags& flags) {
  std::int64_t steps = 0;
  DirectoryLock lock = resume_with(flags, steps);
  const TokenizerChoice choice{flags.tokenizer, flags.tokenizer_vocab};
  Texts texts = read_texts(flags.texts, flags.validation, choice);
  require<FileError>(texts.digest == flags.text_digest, flags.out,
                     ": was trained on another text (digest ", flags.text_digest,
                     ") than what these files hold now (", texts.digest,
                     "): restore the text, or start a new run");
  Corpus corpus = tokenized(std::move(texts), choice, io::load_tokenizer(flags.tokenizer_file()));
  require<FileError>(corpus.tokenizer->vocab_size() == flags.vocab, flags.settings_file(),
                     ": vocab ", flags.vocab, ": but the text has ", corpus.tokenizer->vocab_size(),
                     " kinds of tokens", kWayOn);
  require_long_enough(corpus, flags);
  describe_text_and_model(corpus, flags, "as it began");
  std::optional<CostEstimate> cost;
  if (steps > 0 && !flags.no_trial) cost = estimate_cost(flags, corpus);
  return {std::move(lock), std::move(corpus), cost};
}

}  // namespace

int train(GptFlags& flags) {
  const bool named = !flags.out.empty();
  for (const std::string& each : flags.texts)
    require(!holds_run({each}), each, ": is a run and no text: go on with it by ",
            resume_command("gpt", each));
  flags.out = flags.directory();
  const ReadyRun run = flags.resume ? resumed_run(flags) : new_run(flags);
  return run_training(flags, run.corpus, [&](const Trainer& trainer) {
    describe_run(flags, run.corpus, trainer, run.cost, named);
  });
}

}  // namespace gradus::examples
