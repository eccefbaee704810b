// gpt train: says what it is about to do and what that will cost, does it, says what came of it.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iomanip>

#include "commands.h"
#include "gradus/base/parallel.h"
#include "gradus/base/products/backend.h"
#include "gradus/examples/support/run.h"
#include "gradus/examples/support/words.h"
#include "gradus/io/text.h"
#include "plan.h"
#include "report.h"
#include "run.h"
#include "trial.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kEvaluationsInTime = 10;  // of a run with --minutes

std::string three_digits(double value) { return text(std::setprecision(3), value); }

void describe_text_and_model(const Corpus& corpus, const Settings& s, const std::string& why) {
  say("machine", num_threads(), num_threads() == 1 ? " thread" : " threads",
      "; products: ", products::describe());
  say("text", io::grouped(corpus.size()), " ", corpus.tokenizer->name(), "s, ", s.model.vocab,
      " kinds; held out: ", s.validation.empty() ? "the last tenth" : s.validation, ", ",
      io::grouped(std::ssize(corpus.held_out)));
  say("model", s.config, ", ", why, ": ", s.model.layers, " layers, ", s.model.heads,
      " heads, width ", s.model.width, ", context ", s.model.context, peculiarities(s.model));
}

void describe_run(const Run& run, const std::optional<Trial>& trial) {
  const Settings& s = run.settings();
  const Trainer& trainer = run.trainer();
  const std::int64_t steps = trainer.pace().steps();
  const auto seen = static_cast<double>(steps) * static_cast<double>(s.batch * s.model.context);
  say("training", io::grouped(run.model().parameter_count()), " parameters, ", io::grouped(steps),
      " steps of ", s.batch, " x ", s.model.context, " ", run.corpus().tokenizer->name(),
      "s: ", three_digits(seen / static_cast<double>(run.corpus().training.size())),
      " passes over the text",
      trainer.step() > 0 ? text("; going on from step ", io::grouped(trainer.step())) : "");
  if (!trial) return;
  say("estimate", "about ", duration(seconds_left(*trial, trainer.pace(), trainer.step())), " and ",
      byte_size(trial->peak_bytes), " of memory, going by ", trial->steps, " steps of ",
      three_digits(1e3 * trial->step_seconds), " ms that were thrown away");
}

/// A run that is ready to train, and what its trial said, where there was one.
struct Prepared {
  std::unique_ptr<Run> run;
  std::optional<Trial> trial;
};

void check_time(const TrainFlags& flags) {
  require(!flags.minutes || !flags.steps, "--minutes contradicts --steps: give one of them");
  require(!flags.minutes || !flags.no_trial,
          "--minutes contradicts --no-trial: the trial tells how many steps fit");
  if (flags.minutes) check_minutes(*flags.minutes);
}

Prepared started(const TrainFlags& flags, const RunPaths& paths) {
  require(!flags.files.empty(), "train: which text? Give one or more files");
  check_time(flags);
  const Tokens tokens = tokens_of(flags);
  require_no_run("gpt", paths);
  judge_flags(flags);
  Corpus corpus = read_corpus(flags.files, flags.validation.value_or(""), tokens);
  Settings settings = settings_for(flags, corpus);
  require_long_enough(corpus, settings);
  DirectoryLock lock(paths.directory);
  describe_text_and_model(corpus, settings,
                          flags.config ? "as asked"
                                       : text("for texts of ", config_for(corpus.size()).range, " ",
                                              corpus.tokenizer->name(), "s"));
  Prepared out;
  if (!flags.no_trial) out.trial = try_out(settings, corpus);
  if (flags.minutes) {
    settings.time.seconds = 60 * *flags.minutes;
    fit_to_time(settings, *out.trial, flags.eval_every ? 0 : kEvaluationsInTime);
  }
  out.run = Run::start(std::move(lock), paths, settings, std::move(corpus));
  return out;
}

Prepared resumed(const TrainFlags& flags, const RunPaths& paths) {
  require_checkpoint(paths);
  DirectoryLock lock(paths.directory);
  const Settings s = read_settings(paths, true);
  const SavedState saved = read_state(paths);
  Settings now = s;
  now.steps = saved.steps.value_or(s.steps);
  require_agreement(flags, now, paths.directory);
  Texts texts = read_texts(flags.files.empty() ? s.files : flags.files,
                           flags.validation.value_or(s.validation), tokens_of(s));
  require<FileError>(texts.digest == s.text_digest, paths.directory,
                     ": was trained on another text (digest ", s.text_digest,
                     ") than what these files hold now (", texts.digest,
                     "): restore the text, or start a new run");
  Corpus corpus = tokenized(std::move(texts), tokens_of(s), io::load_tokenizer(paths.tokenizer()));
  require<FileError>(corpus.tokenizer->vocab_size() == s.model.vocab, paths.settings(), ": vocab ",
                     s.model.vocab, ": but the text has ", corpus.tokenizer->vocab_size(),
                     " kinds of tokens", kWayOn);
  require_long_enough(corpus, s);
  const bool more = saved.step < now.steps;
  describe_text_and_model(corpus, s, "as it began");
  Prepared out;
  if (more && !flags.no_trial) out.trial = try_out(s, corpus);
  out.run = Run::resume(std::move(lock), paths, s, std::move(corpus));
  return out;
}

}  // namespace

int train(const TrainFlags& flags) {
  const RunPaths paths{{directory_of(flags)}};
  const Prepared prepared = flags.resume ? resumed(flags, paths) : started(flags, paths);
  Run& run = *prepared.run;
  describe_run(run, prepared.trial);
  say("run", paths.directory, flags.out ? "" : ", after the text's name (--out takes another)");
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t first = run.trainer().step();
  const TrainEnd end = run.train();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  say_cost(taken.count(), run.trainer().step() - first);
  return report(run, end, paths);
}

}  // namespace gradus::examples
