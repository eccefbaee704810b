// train, sample, eval and demo: from flags to a run, from a run's end to an exit code.
#include "commands.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "gradus/base/platform.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/io/text.h"
#include "gradus/nn/generate.h"
#include "run.h"

namespace gradus::examples {
namespace {

/// A flag that was given and says something else than the run is an error; what was not given is
/// the run's.
template <class T>
void must_agree(const char* flag, const std::optional<T>& given, const T& run,
                const std::string& directory) {
  require(!given || *given == run, flag, " ", given ? *given : run, " contradicts the run in ",
          directory, ", which has ", run, ": leave the flag out to resume it, or start a new run");
}

Settings settings_for(const TrainFlags& flags) {
  const nn::GPTPreset& preset = nn::gpt_preset(flags.config);
  Settings s;
  s.files = flags.files;
  s.model = preset.options;
  s.model.context = flags.context.value_or(preset.options.context);
  s.model.layers = flags.layers.value_or(preset.options.layers);
  s.model.heads = flags.heads.value_or(preset.options.heads);
  s.model.width = flags.width.value_or(preset.options.width);
  s.model.dropout = flags.dropout.value_or(0);
  s.batch = flags.batch.value_or(preset.batch);
  s.steps = flags.steps.value_or(s.steps);
  s.eval_every = flags.eval_every.value_or(s.eval_every);
  s.learning_rate = flags.learning_rate.value_or(s.learning_rate);
  s.seed = flags.seed.value_or(s.seed);
  require(s.steps > 0, "--steps ", s.steps, ": must be positive");
  require(s.batch > 0 && s.model.context > 0, "--batch ", s.batch, " and --context ",
          s.model.context, ": must be positive");
  require(s.model.layers > 0 && s.model.width > 0 && s.model.heads > 0 &&
              s.model.width % s.model.heads == 0,
          "--layers ", s.model.layers, ", --width ", s.model.width, ", --heads ", s.model.heads,
          ": must be positive, and the heads must divide the width");
  require(0 <= s.model.dropout && s.model.dropout < 1, "--dropout ", s.model.dropout,
          ": must be in [0, 1)");
  require(s.learning_rate > 0 && std::isfinite(s.learning_rate), "--lr ", s.learning_rate,
          ": must be positive");
  require(s.eval_every > 0, "--eval-every ", s.eval_every, ": must be positive");
  require(s.seed >= 0, "--seed ", s.seed, ": must not be negative");
  s.warmup = std::min<std::int64_t>(s.warmup, s.steps / 10);
  return s;
}

std::unique_ptr<Run> resumed(const TrainFlags& flags, const RunPaths& paths) {
  require<FileError>(std::filesystem::exists(paths.checkpoint()), paths.directory,
                     ": there is no checkpoint to resume: leave --resume out to start a run");
  const Settings s = settings_from_json(io::read_text(paths.settings()), paths.settings());
  require(!flags.config_given, "--config contradicts --resume: the run in ", paths.directory,
          " has its sizes already");
  must_agree("--steps", flags.steps, s.steps, paths.directory);
  must_agree("--batch", flags.batch, s.batch, paths.directory);
  must_agree("--context", flags.context, s.model.context, paths.directory);
  must_agree("--layers", flags.layers, s.model.layers, paths.directory);
  must_agree("--heads", flags.heads, s.model.heads, paths.directory);
  must_agree("--width", flags.width, s.model.width, paths.directory);
  must_agree("--dropout", flags.dropout, s.model.dropout, paths.directory);
  must_agree("--lr", flags.learning_rate, s.learning_rate, paths.directory);
  must_agree("--seed", flags.seed, s.seed, paths.directory);
  must_agree("--eval-every", flags.eval_every, s.eval_every, paths.directory);
  return Run::resume(paths, s,
                     read_corpus(flags.files.empty() ? s.files : flags.files, s.model.context));
}

int exit_code(RunEnd end, const RunPaths& paths) {
  if (end == RunEnd::finished) return 0;
  if (end == RunEnd::not_saved) {
    std::fprintf(stderr, "gpt: the last checkpoint could not be saved; %s is the newest that was\n",
                 paths.checkpoint().c_str());
    return 1;
  }
  std::fprintf(stderr, "gpt: stopped and saved; go on with: gpt train --out %s --resume\n",
               paths.directory.c_str());
  return 128 + interrupt_signal;
}

/// `count` tokens to standard output as they are drawn, whole characters only.
void write_sample(const nn::GPT& model, const io::Tokenizer& tokenizer,
                  const std::vector<std::int64_t>& prompt, std::int64_t count,
                  const nn::SamplingOptions& options, std::int64_t seed) {
  io::StreamDecoder decoder(tokenizer);
  const auto write = [](const std::string& text) {
    require<FileError>(
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0,
        "standard output cannot be written");
  };
  nn::generate(model, prompt, count, options, RandomStream{static_cast<std::uint64_t>(seed), 0, 0},
               [&](std::int64_t id) {
                 write(decoder.push(id));
                 if (interrupt_signal) std::_Exit(128 + interrupt_signal);
               });
  write(decoder.finish() + "\n");
}

void report(const Run& run) {
  const Corpus& corpus = run.corpus();
  std::vector<std::int64_t> tokens = corpus.training;
  tokens.insert(tokens.end(), corpus.held_out.begin(), corpus.held_out.end());
  const Entropies known = entropies(tokens, corpus.tokenizer->vocab_size());
  std::printf("\nheld-out loss %.4f nats a %s (best, at step %lld)\n", run.best(),
              corpus.tokenizer->name().c_str(), static_cast<long long>(run.best_step()));
  std::printf(
      "for comparison: %.4f knowing only how frequent each is (unigram), %.4f with the one before "
      "(bigram)\n",
      known.unigram, known.bigram);
}

}  // namespace

int train(const TrainFlags& flags) {
  const RunPaths paths{flags.out};
  std::unique_ptr<Run> run;
  if (flags.resume) {
    run = resumed(flags, paths);
  } else {
    require(!flags.files.empty(), "train: which text? Give one or more files");
    Settings settings = settings_for(flags);
    Corpus corpus = read_corpus(flags.files, settings.model.context);
    settings.text_digest = corpus.digest;
    settings.model.vocab = corpus.tokenizer->vocab_size();
    run = Run::start(paths, settings, std::move(corpus));
  }
  std::fprintf(stderr, "%zu %ss of text, %lld kinds; %lld parameters\n",
               run->corpus().training.size() + run->corpus().held_out.size(),
               run->corpus().tokenizer->name().c_str(),
               static_cast<long long>(run->corpus().tokenizer->vocab_size()),
               static_cast<long long>(run->model().parameter_count()));
  const RunEnd end = run->train();
  if (end == RunEnd::finished) report(*run);
  return exit_code(end, paths);
}

int sample(const SampleFlags& flags) {
  require(flags.tokens >= 0, "--tokens ", flags.tokens, ": must not be negative");
  require(flags.seed >= 0, "--seed ", flags.seed, ": must not be negative");
  require(flags.temperature >= 0 && std::isfinite(flags.temperature), "--temperature ",
          flags.temperature, ": must be 0 or positive");
  require(flags.top_k >= 0, "--top-k ", flags.top_k, ": must be 0 (all) or positive");
  const Trained trained = load_trained({flags.directory});
  std::vector<std::int64_t> prompt = trained.tokenizer->encode(flags.prompt);
  if (prompt.empty()) prompt = {0};  // something to start from: the first token of the vocabulary
  std::fputs(flags.prompt.c_str(), stdout);
  write_sample(*trained.model, *trained.tokenizer, prompt, flags.tokens,
               {flags.temperature, flags.top_k}, flags.seed);
  return 0;
}

int evaluate(const std::string& directory, const std::string& file) {
  const Trained trained = load_trained({directory});
  const std::vector<std::int64_t> tokens = trained.tokenizer->encode(io::read_text(file));
  require(std::ssize(tokens) > trained.model->options.context, file, ": has ", tokens.size(),
          " tokens, but the model's context of ", trained.model->options.context,
          " wants at least ", trained.model->options.context + 1);
  const double loss = mean_loss(*trained.model, tokens, 32);
  std::printf("%.4f nats a %s, perplexity %.3f\n", loss, trained.tokenizer->name().c_str(),
              std::exp(loss));
  return 0;
}

// ---- the demonstration ----

namespace {

/// The sources and documents below `tree`, in the order of their names.
std::vector<std::string> texts_below(const std::string& tree) {
  std::vector<std::string> files;
  const std::vector<std::string> rooms = {"base",  "engine", "ops",   "nn",       "check",
                                          "trace", "io",     "train", "examples", "docs"};
  for (const std::string& room : rooms) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(tree + "/" + room, error)) {
      const std::string ending = entry.path().extension().string();
      if (entry.is_regular_file() && (ending == ".h" || ending == ".cpp" || ending == ".md"))
        files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  require<FileError>(!files.empty(), tree,
                     ": holds none of this project's sources: run it from their directory");
  return files;
}

/// How many steps fit into `seconds` here, from a few steps in a directory that is thrown away.
std::int64_t steps_within(double seconds, const Settings& settings, const Corpus& corpus) {
  constexpr std::int64_t kTrial = 8;
  nn::GPT model(settings.model);
  optim::AdamW optimizer(model.parameters());
  const TokenBatches batches(corpus.training, settings.model.context, settings.batch, 0);
  std::chrono::steady_clock::time_point start;
  for (std::int64_t i = 0; i < 2 * kTrial; ++i) {
    if (i == kTrial) start = std::chrono::steady_clock::now();
    const Batch batch = batches.at(i);
    model.loss(batch.x, batch.y).backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  const double taken =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds * kTrial / taken), 100, 2000);
}

}  // namespace

int demo(const std::string& tree) {
  constexpr double kSeconds = 45;
  const RunPaths paths{"build/demo"};
  Settings settings = settings_for({});
  Corpus corpus = read_corpus(settings.files = texts_below(tree), settings.model.context);
  settings.text_digest = corpus.digest;
  settings.model.vocab = corpus.tokenizer->vocab_size();
  settings.steps = steps_within(kSeconds, settings, corpus);
  settings.warmup = settings.steps / 20;
  settings.eval_every = std::max<std::int64_t>(1, settings.steps / 4);
  std::filesystem::remove_all(paths.directory);
  std::printf("Learning this project's own text: %zu files, %zu characters. About a minute.\n",
              settings.files.size(), corpus.text.size());
  std::fflush(stdout);
  const std::unique_ptr<Run> run = Run::start(paths, settings, std::move(corpus));
  const RunEnd end = run->train();
  if (end != RunEnd::finished) return exit_code(end, paths);
  report(*run);
  std::printf("\nWhat it writes now, after \"// \":\n\n// ");
  const Trained trained = load_trained(paths);
  write_sample(*trained.model, *trained.tokenizer, trained.tokenizer->encode("// "), 400, {0.8, 0},
               1);
  std::printf(
      "\nNext:\n"
      "  build/release/gpt train YOUR_TEXT.txt --out build/mine          # learn your own text\n"
      "  ./step.sh 01 --at tanh                                          # see one go, in gdb\n"
      "  cp examples/02_spiral.cpp my_model.cpp                          # start your own model\n");
  return 0;
}

}  // namespace gradus::examples
