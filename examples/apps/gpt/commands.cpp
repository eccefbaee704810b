#include "commands.h"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iomanip>

#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/examples/apps/support/words.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "pretrained.h"
#include "training.h"

namespace gradus::examples {
namespace {

/// Returns "2026-03-01 14:05", or "?" if the file is missing.
std::string when_written(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return "?";
  char words[32];
  return {words, std::strftime(words, sizeof words, "%F %R", std::localtime(&file.st_mtime))};
}

void print_files(const GptFlags& flags) {
  for (const std::string& path : flags.all_files()) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error) continue;
    std::printf("  %-24s %9s  %s\n", std::filesystem::path(path).filename().c_str(),
                byte_size(static_cast<std::int64_t>(bytes)).c_str(), when_written(path).c_str());
  }
}

}  // namespace

void write_out(const std::string& text, bool at_once) {
  require<FileError>(std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                         (!at_once || std::fflush(stdout) == 0),
                     "cannot write to standard output: ", std::strerror(errno));
}

int sample(GptFlags& flags, const std::string& directory, const SampleFlags& how) {
  how.judge_values(Judge());
  const TrainedModel trained = load_trained(flags, directory);
  std::vector<std::int64_t> prompt = trained.tokenizer->encode(how.prompt);
  if (prompt.empty()) prompt = {0};  // generation needs a first token
  end_when_nobody_reads();
  io::StreamDecoder decoder(*trained.tokenizer);  // returns only complete characters
  write_out(how.prompt, how.follow);
  nn::GPTDecoderState model(*trained.model, flags.cache_precision());
  nn::generate(model, {prompt}, how.options,
               RandomStream{static_cast<std::uint64_t>(how.seed), 0, 0},
               [&](std::int64_t, std::int64_t id) {
                 write_out(decoder.push(id), how.follow || interrupt_signal);
                 if (interrupt_signal) std::_Exit(128 + interrupt_signal);
                 return true;
               });
  write_out(decoder.finish() + "\n", true);
  return 0;
}

int evaluate(GptFlags& flags, const std::string& directory, const std::string& file) {
  const TrainedModel trained = load_trained(flags, directory);
  const std::string text = io::read_text(file);
  const std::vector<std::int64_t> tokens = trained.tokenizer->encode(text);
  require(std::ssize(tokens) > flags.context, file, ": has ", tokens.size(),
          " tokens, but the model's context of ", flags.context, " needs at least ",
          flags.context + 1);
  const std::int64_t batch = flags.architecture.empty() ? 32 : 1;  // 1 for large vocabularies
  const double loss = mean_loss(*trained.model, tokens, batch, flags.context);
  std::printf("%.4f nats per %s, perplexity %.3f", loss, trained.tokenizer->name().c_str(),
              std::exp(loss));
  if (flags.tokenizer_vocab > 0)  // makes tokenizers comparable
    std::printf(", %.4f nats per byte",
                loss * static_cast<double>(tokens.size()) / static_cast<double>(text.size()));
  std::printf("\n");
  return 0;
}

int info(GptFlags& flags, const std::string& directory) {
  if (io::is_pretrained(directory)) return info_of_pretrained(directory);
  flags.load(directory);
  const std::unique_ptr<io::Tokenizer> tokenizer = tokenizer_of_run(flags);
  const train::SavedState saved = train::read_state(flags.files());
  const std::int64_t steps = saved.steps.value_or(flags.steps);
  const int writer = lock_holder(directory);
  std::string files;
  for (const std::string& file : flags.texts) files += (files.empty() ? "" : ", ") + file;
  std::fputs(
      str_cat(
          "text       ", flags.texts.size() > 3 ? str_cat(flags.texts.size(), " files") : files,
          "; held out: ", flags.validation.empty() ? "the last tenth" : flags.validation, "\n",
          "tokenizer  ", tokenizer->name(), ", vocabulary of ", tokenizer->vocab_size(), "\n",
          "model      ", flags.config, ": ", flags.layers, " layers, ", flags.heads,
          " heads, width ", flags.width, ", context ", flags.context, ", dropout ", flags.dropout,
          flags.non_default_options(), "; ", io::grouped(saved.parameters), " parameters\n",
          "training   ", saved.step, " of ", steps, " steps done, batch ", flags.batch,
          ", learning rate ", flags.learning_rate, ", seed ", flags.seed, "\n", "held out   ",
          saved.best_step > 0
              ? str_cat("best loss ", std::fixed, std::setprecision(4), saved.best, " nats per ",
                        tokenizer->name(), " at step ", saved.best_step)
              : "not evaluated yet",
          "\n", "state      ",
          writer > 0            ? str_cat("process ", writer, " is training it")
          : saved.step == steps ? "finished"
                                : str_cat("resume with: gpt train --out ", directory, " --resume"),
          "\n", "files\n")
          .c_str(),
      stdout);
  print_files(flags);
  return 0;
}

}  // namespace gradus::examples
