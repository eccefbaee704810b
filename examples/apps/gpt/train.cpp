// gpt train: prints the plan and its cost, trains, and prints the results.
#include <cstdio>
#include <iomanip>

#include "commands.h"
#include "corpus.h"
#include "cost_estimate.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/examples/apps/support/words.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "training.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kEvaluationsInTime = 10;  // with --minutes

std::string three_digits(double value) { return str_cat(std::setprecision(3), value); }

/// Throws unless the training and held-out parts each have at least context + 1 tokens.
void require_long_enough(const Corpus& corpus, const GptFlags& flags) {
  const auto wanted = static_cast<std::size_t>(flags.context + 1);
  const bool tenth = flags.validation.empty();
  const std::string problem = str_cat(", but a context of ", flags.context, " needs at least ",
                                      wanted, "; give a longer text");
  require(corpus.held_out.size() >= wanted, tenth ? flags.texts.front() : flags.validation, ": ",
          tenth ? str_cat("the held-out tenth of its ", corpus.size(), " tokens has ") : "has ",
          corpus.held_out.size(), " tokens", problem,
          tenth ? str_cat(" (", 10 * wanted, "), another one with --val,") : "",
          " or a smaller --context");
  require(corpus.training.size() >= wanted, flags.texts.front(), ": has ", corpus.training.size(),
          " tokens to train on", problem, ", or a smaller --context");
}

void describe_text_and_model(const Corpus& corpus, const GptFlags& flags, const std::string& why) {
  const std::string token = corpus.tokenizer->name();
  say("machine", num_threads(), num_threads() == 1 ? " thread" : " threads",
      "; matmul: ", matmul_backend());
  if (!corpus.not_text.empty())
    say("note", corpus.not_text, "; training on bytes (--tokenizer byte confirms this)");
  say("text", io::grouped(corpus.size()), " ", token, "s, vocabulary of ", flags.vocab,
      "; held out: ", flags.validation.empty() ? "the last tenth" : flags.validation, ", ",
      io::grouped(std::ssize(corpus.held_out)));
  say("model", flags.config, ", ", why, ": ", flags.layers, " layers, ", flags.heads,
      " heads, width ", flags.width, ", context ", flags.context, flags.non_default_options());
}

void describe_run(const GptFlags& flags, const Corpus& corpus, const train::Trainer& trainer,
                  const std::optional<CostEstimate>& cost, bool named) {
  const std::int64_t steps = trainer.budget().steps();
  const auto seen =
      static_cast<double>(steps) * static_cast<double>(flags.shards * flags.batch * flags.context);
  say("training", io::grouped(static_cast<std::int64_t>(flags.need().parameters)), " parameters, ",
      io::grouped(steps), " steps of ",
      flags.shards > 1 ? str_cat(flags.shards, " shards of ") : "", flags.batch, " x ",
      flags.context, " ", corpus.tokenizer->name(),
      "s: ", three_digits(seen / static_cast<double>(corpus.training.size())),
      " passes over the text",
      trainer.step() > 0 ? str_cat("; resuming from step ", io::grouped(trainer.step())) : "");
  if (cost)
    say("estimate", "about ", duration(seconds_left(*cost, trainer.budget(), trainer.step())),
        " and ", byte_size(cost->peak_bytes), " of memory, measured in ", cost->steps,
        " trial steps of ", three_digits(1e3 * cost->step_seconds), " ms");
  say("run", flags.out, named ? "" : ", named after the text (--out changes it)");
}

/// Loads the run's settings. Flags must not contradict them, but texts may have moved.
DirectoryLock resume_with(GptFlags& flags, bool& finished) {
  const std::vector<std::string> texts = flags.texts;
  const std::string validation = flags.validation, tokenizer = flags.tokenizer;
  const std::int64_t asked = flags.steps;
  DirectoryLock lock = flags.begin();
  const train::SavedState saved = train::read_state(flags.files());
  const std::int64_t goal = saved.steps.value_or(flags.steps);
  finished = saved.step == goal;
  if (flags.given("--steps")) must_agree("--steps", asked, goal, flags.out);
  if (flags.given("--tokenizer") && tokenizer != "auto")
    must_agree("--tokenizer", tokenizer, flags.tokenizer, flags.out);
  require(validation.empty() || !flags.validation.empty(), "--val contradicts the run in ",
          flags.out,
          ", which holds out the last tenth of its text; leave the flag out, or start a new run");
  require(!flags.minutes, "--minutes contradicts --resume; the run in ", flags.out,
          " already has its ", goal, " steps");
  if (!texts.empty()) flags.texts = texts;
  if (!validation.empty()) flags.validation = validation;
  return lock;
}

void take_text(GptFlags& flags, const Corpus& corpus) {
  const std::int64_t kinds = corpus.tokenizer->vocab_size();
  require<FileError>(!flags.resume || kinds == flags.vocab, flags.settings_file(), ": vocab ",
                     flags.vocab, " differs from the vocabulary of the text, ", kinds, kWayOn);
  if (!flags.resume) {
    flags.take(corpus);
    flags.judge(Judge());
  }
  require_long_enough(corpus, flags);
}

}  // namespace

int train(GptFlags& flags) {
  const bool named = !flags.out.empty();
  for (const std::string& each : flags.texts)
    require(!train::holds_run({each}), each, ": is a run, not a text; resume it with ",
            resume_command("gpt", each));
  flags.out = flags.directory();
  bool finished = false;
  std::optional<DirectoryLock> lock;
  if (flags.resume)
    lock.emplace(resume_with(flags, finished));
  else
    flags.judge_before_text();
  const bool asked = !flags.config.empty();
  const Corpus corpus = read_corpus(flags);
  take_text(flags, corpus);
  if (!lock) {
    flags.check_patterns();
    lock.emplace(flags.begin());
  }
  describe_text_and_model(corpus, flags,
                          flags.resume ? "as in the run"
                          : asked      ? "as requested"
                                  : str_cat("for texts of ", config_for(corpus.size()).range, " ",
                                            corpus.tokenizer->name(), "s"));
  std::optional<CostEstimate> cost;
  if (!flags.no_trial && !finished) cost = estimate_cost(flags, corpus);
  if (flags.minutes) {
    flags.time.seconds = 60 * *flags.minutes;
    fit_to_time(flags, *cost, flags.given("--eval-every") ? 0 : kEvaluationsInTime);
    if (flags.writes()) flags.write();
  }
  return run_training(flags, corpus, [&](const train::Trainer& trainer) {
    describe_run(flags, corpus, trainer, cost, named);
  });
}

}  // namespace gradus::examples
