// Every complaint about a flag stands here, and which config a text gets.
#include "plan.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>

#include "gradus/examples/support/run.h"
#include "gradus/io/text.h"
#include "names.h"

namespace gradus::examples {
namespace {

/// Texts of at most `tokens` are learnt with these sizes. A larger model learns a small text by
/// heart before it learns its language; a smaller one has no room for what a large text tells.
struct ConfigForText {
  const char* config;
  std::int64_t tokens;
};
constexpr ConfigForText kConfigs[] = {
    {"toy", 10'000}, {"cpu", 10'000'000}, {"baby12", std::numeric_limits<std::int64_t>::max()}};

template <class T>
void must_agree(const char* flag, const std::optional<T>& given, const T& run,
                const std::string& directory) {
  if (given) examples::must_agree(flag, *given, run, directory);
}

/// The preset's, but where flags say something else.
nn::GPTOptions model_for(const TrainFlags& flags, const nn::GPTOptions& preset) {
  nn::GPTOptions model = preset;
  model.context = flags.context.value_or(preset.context);
  model.layers = flags.layers.value_or(preset.layers);
  model.heads = flags.heads.value_or(preset.heads);
  model.width = flags.width.value_or(preset.width);
  model.dropout = flags.dropout.value_or(0);
  model.position = called(kPositions, "--positions", flags.positions.value_or("learned"));
  model.kv_heads = flags.kv_heads.value_or(model.heads);
  model.window = flags.window.value_or(0);
  model.norm_kind = called(kNorms, "--norm", flags.norm.value_or("layer"));
  model.activation = called(kActivations, "--activation", flags.activation.value_or("gelu"));
  model.checkpoint = flags.checkpoint;
  return model;
}

Tokens tokens_of(const std::string& flag, std::optional<std::int64_t> vocab) {
  if (flag == "word" || flag == "bpe") {
    const bool words = flag == "word";
    const std::int64_t least = words ? 2 : 256, most = 1'000'000;
    const std::int64_t kinds = vocab.value_or(words ? 4096 : 1024);
    require(least <= kinds && kinds <= most, "--vocab ", kinds, ": must be ", least, " to ",
            io::grouped(most), " for --tokenizer ", flag);
    return {words ? Tokens::words : Tokens::pairs, kinds};
  }
  require(flag == "auto" || flag == "char" || flag == "byte", "--tokenizer ", flag,
          ": there are auto, char, byte, word and bpe");
  require(!vocab, "--vocab is for --tokenizer word and bpe: the text has the characters it has");
  return {flag == "auto" ? Tokens::automatic : flag == "char" ? Tokens::characters : Tokens::bytes};
}

/// What flags and preset say.
Settings without_text(const TrainFlags& flags, const nn::GPTPreset& preset) {
  Settings s;
  s.config = preset.name;
  s.model = model_for(flags, preset.options);
  s.batch = flags.batch.value_or(preset.batch);
  s.steps = flags.steps.value_or(s.steps);
  s.eval_every = flags.eval_every.value_or(s.eval_every);
  s.learning_rate = flags.learning_rate.value_or(s.learning_rate);
  s.seed = flags.seed.value_or(s.seed);
  s.warmup = std::min<std::int64_t>(s.warmup, s.steps / 10);
  return s;
}

}  // namespace

ChosenConfig config_for(std::int64_t tokens) {
  std::string range = "up to ";
  for (const ConfigForText& each : kConfigs) {
    const bool last = &each == std::end(kConfigs) - 1;
    if (last) range.replace(range.size() - 4, 4, " or more");
    if (tokens <= each.tokens) return {each.config, range + (last ? "" : io::grouped(each.tokens))};
    range = io::grouped(each.tokens) + " to ";
  }
  return {};
}

std::string directory_of(const TrainFlags& flags) {
  if (flags.out) return *flags.out;
  require(!flags.files.empty(),
          flags.resume ? "train --resume: which run? Give its directory with --out, or its text"
                       : "train: which text? Give one or more files");
  const std::string stem = std::filesystem::path(flags.files.front()).stem().string();
  return "runs/" + (stem.empty() || stem == "." || stem == ".." ? "text" : stem);
}

Tokens tokens_of(const TrainFlags& flags) {
  return tokens_of(flags.tokenizer.value_or("auto"), flags.vocab);
}

Tokens tokens_of(const Settings& s) {
  return tokens_of(s.tokenizer,
                   s.tokenizer_vocab > 0 ? std::optional(s.tokenizer_vocab) : std::nullopt);
}

void check_minutes(double minutes) { Judge().number("minutes", minutes); }

void judge_flags(const TrainFlags& flags) {
  Settings least = without_text(flags, nn::gpt_preset(flags.config.value_or(kConfigs[0].config)));
  least.model.vocab = 1;
  judge_sizes(least, Judge(), true);
}

Settings settings_for(const TrainFlags& flags, const Corpus& corpus) {
  Settings s =
      without_text(flags, nn::gpt_preset(flags.config.value_or(config_for(corpus.size()).name)));
  s.files = flags.files;
  s.validation = flags.validation.value_or("");
  s.text_digest = corpus.digest;
  const Tokens tokens = tokens_of(flags);
  s.tokenizer_vocab = tokens.vocab;
  s.tokenizer = tokens.vocab > 0                     ? *flags.tokenizer
                : corpus.tokenizer->name() == "byte" ? "byte"
                                                     : "char";
  s.model.vocab = corpus.tokenizer->vocab_size();
  judge(s, Judge(), true);
  return s;
}

void require_long_enough(const Corpus& corpus, const Settings& s) {
  const std::int64_t wanted = s.model.context + 1;
  const bool tenth = s.validation.empty();
  require(std::ssize(corpus.held_out) >= wanted, tenth ? s.files.front() : s.validation, ": ",
          tenth ? text("of its ", corpus.size(), " tokens the last tenth is held out, ") : "",
          corpus.held_out.size(), " tokens, but a context of ", s.model.context, " wants at least ",
          wanted, ": give a longer text",
          tenth ? text(" (", 10 * wanted, "), another one with --val,") : "",
          " or a smaller --context");
  require(std::ssize(corpus.training) >= wanted, s.files.front(), ": has ", corpus.training.size(),
          " tokens to learn from, but a context of ", s.model.context, " wants at least ", wanted,
          ": give a longer text, or a smaller --context");
}

void require_agreement(const TrainFlags& flags, const Settings& s, const std::string& directory) {
  must_agree("--config", flags.config, s.config, directory);
  must_agree("--steps", flags.steps, s.steps, directory);
  must_agree("--batch", flags.batch, s.batch, directory);
  must_agree("--context", flags.context, s.model.context, directory);
  must_agree("--layers", flags.layers, s.model.layers, directory);
  must_agree("--heads", flags.heads, s.model.heads, directory);
  must_agree("--width", flags.width, s.model.width, directory);
  must_agree("--dropout", flags.dropout, s.model.dropout, directory);
  must_agree("--positions", flags.positions, name_of(kPositions, s.model.position), directory);
  must_agree("--kv-heads", flags.kv_heads, s.model.kv_heads.value_or(s.model.heads), directory);
  must_agree("--window", flags.window, s.model.window, directory);
  must_agree("--norm", flags.norm, name_of(kNorms, s.model.norm_kind), directory);
  must_agree("--activation", flags.activation, name_of(kActivations, s.model.activation),
             directory);
  require(!flags.checkpoint || s.model.checkpoint, "--checkpoint contradicts the run in ",
          directory, ", which has none: leave the flag out to resume it, or start a new run");
  must_agree("--lr", flags.learning_rate, s.learning_rate, directory);
  must_agree("--seed", flags.seed, s.seed, directory);
  must_agree("--eval-every", flags.eval_every, s.eval_every, directory);
  if (flags.tokenizer != "auto") must_agree("--tokenizer", flags.tokenizer, s.tokenizer, directory);
  must_agree("--vocab", flags.vocab, s.tokenizer_vocab, directory);
  require(!flags.validation || !s.validation.empty(), "--val contradicts the run in ", directory,
          ", which holds out the last tenth of its text: leave the flag out, or start a new run");
  require(!flags.minutes, "--minutes contradicts --resume: the run in ", directory, " has its ",
          s.steps, " steps already");
}

}  // namespace gradus::examples
