// sample, eval and info: what a finished run, or one under way, is good for.
#include "commands.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iomanip>

#include "gradus/examples/support/interrupt.h"
#include "gradus/examples/support/words.h"
#include "gradus/io/text.h"
#include "gradus/models/decode.h"
#include "run.h"

namespace gradus::examples {
namespace {

/// "2026-03-01 14:05" where this computer is; of a file that is gone, "?".
std::string when_written(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return "?";
  const auto since_1970 = std::filesystem::file_time_type::clock::to_sys(time).time_since_epoch();
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  char words[32];
  return {words, std::strftime(words, sizeof words, "%F %R", std::localtime(&seconds))};
}

void print_files(const RunPaths& paths) {
  for (const std::string& path : paths.all()) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error) continue;
    std::printf("  %-24s %9s  %s\n", std::filesystem::path(path).filename().c_str(),
                byte_size(static_cast<std::int64_t>(bytes)).c_str(), when_written(path).c_str());
  }
}

void write_out(const std::string& text, bool at_once) {
  require<FileError>(std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                         (!at_once || std::fflush(stdout) == 0),
                     "standard output cannot be written");
}

}  // namespace

int sample(const SampleFlags& flags) {
  const Judge judge;
  judge.number("tokens", flags.tokens);
  judge.number("seed", flags.seed);
  judge.number("temperature", flags.temperature);
  judge.number("top_k", flags.top_k);
  judge.number("top_p", flags.top_p);
  judge.number("min_p", flags.min_p);
  judge.number("repetition_penalty", flags.repetition_penalty);
  const Trained trained = load_trained({{flags.directory}});
  std::vector<std::int64_t> prompt = trained.tokenizer->encode(flags.prompt);
  if (prompt.empty()) prompt = {0};  // something to start from: the first token of the vocabulary
  end_when_nobody_reads();
  io::StreamDecoder decoder(*trained.tokenizer);  // whole characters only
  write_out(flags.prompt, flags.follow);
  nn::GPTContinuation model(*trained.model);
  nn::generate(model, {prompt},
               {.tokens = flags.tokens,
                .sampling = {.temperature = flags.temperature,
                             .top_k = flags.top_k,
                             .top_p = flags.top_p,
                             .min_p = flags.min_p,
                             .repetition_penalty = flags.repetition_penalty}},
               RandomStream{static_cast<std::uint64_t>(flags.seed), 0, 0},
               [&](std::int64_t, std::int64_t id) {
                 write_out(decoder.push(id), flags.follow || interrupt_signal);
                 if (interrupt_signal) std::_Exit(128 + interrupt_signal);
                 return true;
               });
  write_out(decoder.finish() + "\n", true);
  return 0;
}

int evaluate(const std::string& directory, const std::string& file) {
  const Trained trained = load_trained({{directory}});
  const std::string text = io::read_text(file);
  const std::vector<std::int64_t> tokens = trained.tokenizer->encode(text);
  require(std::ssize(tokens) > trained.model->options.context, file, ": has ", tokens.size(),
          " tokens, but the model's context of ", trained.model->options.context,
          " wants at least ", trained.model->options.context + 1);
  const double loss = mean_loss(*trained.model, tokens, 32);
  std::printf("%.4f nats a %s, perplexity %.3f", loss, trained.tokenizer->name().c_str(),
              std::exp(loss));
  if (trained.settings.tokenizer_vocab > 0)  // to compare with other tokens
    std::printf(", %.4f nats a byte",
                loss * static_cast<double>(tokens.size()) / static_cast<double>(text.size()));
  std::printf("\n");
  return 0;
}

int info(const std::string& directory) {
  const RunPaths paths{{directory}};
  const Settings s = read_settings(paths, false);
  const std::unique_ptr<io::Tokenizer> tokenizer = io::load_tokenizer(paths.tokenizer());
  const SavedState saved = read_state(paths);
  const std::int64_t steps = saved.steps.value_or(s.steps);
  const int writer = lock_holder(directory);
  std::string files;
  for (const std::string& file : s.files) files += (files.empty() ? "" : ", ") + file;
  std::fputs(
      text("text       ", s.files.size() > 3 ? text(s.files.size(), " files") : files,
           "; held out: ", s.validation.empty() ? "the last tenth" : s.validation, "\n",
           "tokenizer  ", tokenizer->name(), ", ", tokenizer->vocab_size(), " kinds\n",
           "model      ", s.config, ": ", s.model.layers, " layers, ", s.model.heads,
           " heads, width ", s.model.width, ", context ", s.model.context, ", dropout ",
           s.model.dropout, peculiarities(s.model), "; ", io::grouped(saved.parameters),
           " parameters\n", "training   ", saved.step, " of ", steps, " steps done, batch ",
           s.batch, ", learning rate ", s.learning_rate, ", seed ", s.seed, "\n", "held out   ",
           saved.best_step > 0 ? text("best loss ", std::fixed, std::setprecision(4), saved.best,
                                      " nats a ", tokenizer->name(), " at step ", saved.best_step)
                               : "not evaluated yet",
           "\n", "state      ",
           writer > 0            ? text("process ", writer, " is training it")
           : saved.step == steps ? "finished"
                                 : text("go on with: gpt train --out ", directory, " --resume"),
           "\n", "files\n")
          .c_str(),
      stdout);
  print_files(paths);
  return 0;
}

}  // namespace gradus::examples
