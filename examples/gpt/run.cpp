// What gpt trains, and by which recipe: the loop itself is train/loop.h.
#include "run.h"

#include <algorithm>
#include <filesystem>

#include "gradus/base/platform.h"
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/examples/support/run.h"
#include "gradus/io/text.h"
#include "gradus/io/write_file.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

void write_text(const std::string& path, const std::string& text) {
  io::write_file_atomically(path, text.data(), text.size());
}

TrainOptions options_for(const Settings& s, const RunPaths& paths, const io::Tokenizer& tokens) {
  TrainOptions options;
  options.directory = paths.directory;
  options.steps = s.steps;
  options.time = s.time;
  options.eval_every = s.eval_every;
  options.clip_norm = s.clip_norm;
  options.items_per_step = s.batch * s.model.context;
  options.item = "token";
  options.loss_unit = "nats a " + tokens.name();
  options.program = "gpt";
  options.stop = &interrupt_signal;
  return options;
}

}  // namespace

Run::Run(DirectoryLock lock, const RunPaths& paths, const Settings& settings, Corpus corpus)
    : lock_(std::move(lock)),
      paths_(paths),
      settings_(settings),
      corpus_(std::move(corpus)),
      model_((seed(static_cast<std::uint64_t>(settings.seed)), settings.model)),
      optimizer_(optim::decay_matrices_only(model_.parameters(), settings.weight_decay),
                 {.lr = settings.learning_rate, .betas = {0.9, settings.beta2}}),
      batches_(corpus_.training, settings.model.context, settings.batch,
               static_cast<std::uint64_t>(settings.seed)),
      trainer_(model_, optimizer_,
               optim::warmup_cosine(settings.warmup, settings.steps, settings.final_factor),
               options_for(settings, paths, *corpus_.tokenizer)) {}

std::unique_ptr<Run> Run::start(DirectoryLock lock, const RunPaths& paths, const Settings& settings,
                                Corpus corpus) {
  require_no_run("gpt", paths);
  remove_leftovers(paths.directory, paths.all());
  std::unique_ptr<Run> run(new Run(std::move(lock), paths, settings, std::move(corpus)));
  write_text(paths.settings(), to_json(settings));
  io::save_tokenizer(paths.tokenizer(), *run->corpus_.tokenizer);
  run->trainer_.start();
  return run;
}

std::unique_ptr<Run> Run::resume(DirectoryLock lock, const RunPaths& paths,
                                 const Settings& settings, Corpus corpus) {
  remove_leftovers(paths.directory, paths.all());
  std::unique_ptr<Run> run(new Run(std::move(lock), paths, settings, std::move(corpus)));
  load_fitting(paths.checkpoint(), [&] { run->trainer_.resume(); });
  return run;
}

double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens,
                 std::int64_t batch) {
  const NoGrad off;
  const TokenBatches windows(tokens, model.options.context, batch, 0);
  double total = 0, count = 0;
  for (const Batch& each : windows.once()) {
    const double n = static_cast<double>(each.y.numel());
    total += model.loss(each.x, each.y).item() * n;
    count += n;
  }
  return total / count;
}

std::int64_t evaluation_batch(const Settings& settings) {
  return std::max<std::int64_t>(settings.batch, 32);
}

double Run::evaluate() const {
  return mean_loss(model_, corpus_.held_out, evaluation_batch(settings_));
}

/// How each head looks at the beginning of the held-out text: entropy, span, largest weight.
void Run::log_heads(Metrics& metrics) const {
  const std::int64_t T = settings_.model.context;
  nn::AttentionRecord record;
  const auto first = std::span(corpus_.held_out).first(static_cast<std::size_t>(T));
  static_cast<void>(model_(from(first, {1, T})));
  for (const nn::AttentionRecord::Head& head : record.heads()) {
    const std::string name = text(head.layer, ".head", head.head);
    metrics.emplace_back(name + ".entropy", head.entropy);
    metrics.emplace_back(name + ".span", head.span);
    metrics.emplace_back(name + ".maximum", head.maximum);
  }
}

TrainEnd Run::train() {
  const auto loss_of = [&](std::int64_t step) {
    const Batch batch = batches_.at(step);
    return model_.loss(batch.x, batch.y);
  };
  return run_trainer(trainer_, "gpt", loss_of, [&] {
    Metrics found{{"held_out_loss", evaluate()}};
    log_heads(found);
    return found;
  });
}

Settings read_settings(const RunPaths& paths, bool to_train) {
  require<FileError>(
      std::filesystem::exists(paths.settings()), paths.directory,
      ": holds no gpt run: there is no settings.json; train one with: gpt train FILE --out ",
      paths.directory);
  const std::string file = paths.settings();
  const Settings settings = settings_from_json(SettingsFile::text_of(file), file);
  judge(settings, Judge(file), to_train);
  return settings;
}

Trained load_trained(const RunPaths& paths) {
  Settings settings = read_settings(paths, false);
  Trained trained{settings, io::load_tokenizer(paths.tokenizer()),
                  std::make_unique<nn::GPT>(settings.model)};
  load_best(*trained.model, paths);
  return trained;
}

}  // namespace gradus::examples
